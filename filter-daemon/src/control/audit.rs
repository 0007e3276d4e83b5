//! Logs who changed what. Each request is one line, but many requests that belong together become one line in
//! ten seconds. An import of a million targets consists of some five hundred requests over four connections.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tracing::{info, warn};

use super::asker::Asker;
use super::wire::{Counts, Deed, Failure};
use crate::clock;
use crate::text::Explanation;

/// A request with more targets than this is part of a larger change.
const FEW: u64 = 64;

/// How many lines one process gets in each period; further requests are summed up.
const LINES: u32 = 20;

/// The length of a period, and the longest delay of a sum.
const TURN: Duration = Duration::from_secs(10);

/// The most sums that are kept; each takes some hundred bytes.
const SUMS: usize = 1024;

/// The events of sessions. Each session waits for its client before it sends another one, so that only few
/// are on their way.
pub type Audit = mpsc::UnboundedSender<AuditEvent>;

/// An event of a session.
#[derive(Debug)]
pub enum AuditEvent {
    /// A client that will request changes.
    Came(Arc<Asker>),
    /// A request and its result.
    Did(Arc<Asker>, Box<Deed>, Result<Counts, Failure>),
    /// The end of a session.
    Went(Arc<Asker>),
}

/// Reports the requests of one session. The client is identified with its first change.
pub struct AuditedClient {
    audit: Audit,
    asker: Option<Arc<Asker>>,
}

/// All events that are not logged yet.
pub struct AuditLog {
    events: mpsc::UnboundedReceiver<AuditEvent>,
    askers: HashMap<Arc<Asker>, KnownAsker>,
    sums: HashMap<(Arc<Asker>, &'static str, Option<String>), RequestSum>,
}

/// The state of one process.
struct KnownAsker {
    sessions: u32,
    turn: Instant,
    lines: u32,
}

/// Several requests as one line.
struct RequestSum {
    since: Instant,
    deed: Deed,
    requests: u64,
    counts: Counts,
    failed: u64,
    failure: Option<Failure>,
}

impl AuditedClient {
    pub fn new(audit: Audit) -> Self {
        Self { audit, asker: None }
    }

    /// Reports the result of a request.
    pub fn tell(&mut self, who: impl FnOnce() -> Asker, deed: Deed, came_of_it: Result<Counts, Failure>) {
        if self.asker.is_none() {
            let asker = Arc::new(who());
            self.send(AuditEvent::Came(asker.clone()));
            self.asker = Some(asker);
        }
        if let Some(asker) = self.asker.clone() {
            self.send(AuditEvent::Did(asker, Box::new(deed), came_of_it));
        }
    }

    /// The receiver is gone when the server has ended.
    fn send(&self, event: AuditEvent) {
        _ = self.audit.send(event);
    }
}

/// Reports the end of a session, however it ends, so that its sums are logged.
impl Drop for AuditedClient {
    fn drop(&mut self) {
        if let Some(asker) = self.asker.take() {
            self.send(AuditEvent::Went(asker));
        }
    }
}

impl AuditLog {
    pub fn new() -> (Audit, Self) {
        let (audit, events) = mpsc::unbounded_channel();
        (audit, Self { events, askers: HashMap::new(), sums: HashMap::new() })
    }

    /// Waits for the next event and records it, or until a sum is due.
    pub async fn write(&mut self) {
        let oldest = self.sums.values().map(|sum| sum.since).min();
        let due = async {
            match oldest {
                Some(since) => tokio::time::sleep(TURN.saturating_sub(since.elapsed())).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some(event) = self.events.recv() => self.note(event),
            () = due => self.write_sums(|_, sum| sum.since.elapsed() >= TURN),
        }
    }

    fn note(&mut self, event: AuditEvent) {
        match event {
            AuditEvent::Came(asker) => self.known(&asker).sessions += 1,
            AuditEvent::Did(asker, deed, came_of_it) => self.note_deed(asker, *deed, came_of_it),
            AuditEvent::Went(asker) => {
                let known = self.known(&asker);
                known.sessions = known.sessions.saturating_sub(1);
                if known.sessions == 0 {
                    self.askers.remove(&asker);
                    self.write_sums(|who, _| *who == asker);
                }
            }
        }
    }

    fn known(&mut self, asker: &Arc<Asker>) -> &mut KnownAsker {
        let new = || KnownAsker { sessions: 0, turn: clock::instant(), lines: 0 };
        self.askers.entry(asker.clone()).or_insert_with(new)
    }

    fn note_deed(&mut self, asker: Arc<Asker>, deed: Deed, came_of_it: Result<Counts, Failure>) {
        let key = (asker.clone(), deed.verb, deed.list.clone());
        if let Some(sum) = self.sums.get_mut(&key) {
            return sum.add(&deed, came_of_it);
        }
        let is_few = deed.targets <= FEW;
        let sum = RequestSum::of(deed, came_of_it);
        if is_few && self.known(&asker).count_line() {
            return sum.write(&asker);
        }
        if self.sums.len() >= SUMS {
            self.write_sums(|_, _| true);
        }
        self.sums.insert(key, sum);
    }

    fn write_sums(&mut self, is_due: impl Fn(&Arc<Asker>, &RequestSum) -> bool) {
        let due = self.sums.extract_if(|(asker, ..), sum| is_due(asker, sum));
        due.for_each(|((asker, ..), sum)| sum.write(&asker));
    }
}

/// Logs everything that was reported before the end.
impl Drop for AuditLog {
    fn drop(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.note(event);
        }
        self.write_sums(|_, _| true);
    }
}

impl KnownAsker {
    fn count_line(&mut self) -> bool {
        if self.turn.elapsed() >= TURN {
            (self.turn, self.lines) = (clock::instant(), 0);
        }
        self.lines += 1;
        self.lines <= LINES
    }
}

impl RequestSum {
    fn of(deed: Deed, came_of_it: Result<Counts, Failure>) -> Self {
        let nothing = Deed { targets: 0, ..deed.clone() };
        let mut sum = Self {
            since: clock::instant(),
            deed: nothing,
            requests: 0,
            counts: Counts::default(),
            failed: 0,
            failure: None,
        };
        sum.add(&deed, came_of_it);
        sum
    }

    fn add(&mut self, deed: &Deed, came_of_it: Result<Counts, Failure>) {
        self.requests += 1;
        self.deed.targets += deed.targets;
        match came_of_it {
            Ok(counts) => {
                let Counts { changed, entered, left, allowed, disallowed, is_volatile, .. } = counts;
                let sum = &mut self.counts;
                sum.is_volatile |= is_volatile;
                sum.is_in_vain = counts.is_in_vain && (sum.is_in_vain || self.requests == 1);
                sum.changed += changed;
                sum.entered += entered;
                sum.left += left;
                sum.allowed += allowed;
                sum.disallowed += disallowed;
                sum.settings.extend(counts.settings);
                counts.lists.into_iter().for_each(|list| {
                    if !sum.lists.contains(&list) {
                        sum.lists.push(list);
                    }
                });
                sum.attached.extend(counts.attached);
                sum.detached.extend(counts.detached);
                sum.troubles.extend(counts.troubles);
            }
            Err(failure) => (self.failed, self.failure) = (self.failed + 1, Some(failure)),
        }
        // Attributes that differ between the requests are left out.
        let sum = &mut self.deed;
        sum.ttl = sum.ttl.filter(|ttl| deed.ttl == Some(*ttl));
        sum.note = sum.note.take().filter(|note| deed.note.as_ref() == Some(note));
    }

    /// The command and its targets, as they were typed.
    fn asked(&self) -> String {
        self.with_targets(self.deed.verb)
    }

    /// The event in words. All events of a kind have the same words.
    fn event(&self) -> String {
        let changes_nothing = self.deed.targets > 0 && self.counts.changed == 0;
        if changes_nothing || self.counts.is_in_vain {
            return format!("nothing changed: {}", self.asked());
        }
        self.with_targets(done(self.deed.verb))
    }

    fn with_targets(&self, verb: &str) -> String {
        let Deed { targets, first, .. } = &self.deed;
        match (targets, first) {
            (1, Some(target)) => format!("{verb} {target}"),
            (_, Some(target)) => format!("{verb} {targets} targets, {target} and others"),
            (_, None) => verb.to_owned(),
        }
    }

    fn write(&self, asker: &Asker) {
        let event = self.event();
        let Deed { verb, first, list, ttl, note, .. } = &self.deed;
        let (verb, target) = (*verb, first.map(|target| target.to_string()));
        let target = target.as_deref();
        let (list, note, ttl) = (list.as_deref(), note.as_deref(), ttl.map(|ttl| ttl.as_secs()));
        let Counts { changed, entered, left, allowed, disallowed, is_volatile, .. } = self.counts;
        let some = |count: u64| (count > 0).then_some(count);
        let (allowed, disallowed) = (some(allowed), some(disallowed));
        let Counts { settings, lists, attached, detached, troubles, .. } = &self.counts;
        let joined = |all: &[String], by| (!all.is_empty()).then(|| all.join(by));
        let [settings, attached, detached] =
            [joined(settings, "; "), joined(attached, ", "), joined(detached, ", ")];
        let [settings, attached, detached] = [settings.as_deref(), attached.as_deref(), detached.as_deref()];
        let troubles = joined(troubles, "; ");
        let troubles = troubles.as_deref();
        let lists = joined(lists, ", ");
        let lists = lists.as_deref();
        let requests = (self.requests > 1).then_some(self.requests);
        let (user, login, process) = (asker.user.as_str(), asker.login.as_deref(), asker.process.as_deref());
        let (uid, pid) = (asker.uid, asker.pid);
        match &self.failure {
            None if is_volatile => {
                let durable = false;
                warn!(
                    list,
                    ttl,
                    note,
                    requests,
                    settings,
                    attached,
                    detached,
                    troubles,
                    changed,
                    entered,
                    left,
                    allowed,
                    disallowed,
                    durable,
                    user,
                    uid,
                    login,
                    process,
                    pid,
                    watch.verb = verb,
                    watch.target = target,
                    watch.lists = lists,
                    "{event}"
                );
            }
            None => {
                info!(
                    list,
                    ttl,
                    note,
                    requests,
                    settings,
                    attached,
                    detached,
                    troubles,
                    changed,
                    entered,
                    left,
                    allowed,
                    disallowed,
                    user,
                    uid,
                    login,
                    process,
                    pid,
                    watch.verb = verb,
                    watch.target = target,
                    watch.lists = lists,
                    "{event}"
                );
            }
            Some(failure) => {
                let failed = requests.map(|_| self.failed);
                let why = brief(failure);
                let event = match is_done(failure) {
                    true => self.with_targets(done(verb)),
                    false => format!("refused: {}", self.asked()),
                };
                warn!(
                    list,
                    ttl,
                    note,
                    requests,
                    failed,
                    settings,
                    attached,
                    detached,
                    troubles,
                    changed,
                    entered,
                    left,
                    allowed,
                    disallowed,
                    user,
                    uid,
                    login,
                    process,
                    pid,
                    watch.verb = verb,
                    watch.target = target,
                    watch.lists = lists,
                    "{event}: {why}"
                );
            }
        }
    }
}

/// The past tense of a command.
fn done(verb: &str) -> &str {
    match verb {
        "add" => "blocked",
        "remove" => "removed",
        "allow add" => "allowed",
        "allow remove" => "disallowed",
        "flush" => "flushed",
        "import" => "imported",
        "reload" => "reloaded",
        "reload --confirm" => "reloaded on trial",
        "confirm" => "confirmed",
        "rollback" => "rolled back",
        "pause" => "paused",
        "resume" => "resumed",
        "lists refresh" => "refreshed lists",
        "ack" => "acknowledged",
        other => other,
    }
}

/// Whether the request was carried out completely or in part.
fn is_done(failure: &Failure) -> bool {
    matches!(failure, Failure::NotDurable(_) | Failure::Partly(_))
}

/// The message on one line. Of the errors in a configuration it keeps only the first; the client gets all of
/// them, with their lines.
fn brief(failure: &Failure) -> String {
    let Failure::InvalidConfig(Explanation { message, remedy }) = failure else {
        return failure.explanation().to_string();
    };
    let first = message.lines().next().unwrap_or_default().to_owned();
    Explanation { message: first, remedy: remedy.clone() }.to_string()
}

#[cfg(test)]
mod tests;
