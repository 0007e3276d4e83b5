//! Tests of decisions on autonomous systems and countries.

use super::*;

fn networks(words: &[&str]) -> Option<Targets> {
    Some(words.iter().map(|word| word.parse::<Target>().unwrap()).collect())
}

#[test]
fn scope_without_networks_is_unresolved() {
    let country = Scope::Country("FR".parse().unwrap());
    let (one, two) = (autonomous("AS64501"), autonomous("AS64500"));
    let mut book = book_with(&[
        on_scope(1, one, 100),
        on_scope(2, country, 100),
        on_scope(3, two, 100),
        on_scope(4, two, 200),
        decision(5, "192.0.2.1", 100),
    ]);
    assert_eq!(book.scopes(), [two, one, country]);
    assert_eq!((book.decided(), book.unresolved(), book.enforced(), book.entries()), (5, 4, 1, 1));
    book.set_networks(&one, None);
    assert_eq!(book.unresolved(), 4);
    book.set_networks(&two, networks(&["198.51.100.0/24", "2001:db8::/32"]));
    assert_eq!((book.unresolved(), book.enforced()), (2, 1));
    let expected = ["+198.51.100.0/24 200 reason 4 (decision 4)", "+2001:db8::/32 200 reason 4 (decision 4)"];
    assert_eq!(changes(&mut book, 0), expected);
    assert_eq!((book.unresolved(), book.enforced(), book.entries()), (2, 3, 3));
}

#[test]
fn changed_networks_change_entries() {
    let scope = autonomous("AS64500");
    let mut book = book_with(&[on_scope(1, scope, 100)]);
    book.set_networks(&scope, networks(&["198.51.100.0/24", "192.0.2.0/24"]));
    assert_eq!(changes(&mut book, 0).len(), 2);
    book.set_networks(&scope, networks(&["198.51.100.0/24", "192.0.2.0/24"]));
    assert_eq!((book.enforced(), changes(&mut book, 1)), (1, vec![]));
    book.set_networks(&scope, networks(&["203.0.113.0/24", "192.0.2.0/24"]));
    assert_eq!(changes(&mut book, 1), ["-198.51.100.0/24", "+203.0.113.0/24 100 reason 1 (decision 1)"]);
    book.set_networks(&scope, None);
    assert_eq!(changes(&mut book, 2), ["-192.0.2.0/24", "-203.0.113.0/24"]);
    assert_eq!((book.unresolved(), book.enforced()), (1, 0));
}

#[test]
fn networks_are_known_for_later_decisions() {
    let scope = autonomous("AS64500");
    let mut book = book_with(&[on_scope(1, scope, 100)]);
    book.set_networks(&scope, networks(&["192.0.2.0/24"]));
    book.take_changes(at(0));
    book.take_delta(answer(vec![on_scope(2, scope, 300)], &[1]), at(1));
    assert_eq!(changes(&mut book, 1), ["+192.0.2.0/24 300 reason 2 (decision 2)"]);
    book.take_delta(deleted(&[2]), at(2));
    assert_eq!((changes(&mut book, 2), book.scopes()), (vec!["-192.0.2.0/24".to_owned()], vec![]));
    book.take_delta(new(&[on_scope(3, scope, 300)]), at(3));
    assert_eq!(book.unresolved(), 1, "the networks were forgotten");
}

#[test]
fn address_in_a_network_has_its_own_entry() {
    let scope = autonomous("AS64500");
    let mut book = book_with(&[on_scope(1, scope, 100), decision(2, "192.0.2.0/24", 200)]);
    book.set_networks(&scope, networks(&["192.0.2.0/24"]));
    assert_eq!(changes(&mut book, 0), [""; 0], "the longer decision enforces it");
    book.take_delta(deleted(&[2]), at(1));
    assert_eq!(changes(&mut book, 1), ["+192.0.2.0/24 100 reason 1 (decision 1)"]);
}

#[test]
fn scope_of_no_decision_gets_no_networks() {
    let mut book = DecisionBook::new("main", None);
    book.set_networks(&autonomous("AS64500"), networks(&["192.0.2.0/24"]));
    book.set_networks(&Scope::Target("192.0.2.1".parse().unwrap()), networks(&["192.0.2.0/24"]));
    assert_eq!((book.scopes(), book.entries()), (vec![], 0));
}

#[test]
fn empty_networks_are_resolved() {
    let scope = autonomous("AS64500");
    let mut book = book_with(&[on_scope(1, scope, 100)]);
    book.set_networks(&scope, networks(&[]));
    assert_eq!((book.unresolved(), book.enforced(), book.entries()), (0, 1, 0));
}
