//! Lists come and go; a target enters with the first that wants it and leaves with the last.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

fn target(word: &str) -> Target {
    word.parse().expect(word)
}

fn targets(words: &[&str]) -> Targets {
    words.iter().map(|word| target(word)).collect()
}

fn wish(list: ListId, since: u32) -> Claim {
    Claim { list, since: Timestamp::from_secs(since), until: None, note: None }
}

struct Story {
    blocklist: Blocklist,
    lists: [ListId; 2],
}

impl Story {
    fn new() -> Self {
        let mut blocklist = Blocklist::default();
        let lists = ["one", "two"].map(|name| blocklist.lists_mut().get_or_make(name, Kind::Live).unwrap());
        Self { blocklist, lists }
    }

    fn add(&mut self, list: usize, word: &str, until: Option<u32>) -> Effects {
        let (list, until) = (self.lists[list], until.map(Timestamp::from_secs));
        let mut effects = Effects::default();
        let claim = Claim { list, since: Timestamp::from_secs(1), until, note: None };
        self.blocklist.add(target(word), claim, &mut effects);
        effects
    }

    fn remove(&mut self, list: usize, word: &str) -> Effects {
        let mut effects = Effects::default();
        self.blocklist.remove(target(word), self.lists[list], &mut effects);
        effects
    }

    fn expire(&mut self, now: u32) -> Targets {
        self.blocklist.expire(Timestamp::from_secs(now)).block.left
    }
}

#[test]
fn a_target_leaves_when_the_last_list_lets_go() {
    let mut story = Story::new();
    assert_eq!(story.add(0, "10.0.0.0/8", None).block.entered, targets(&["10.0.0.0/8"]));
    assert!(story.add(1, "10.0.0.0/8", None).is_empty());
    assert!(story.remove(0, "10.0.0.0/8").is_empty());
    assert!(story.remove(0, "10.0.0.0/8").is_empty(), "it has let go already");
    assert_eq!(story.remove(1, "10.0.0.0/8").block.left, targets(&["10.0.0.0/8"]));
    assert!(!story.blocklist.contains(target("10.0.0.0/8")));
}

#[test]
fn adding_again_extends_and_never_shortens() {
    let mut story = Story::new();
    story.add(0, "203.0.113.7", Some(100));
    story.add(0, "203.0.113.7", Some(50));
    assert!(story.expire(99).is_empty());
    story.add(0, "203.0.113.7", Some(200));
    assert!(story.expire(199).is_empty());
    assert_eq!(story.expire(200), targets(&["203.0.113.7"]));
}

#[test]
fn for_good_is_longer_than_any_time() {
    let mut story = Story::new();
    story.add(0, "203.0.113.7", Some(100));
    story.add(0, "203.0.113.7", None);
    story.add(0, "203.0.113.7", Some(100));
    assert!(story.expire(u32::MAX).is_empty());
    assert_eq!(story.blocklist.next_deadline(), None);
}

#[test]
fn a_deadline_ends_the_wish_of_its_own_list_only() {
    let mut story = Story::new();
    story.add(0, "2001:db8::/64", Some(100));
    story.add(1, "2001:db8::/64", Some(300));
    assert!(story.expire(200).is_empty());
    assert_eq!(story.expire(300), targets(&["2001:db8::/64"]));
}

#[test]
fn what_moves_from_one_list_to_another_neither_leaves_nor_enters() {
    let mut story = Story::new();
    let [one, two] = story.lists;
    let mut effects = Effects::default();
    story.blocklist.extend(&targets(&["192.0.2.1", "192.0.2.2"]), &wish(one, 1), &mut effects);
    assert_eq!(effects.block.entered.len(), 2);
    let mut effects = Effects::default();
    story.blocklist.extend(&targets(&["192.0.2.2", "192.0.2.3"]), &wish(two, 2), &mut effects);
    story.blocklist.retain(one, &targets(&["192.0.2.1"]), &mut effects);
    assert_eq!(effects, Effects::blocking(targets(&["192.0.2.3"])));
}

#[test]
fn an_address_is_covered_by_itself_and_by_prefixes_the_longest_first() {
    let mut story = Story::new();
    for word in ["198.51.100.0/24", "198.51.100.7", "198.51.0.0/16", "198.51.100.8"] {
        story.add(0, word, None);
    }
    story.add(1, "198.51.100.7", None);
    let told: Vec<_> = story.blocklist.covering("198.51.100.7".parse().unwrap()).into_iter().collect();
    let told: Vec<_> = told.iter().map(|wish| (wish.target.to_string(), &*wish.list)).collect();
    let expected = [
        ("198.51.100.7", "one"),
        ("198.51.100.7", "two"),
        ("198.51.100.0/24", "one"),
        ("198.51.0.0/16", "one"),
    ];
    assert_eq!(told, expected.map(|(target, list)| (target.to_owned(), list)));
}

#[test]
fn pages_tell_everything_once_and_never_cut_a_target_in_two() {
    let mut story = Story::new();
    let words = [
        "10.0.0.0/8",
        "10.0.0.1",
        "10.0.0.2/31",
        "10.0.0.2",
        "10.0.0.3",
        "11.0.0.0/8",
        "::/64",
        "2001:db8::/48",
        "2001:db8::/64",
        "2001:db8::/65",
        "2001:db8::1",
        "2001:db8:0:1::/64",
        "ffff::/16",
        "ffff:ffff:ffff:ffff::/64",
    ];
    for word in words {
        story.add(0, word, None);
        story.add(1, word, None);
    }
    for most in 1..8 {
        let (mut told, mut after) = (Vec::new(), None);
        loop {
            let page = story.blocklist.page(after, most, |_, _| true);
            let Some(last) = page.last() else { break };
            after = Some(last.target);
            assert_eq!(page.len() % 2, 0, "both wishes for a target stand on one page");
            told.extend(page.into_iter().map(|wish| wish.target));
        }
        // Each for both lists, and in the order of targets, by which the next page is found.
        let expected: Vec<_> = words.iter().flat_map(|word| [target(word); 2]).collect();
        assert_eq!(told, expected);
    }
}

#[test]
fn the_claims_of_a_million_addresses_are_kept_once() {
    let mut story = Story::new();
    let list = story.lists[0];
    let many = Targets { addresses: (0..100_000).collect(), ..Targets::default() };
    story.blocklist.extend(&many, &wish(list, 1), &mut Effects::default());
    assert_eq!(story.blocklist.lists().get(list).targets, 100_000);
    assert_eq!(story.blocklist.registry.len(), 1);
    story.blocklist.release(list, &mut Effects::default());
    assert_eq!(story.blocklist.registry.len(), 0);
    assert_eq!(story.blocklist.lists().get(list).targets, 0);
}

#[derive(Clone, Debug)]
enum Step {
    Add(usize, u8, Option<u32>),
    Remove(usize, u8),
    Expire(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (0..2_usize, 0..24_u8, prop::option::of(1..50_u32)).prop_map(|(l, t, u)| Step::Add(l, t, u)),
        3 => (0..2_usize, 0..24_u8).prop_map(|(l, t)| Step::Remove(l, t)),
        1 => (0..50_u32).prop_map(Step::Expire),
    ];
    prop::collection::vec(step, 0..200)
}

fn word(number: u8) -> String {
    match number % 4 {
        0 => format!("10.0.0.{number}"),
        1 => format!("10.{number}.0.0/16"),
        2 => format!("2001:db8:{number}::/48"),
        _ => format!("2001:db8:{number}::/64"),
    }
}

proptest! {
    /// The oracle keeps every wish in a plain map. What the effects add up to is what somebody wants.
    #[test]
    fn the_filter_holds_exactly_what_somebody_wants(steps in steps()) {
        let (mut story, mut oracle) = (Story::new(), BTreeMap::<(u8, usize), Option<u32>>::new());
        let mut filter = BTreeSet::new();
        for step in steps {
            let effects = match step {
                Step::Add(list, number, until) => {
                    let known = oracle.entry((number, list)).or_insert(until);
                    *known = known.zip(until).map(|(known, until)| known.max(until));
                    story.add(list, &word(number), until)
                }
                Step::Remove(list, number) => {
                    oracle.remove(&(number, list));
                    story.remove(list, &word(number))
                }
                Step::Expire(now) => {
                    oracle.retain(|_, until| until.is_none_or(|until| until > now));
                    Effects::unblocking(story.expire(now))
                }
            };
            for target in effects.block.left.iter() {
                prop_assert!(filter.remove(&target), "{target} left without having been there");
            }
            for target in effects.block.entered.iter() {
                prop_assert!(filter.insert(target), "{target} entered twice");
            }
            let wanted: BTreeSet<_> = oracle.keys().map(|(number, _)| target(&word(*number))).collect();
            prop_assert_eq!(&filter, &wanted);
        }
    }
}
