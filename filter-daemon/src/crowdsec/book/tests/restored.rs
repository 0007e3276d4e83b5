//! Tests of entries that the journal had.

use filter_common::ports::Range;

use super::*;

fn restored(entries: &[(&str, i64)]) -> DecisionBook {
    let mut book = DecisionBook::new("main", None);
    for (target, ends) in entries {
        let note = Some("reason 1 (decision 1)".into());
        book.restore("crowdsec-cscli".into(), target.parse().unwrap(), at(*ends), note);
    }
    book
}

#[test]
fn restored_entry_changes_nothing() {
    let mut book = restored(&[("192.0.2.1", 100)]);
    assert_eq!(changes(&mut book, 0), [""; 0]);
    assert_eq!((book.entries(), book.decided(), book.enforced()), (1, 0, 0));
    assert_eq!(book.by_origin().count(), 0);
    assert_eq!((changes(&mut book, 100), book.entries()), (vec![], 0));
}

#[test]
fn restored_entries_move_to_the_present_ports() {
    let mut book = DecisionBook::new("main", clause(22));
    for target in ["192.0.2.1", "192.0.2.2"] {
        book.restore("crowdsec-cscli-except-443".into(), target.parse().unwrap(), at(1_000), None);
    }
    let moved = |from: &str, to: &str, ports: [&str; 2]| {
        let [before, now] = ports;
        [format!("-{from}{before}"), format!("-{to}{before}"), format!("+{from}{now}"), format!("+{to}{now}")]
    };
    let shown = |book: &mut DecisionBook| {
        let of = |change: &EntryChange| match change {
            EntryChange::Want { list, target, .. } => format!("+{target} {list}"),
            EntryChange::Release { list, target } => format!("-{target} {list}"),
        };
        book.take_changes(at(1)).iter().map(of).collect::<Vec<_>>()
    };
    let lists = [" crowdsec-cscli-except-443", " crowdsec-cscli-only-22", " crowdsec-cscli"];
    assert_eq!(shown(&mut book), moved("192.0.2.1", "192.0.2.2", [lists[0], lists[1]]));
    book.take_full(new(&[decision(1, "192.0.2.1", 1_000)]), at(2), 50);
    assert_eq!((book.decided(), book.unconfirmed()), (1, 1));
    shown(&mut book);
    book.set_ports(None);
    assert_eq!(shown(&mut book), moved("192.0.2.1", "192.0.2.2", [lists[1], lists[2]]));
    assert_eq!((book.decided(), book.enforced(), book.unconfirmed()), (1, 1, 1));
    assert_eq!(book.by_origin().map(|(_, list, _)| &**list).collect::<Vec<_>>(), ["crowdsec-cscli"]);
    book.set_ports(None);
    assert_eq!(shown(&mut book), [""; 0]);
}

fn clause(port: u16) -> Option<Clause> {
    Clause::new(false, [Range::new(port, port)?]).ok()
}

#[test]
fn full_answer_adopts_a_restored_entry() {
    let mut book = restored(&[("192.0.2.1", 1_000), ("192.0.2.2", 1_000), ("192.0.2.3", 1_000)]);
    let decisions =
        [decision(1, "192.0.2.1", 1_001), decision(2, "192.0.2.2", 2_000), decision(3, "192.0.2.3", 500)];
    let report = book.take_full(new(&decisions), at(10), 50);
    assert_eq!(report, FullReport::default());
    let expected = ["+192.0.2.2 2000 reason 2 (decision 2)", "+192.0.2.3 500 reason 3 (decision 3)"];
    assert_eq!(changes(&mut book, 10), expected, "the first one lasts as before");
    assert_eq!((book.entries(), book.decided(), book.enforced()), (3, 3, 3));
    book.take_delta(deleted(&[1]), at(20));
    assert_eq!(changes(&mut book, 20), ["-192.0.2.1"]);
}

#[test]
fn other_decision_keeps_its_own_end() {
    let mut book = restored(&[("192.0.2.1", 1_000)]);
    book.take_full(new(&[decision(7, "192.0.2.1", 1_002)]), at(10), 50);
    assert_eq!(changes(&mut book, 10), ["+192.0.2.1 1002 reason 7 (decision 7)"]);
}

#[test]
fn delta_does_not_adopt() {
    let mut book = restored(&[("192.0.2.1", 1_000)]);
    book.take_delta(new(&[decision(9, "192.0.2.1", 500)]), at(10));
    assert_eq!(changes(&mut book, 10), [""; 0]);
    book.take_delta(deleted(&[9]), at(20));
    assert_eq!(changes(&mut book, 20), [""; 0]);
}

#[test]
fn other_list_does_not_adopt() {
    let mut book = restored(&[("192.0.2.1", 1_000)]);
    let other = Decision { origin: "CAPI".into(), ..decision(1, "192.0.2.1", 1_000) };
    assert_eq!(book.take_full(new(&[other]), at(10), 50).absent, 1);
}

#[test]
fn absent_restored_entry_goes_after_two_answers() {
    let mut book = restored(&[("192.0.2.1", 1_000), ("192.0.2.2", 1_000)]);
    let full = [decision(2, "192.0.2.2", 1_000)];
    assert_eq!(book.take_full(new(&full), at(10), 50), FullReport { absent: 1, ..FullReport::default() });
    assert_eq!(book.next_confirmation(), Some(at(70)));
    assert_eq!(changes(&mut book, 10), ["+192.0.2.2 1000 reason 2 (decision 2)"]);
    let report = book.take_full(new(&full), at(70), 50);
    assert_eq!(report, FullReport { absent: 1, removed: 1, ..FullReport::default() });
    assert_eq!(changes(&mut book, 70), ["-192.0.2.1"]);
}

#[test]
fn restored_entries_count_for_the_limit() {
    let mut book = restored(&[("192.0.2.1", 1_000), ("192.0.2.2", 1_000)]);
    book.take_full(new(&[]), at(10), 50);
    assert_eq!(book.take_full(new(&[]), at(80), 50).held_back, 2);
    assert_eq!((changes(&mut book, 80), book.entries()), (vec![], 2));
}

#[test]
fn delta_clears_the_mark_of_a_restored_entry() {
    let mut book = restored(&[("192.0.2.1", 1_000), ("192.0.2.2", 1_000)]);
    book.take_full(new(&[decision(2, "192.0.2.2", 1_000)]), at(10), 50);
    book.take_delta(new(&[decision(3, "192.0.2.1", 500)]), at(20));
    assert_eq!(book.next_confirmation(), None);
}

#[test]
fn unknown_networks_keep_restored_entries() {
    let mut book = restored(&[("192.0.2.0/24", 1_000), ("198.51.100.0/24", 1_000), ("203.0.113.1", 1_000)]);
    let full = [on_scope(1, autonomous("AS64500"), 1_001)];
    for seconds in [10, 100] {
        assert_eq!(book.take_full(new(&full), at(seconds), 50), FullReport::default());
    }
    let networks = ["192.0.2.0/24", "198.51.100.0/24"].map(|word| word.parse::<Target>().unwrap());
    book.set_networks(&full[0].scope, Some(networks.into_iter().collect()));
    assert_eq!(book.take_full(new(&full), at(200), 50).absent, 1);
    assert_eq!(book.take_full(new(&full), at(300), 50).removed, 1);
    assert_eq!(changes(&mut book, 300), ["-203.0.113.1"]);
    assert_eq!((book.decided(), book.enforced(), book.entries()), (1, 1, 2));
}

#[test]
fn networks_of_no_database_keep_nothing() {
    let mut book = restored(&[("192.0.2.1", 1_000), ("192.0.2.2", 1_000)]);
    let full = [on_scope(1, autonomous("AS64500"), 1_000), decision(2, "192.0.2.2", 1_000)];
    book.take_full(new(&full), at(10), 50);
    book.set_networks(&full[0].scope, None);
    assert_eq!(book.take_full(new(&full), at(80), 50).absent, 1);
}

#[test]
fn restored_entry_outlasts_a_shorter_decision() {
    let mut book = DecisionBook::new("main", None);
    book.restore("crowdsec-cscli".into(), "192.0.2.1".parse().unwrap(), at(100), None);
    book.take_delta(new(&[decision(1, "192.0.2.1", 500)]), at(0));
    assert_eq!(changes(&mut book, 0), ["+192.0.2.1 500 reason 1 (decision 1)"]);
    book.take_delta(deleted(&[1]), at(10));
    assert_eq!(changes(&mut book, 10), ["+192.0.2.1 100 decided before filterd started"]);
}
