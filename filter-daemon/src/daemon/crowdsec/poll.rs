//! Asks one LAPI for its decisions, on a separate thread.

use std::net::IpAddr;
use std::time::Duration;

use crate::clock;
use crate::config::LapiConfig;
use crate::config::secret::{self, LapiAccess};
use crate::crowdsec::{AnswerError, Decision, Scope, StreamAnswer, answer};
use crate::daemon::feeds::{FetchResponse, FetchTools};
use crate::fetch::{ApiRequest, FetchError, FetchOrder, NotAUrl, Url};
use crate::source::SpecialRanges;
use crate::text::{Explain, Explanation};

/// How filterd names itself. CrowdSec shows the part before the slash as type, the other as version.
pub const AGENT: &str = concat!("crowdsec-filterd-bouncer/v", env!("CARGO_PKG_VERSION"));

/// The most bytes of an answer: more than a million decisions.
const MOST_BYTES: u64 = 512 << 20;

/// The most decisions of an answer.
const MOST_DECISIONS: usize = 2_000_000;

/// What to ask for.
pub struct PollOrder {
    pub config: LapiConfig,
    /// Whether to ask for everything, or only for what changed since the poll before.
    pub is_full: bool,
}

/// One poll to make.
pub struct Poll {
    pub order: PollOrder,
    pub number: u64,
    pub means: FetchTools,
}

/// A poll that has ended.
pub struct EndedPoll {
    pub name: String,
    pub number: u64,
    pub is_full: bool,
    /// How long LAPI took to answer.
    pub took: Duration,
    /// Where LAPI was reached.
    pub from: Vec<IpAddr>,
    /// When LAPI wants to be asked again, if it failed.
    pub after: Option<Duration>,
    pub result: Result<StreamAnswer, Explanation>,
}

impl Poll {
    /// Asks, and waits for the answer.
    pub fn run(self) -> EndedPoll {
        let (mut from, mut after) = (Vec::new(), None);
        let begun = clock::instant();
        let result = self.ask(&mut from, &mut after);
        let took = begun.elapsed();
        let PollOrder { config, is_full } = self.order;
        EndedPoll { name: config.name, number: self.number, is_full, took, from, after, result }
    }

    fn ask(&self, from: &mut Vec<IpAddr>, after: &mut Option<Duration>) -> Result<StreamAnswer, Explanation> {
        let config = &self.order.config;
        let url = config.decisions_url(self.order.is_full).map_err(|error| unusable(&error))?;
        let order = order(config, &url, None, &self.means)?;
        let body = match self.means.fetch(&order) {
            Ok(FetchResponse::Body(body)) => body,
            Ok(FetchResponse::Unchanged { .. }) => {
                return Err(Explanation::new(
                    "LAPI says that nothing changed, which it was not asked",
                    "check `api_url`: something else answers there",
                ));
            }
            Err(error) => {
                *after = error.retry_after();
                return Err(error.explain_api());
            }
        };
        from.clone_from(&body.from);
        // Durations count from the moment when LAPI answers. Ends are whole seconds, and never too early.
        let now = clock::after(Duration::ZERO);
        let answer = answer::read(body.bytes, &config.types, now, MOST_DECISIONS).map_err(|error| {
            let broken = if let AnswerError::Read(error) = &error { FetchError::of(error) } else { None };
            broken.map_or_else(|| error.explain(), FetchError::explain_api)
        })?;
        Ok(without_wide(answer))
    }
}

/// The order that asks LAPI for this URL, or sends it this body.
pub fn order(
    config: &LapiConfig,
    url: &Url,
    body: Option<Vec<u8>>,
    means: &FetchTools,
) -> Result<FetchOrder, Explanation> {
    let (credentials, identity) = match secret::lapi(&config.credential, means.handed())? {
        LapiAccess::Key(key) => (Some(key), None),
        LapiAccess::Certificate(identity) => (None, Some(identity)),
    };
    let authority = config.authority.as_deref().map(secret::authority).transpose()?;
    Ok(FetchOrder {
        url: url.clone(),
        etag: None,
        last_modified: None,
        credentials,
        // The configuration lets a key be sent in the clear only to this host itself.
        insecure: !config.url.is_secure(),
        allow_private: true,
        own: Vec::new(),
        most_bytes: MOST_BYTES,
        patience: config.timeout,
        api: Some(ApiRequest { body, identity, authority, agent: AGENT.to_owned() }),
    })
}

/// Leaves out ranges that are a large part of the internet. Lists leave them out, too.
fn without_wide(mut answer: StreamAnswer) -> StreamAnswer {
    let is_wide = |decision: &Decision| match decision.scope {
        Scope::Target(target) => SpecialRanges::default().doubts(target),
        Scope::Autonomous(_) | Scope::Country(_) => false,
    };
    let wide: Vec<_> = answer.new.extract_if(.., |decision| is_wide(decision)).collect();
    answer.skipped.too_wide += wide.len() as u64;
    answer
}

/// The explanation of an address that is too long or otherwise unusable.
pub fn unusable(error: &NotAUrl) -> Explanation {
    Explanation::new(format!("LAPI cannot be asked: {error}"), "name fewer origins and scenarios")
}
