//! Tests of a scrape, and that documentation, alerts and dashboard use series that exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use super::*;
use crate::control::wire::crowdsec::CrowdSecState;
use crate::control::wire::lists::{self, Fetching, ListDetails};
use crate::control::wire::snapshot::{Changes, Sampled, TopSources, Within};
use crate::control::wire::stats::{Counted, OnInterface};
use crate::control::wire::status::{Flows, Interface, NOT_FILTERED, Paused, Received, Table};
use crate::control::wire::{About, Fault, Hits};
use crate::text::Explanation;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// A snapshot with one of everything.
fn snapshot() -> Snapshot {
    let hits = Some(Hits { dropped: 5, would_drop: 1, paused: 2, replies: 3 });
    Snapshot {
        filterd: "0.1.0".into(),
        started: 1_800_000_000,
        enforce: true,
        interfaces: vec![Interface {
            name: "eth0".into(),
            mode: "native".into(),
            driver: Some("virtio_net".into()),
            unprotected: 3,
            gaps: 1,
            received: Some(Received {
                kernel_rx_packets: 10,
                kernel_rx_bytes: 600,
                kernel_rx_dropped: 11,
                kernel_rx_errors: 12,
            }),
            ..Interface::default()
        }],
        tables: vec![
            Table {
                name: "ipv4 addresses".into(),
                entries: 7,
                capacity: 13,
                bytes: 4096,
                blocks: true,
                growths: 2,
                relocations: 14,
                ..Table::default()
            },
            Table { name: "allowed ipv4 addresses".into(), entries: 100, ..Table::default() },
        ],
        changes: Changes { count: 3, seconds: 0.25, within: vec![Within { seconds: 0.001, changes: 2 }] },
        flows: Some(Flows { room: 9, begun: 8, found: 0, tcp_age: 1, age: 1, ports: "32768-60999".into() }),
        reasons: vec![Counted {
            reason: "listed".into(),
            verdict: "drop".into(),
            packets: 6,
            ..Counted::default()
        }],
        by_interface: [Some("eth0".to_owned()), None]
            .map(|interface| OnInterface {
                interface,
                reason: "listed".into(),
                verdict: "drop".into(),
                packets: 3,
                bytes: 180,
            })
            .to_vec(),
        top_sources: Some(TopSources {
            over: 8.0,
            samples: 3,
            rows: [Some("drop".to_owned()), None]
                .map(|list| Sampled { name: "192.0.2.9".into(), list, packets: 20, bytes: 1200, samples: 3 })
                .to_vec(),
            ..TopSources::default()
        }),
        other: hits,
        gone: hits,
        crowdsec: vec![CrowdSecState {
            name: "main".into(),
            connected_since: Some(5),
            last_pull: Some(6),
            received: 9,
            decided: 4,
            enforced: 3,
            guarded: 1,
            ..CrowdSecState::default()
        }],
        lists: vec![ListDetails {
            name: "a\"b\\c\nd".into(),
            kind: "url".into(),
            entries: 4,
            rejected: 15,
            hits,
            written: Some(1_700_000_000),
            read: Some(1_800_000_001),
            fetching: Some(Fetching {
                checked: Some(1_800_000_002),
                next: 1_800_000_003,
                ..Fetching::default()
            }),
            ..ListDetails::default()
        }],
        ..Snapshot::default()
    }
}

/// The whole scrape is the one in sample.txt. `METRICS_DOCS=write` writes it again; look at the difference.
#[test]
fn each_series_is_as_reviewed() {
    let text = text(&snapshot());
    let sample = file("filter-daemon/src/metrics/sample.txt");
    if env::var_os("METRICS_DOCS").is_some() {
        fs::write(&sample, &text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&sample).unwrap_or_default());
    for family in families() {
        let kind = format!("# TYPE {} {}\n", family.name, family.kind.word());
        assert_eq!(text.matches(&kind).count(), 1, "{kind}");
    }
}

#[test]
fn series_show_held_back_lists_and_pauses() {
    let has = |snapshot: &Snapshot, line: &str| text(snapshot).lines().any(|told| told == line);
    let fault = || Some(lists::Trouble { since: 1, told: Explanation::new("it is empty", "mend it") });
    let list = ListDetails { fault: fault(), ..snapshot().lists[0].clone() };
    let failed = Fetching { failed: fault(), checked: None, fetched: Some(7), ..Fetching::default() };
    let fetched = ListDetails { name: "b".into(), fetching: Some(failed), ..snapshot().lists[0].clone() };
    let held_back = Snapshot { lists: vec![list, fetched], ..snapshot() };
    assert!(has(&held_back, "filterd_list_held_back{list=\"a\\\"b\\\\c\\nd\"} 1"));
    assert!(has(&held_back, "filterd_list_held_back{list=\"b\"} 0"));
    assert!(has(&held_back, "filterd_list_fetch_failed{list=\"b\"} 1"));
    assert!(
        has(&held_back, "filterd_list_success_timestamp_seconds{list=\"b\"} 7"),
        "nobody has asked since"
    );
    let paused = Snapshot { paused: Some(Paused { since: 1, until: 2, by: "root".into() }), ..snapshot() };
    assert!(has(&paused, "filterd_enforcing 0") && has(&paused, "filterd_paused 1"));
    assert!(has(&Snapshot { enforce: false, ..snapshot() }, "filterd_enforcing 0"));
    let told = Explanation::new("the disk is full", "make room");
    let faults = vec![Fault { about: About::Durability, since: 0, told, id: None }];
    let faulty = Snapshot { faults, ..snapshot() };
    assert!(
        has(&faulty, "filterd_faults{about=\"durability\"} 1")
            && has(&faulty, "filterd_faults{about=\"lists\"} 0")
    );
}

#[test]
fn family_without_values_is_omitted() {
    let text = text(&Snapshot::default());
    assert!(!text.contains("filterd_list_entries") && !text.contains("filterd_flows"), "{text}");
    assert!(!text.contains("filterd_source"), "nobody has asked for sources: {text}");
    assert!(text.contains("\nfilterd_protected 0\n"), "nothing is filtered: {text}");
}

#[test]
fn protection_series_falls_only_when_packets_pass() {
    let with = |about| {
        let told = Explanation::new("a fault", "mend it");
        Snapshot { faults: vec![Fault { about, since: 0, told, id: None }], ..snapshot() }
    };
    assert!(with(About::Lists).is_protected());
    assert!(!with(About::Protection).is_protected());
    let unfiltered = Interface { mode: NOT_FILTERED.into(), ..Interface::default() };
    assert!(!Snapshot { interfaces: vec![unfiltered], ..snapshot() }.is_protected());
}

#[test]
fn enforcement_follows_tables_while_packets_drop() {
    let enforced = |snapshot: &Snapshot| {
        let text = text(snapshot);
        let line = text.lines().find_map(|line| line.strip_prefix("filterd_entries_enforced "));
        line.and_then(|value| value.parse::<u64>().ok()).unwrap_or_else(|| panic!("{text}"))
    };
    assert_eq!(enforced(&snapshot()), 7);
    assert_eq!(enforced(&Snapshot { lists: vec![], ..snapshot() }), 7, "whatever lists say");
    assert_eq!(enforced(&Snapshot { enforce: false, ..snapshot() }), 0);
    let paused = Some(Paused { since: 1, until: 2, by: "root".into() });
    assert_eq!(enforced(&Snapshot { paused, ..snapshot() }), 0);
    let unfiltered = Interface { mode: NOT_FILTERED.into(), ..Interface::default() };
    let one_of_two = [snapshot().interfaces, vec![unfiltered.clone()]].concat();
    assert_eq!(enforced(&Snapshot { interfaces: one_of_two, ..snapshot() }), 7, "on the other one they are");
    assert_eq!(enforced(&Snapshot { interfaces: vec![unfiltered], ..snapshot() }), 0);
}

#[test]
fn names_are_as_prometheus_wants_them() {
    let mut names = BTreeSet::new();
    for MetricFamily { name, kind, help, .. } in families() {
        assert!(names.insert(*name), "{name} is there twice");
        assert!(
            name.starts_with("filterd_")
                && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        );
        assert_eq!(name.ends_with("_total"), *kind == MetricKind::Counter, "{name}");
        assert!(help.ends_with('.') || help.ends_with("program."), "{name}: {help}");
        assert!(!help.contains(['\n', '\\']), "{name}");
    }
}

/// Finds the names of series in a file: `filterd_…`, as far as letters go.
fn named_in(text: &str) -> BTreeSet<String> {
    let is_of_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    let places = text.match_indices("filterd_").map(|(at, _)| &text[at..]);
    places
        .map(|rest| rest.split(|letter| !is_of_name(letter)).next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn alerts_and_dashboard_use_existing_series() {
    let suffixes = ["", "_bucket", "_sum", "_count"];
    let there: BTreeSet<String> = families()
        .flat_map(|family| {
            let is_histogram = family.kind == MetricKind::Histogram;
            let known = if is_histogram { &suffixes[..] } else { &suffixes[..1] };
            known.iter().map(|suffix| format!("{}{suffix}", family.name))
        })
        .collect();
    for name in ["configs/prometheus/filterd.rules.yml", "configs/grafana/filterd.json"] {
        let named = named_in(&fs::read_to_string(file(name)).unwrap());
        assert!(named.len() > 5, "{name} names {named:?}");
        let missing: Vec<_> = named.difference(&there).collect();
        assert!(missing.is_empty(), "{name} asks for {missing:?}");
    }
}

#[test]
fn the_document_tells_all_of_them() {
    let mut told = String::from(include_str!("head.md"));
    for MetricFamily { name, kind, help, .. } in families() {
        told += &format!("| `{name}` | {} | {help} |\n", kind.word());
    }
    let document = file("docs/reference/metrics.md");
    if env::var_os("METRICS_DOCS").is_some() {
        fs::write(&document, &told).unwrap();
    }
    let there = fs::read_to_string(&document).unwrap_or_default();
    assert_eq!(there, told, "METRICS_DOCS=write cargo test -p filter-daemon --lib metrics writes it again");
}
