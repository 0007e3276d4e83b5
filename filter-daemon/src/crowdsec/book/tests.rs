//! Tests of the rules by which decisions become entries.

mod absence;
mod restored;
mod scopes;
mod walk;

use super::*;

const START: u32 = 1_000_000;

/// So many seconds after the tests start.
fn at(seconds: i64) -> Timestamp {
    Timestamp::from_secs(START).later_by(seconds)
}

/// A decision of cscli that ends so many seconds after the start.
fn decision(id: u64, target: &str, ends: i64) -> Decision {
    Decision {
        id,
        origin: "cscli".into(),
        kind: "ban".into(),
        scope: Scope::Target(target.parse().unwrap()),
        scenario: format!("reason {id}").into(),
        until: at(ends),
    }
}

fn on_scope(id: u64, scope: Scope, ends: i64) -> Decision {
    Decision { scope, ..decision(id, "192.0.2.1", ends) }
}

fn autonomous(word: &str) -> Scope {
    Scope::Autonomous(word.parse().unwrap())
}

fn answer(new: Vec<Decision>, deleted: &[u64]) -> StreamAnswer {
    StreamAnswer { new, deleted: deleted.to_vec(), ..StreamAnswer::default() }
}

fn new(decisions: &[Decision]) -> StreamAnswer {
    answer(decisions.to_vec(), &[])
}

fn deleted(ids: &[u64]) -> StreamAnswer {
    answer(Vec::new(), ids)
}

/// A book with these decisions, all of them enforced.
fn book_with(decisions: &[Decision]) -> DecisionBook {
    let mut book = DecisionBook::new("main", None);
    book.take_full(new(decisions), at(0), 50);
    book.take_changes(at(0));
    book
}

/// The changes as short texts: `+192.0.2.1 100 note` and `-192.0.2.1`.
fn shown(changes: &[EntryChange]) -> Vec<String> {
    let shown = |change: &EntryChange| match change {
        EntryChange::Want { target, until, note, .. } => format!("+{target} {} {note}", until.after(at(0))),
        EntryChange::Release { target, .. } => format!("-{target}"),
    };
    changes.iter().map(shown).collect()
}

fn changes(book: &mut DecisionBook, seconds: i64) -> Vec<String> {
    shown(&book.take_changes(at(seconds)))
}

#[test]
fn decision_becomes_an_entry_of_its_origin() {
    let mut book = DecisionBook::new("dmz", None);
    book.take_delta(new(&[decision(4711, "192.0.2.1", 100)]), at(0));
    let expected = EntryChange::Want {
        list: "crowdsec-dmz-cscli".into(),
        target: "192.0.2.1".parse().unwrap(),
        until: at(100),
        note: "reason 4711 (decision 4711)".into(),
    };
    assert_eq!(book.take_changes(at(0)), [expected]);
    assert_eq!(book.take_changes(at(0)), []);
}

#[test]
fn longest_decision_counts() {
    let mut book = book_with(&[decision(1, "192.0.2.1", 100), decision(2, "192.0.2.1", 300)]);
    book.take_delta(new(&[decision(3, "192.0.2.1", 200)]), at(1));
    assert_eq!(changes(&mut book, 1), [""; 0]);
    book.take_delta(deleted(&[2]), at(2));
    assert_eq!(changes(&mut book, 2), ["+192.0.2.1 200 reason 3 (decision 3)"]);
    book.take_delta(deleted(&[1]), at(3));
    assert_eq!(changes(&mut book, 3), [""; 0]);
    book.take_delta(deleted(&[3]), at(4));
    assert_eq!(changes(&mut book, 4), ["-192.0.2.1"]);
    assert_eq!((book.entries(), book.decided()), (0, 0));
}

#[test]
fn later_decision_extends_an_entry() {
    let mut book = book_with(&[decision(1, "192.0.2.1", 100)]);
    book.take_delta(new(&[decision(2, "192.0.2.1", 500)]), at(1));
    assert_eq!(changes(&mut book, 1), ["+192.0.2.1 500 reason 2 (decision 2)"]);
}

#[test]
fn lists_of_origins_are_separate() {
    let mut book = book_with(&[decision(1, "192.0.2.1", 100)]);
    let other = Decision { origin: "CAPI".into(), ..decision(2, "192.0.2.1", 200) };
    book.take_delta(new(&[other]), at(1));
    assert_eq!(book.take_changes(at(1)).len(), 1);
    book.take_delta(deleted(&[1]), at(2));
    let release =
        EntryChange::Release { list: "crowdsec-cscli".into(), target: "192.0.2.1".parse().unwrap() };
    assert_eq!(book.take_changes(at(2)), [release]);
    let origins: Vec<_> = book.by_origin().map(|(origin, list, count)| (&**origin, &**list, count)).collect();
    assert_eq!(origins, [("CAPI", "crowdsec-capi", 1)]);
}

#[test]
fn repeated_id_replaces_the_terms_and_unblocks_nothing() {
    let mut book = book_with(&[decision(1, "192.0.2.1", 100)]);
    book.take_delta(new(&[decision(1, "192.0.2.2", 50)]), at(1));
    assert_eq!(changes(&mut book, 1), ["+192.0.2.2 50 reason 1 (decision 1)"]);
    assert_eq!((book.unconfirmed(), book.entries()), (1, 2), "the first target stays until its end");
    book.take_delta(new(&[decision(1, "192.0.2.2", 20)]), at(2));
    assert_eq!(changes(&mut book, 2), ["+192.0.2.2 20 reason 1 (decision 1)"]);
    let reason = Decision { scenario: "another".into(), ..decision(1, "192.0.2.2", 20) };
    book.take_delta(new(&[reason]), at(3));
    assert_eq!(changes(&mut book, 3), ["+192.0.2.2 20 another (decision 1)"]);
    assert_eq!(book.decided(), 1);
}

#[test]
fn deletes_come_before_adds() {
    let mut book = book_with(&[decision(1, "192.0.2.1", 100)]);
    book.take_delta(answer(vec![decision(1, "192.0.2.1", 100)], &[1, 1]), at(1));
    assert_eq!(changes(&mut book, 1), [""; 0]);
    assert_eq!(book.decided(), 1);
}

#[test]
fn unknown_deletes_are_ignored() {
    let mut book = book_with(&[decision(1, "192.0.2.1", 100)]);
    book.take_delta(deleted(&[2, 2, u64::MAX]), at(1));
    book.take_delta(deleted(&[1, 1]), at(1));
    assert_eq!(changes(&mut book, 1), ["-192.0.2.1"]);
}

#[test]
fn ended_decision_is_not_in_force() {
    let mut book = book_with(&[decision(1, "192.0.2.1", 100)]);
    book.take_delta(new(&[decision(2, "192.0.2.2", 1), decision(3, "192.0.2.3", -7)]), at(1));
    assert_eq!((changes(&mut book, 1), book.decided()), (vec![], 1));
    book.take_delta(new(&[decision(1, "192.0.2.1", -1)]), at(2));
    assert_eq!((changes(&mut book, 2), book.decided()), (vec!["-192.0.2.1".to_owned()], 0));
}

#[test]
fn ended_entry_is_forgotten_silently() {
    let mut book = book_with(&[decision(1, "192.0.2.1", 100), decision(2, "192.0.2.1", 50)]);
    assert_eq!((changes(&mut book, 50), book.decided()), (vec![], 1));
    assert_eq!((changes(&mut book, 99), book.entries()), (vec![], 1));
    assert_eq!((changes(&mut book, 100), book.entries()), (vec![], 0));
    book.take_delta(new(&[decision(3, "192.0.2.1", 200)]), at(101));
    assert_eq!(changes(&mut book, 101).len(), 1);
}

/// LAPI sends durations in nanoseconds, and answers take time. Such differences must not rewrite all entries.
#[test]
fn small_differences_of_ends_change_nothing() {
    let mut book = book_with(&[decision(1, "192.0.2.1", 1_000)]);
    for (seconds, ends) in [(1, 1_001), (2, 998), (3, 1_002), (4, 999)] {
        book.take_full(new(&[decision(1, "192.0.2.1", ends)]), at(seconds), 50);
        assert_eq!(changes(&mut book, seconds), [""; 0]);
    }
    book.take_full(new(&[decision(1, "192.0.2.1", 1_003)]), at(5), 50);
    assert_eq!(changes(&mut book, 5), ["+192.0.2.1 1003 reason 1 (decision 1)"]);
}

#[test]
fn refused_change_is_returned_again() {
    let mut book = DecisionBook::new("main", None);
    book.take_delta(new(&[decision(1, "192.0.2.1", 100), decision(2, "192.0.2.2", 100)]), at(0));
    let first = book.take_changes(at(0));
    assert_eq!((first.len(), book.enforced()), (2, 2));
    book.refuse(&first[0]);
    assert_eq!((book.decided(), book.enforced()), (2, 1));
    assert_eq!(book.take_changes(at(1)), first[..1]);
    assert_eq!((book.enforced(), book.take_changes(at(2))), (2, vec![]));
}

#[test]
fn refused_entry_needs_no_release() {
    let mut book = DecisionBook::new("main", None);
    book.take_delta(new(&[decision(1, "192.0.2.1", 100)]), at(0));
    for change in book.take_changes(at(0)) {
        book.refuse(&change);
    }
    book.take_delta(deleted(&[1]), at(1));
    assert_eq!((changes(&mut book, 1), book.entries()), (vec![], 0));
}

/// The blocklist still has the entry with its earlier end.
#[test]
fn entry_with_refused_extension_is_released() {
    let mut book = book_with(&[decision(1, "192.0.2.1", 100)]);
    book.take_delta(new(&[decision(2, "192.0.2.1", 200)]), at(1));
    for change in book.take_changes(at(1)) {
        book.refuse(&change);
    }
    book.take_delta(deleted(&[1, 2]), at(2));
    assert_eq!(changes(&mut book, 2), ["-192.0.2.1"]);
}

#[test]
fn refused_release_is_returned_until_the_end() {
    let mut book = book_with(&[decision(1, "192.0.2.1", 100)]);
    book.take_delta(deleted(&[1]), at(1));
    for seconds in [1, 50, 99] {
        let changes = book.take_changes(at(seconds));
        assert_eq!(shown(&changes), ["-192.0.2.1"]);
        book.refuse(&changes[0]);
        assert_eq!(book.entries(), 1);
    }
    assert_eq!((changes(&mut book, 100), book.entries()), (vec![], 0));
}

#[test]
fn decision_after_refused_release_changes_the_entry() {
    let mut book = book_with(&[decision(1, "192.0.2.1", 100)]);
    book.take_delta(deleted(&[1]), at(1));
    let release = book.take_changes(at(1));
    book.take_delta(new(&[decision(2, "192.0.2.1", 50)]), at(2));
    book.refuse(&release[0]);
    assert_eq!(changes(&mut book, 2), ["+192.0.2.1 50 reason 2 (decision 2)"]);
}

#[test]
fn releases_come_before_wants() {
    let mut book = book_with(&[decision(1, "192.0.2.9", 100)]);
    book.take_delta(answer(vec![decision(2, "192.0.2.1", 100)], &[1]), at(1));
    assert_eq!(changes(&mut book, 1), ["-192.0.2.9", "+192.0.2.1 100 reason 2 (decision 2)"]);
}

#[test]
fn note_without_scenario_has_the_id() {
    let mut book = DecisionBook::new("main", None);
    book.take_delta(new(&[Decision { scenario: "".into(), ..decision(1, "192.0.2.1", 100) }]), at(0));
    assert_eq!(changes(&mut book, 0), ["+192.0.2.1 100 decision 1"]);
}

#[test]
fn many_decisions_are_taken_at_once() {
    let many: Vec<_> = (0..100_000)
        .map(|id| Decision {
            scope: Scope::Target(std::net::Ipv4Addr::from(id as u32).into()),
            ..decision(id, "192.0.2.1", 100 + id as i64 % 1_000)
        })
        .collect();
    let mut book = DecisionBook::new("main", None);
    book.take_full(new(&many), at(0), 50);
    assert_eq!(book.take_changes(at(0)).len(), 100_000);
    assert_eq!((book.decided(), book.enforced(), book.entries()), (100_000, 100_000, 100_000));
    book.take_full(new(&many), at(10), 50);
    assert_eq!(book.take_changes(at(10)), []);
    book.take_full(deleted(&(0..50_000).collect::<Vec<_>>()), at(20), 50);
    assert_eq!(book.take_changes(at(20)).len(), 50_000);
    assert_eq!((book.take_changes(at(2_000)), book.entries()), (vec![], 0));
}
