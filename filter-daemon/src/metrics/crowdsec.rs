//! Series of CrowdSec: whether it answers, and how many of its decisions are enforced.

use super::exposition::Exposition;
use super::{MetricFamily, Snapshot};
use crate::control::wire::crowdsec::CrowdSecState;

pub const FAMILIES: [MetricFamily; 6] = [
    MetricFamily::gauge(
        "filterd_crowdsec_connected",
        "1 while this CrowdSec answers as it should.",
        |snapshot, series| each(snapshot, series, |one| Some(one.connected_since.is_some().into())),
    ),
    MetricFamily::gauge(
        "filterd_crowdsec_answer_timestamp_seconds",
        "Time of the last complete answer, in seconds since 1970.",
        |snapshot, series| each(snapshot, series, |one| one.last_pull),
    ),
    MetricFamily::counter(
        "filterd_crowdsec_received_total",
        "Decisions received. A decision that is sent again counts again.",
        |snapshot, series| each(snapshot, series, |one| Some(one.received)),
    ),
    MetricFamily::gauge(
        "filterd_crowdsec_decided",
        "Decisions that hold now and have an accepted type.",
        |snapshot, series| each(snapshot, series, |one| Some(one.decided)),
    ),
    MetricFamily::gauge(
        "filterd_crowdsec_enforced",
        "Decisions of these that are in force. Alert if this stays below the number of decisions.",
        |snapshot, series| each(snapshot, series, |one| Some(one.enforced)),
    ),
    MetricFamily::gauge(
        "filterd_crowdsec_guarded",
        "Guarded addresses within these decisions, which still pass.",
        |snapshot, series| each(snapshot, series, |one| Some(one.guarded)),
    ),
];

fn each(snapshot: &Snapshot, series: &mut Exposition, of: fn(&CrowdSecState) -> Option<u64>) {
    for one in &snapshot.crowdsec {
        series.known(&[("crowdsec", &one.name)], of(one));
    }
}
