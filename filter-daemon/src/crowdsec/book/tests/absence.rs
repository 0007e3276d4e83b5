//! Tests of full answers that lack decisions.

use super::*;

fn many(ids: std::ops::Range<u64>) -> Vec<Decision> {
    ids.map(|id| decision(id, &format!("192.0.2.{id}"), 10_000)).collect()
}

fn report(missed: u64, absent: u64, removed: u64, held_back: u64) -> FullReport {
    FullReport { missed, absent, removed, held_back }
}

#[test]
fn second_full_answer_confirms_an_absence() {
    let mut book = book_with(&many(0..10));
    assert_eq!(book.next_confirmation(), None);
    assert_eq!(book.take_full(new(&many(1..10)), at(100), 50), report(0, 1, 0, 0));
    assert_eq!(book.next_confirmation(), Some(at(160)));
    assert_eq!(book.take_full(new(&many(1..10)), at(159), 50), report(0, 1, 0, 0));
    assert_eq!((changes(&mut book, 159), book.decided()), (vec![], 10));
    assert_eq!(book.next_confirmation(), Some(at(160)));
    assert_eq!(book.take_full(new(&many(1..10)), at(160), 50), report(0, 1, 1, 0));
    assert_eq!(changes(&mut book, 160), ["-192.0.2.0"]);
    assert_eq!((book.next_confirmation(), book.decided()), (None, 9));
}

#[test]
fn any_answer_clears_the_mark() {
    for is_full in [true, false] {
        let mut book = book_with(&many(0..10));
        book.take_full(new(&many(1..10)), at(100), 50);
        if is_full {
            book.take_full(new(&many(0..10)), at(130), 50);
        } else {
            book.take_delta(new(&many(0..1)), at(130));
        }
        assert_eq!(book.next_confirmation(), None);
        assert_eq!(book.take_full(new(&many(1..10)), at(170), 50), report(0, 1, 0, 0));
        assert_eq!(book.next_confirmation(), Some(at(230)));
        assert_eq!(changes(&mut book, 170), [""; 0]);
    }
}

#[test]
fn deltas_confirm_no_absence() {
    let mut book = book_with(&many(0..10));
    book.take_full(new(&many(1..10)), at(100), 50);
    book.take_delta(new(&many(1..10)), at(500));
    assert_eq!((changes(&mut book, 500), book.decided()), (vec![], 10));
}

#[test]
fn too_many_absences_remove_nothing() {
    let mut book = book_with(&many(0..10));
    book.take_full(new(&many(6..10)), at(100), 50);
    assert_eq!(book.take_full(new(&many(6..10)), at(200), 50), report(0, 6, 0, 6));
    assert_eq!((changes(&mut book, 200), book.decided()), (vec![], 10));
    assert_eq!(book.next_confirmation(), None, "another full answer would say the same");
    assert_eq!(book.take_full(new(&many(5..10)), at(300), 50), report(0, 5, 5, 0), "half of all may go");
    assert_eq!(book.decided(), 5);
    book.take_full(new(&[]), at(400), 100);
    assert_eq!(book.take_full(new(&[]), at(500), 100), report(0, 5, 5, 0), "all may go");
}

#[test]
fn new_absences_are_confirmed_despite_old_ones() {
    let mut book = book_with(&many(0..10));
    book.take_full(new(&many(6..10)), at(100), 50);
    book.take_full(new(&many(7..10)), at(200), 50);
    assert_eq!(book.next_confirmation(), Some(at(260)));
}

#[test]
fn deadlines_and_deletes_count_despite_the_limit() {
    let mut decisions = many(0..10);
    decisions[0].until = at(250);
    let mut book = book_with(&decisions);
    book.take_full(new(&[]), at(100), 50);
    assert_eq!(book.take_full(deleted(&[1]), at(200), 50), report(0, 9, 0, 9));
    assert_eq!(changes(&mut book, 200), ["-192.0.2.1"]);
    assert_eq!((changes(&mut book, 250), book.decided()), (vec![], 8));
    assert_eq!(book.take_full(new(&[]), at(251), 50), report(0, 8, 0, 8));
}

#[test]
fn missed_decisions_are_counted() {
    let mut book = DecisionBook::new("main", None);
    assert_eq!(book.take_full(new(&many(0..3)), at(0), 50).missed, 0, "the first answer");
    assert_eq!(book.take_full(new(&many(0..4)), at(10), 50).missed, 0, "no deltas before");
    book.take_delta(new(&many(4..5)), at(20));
    assert_eq!(book.take_full(new(&many(0..5)), at(30), 50).missed, 0, "a delta brought it");
    book.take_delta(new(&[]), at(40));
    let mut answer = new(&many(0..8));
    answer.new.extend(many(7..8));
    answer.new.push(decision(8, "192.0.2.8", 49));
    answer.deleted = vec![0];
    assert_eq!(book.take_full(answer, at(50), 50).missed, 3);
    assert_eq!(book.take_full(new(&many(0..9)), at(60), 50).missed, 0, "no deltas since");
}
