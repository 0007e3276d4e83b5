//! Tests lists with and without clauses against a plain list of wants.

use std::collections::{BTreeMap, BTreeSet};

use filter_common::ports::{Clause, Range};
use filter_common::sets::SetName;
use filter_common::target::Target;
use proptest::prelude::*;

use crate::blocklist::{
    Blocklist, Change, ListId, Meaning, Origin, Polarity, ReleaseFrom, Targets, Timestamp, Want,
};

const LISTS: [(&str, Option<u16>); 5] =
    [("all", None), ("ssh", Some(22)), ("web", Some(80)), ("ssh too", Some(22)), ("allowed", None)];
const WORDS: [&str; 6] =
    ["192.0.2.7", "192.0.2.0/24", "192.0.0.0/16", "2001:db8::1", "2001:db8::/64", "2001:db8::/32"];

fn only(port: u16) -> Clause {
    Clause::new(false, Range::new(port, port)).unwrap()
}

/// `all` blocks on all ports; two lists share a clause.
fn with_lists() -> (Blocklist, Vec<ListId>) {
    let mut blocklist = Blocklist::default();
    let made = LISTS.map(|(name, port)| {
        let polarity = if name == "allowed" { Polarity::Allow } else { Polarity::Block };
        let meaning = Meaning { ports: port.map(only), ..Meaning::plain(polarity) };
        blocklist.make_with_meaning(name, Origin::File, &meaning, Timestamp::default()).unwrap()
    });
    (blocklist, made.to_vec())
}

#[test]
fn equal_clauses_share_a_side() {
    let (blocklist, made) = with_lists();
    let set = |list: usize| blocklist.lists().get(made[list]).set();
    assert_eq!((set(0), set(4)), (SetName::Block, SetName::Allow));
    assert_eq!(set(1), set(3));
    assert_ne!(set(1), set(2));
    assert_eq!(blocklist.clause(blocklist.lists().get(made[3])), Some(only(22)));
}

proptest! {
    /// In any order of steps, the effects on each set equal the wants of the lists of its clause. Pages
    /// show each target once, with all of its lists.
    #[test]
    fn every_set_is_what_its_lists_want(steps in prop::collection::vec((0..5_usize, 0..6_usize, any::<bool>()), 1..60)) {
        let (mut blocklist, made) = with_lists();
        let mut sets: BTreeMap<SetName, BTreeSet<Target>> = BTreeMap::new();
        let mut wanted: BTreeSet<(Target, usize)> = BTreeSet::new();
        for (list, word, wants) in steps {
            let target: Target = WORDS[word].parse().unwrap();
            let targets: Targets = [target].into_iter().collect();
            let row = blocklist.lists().get(made[list]);
            let change = if wants {
                wanted.insert((target, list));
                Change::Want(Want { list: LISTS[list].0.into(), origin: Origin::File, polarity: row.polarity,
                    until: None, shorten: false, note: None, by: None, targets })
            } else {
                wanted.remove(&(target, list));
                Change::Release { from: ReleaseFrom::List(LISTS[list].0.into()), targets }
            };
            let effects = blocklist.apply(&change, Timestamp::from_secs(1)).unwrap().effects;
            for (name, effects) in effects.sets.iter() {
                let set = sets.entry(name).or_default();
                effects.left.iter().for_each(|target| assert!(set.remove(&target)));
                effects.entered.iter().for_each(|target| assert!(set.insert(target)));
            }
            for (name, set) in &sets {
                let of_set = |list: usize| blocklist.lists().get(made[list]).set() == *name;
                let expected: BTreeSet<Target> =
                    wanted.iter().filter(|(_, list)| of_set(*list)).map(|(target, _)| *target).collect();
                prop_assert_eq!(set, &expected);
            }
        }
        let blocked: BTreeSet<(Target, usize)> = wanted.into_iter().filter(|(_, list)| *list < 4).collect();
        let (mut shown, mut after) = (BTreeSet::new(), None);
        loop {
            let (page, next) = blocklist.page(Polarity::Block, after, 2, |_, _| true);
            for claim in page {
                let list = LISTS.iter().position(|(name, _)| **name == *claim.list).unwrap();
                prop_assert!(shown.insert((claim.target, list)), "{} is shown twice", claim.target);
            }
            if next.is_none() {
                break;
            }
            after = next;
        }
        prop_assert_eq!(shown, blocked);
    }
}
