//! A local API that follows a script. It answers as the source and the swagger file of CrowdSec 1.7.8 describe, or as a test says.
//!
//! No CrowdSec runs here: it shows what filterd does with such answers, not that CrowdSec gives them.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{LapiDecision, PORT};
use crate::Net;
use crate::web::{Asked, Web, Where};

/// LAPI reads so many decisions at once from its database.
pub const PAGE: usize = 30_000;

/// Go's HTTP server sends chunks of this size.
const CHUNK: usize = 2048;

const STREAM: &str = "/v1/decisions/stream";
const METRICS: &str = "/v1/usage-metrics";

/// Longer than anybody waits.
const SILENCE: Duration = Duration::from_secs(600);

/// One answer of a scripted LAPI.
#[derive(Clone, Debug)]
pub struct LapiAnswer {
    /// All that is sent, from the status line on. Afterwards the connection ends.
    bytes: Vec<u8>,
    /// Before the connection ends, nothing is sent for so long.
    pause: Duration,
}

impl LapiAnswer {
    /// A stream of 1.7.8: in chunks, with arrays that are never null.
    pub fn stream(new: &[LapiDecision], deleted: &[LapiDecision]) -> Self {
        Self::json_in_chunks(&format!("{{\"new\": [{}], \"deleted\": [{}]}}", joined(new), joined(deleted)))
    }

    /// The same, but LAPI's database fails after so many pages of [`PAGE`] decisions. LAPI hides that: the JSON and the status
    /// are valid.
    pub fn stream_of_failing_database(new: &[LapiDecision], pages: usize) -> Self {
        Self::stream(&new[..new.len().min(pages * PAGE)], &[])
    }

    /// The same stream by 1.4.6: with a length, and null instead of an empty array.
    pub fn stream_with_length(new: &[LapiDecision], deleted: &[LapiDecision]) -> Self {
        let listed = |decisions: &[LapiDecision]| match decisions {
            [] => "null".to_owned(),
            some => format!("[{}]", joined(some)),
        };
        Self::json(&format!("{{\"deleted\":{},\"new\":{}}}", listed(deleted), listed(new)))
    }

    /// Status 200 with this body, which need not be JSON.
    pub fn json(body: &str) -> Self {
        Self::with_body("200 OK", "application/json; charset=utf-8", body)
    }

    /// The same in chunks.
    pub fn json_in_chunks(body: &str) -> Self {
        let mut bytes =
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                .to_vec();
        for chunk in body.as_bytes().chunks(CHUNK) {
            bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
            bytes.extend(chunk);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"0\r\n\r\n");
        Self::words(bytes)
    }

    /// A status such as `403 Forbidden`, with LAPI's message.
    pub fn failure(status: &str, message: &str) -> Self {
        Self::with_body(status, "application/json; charset=utf-8", &json!({ "message": message }).to_string())
    }

    /// What LAPI says to an unknown key.
    pub fn forbidden() -> Self {
        Self::failure("403 Forbidden", "access forbidden")
    }

    /// A page of HTML with status 200, as a proxy or a captive portal sends it.
    pub fn page() -> Self {
        Self::with_body("200 OK", "text/html", "<!DOCTYPE html>\n<title>Sign in</title>\n")
    }

    /// Another answer to a POST: the status, and no body.
    pub fn status(status: &str) -> Self {
        Self::with_body(status, "text/plain", "")
    }

    /// These bytes, from the status line on.
    pub fn words(words: impl Into<Vec<u8>>) -> Self {
        Self { bytes: words.into(), pause: Duration::ZERO }
    }

    /// Nothing: the connection stays open and silent.
    pub fn silence() -> Self {
        Self { bytes: Vec::new(), pause: SILENCE }
    }

    /// The same, but the last bytes are missing: the connection ends in the middle.
    pub fn cut(mut self, missing: usize) -> Self {
        self.bytes.truncate(self.bytes.len().saturating_sub(missing));
        self
    }

    /// The same, but the connection stays open and silent where this would end. Combined with [`LapiAnswer::cut`] the
    /// answer hangs in the middle.
    pub fn hanging(mut self) -> Self {
        self.pause = SILENCE;
        self
    }

    fn with_body(status: &str, kind: &str, body: &str) -> Self {
        let length = body.len();
        Self::words(format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
    }

    fn write(&self, to: &mut dyn Write) {
        // A caller may have hung up.
        _ = to.write_all(&self.bytes).and_then(|()| to.flush());
        thread::sleep(self.pause);
    }
}

/// A web server at 127.0.0.1 in the host's namespace. It listens until the namespace is gone.
///
/// It has one cursor and ignores keys and filters: a test looks at them in what was asked.
#[derive(Debug)]
pub struct ScriptedLapi {
    state: Arc<Mutex<State>>,
    port: u16,
    _web: Web,
}

#[derive(Debug)]
struct State {
    /// The decisions in force, and when each ends.
    decisions: BTreeMap<u64, (LapiDecision, Instant)>,
    /// What the next delta brings.
    new: Vec<u64>,
    deleted: Vec<LapiDecision>,
    /// Answers that come before those.
    queued: VecDeque<LapiAnswer>,
    /// The answer to each question when none is queued.
    always: Option<LapiAnswer>,
    answer_to_metrics: LapiAnswer,
    streams: Vec<Asked>,
    metrics: Vec<Asked>,
    others: Vec<Asked>,
}

impl ScriptedLapi {
    /// One without decisions, at the port of a real one.
    pub fn begin(net: &Net) -> Self {
        Self::begin_at(net, PORT)
    }

    /// The same at another port.
    pub fn begin_at(net: &Net, port: u16) -> Self {
        Self::begin_with(net, port, |_| None)
    }

    /// The same, but this answers if it has an answer. Its questions are recorded like all others.
    pub fn begin_with(
        net: &Net,
        port: u16,
        answer: impl Fn(&Asked) -> Option<LapiAnswer> + Send + Sync + 'static,
    ) -> Self {
        let state = Arc::new(Mutex::new(State {
            decisions: BTreeMap::new(),
            new: Vec::new(),
            deleted: Vec::new(),
            queued: VecDeque::new(),
            always: None,
            answer_to_metrics: LapiAnswer::status("201 Created"),
            streams: Vec::new(),
            metrics: Vec::new(),
            others: Vec::new(),
        }));
        let shared = state.clone();
        let tell = move |asked: &Asked, to: &mut dyn Write| {
            // The lock is released before anything is sent: a silent answer must not stop the next question.
            let usual = shared.lock().expect("nobody panics here").answer(asked);
            answer(asked).unwrap_or(usual).write(to);
        };
        let at = format!("127.0.0.1:{port}");
        let web = Web::serve(Where { namespace: net.host(), at: &at, tls: None }, tell);
        Self { state, port, _web: web }
    }

    /// Its address, for `api_url`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Adds a decision: the next delta and each full answer bring it.
    pub fn add(&self, decision: LapiDecision) {
        let mut state = self.state();
        state.new.push(decision.id);
        state.insert(decision);
    }

    /// Adds decisions that full answers bring and no delta, as if a delta were lost.
    pub fn add_silently(&self, decisions: impl IntoIterator<Item = LapiDecision>) {
        let mut state = self.state();
        decisions.into_iter().for_each(|decision| state.insert(decision));
    }

    /// Deletes a decision: the next delta says so.
    pub fn delete(&self, id: u64) {
        let mut state = self.state();
        let (decision, _) = state.decisions.remove(&id).expect("a test deletes what it added");
        state.deleted.push(decision.lasting(-1));
    }

    /// Deletes all decisions that this picks, and no delta says so, as if a delta or a database were lost.
    pub fn delete_silently(&self, is_deleted: impl Fn(&LapiDecision) -> bool) {
        self.state().decisions.retain(|_, (decision, _)| !is_deleted(decision));
    }

    /// Answers the next question for decisions with this, once. Several wait in their order.
    ///
    /// It moves no cursor: what a delta would have brought comes with the next one.
    pub fn answer_once(&self, answer: LapiAnswer) {
        self.state().queued.push_back(answer);
    }

    /// Answers each question for decisions with this from now on.
    pub fn answer_always(&self, answer: LapiAnswer) {
        self.state().always = Some(answer);
    }

    /// Answers by its decisions again.
    pub fn recover(&self) {
        let mut state = self.state();
        state.always = None;
        state.queued.clear();
    }

    /// Answers metrics with this from now on. By default that is the status 201.
    pub fn answer_metrics(&self, answer: LapiAnswer) {
        self.state().answer_to_metrics = answer;
    }

    /// The questions for decisions since the last call. `parameter("startup")` is `true` for a full answer.
    pub fn streams(&self) -> Vec<Asked> {
        std::mem::take(&mut self.state().streams)
    }

    /// The bodies of metrics since the last call.
    #[track_caller]
    pub fn metrics(&self) -> Vec<Value> {
        let posted = std::mem::take(&mut self.state().metrics);
        posted.iter().map(|asked| serde_json::from_slice(&asked.body).expect("metrics are JSON")).collect()
    }

    /// All other questions since the last call.
    pub fn others(&self) -> Vec<Asked> {
        std::mem::take(&mut self.state().others)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics here")
    }
}

impl State {
    fn insert(&mut self, decision: LapiDecision) {
        let lasts = Duration::from_secs(decision.seconds.try_into().expect("it has not ended yet"));
        self.decisions.insert(decision.id, (decision, Instant::now() + lasts));
    }

    fn answer(&mut self, asked: &Asked) -> LapiAnswer {
        let path = asked.path.split('?').next().unwrap_or_default();
        match (asked.method.as_str(), path) {
            ("GET", STREAM) => {
                self.streams.push(asked.clone());
                let scripted = self.queued.pop_front().or_else(|| self.always.clone());
                scripted.unwrap_or_else(|| self.stream(asked.parameter("startup") == Some("true")))
            }
            ("POST", METRICS) => {
                self.metrics.push(asked.clone());
                self.answer_to_metrics.clone()
            }
            _ => {
                self.others.push(asked.clone());
                LapiAnswer::with_body("404 Not Found", "text/plain", "404 page not found")
            }
        }
    }

    fn stream(&mut self, is_full: bool) -> LapiAnswer {
        let now = Instant::now();
        self.decisions.retain(|_, (decision, end)| {
            let is_in_force = *end > now;
            if !is_in_force {
                self.deleted.push(decision.clone().lasting(-1));
            }
            is_in_force
        });
        let (new, deleted) = (std::mem::take(&mut self.new), std::mem::take(&mut self.deleted));
        // As 1.7.8 does it: to the nearest second.
        let remaining = |(decision, end): &(LapiDecision, Instant)| {
            let left = (end.duration_since(now) + Duration::from_millis(500)).as_secs();
            decision.clone().lasting(left.try_into().expect("a test does not wait so long"))
        };
        let new: Vec<_> = match is_full {
            true => self.decisions.values().map(remaining).collect(),
            false => new.iter().filter_map(|id| self.decisions.get(id)).map(remaining).collect(),
        };
        LapiAnswer::stream(&new, &deleted)
    }
}

fn joined(decisions: &[LapiDecision]) -> String {
    let all: Vec<_> = decisions.iter().map(|decision| decision.published().to_string()).collect();
    all.join(",")
}
