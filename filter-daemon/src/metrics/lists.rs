//! Series of lists: their entries, their age, and the packets that count for them.

use super::exposition::Exposition;
use super::{MetricFamily, Snapshot};
use crate::control::wire::Hits;
use crate::control::wire::lists::{Fetching, ListDetails};
use crate::control::wire::status::NOT_FILTERED;

pub const FAMILIES: [MetricFamily; 12] = [
    MetricFamily::gauge(
        "filterd_list_entries",
        "Number of entries of a list; its label says whether it blocks or allows.",
        |snapshot, series| {
            for list in &snapshot.lists {
                let effect = if list.allows { "allow" } else { "block" };
                let labels = [("list", list.name.as_str()), ("kind", &list.kind), ("effect", effect)];
                series.tell(&labels, list.entries);
            }
        },
    ),
    MetricFamily::gauge(
        "filterd_entries_wanted",
        "Entries of all lists that block. An entry that several lists have counts for each.",
        |snapshot, series| series.alone(wanted(snapshot)),
    ),
    MetricFamily::gauge(
        "filterd_entries_enforced",
        "Entries of the kernel's tables for which packets are dropped on any interface; 0 while none are dropped. An entry of \
         several lists counts once, and an IPv4 prefix longer than /24 once for each of its addresses.",
        |snapshot, series| series.alone(enforced(snapshot)),
    ),
    MetricFamily::counter(
        "filterd_list_packets_total",
        "Packets counted for a list. If several lists have the entry, they count for the first one, and lists without ports come \
         first.",
        |snapshot, series| {
            for list in &snapshot.lists {
                list.hits.iter().for_each(|hits| tell_hits(series, Some(&list.name), hits));
            }
        },
    ),
    MetricFamily::counter(
        "filterd_other_lists_packets_total",
        "Packets for all lists without counters of their own.",
        |snapshot, series| snapshot.other.iter().for_each(|hits| tell_hits(series, None, hits)),
    ),
    MetricFamily::counter(
        "filterd_gone_lists_packets_total",
        "Packets for all lists that no longer exist.",
        |snapshot, series| snapshot.gone.iter().for_each(|hits| tell_hits(series, None, hits)),
    ),
    MetricFamily::gauge(
        "filterd_list_held_back",
        "1 while the previous version of a list is in force, because its file or server has something that was not \
         accepted.",
        |snapshot, series| {
            each(snapshot, series, |list| (!is_live(list)).then(|| u64::from(list.fault.is_some())));
        },
    ),
    MetricFamily::gauge(
        "filterd_list_rejected_lines",
        "Lines of a list that were not understood when it was last read.",
        |snapshot, series| each(snapshot, series, |list| (!is_live(list)).then_some(list.rejected)),
    ),
    MetricFamily::gauge(
        "filterd_list_read_timestamp_seconds",
        "Time at which the version of a list in force was read, in seconds since 1970.",
        |snapshot, series| each(snapshot, series, |list| list.read),
    ),
    MetricFamily::gauge(
        "filterd_list_success_timestamp_seconds",
        "Time at which a list's server last confirmed this version, in seconds since 1970.",
        |snapshot, series| each_fetched(snapshot, series, |fetching| fetching.checked.or(fetching.fetched)),
    ),
    MetricFamily::gauge(
        "filterd_list_next_fetch_timestamp_seconds",
        "Time of the next download of a list, in seconds since 1970.",
        |snapshot, series| each_fetched(snapshot, series, |fetching| Some(fetching.next)),
    ),
    MetricFamily::gauge(
        "filterd_list_fetch_failed",
        "1 if the last download of a list failed.",
        |snapshot, series| each_fetched(snapshot, series, |fetching| Some(fetching.failed.is_some().into())),
    ),
];

fn wanted(snapshot: &Snapshot) -> u64 {
    snapshot.lists.iter().filter(|list| !list.allows).map(|list| list.entries).sum()
}

fn enforced(snapshot: &Snapshot) -> u64 {
    let is_filtered = snapshot.interfaces.iter().any(|one| one.mode != NOT_FILTERED);
    if !is_filtered || !snapshot.enforce || snapshot.paused.is_some() {
        return 0;
    }
    snapshot.tables.iter().filter(|table| table.blocks).map(|table| table.entries).sum()
}

fn is_live(list: &ListDetails) -> bool {
    list.kind == "live"
}

fn each(snapshot: &Snapshot, series: &mut Exposition, of: fn(&ListDetails) -> Option<u64>) {
    for list in &snapshot.lists {
        series.known(&[("list", &list.name)], of(list));
    }
}

fn each_fetched(snapshot: &Snapshot, series: &mut Exposition, of: fn(&Fetching) -> Option<u64>) {
    for list in &snapshot.lists {
        series.known(&[("list", &list.name)], list.fetching.as_ref().and_then(of));
    }
}

fn tell_hits(series: &mut Exposition, list: Option<&str>, hits: &Hits) {
    let counted = [
        ("drop", hits.dropped),
        ("would_drop", hits.would_drop),
        ("paused", hits.paused),
        ("reply", hits.replies),
    ];
    for (verdict, packets) in counted {
        let labels = [("list", list.unwrap_or_default()), ("verdict", verdict)];
        series.tell(&labels[usize::from(list.is_none())..], packets);
    }
}
