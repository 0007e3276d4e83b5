//! Reports to LAPI how many packets its decisions have stopped. `cscli metrics show bouncers` prints it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tracing::{info, warn};

use super::poll;
use crate::clock;
use crate::config::LapiConfig;
use crate::control::wire::crowdsec::{CrowdSecState, OriginList};
use crate::control::wire::snapshot::Reply as Snapshot;
use crate::daemon::feeds::FetchTools;
use crate::fetch::FetchError;
use crate::text::Explanation;

/// How often usage is reported, as CrowdSec's own bouncers do.
const EVERY: Duration = Duration::from_secs(15 * 60);

/// The counts of packets at one moment. They only grow, until a counter restarts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketTotals {
    /// Packets dropped for the decisions of each origin.
    pub dropped_of: BTreeMap<String, u64>,
    /// Packets dropped for any reason, by family.
    pub dropped: [u64; 2],
    /// Bytes of these packets.
    pub dropped_bytes: [u64; 2],
    /// All packets that filterd judged.
    pub processed: u64,
    /// Decisions that are enforced, by origin.
    pub active: BTreeMap<String, u64>,
}

impl PacketTotals {
    /// The counts in a snapshot, for one CrowdSec. The origins, each with its list, include those without
    /// decisions. `dropped` returns the packets dropped for a list.
    pub fn of<'a>(
        snapshot: &Snapshot,
        one: &CrowdSecState,
        origins: impl Iterator<Item = (&'a Arc<str>, &'a Arc<str>)>,
        dropped: impl Fn(&str) -> u64,
    ) -> Self {
        let mut totals = Self::default();
        for (origin, list) in origins {
            totals.dropped_of.insert(origin.to_string(), dropped(list));
        }
        for OriginList { origin, decisions, .. } in &one.lists {
            totals.active.insert(origin.clone(), *decisions);
        }
        for row in &snapshot.reasons {
            totals.processed += row.packets;
            let family = ["ipv4", "ipv6"].iter().position(|family| row.reason.starts_with(family));
            if let Some(family) = family.filter(|_| row.verdict == "drop") {
                totals.dropped[family] += row.packets;
                totals.dropped_bytes[family] += row.bytes.unwrap_or(0);
            }
        }
        totals
    }
}

/// When usage is reported next, and what was reported last.
pub struct UsageReports {
    next: Instant,
    since: Instant,
    /// None until the counts of the start are known.
    reported: Option<PacketTotals>,
    /// LAPI does not take usage metrics.
    is_refused: bool,
    is_running: bool,
    has_failed: bool,
}

/// A report to send.
pub struct UsageReport {
    config: LapiConfig,
    means: FetchTools,
    body: Vec<u8>,
    totals: PacketTotals,
}

/// A report that was sent, or was not.
pub struct EndedReport {
    pub name: String,
    totals: PacketTotals,
    result: Result<(), ReportFailure>,
}

/// Why a report was not taken.
enum ReportFailure {
    /// LAPI is older than 1.6.3, and does not know usage metrics.
    Unknown,
    Failed(Explanation),
}

impl UsageReports {
    /// The first report covers the time from the first counts on.
    pub fn new() -> Self {
        let now = clock::instant();
        Self {
            next: now,
            since: now,
            reported: None,
            is_refused: false,
            is_running: false,
            has_failed: false,
        }
    }

    /// The time until the next report.
    pub fn until_due(&self) -> Option<Duration> {
        let is_off = self.is_refused || self.is_running;
        (!is_off).then(|| self.next.saturating_duration_since(clock::instant()))
    }

    /// The report that is due. The first time there is none, because these counts are what others compare
    /// with. `started` is when filterd started, in seconds since 1970.
    pub fn begin(
        &mut self,
        config: &LapiConfig,
        means: &FetchTools,
        totals: PacketTotals,
        started: u64,
    ) -> Option<UsageReport> {
        self.next = clock::instant() + EVERY;
        let Some(reported) = &self.reported else {
            (self.reported, self.since) = (Some(totals), clock::instant());
            return None;
        };
        let body = body(reported, &totals, (self.since.elapsed(), clock::since_1970()), started);
        self.is_running = true;
        Some(UsageReport { config: config.clone(), means: means.clone(), body, totals })
    }

    /// Records the result. What was not taken is part of the next report.
    pub fn note(&mut self, ended: EndedReport) {
        let name = ended.name;
        self.is_running = false;
        match ended.result {
            Ok(()) => {
                (self.reported, self.since, self.has_failed) = (Some(ended.totals), clock::instant(), false);
            }
            Err(ReportFailure::Unknown) => {
                self.is_refused = true;
                info!("CrowdSec \"{name}\" does not take usage metrics: 1.6.3 and newer do");
            }
            Err(ReportFailure::Failed(why)) => {
                if !std::mem::replace(&mut self.has_failed, true) {
                    warn!("CrowdSec \"{name}\" did not take usage metrics: {why}");
                }
            }
        }
    }
}

impl UsageReport {
    /// Sends the report, and waits for the answer.
    pub fn run(self) -> EndedReport {
        let result = self.send();
        EndedReport { name: self.config.name, totals: self.totals, result }
    }

    fn send(&self) -> Result<(), ReportFailure> {
        let url = self.config.metrics_url().map_err(|error| ReportFailure::Failed(poll::unusable(&error)))?;
        let order = poll::order(&self.config, &url, Some(self.body.clone()), &self.means);
        match self.means.fetch(&order.map_err(ReportFailure::Failed)?) {
            Ok(_) => Ok(()),
            Err(FetchError::ApiStatus { status: 404 | 405, .. }) => Err(ReportFailure::Unknown),
            Err(error) => Err(ReportFailure::Failed(error.explain_api())),
        }
    }
}

#[derive(Serialize)]
struct UsageBody {
    remediation_components: [Component; 1],
}

#[derive(Serialize)]
struct Component {
    r#type: &'static str,
    version: &'static str,
    os: Os,
    feature_flags: [&'static str; 0],
    utc_startup_timestamp: u64,
    metrics: [Detailed; 1],
}

#[derive(Serialize)]
struct Os {
    name: String,
    version: String,
}

#[derive(Serialize)]
struct Detailed {
    meta: Meta,
    items: Vec<Item>,
}

#[derive(Serialize)]
struct Meta {
    window_size_seconds: u64,
    utc_now_timestamp: u64,
}

#[derive(Serialize)]
struct Item {
    name: &'static str,
    value: u64,
    unit: &'static str,
    labels: BTreeMap<&'static str, String>,
}

impl Item {
    fn new(name: &'static str, value: u64, unit: &'static str, label: Option<(&'static str, &str)>) -> Self {
        let labels = label.into_iter().map(|(label, value)| (label, value.to_owned())).collect();
        Self { name, value, unit, labels }
    }
}

/// The body of a report about the time between two moments.
fn body(before: &PacketTotals, now: &PacketTotals, times: (Duration, Duration), started: u64) -> Vec<u8> {
    let mut items = Vec::new();
    for (origin, dropped) in &now.dropped_of {
        let more = since(before.dropped_of.get(origin).copied().unwrap_or(0), *dropped);
        items.extend((more > 0).then(|| Item::new("dropped", more, "packet", Some(("origin", origin)))));
    }
    for (index, family) in ["ipv4", "ipv6"].into_iter().enumerate() {
        let of = [(before.dropped, now.dropped, "packet"), (before.dropped_bytes, now.dropped_bytes, "byte")];
        items.extend(of.map(|(before, now, unit)| {
            let more = since(before[index], now[index]);
            Item::new("dropped_total", more, unit, Some(("ip_type", family)))
        }));
    }
    items.push(Item::new("processed", since(before.processed, now.processed), "packet", None));
    let active = now.active.iter();
    items.extend(
        active.map(|(origin, count)| Item::new("active_decisions", *count, "ip", Some(("origin", origin)))),
    );
    let (window, wall) = times;
    let meta = Meta { window_size_seconds: window.as_secs(), utc_now_timestamp: wall.as_secs() };
    let component = Component {
        r#type: poll::AGENT.split('/').next().unwrap_or_default(),
        version: poll::AGENT.split('/').nth(1).unwrap_or_default(),
        os: os(),
        feature_flags: [],
        utc_startup_timestamp: started,
        metrics: [Detailed { meta, items }],
    };
    serde_json::to_vec(&UsageBody { remediation_components: [component] }).unwrap_or_default()
}

/// How much a counter has grown. One that is smaller than before has restarted.
fn since(before: u64, now: u64) -> u64 {
    now.checked_sub(before).unwrap_or(now)
}

/// The operating system, as `/etc/os-release` names it.
fn os() -> Os {
    let text = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.map_or_else(|| "unknown".to_owned(), |word| word.trim_matches('"').to_owned())
    };
    Os { name: value("ID"), version: value("VERSION_ID") }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn totals(capi: u64, bytes: u64) -> PacketTotals {
        PacketTotals {
            dropped_of: [("CAPI".to_owned(), capi), ("cscli".to_owned(), 3)].into(),
            dropped: [capi, 2],
            dropped_bytes: [bytes, 0],
            processed: 100 + capi,
            active: [("CAPI".to_owned(), 15_000)].into(),
        }
    }

    fn items(before: &PacketTotals, now: &PacketTotals) -> Vec<Value> {
        let body =
            body(before, now, (Duration::from_secs(900), Duration::from_secs(1_800_000_000)), 1_799_999_000);
        let body: Value = serde_json::from_slice(&body).unwrap();
        let component = &body["remediation_components"][0];
        assert_eq!(component["type"], "crowdsec-filterd-bouncer");
        assert_eq!(component["utc_startup_timestamp"], 1_799_999_000);
        assert!(component["version"].as_str().unwrap().starts_with('v'));
        let meta = json!({"window_size_seconds": 900, "utc_now_timestamp": 1_800_000_000});
        assert_eq!(component["metrics"][0]["meta"], meta);
        component["metrics"][0]["items"].as_array().unwrap().clone()
    }

    /// The shape is that of CrowdSec's swagger: `metrics` is an array, and each item has labels.
    #[test]
    fn a_report_has_the_differences() {
        let items = items(&totals(10, 1000), &totals(15, 1600));
        for item in [
            json!({"name": "dropped", "unit": "packet", "value": 5, "labels": {"origin": "CAPI"}}),
            json!({"name": "dropped_total", "unit": "byte", "value": 600, "labels": {"ip_type": "ipv4"}}),
            json!({"name": "processed", "unit": "packet", "value": 5, "labels": {}}),
            json!({"name": "active_decisions", "unit": "ip", "value": 15_000, "labels": {"origin": "CAPI"}}),
        ] {
            assert!(items.contains(&item), "{item}: {items:#?}");
        }
        assert!(!items.iter().any(|item| item["labels"]["origin"] == "cscli"), "nothing new: {items:#?}");
    }

    #[test]
    fn a_restarted_counter_begins_anew() {
        let items = items(&totals(10, 1000), &totals(4, 400));
        let dropped = json!({"name": "dropped", "unit": "packet", "value": 4, "labels": {"origin": "CAPI"}});
        assert!(items.contains(&dropped), "{items:#?}");
    }
}
