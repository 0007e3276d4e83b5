//! Tests the life of entries: a target enters with the first list that wants it, and leaves with the last.

use std::collections::{BTreeMap, BTreeSet};

use filter_common::target::Prefix;
use proptest::prelude::*;

use super::*;

fn target(word: &str) -> Target {
    word.parse().expect(word)
}

fn targets(words: &[&str]) -> Targets {
    words.iter().map(|word| target(word)).collect()
}

fn at(seconds: u32) -> Timestamp {
    Timestamp::from_secs(seconds)
}

struct Scenario {
    blocklist: Blocklist,
    lists: [&'static str; 2],
}

impl Scenario {
    fn new() -> Self {
        Self { blocklist: Blocklist::default(), lists: ["one", "two"] }
    }

    fn apply(&mut self, change: &Change, now: u32) -> Applied {
        self.blocklist.apply(change, at(now)).unwrap()
    }

    fn want(&mut self, list: usize, words: &[&str], until: Option<u32>) -> Applied {
        self.want_all(list, targets(words), until)
    }

    fn want_all(&mut self, list: usize, targets: Targets, until: Option<u32>) -> Applied {
        let (list, until) = (self.lists[list], until.map(at));
        self.apply(&Change::Want(Want { until, ..Want::live(list, Polarity::Block, targets) }), 1)
    }

    fn add(&mut self, list: usize, word: &str, until: Option<u32>) -> Effects {
        self.want(list, &[word], until).effects
    }

    fn release(&mut self, list: usize, words: &[&str]) -> Applied {
        let from = ReleaseFrom::List(self.lists[list].into());
        let change = Change::Release { from, targets: targets(words) };
        self.blocklist.apply(&change, at(1)).unwrap_or_default()
    }

    fn remove(&mut self, list: usize, word: &str) -> Effects {
        self.release(list, &[word]).effects
    }

    fn expire(&mut self, now: u32) -> Targets {
        self.apply(&Change::Expire { polarity: Polarity::Block, most: usize::MAX }, now)
            .effects
            .sets
            .block
            .left
    }
}

#[test]
fn target_leaves_with_its_last_list() {
    let mut story = Scenario::new();
    assert_eq!(story.add(0, "10.0.0.0/8", None).sets.block.entered, targets(&["10.0.0.0/8"]));
    assert!(story.add(1, "10.0.0.0/8", None).is_empty());
    let block = story.remove(0, "10.0.0.0/8").sets.block;
    assert!(block.entered.is_empty() && block.left.is_empty());
    assert_eq!(block.relabelled, targets(&["10.0.0.0/8"]), "it is counted for the other list now");
    assert!(story.remove(0, "10.0.0.0/8").is_empty(), "it has released it already");
    assert_eq!(story.remove(1, "10.0.0.0/8").sets.block.left, targets(&["10.0.0.0/8"]));
    assert!(!story.blocklist.block().contains(target("10.0.0.0/8")));
}

#[test]
fn adding_again_extends_and_never_shortens() {
    let mut story = Scenario::new();
    story.add(0, "203.0.113.7", Some(100));
    story.add(0, "203.0.113.7", Some(50));
    assert!(story.expire(99).is_empty());
    story.add(0, "203.0.113.7", Some(200));
    assert!(story.expire(199).is_empty());
    assert_eq!(story.expire(200), targets(&["203.0.113.7"]));
}

#[test]
fn permanent_is_longer_than_any_time() {
    let mut story = Scenario::new();
    story.add(0, "203.0.113.7", Some(100));
    story.add(0, "203.0.113.7", None);
    story.add(0, "203.0.113.7", Some(100));
    assert!(story.expire(u32::MAX).is_empty());
    assert_eq!(story.blocklist.next_deadline(), None);
}

#[test]
fn deadline_ends_only_its_own_claim() {
    let mut story = Scenario::new();
    story.add(0, "2001:db8::/64", Some(100));
    story.add(1, "2001:db8::/64", Some(300));
    assert!(story.expire(200).is_empty());
    assert_eq!(story.expire(300), targets(&["2001:db8::/64"]));
}

#[test]
fn moved_target_stays_in_the_set() {
    let mut story = Scenario::new();
    let entered = story.want(0, &["192.0.2.1", "192.0.2.2"], None).effects;
    assert_eq!(entered.sets.block.entered.len(), 2);
    let entered = story.want(1, &["192.0.2.2", "192.0.2.3"], None).effects;
    assert_eq!(entered, Effects::blocking(targets(&["192.0.2.3"])));
    let one = story.blocklist.lists().find("one").unwrap();
    let (over, _) = story.blocklist.to_release(one, None, |word| word != target("192.0.2.1"));
    assert_eq!(over, targets(&["192.0.2.2"]));
    let block = story.release(0, &["192.0.2.2"]).effects.sets.block;
    assert!(block.entered.is_empty() && block.left.is_empty());
    assert_eq!(block.relabelled, targets(&["192.0.2.2"]));
}

#[test]
fn undo_restores_the_earlier_state() {
    let mut story = Scenario::new();
    story.want(0, &["192.0.2.1", "10.0.0.0/8"], Some(100));
    let before = story.blocklist.as_records(Bookmark::default(), usize::MAX, |_| true);
    let (settings, wanted) = (story.blocklist.settings(), &["192.0.2.1", "192.0.2.2", "2001:db8::/64"]);
    for applied in [story.want(0, wanted, None), story.want(1, wanted, Some(50))].iter().rev() {
        story.blocklist.take_back(applied, settings);
        story.blocklist.forget_empty_lists(applied);
    }
    let released = story.release(0, &["192.0.2.1", "10.0.0.0/8"]);
    assert_eq!(released.effects.sets.block.left.len(), 2);
    story.blocklist.take_back(&released, settings);
    assert_eq!(story.blocklist.as_records(Bookmark::default(), usize::MAX, |_| true), before);
    assert_eq!(story.blocklist.next_deadline(), Some(at(100)));
    assert_eq!(story.blocklist.lists().count_all(), 1, "nothing is on the other list");
}

#[test]
fn undo_keeps_later_changes_of_others() {
    let mut story = Scenario::new();
    let applied = story.want(0, &["192.0.2.1", "192.0.2.2"], Some(50));
    story.want(0, &["192.0.2.2"], Some(100));
    let undone = story.apply(&Change::Undo(applied.undo), 2);
    assert_eq!(undone.effects, Effects::unblocking(targets(&["192.0.2.1"])));
    assert_eq!(undone.records.len(), 1, "the journal learns of it");
}

#[test]
fn records_contain_only_real_changes() {
    let mut story = Scenario::new();
    story.want(0, &["192.0.2.1"], None);
    let applied = story.want(0, &["192.0.2.1", "192.0.2.2"], None);
    let Record::Want { targets: told, .. } = &applied.records[0] else { panic!("{applied:?}") };
    assert_eq!(*told, targets(&["192.0.2.2"]));
    story.want(1, &["192.0.2.1"], None);
    let both = Change::Release {
        from: ReleaseFrom::EveryLiveList(Polarity::Block),
        targets: targets(&["192.0.2.1", "192.0.2.9"]),
    };
    let applied = story.apply(&both, 1);
    assert_eq!((applied.changed, applied.records.len()), (1, 2));
}

#[test]
fn commands_cannot_change_configured_lists() {
    let mut story = Scenario::new();
    story.blocklist.lists.make_anyway("drop", Origin::File, Polarity::Block).unwrap();
    let change = Change::Want(Want::live("drop", Polarity::Block, targets(&["192.0.2.1"])));
    assert!(matches!(story.blocklist.apply(&change, at(1)), Err(Refusal::BelongsElsewhere { .. })));
    assert!(!story.blocklist.block().contains(target("192.0.2.1")));
}

#[test]
fn future_record_times_expire_nothing() {
    let mut story = Scenario::new();
    let want = |since, until, word: &str| Record::Want {
        list: "one".into(),
        polarity: Polarity::Block,
        since: at(since),
        until: Some(at(until)),
        note: None,
        by: None,
        targets: targets(&[word]),
    };
    for record in [want(10, 100, "192.0.2.1"), want(1000, 1100, "192.0.2.2")] {
        story.blocklist.replay(&record, at(50)).unwrap();
    }
    assert!(story.blocklist.block().contains(target("192.0.2.1")));
}

#[test]
fn live_list_with_taken_name_moves() {
    let mut story = Scenario::new();
    story.want(0, &["192.0.2.1"], Some(100));
    story.want(1, &["192.0.2.1", "192.0.2.2"], None);
    let one = story.blocklist.lists().find("one").unwrap();
    let records = story.blocklist.move_entries(&[(one, "two".into())]).unwrap();
    assert_eq!(story.blocklist.lists().find("one"), None);
    assert_eq!(story.blocklist.covering(Polarity::Block, target("192.0.2.1")).len(), 1);
    // A replay of the journal with these records gives the same result.
    let mut again = Scenario::new();
    again.want(0, &["192.0.2.1"], Some(100));
    again.want(1, &["192.0.2.1", "192.0.2.2"], None);
    records.into_iter().for_each(|record| again.blocklist.replay(&record, at(2)).unwrap());
    let told = |story: &Scenario| story.blocklist.as_records(Bookmark::default(), usize::MAX, |_| true).0;
    assert_eq!(told(&again), told(&story));
}

#[test]
fn covering_claims_come_longest_first() {
    let mut story = Scenario::new();
    for word in ["198.51.100.0/24", "198.51.100.7", "198.51.0.0/16", "198.51.100.8"] {
        story.add(0, word, None);
    }
    story.add(1, "198.51.100.7", None);
    let told: Vec<_> =
        story.blocklist.covering(Polarity::Block, target("198.51.100.7")).into_iter().collect();
    let told: Vec<_> = told.iter().map(|claim| (claim.target.to_string(), &*claim.list)).collect();
    let expected = [
        ("198.51.100.7", "one"),
        ("198.51.100.7", "two"),
        ("198.51.100.0/24", "one"),
        ("198.51.0.0/16", "one"),
    ];
    assert_eq!(told, expected.map(|(target, list)| (target.to_owned(), list)));
}

#[test]
fn pages_are_complete_with_whole_targets() {
    let mut story = Scenario::new();
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
            let (page, next) = story.blocklist.page(Polarity::Block, after, most, |_, _| true);
            after = next;
            assert_eq!(page.len() % 2, 0, "both claims for a target stand on one page");
            told.extend(page.into_iter().map(|claim| claim.target));
            if next.is_none() {
                break;
            }
        }
        // Each target appears for both lists, in the order that finds the next page.
        let expected: Vec<_> = words.iter().flat_map(|word| [target(word); 2]).collect();
        assert_eq!(told, expected);
    }
}

#[test]
fn equal_claims_are_stored_once() {
    let mut story = Scenario::new();
    let many = Targets { addresses: (0..100_000).collect(), ..Targets::default() };
    let wanted = story.want_all(0, many.clone(), None);
    let list = story.blocklist.lists().find("one").unwrap();
    assert_eq!(story.blocklist.lists().get(list).entries, 100_000);
    assert_eq!(story.blocklist.block().registry.len(), 1);
    story.apply(&Change::Undo(wanted.undo), 1);
    assert_eq!(story.blocklist.block().registry.len(), 0);
    assert_eq!(story.blocklist.lists().get(list).entries, 0);
}

#[test]
fn large_list_with_taken_name_moves_completely() {
    let mut story = Scenario::new();
    let many = Targets { addresses: (0..200_000).collect(), ..Targets::default() };
    story.want_all(1, many, None);
    story.want(0, &["192.0.2.1", "2001:db8::/64"], None);
    let one = story.blocklist.lists().find("one").unwrap();
    story.blocklist.move_entries(&[(one, "two".into())]).unwrap();
    assert!(["192.0.2.1", "2001:db8::/64"].iter().all(|word| story.blocklist.block().contains(target(word))));
    assert_eq!(story.blocklist.lists().count_all(), 1);
}

#[test]
fn pages_release_a_list_completely() {
    let mut story = Scenario::new();
    let many = Targets { addresses: (0..100_000).collect(), ..Targets::default() };
    story.want_all(0, many, None);
    let list = story.blocklist.lists().find("one").unwrap();
    let (mut after, mut left) = (None, 0);
    loop {
        let (page, next) = story.blocklist.to_release(list, after, |_| true);
        assert!(page.weight() <= PAGE);
        let change = Change::Release { from: ReleaseFrom::List("one".into()), targets: page };
        left += story.apply(&change, 1).effects.sets.block.left.len();
        after = next;
        if next.is_none() {
            break;
        }
    }
    assert_eq!(left, 100_000);
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
    /// The oracle keeps every claim in a plain map. The sum of all effects must equal its targets.
    #[test]
    fn filter_holds_exactly_the_wanted_targets(steps in steps()) {
        let (mut story, mut oracle) = (Scenario::new(), BTreeMap::<(u8, usize), Option<u32>>::new());
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
            for target in effects.sets.block.left.iter() {
                prop_assert!(filter.remove(&target), "{target} left without having been there");
            }
            for target in effects.sets.block.entered.iter() {
                prop_assert!(filter.insert(target), "{target} entered twice");
            }
            let wanted: BTreeSet<_> = oracle.keys().map(|(number, _)| target(&word(*number))).collect();
            prop_assert_eq!(&filter, &wanted);
        }
    }
}

mod clauses;
mod rows;
mod sides;
mod widen;

#[test]
fn expired_target_is_new_after_file_drops_it() {
    let mut blocklist = Blocklist::default();
    let want = |until, words: &[&str]| {
        let live = Want::live("drop", Polarity::Block, targets(words));
        Change::Want(Want { origin: Origin::File, until: Some(at(until)), ..live })
    };
    let named = ["192.0.2.1", "192.0.2.2", "2001:db8::/48"];
    blocklist.apply(&want(10, &named[..2]), at(1)).unwrap();
    blocklist.apply(&want(20, &named[2..]), at(1)).unwrap();
    let list = blocklist.lists().find("drop").unwrap();
    assert_eq!(
        blocklist.apply(&Change::Expire { polarity: Polarity::Block, most: 9 }, at(10)).unwrap().changed,
        2
    );
    assert_eq!(blocklist.lists().get(list).spent.len(), 2);
    let asked = targets(&["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::/48"]);
    assert_eq!(blocklist.new_on(list, &asked), targets(&["192.0.2.3"]));
    let gone = blocklist.lists().get(list).spent.besides(&targets(&["192.0.2.2"]));
    blocklist.lists.unspend(list, &gone);
    assert_eq!(blocklist.new_on(list, &asked), targets(&["192.0.2.1", "192.0.2.3"]));
}

#[test]
fn expired_live_entry_can_return() {
    let mut story = Scenario::new();
    story.add(0, "192.0.2.1", Some(10));
    story.apply(&Change::Expire { polarity: Polarity::Block, most: 9 }, 10);
    assert!(story.blocklist.lists().iter().all(|(_, list)| list.spent.is_empty()));
    assert_eq!(story.add(0, "192.0.2.1", Some(20)).sets.block.entered.len(), 1);
}

#[test]
fn extension_keeps_author_and_start() {
    let mut blocklist = Blocklist::default();
    let want = |by: &str, until| {
        let live = Want::live("manual", Polarity::Block, targets(&["192.0.2.1"]));
        Change::Want(Want { by: Some(by.into()), until, ..live })
    };
    blocklist.apply(&want("alice (filterd add)", Some(at(10))), at(1)).unwrap();
    blocklist.apply(&want("bob (filterd add)", None), at(2)).unwrap();
    let [claim] = &blocklist.covering(Polarity::Block, target("192.0.2.1"))[..] else {
        panic!("one list has it")
    };
    assert_eq!((claim.by.as_deref(), claim.since, claim.until), (Some("alice (filterd add)"), at(1), None));
    let (records, _) = blocklist.as_records(Bookmark::default(), 9, |_| true);
    assert!(matches!(&records[..], [Record::Want { by: Some(by), .. }] if &**by == "alice (filterd add)"));
}

#[test]
fn expiry_pages_are_ordered_by_time() {
    let mut story = Scenario::new();
    story.want(0, &["192.0.2.9", "2001:db8::/64"], Some(30));
    story.want(1, &["192.0.2.9"], Some(30));
    story.want(0, &["192.0.2.7", "192.0.2.0/25"], Some(20));
    story.want(1, &["192.0.2.8"], Some(31));
    story.want(1, &["192.0.2.6"], None);
    for most in 1..5 {
        let (mut told, mut after) = (Vec::new(), None);
        loop {
            let (page, next) = story.blocklist.expiring(Polarity::Block, after, at(30), most, |_, _| true);
            told.extend(page.iter().map(|claim| format!("{} {}", claim.target, claim.list)));
            after = next;
            if after.is_none() {
                break;
            }
        }
        let expected =
            ["192.0.2.0/25 one", "192.0.2.7 one", "192.0.2.9 one", "192.0.2.9 two", "2001:db8::/64 one"];
        assert_eq!(told, expected, "{most} a page");
    }
    let only_two = |_, list| story.blocklist.lists().get(list).name == "two".into();
    assert_eq!(story.blocklist.expiring(Polarity::Block, None, at(99), 9, only_two).0.len(), 2);
}
