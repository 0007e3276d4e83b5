//! What each entry is counted for, whatever comes, goes and changes places.

use std::collections::{BTreeMap, BTreeSet};

use filter_common::target::Target;
use proptest::prelude::*;

use super::*;
use crate::blocklist::{
    Applied, Blocklist, Change, From, ListId, Origin, Polarity, Targets, Timestamp, Undo,
};

/// Few enough that they meet again, wide enough that a new order takes several pages.
const WORDS: [&str; 9] = [
    "0.0.0.0/0",
    "10.0.0.0/8",
    "10.1.1.0/24",
    "10.1.1.128/25",
    "10.1.1.200",
    "192.0.2.1",
    "::/0",
    "2001:db8::/64",
    "2001:db8::7",
];

/// The first of them are the configuration's.
const LISTS: [&str; 6] = ["drop", "bad", "feed", "manual", "ssh", "mail"];
const CONFIGURED: usize = 3;

fn target(word: usize) -> Target {
    WORDS[word].parse().unwrap()
}

fn at(seconds: u32) -> Timestamp {
    Timestamp::from_secs(seconds)
}

fn want(list: &str, origin: Origin, words: &[usize], until: Option<u32>) -> Change {
    Change::Want {
        list: list.into(),
        origin,
        polarity: Polarity::Block,
        until: until.map(at),
        shorten: false,
        note: None,
        by: None,
        targets: words.iter().map(|word| target(*word)).collect(),
    }
}

#[derive(Clone, Debug)]
enum Step {
    Want(usize, Vec<usize>, Option<u32>),
    Release(Option<usize>, Vec<usize>),
    Expire(u32),
    UndoLast,
    /// The configuration has this order of its lists, and calls the first one so.
    Reorder(Vec<usize>, bool),
    Page,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let words = || prop::collection::vec(0..WORDS.len(), 1..4);
    let order = Just((0..CONFIGURED).collect::<Vec<_>>()).prop_shuffle();
    let step = prop_oneof![
        6 => (0..LISTS.len(), words(), prop::option::of(1..50_u32)).prop_map(|(l, w, u)| Step::Want(l, w, u)),
        4 => (prop::option::of(0..LISTS.len()), words()).prop_map(|(l, w)| Step::Release(l, w)),
        1 => (0..50_u32).prop_map(Step::Expire),
        1 => Just(Step::UndoLast),
        2 => (order, any::<bool>()).prop_map(|(order, renamed)| Step::Reorder(order, renamed)),
        4 => Just(Step::Page),
    ];
    prop::collection::vec(step, 0..80)
}

/// The blocklist, what a kernel would have that carries out its effects, and plain rules to compare with.
struct Story {
    blocklist: Blocklist,
    kernel: BTreeMap<Target, Label>,
    configured: Vec<ListId>,
    /// Who comes first by the order in force, and by the one that is coming: known by their places and ages.
    orders: [Vec<ListId>; 2],
    last: Option<Undo>,
}

impl Story {
    fn new() -> Self {
        let mut blocklist = Blocklist::default();
        let configured: Vec<_> = LISTS[..CONFIGURED]
            .iter()
            .map(|name| blocklist.make_list(name, Origin::File, Polarity::Block, at(0)).unwrap())
            .collect();
        blocklist.lists_mut().set_places(configured.clone());
        blocklist.order_at_once(at(0));
        Self { blocklist, kernel: BTreeMap::new(), configured, orders: Default::default(), last: None }
    }

    fn apply(&mut self, change: &Change, now: u32) {
        let Ok(applied) = self.blocklist.apply(change, at(now)) else { return };
        self.carry_out(&applied);
        self.last = (!matches!(change, Change::Undo(_) | Change::Relabel)).then_some(applied.undo);
    }

    /// A kernel asks the truth for each target that it is told of, and for no other.
    fn carry_out(&mut self, applied: &Applied) {
        let (block, effects) = (self.blocklist.block(), &applied.effects.block);
        let now = |target| block.label_of(target);
        for target in effects.left.iter() {
            assert!(self.kernel.remove(&target).is_some(), "{target} left without having been there");
        }
        for target in effects.relabelled.iter() {
            let before = self.kernel.insert(target, now(target));
            assert!(before.is_some_and(|before| before != now(target)), "{target} was {before:?} and still is");
        }
        for target in effects.entered.iter() {
            assert!(self.kernel.insert(target, now(target)).is_none(), "{target} entered twice");
        }
    }

    fn label_by(&self, order: &[ListId], target: Target) -> Label {
        let holders = self.blocklist.block().holders(target);
        let place = |list: &ListId| order.iter().position(|other| other == list);
        // Who is on no order yet has come last, and in turn.
        let age = |list: &ListId| self.blocklist.lists().get(*list).age;
        let first = holders.iter().min_by_key(|list| (place(list).unwrap_or(usize::MAX), age(list)));
        let name = first.map(|list| &*self.blocklist.lists().get(*list).name);
        name.and_then(|name| Label::all().find(|label| self.has(*label, name))).unwrap_or_default()
    }

    fn has(&self, label: Label, name: &str) -> bool {
        self.blocklist.number(label).is_some_and(|number| &*number.name == name)
    }

    fn check(&self) {
        let block = self.blocklist.block();
        let told: BTreeSet<_> = self.kernel.keys().copied().collect();
        assert_eq!(told, block.targets().iter().collect());
        for (target, label) in &self.kernel {
            assert_eq!(*label, block.label_of(*target), "{target}: told of every change");
            let [before, after] = self.orders.each_ref().map(|order| self.label_by(order, *target));
            if self.blocklist.is_relabelling() {
                assert!([before, after].contains(label), "{target}: {label:?}, not {before:?} or {after:?}");
            } else {
                assert_eq!(*label, after, "{target}: the first holder's");
            }
        }
    }
}

proptest! {
    #[test]
    fn each_target_is_counted_for_its_first_holder_and_the_kernel_is_told_of_just_what_changes(steps in steps()) {
        let mut story = Story::new();
        story.orders = [story.configured.clone(), story.configured.clone()];
        for step in steps {
            match step {
                Step::Want(list, words, until) => {
                    let origin = if list < CONFIGURED { Origin::File } else { Origin::Live };
                    story.apply(&want(LISTS[list], origin, &words, until), 0);
                }
                Step::Release(list, words) => {
                    let from = match list {
                        Some(list) => From::List(LISTS[list].into()),
                        None => From::EveryLiveList(Polarity::Block),
                    };
                    let targets: Targets = words.iter().map(|word| target(*word)).collect();
                    story.apply(&Change::Release { from, targets }, 0);
                }
                Step::Expire(now) => {
                    story.apply(&Change::Expire { polarity: Polarity::Block, most: usize::MAX }, now);
                }
                Step::UndoLast => {
                    if let Some(undo) = story.last.take() {
                        story.apply(&Change::Undo(undo), 0);
                    }
                }
                Step::Reorder(order, _) if !story.blocklist.is_relabelling() => {
                    let order: Vec<_> = order.iter().map(|at| story.configured[*at]).collect();
                    story.blocklist.lists_mut().set_places(order.clone());
                    story.orders = [story.orders[1].clone(), order];
                    story.blocklist.reorder(at(0));
                }
                Step::Reorder(..) => {}
                Step::Page => story.apply(&Change::Relabel, 0),
            }
            story.check();
        }
        while story.blocklist.is_relabelling() {
            story.apply(&Change::Relabel, 0);
        }
        story.check();
    }
}
