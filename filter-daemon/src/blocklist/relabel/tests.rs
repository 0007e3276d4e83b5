//! Tests under which list each entry is counted while lists are added, removed and reordered.

use std::collections::{BTreeMap, BTreeSet};

use filter_common::labels::{Label, OTHER};
use filter_common::ports::{Clause, Range};
use filter_common::sets::SetName;
use filter_common::target::{Prefix, Target};
use proptest::prelude::*;

use crate::blocklist::{
    Applied, Blocklist, Change, ListId, Meaning, Origin, Polarity, ReleaseFrom, Side, Targets, Timestamp,
    Undo, Want,
};

/// Few enough targets that steps collide, wide enough that a new order takes several pages.
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

/// The first `CONFIGURED` of these belong to the configuration.
const LISTS: [&str; 6] = ["drop", "bad", "feed", "manual", "ssh", "mail"];
const CONFIGURED: usize = 3;

fn target(word: usize) -> Target {
    WORDS[word].parse().unwrap()
}

fn at(seconds: u32) -> Timestamp {
    Timestamp::from_secs(seconds)
}

fn want(list: &str, origin: Origin, words: &[usize], until: Option<u32>) -> Change {
    let targets = words.iter().map(|word| target(*word)).collect();
    Change::Want(Want { origin, until: until.map(at), ..Want::live(list, Polarity::Block, targets) })
}

#[derive(Clone, Debug)]
enum Step {
    Want(usize, Vec<usize>, Option<u32>),
    Release(Option<usize>, Vec<usize>),
    Expire(u32),
    UndoLast,
    /// The configuration gives its lists this order.
    Reorder(Vec<usize>),
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
        2 => order.prop_map(Step::Reorder),
        4 => Just(Step::Page),
    ];
    prop::collection::vec(step, 0..40)
}

/// The blocklist, the tables of a kernel that applies its effects, and plain rules for comparison.
struct RelabelScenario {
    blocklist: Blocklist,
    kernel: BTreeMap<(SetName, Target), Label>,
    configured: Vec<ListId>,
    /// The lists in the old and in the new order, by position and age.
    orders: [Vec<ListId>; 2],
    last: Option<Undo>,
}

impl RelabelScenario {
    /// The configured lists from this index on block one port only.
    fn new(on_all_ports: usize) -> Self {
        let mut blocklist = Blocklist::default();
        let clause = Clause::new(false, Range::new(22, 22)).unwrap();
        let make = |(number, name): (usize, &&str)| {
            let ports = (number >= on_all_ports).then_some(clause);
            let meaning = Meaning { ports, ..Meaning::plain(Polarity::Block) };
            blocklist.make_with_meaning(name, Origin::File, &meaning, at(0)).unwrap()
        };
        let configured: Vec<_> = LISTS[..CONFIGURED].iter().enumerate().map(make).collect();
        blocklist.lists.set_places(configured.clone());
        blocklist.begin_order(at(0));
        Self { blocklist, kernel: BTreeMap::new(), configured, orders: Default::default(), last: None }
    }

    fn apply(&mut self, change: &Change, now: u32) {
        let Ok(applied) = self.blocklist.apply(change, at(now)) else { return };
        self.carry_out(&applied);
        self.last = (!matches!(change, Change::Undo(_) | Change::Relabel)).then_some(applied.undo);
    }

    /// The kernel looks up the label of each target in the effects, and of no other.
    fn carry_out(&mut self, applied: &Applied) {
        for (set, effects) in applied.effects.sets.blocking() {
            let now = |target| self.blocklist.side(set).label_of(target);
            for target in effects.left.iter() {
                let left = self.kernel.remove(&(set, target));
                assert!(left.is_some(), "{target} left without having been there");
            }
            for target in effects.relabelled.iter() {
                let before = self.kernel.insert((set, target), now(target));
                let is_another = before.is_some_and(|before| before != now(target));
                assert!(is_another, "{target} was {before:?} and still is");
            }
            for target in effects.entered.iter() {
                let before = self.kernel.insert((set, target), now(target));
                assert!(before.is_none(), "{target} entered twice");
            }
        }
    }

    fn label_by(&self, order: &[ListId], set: SetName, target: Target) -> Label {
        let holders = self.blocklist.side(set).holders(target);
        let place = |list: &ListId| order.iter().position(|other| other == list);
        // A list without a position comes after the others, by age.
        let age = |list: &ListId| self.blocklist.lists().get(*list).age;
        let first = holders.iter().min_by_key(|list| (place(list).unwrap_or(usize::MAX), age(list)));
        let name = first.map(|list| &*self.blocklist.lists().get(*list).name);
        name.and_then(|name| self.blocklist.number_of(name)).map_or(OTHER, |(label, _)| label)
    }

    /// The kernel's queries, by plain rules: the label of the narrowest covering target of the same kind of
    /// lookup.
    fn check_questions(&self) {
        self.blocklist.sides(Polarity::Block).for_each(|(_, side)| Self::check_questions_to(side));
    }

    fn check_questions_to(block: &Side) {
        let narrowest = |meant: &dyn Fn(&Target) -> bool| {
            let around =
                block.targets().iter().filter(|target| meant(target)).max_by_key(|target| length(*target));
            around.map_or(OTHER, |target| block.label_of(target))
        };
        for word in 0..WORDS.len() {
            match target(word) {
                Target::V4(prefix) => {
                    for address in [prefix.first(), prefix.last()] {
                        let host = Target::V4(Prefix::host(address));
                        let expected = narrowest(&|other| length(*other) > 24 && other.covers(&host));
                        assert_eq!(block.label_of_address(address), expected, "{host}");
                        let network = Prefix::covering(address, prefix.length().min(24));
                        let is_around = |other: &Target| other.covers(&Target::V4(network));
                        let expected = narrowest(&|other| length(*other) <= 24 && is_around(other));
                        assert_eq!(block.label_of_network(network), expected, "{network}");
                    }
                }
                Target::V6(prefix) => {
                    let expected = narrowest(&|other| other.covers(&Target::V6(prefix)));
                    assert_eq!(block.label_of_six(prefix), expected, "{prefix}");
                }
            }
        }
    }

    fn check(&self) {
        let told: BTreeSet<_> = self.kernel.keys().copied().collect();
        let sides = self.blocklist.sides(Polarity::Block);
        let wanted = sides
            .flat_map(|(set, side)| side.targets().iter().map(|target| (set, target)).collect::<Vec<_>>());
        assert_eq!(told, wanted.collect());
        for ((set, target), label) in &self.kernel {
            let now = self.blocklist.side(*set).label_of(*target);
            assert_eq!(*label, now, "{target}: told of every change");
            let [before, after] = self.orders.each_ref().map(|order| self.label_by(order, *set, *target));
            if self.blocklist.is_relabelling() {
                assert!([before, after].contains(label), "{target}: {label:?}, not {before:?} or {after:?}");
            } else {
                assert_eq!(*label, after, "{target}: the first holder's");
            }
        }
    }

    fn check_shared(&self) {
        let sides = self.blocklist.sides(Polarity::Block);
        let holders: Vec<_> = sides
            .flat_map(|(_, side)| {
                side.targets().iter().map(|target| side.holders(target)).collect::<Vec<_>>()
            })
            .collect();
        for (id, list) in self.blocklist.lists().iter() {
            let shared = holders.iter().filter(|holders| holders.len() > 1 && holders.contains(&id));
            assert_eq!(self.blocklist.shared_by(id), shared.count() as u64, "{}", list.name);
        }
    }
}

fn length(target: Target) -> u8 {
    match target {
        Target::V4(prefix) => prefix.length(),
        Target::V6(prefix) => prefix.length(),
    }
}

proptest! {
    // Each case makes a blocklist, and checks all of it after every step.
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn effects_keep_labels_of_first_lists(
        steps in steps(), on_all_ports in 0..=CONFIGURED
    ) {
        let mut story = RelabelScenario::new(on_all_ports);
        story.orders = [story.configured.clone(), story.configured.clone()];
        for step in steps {
            match step {
                Step::Want(list, words, until) => {
                    let origin = if list < CONFIGURED { Origin::File } else { Origin::Live };
                    story.apply(&want(LISTS[list], origin, &words, until), 0);
                }
                Step::Release(list, words) => {
                    let from = match list {
                        Some(list) => ReleaseFrom::List(LISTS[list].into()),
                        None => ReleaseFrom::EveryLiveList(Polarity::Block),
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
                Step::Reorder(order) if !story.blocklist.is_relabelling() => {
                    let order: Vec<_> = order.iter().map(|at| story.configured[*at]).collect();
                    story.blocklist.lists.set_places(order.clone());
                    story.orders = [story.orders[1].clone(), order];
                    story.blocklist.reorder(at(0));
                }
                Step::Reorder(..) => {}
                Step::Page => story.apply(&Change::Relabel, 0),
            }
            story.check();
            if story.blocklist.is_relabelling() {
                story.check_questions();
            }
        }
        while story.blocklist.is_relabelling() {
            story.apply(&Change::Relabel, 0);
        }
        story.check();
        story.check_questions();
        story.check_shared();
    }
}

/// Lists of the configuration, each with one address of its own.
fn many(count: u32) -> (Blocklist, Vec<ListId>) {
    let mut blocklist = Blocklist::default();
    let made = (0..count).map(|number| {
        let name = format!("list{number}");
        let id = blocklist.make_list(&name, Origin::File, Polarity::Block, at(1)).unwrap();
        let own = Targets { addresses: vec![number], ..Targets::default() };
        let origin = Origin::File;
        let change = Change::Want(Want { origin, ..Want::live(&*name, Polarity::Block, own) });
        blocklist.apply(&change, at(1)).unwrap();
        id
    });
    let lists: Vec<_> = made.collect();
    blocklist.lists.set_places(lists.clone());
    blocklist.begin_order(at(1));
    (blocklist, lists)
}

fn relabel_all(blocklist: &mut Blocklist) -> Targets {
    let mut relabelled = Targets::default();
    blocklist.reorder(at(2));
    while blocklist.is_relabelling() {
        relabelled.extend(&blocklist.apply(&Change::Relabel, at(2)).unwrap().effects.sets.block.relabelled);
    }
    relabelled.sort();
    relabelled
}

fn labels(blocklist: &Blocklist, addresses: impl IntoIterator<Item = u32>) -> Vec<Label> {
    addresses.into_iter().map(|address| blocklist.block().label_of_address(address)).collect()
}

#[test]
fn first_250_lists_have_own_numbers() {
    let (blocklist, _) = many(260);
    let own: BTreeSet<_> = labels(&blocklist, 0..250).into_iter().collect();
    assert!(own.len() == 250 && !own.contains(&OTHER));
    assert_eq!(labels(&blocklist, 250..260), [OTHER; 10]);
}

#[test]
fn new_first_list_gets_a_freed_number() {
    let (mut blocklist, mut lists) = many(251);
    let label_of_249 = labels(&blocklist, [249])[0];
    let last = lists.pop().unwrap();
    lists.insert(0, last);
    blocklist.lists.set_places(lists);
    let both = Targets { addresses: vec![249], ..Targets::default() };
    assert_eq!(relabel_all(&mut blocklist), both, "nobody may have its number yet");
    assert_eq!(labels(&blocklist, [249, 250]), [OTHER, OTHER]);
    assert_eq!(blocklist.numbers_to_clear(), [label_of_249]);
    blocklist.free_number(label_of_249);
    assert_eq!(relabel_all(&mut blocklist).addresses, [250]);
    assert_eq!(labels(&blocklist, [249, 250]), [OTHER, label_of_249]);
    assert_eq!(&*blocklist.number(label_of_249).unwrap().name, "list250");
    assert_eq!(blocklist.number(label_of_249).unwrap().since, at(2));
    assert!(blocklist.numbers_to_clear().is_empty());
}

#[test]
fn returning_name_keeps_its_number() {
    let mut blocklist = Blocklist::default();
    let label = |blocklist: &Blocklist, name: &str| blocklist.number_of(name).map(|(label, _)| label);
    let flip = |blocklist: &mut Blocklist, name: &str, now| {
        blocklist.apply(&want(name, Origin::Live, &[4], None), at(now)).unwrap();
        let number = label(blocklist, name);
        let from = ReleaseFrom::List(name.into());
        let released =
            blocklist.apply(&Change::Release { from, targets: [target(4)].into_iter().collect() }, at(now));
        blocklist.forget_empty_lists(&released.unwrap());
        blocklist.reorder(at(now));
        number
    };
    let ssh = flip(&mut blocklist, "ssh", 1);
    let mail = flip(&mut blocklist, "mail", 2);
    assert!(ssh != mail && ssh.is_some() && mail.is_some());
    assert_eq!(flip(&mut blocklist, "ssh", 3), ssh);
    assert_eq!(blocklist.number(ssh.unwrap()).unwrap().since, at(1));
}

#[test]
fn renamed_list_gets_a_new_number() {
    let (mut blocklist, lists) = many(2);
    let before = labels(&blocklist, [0, 1]);
    blocklist.lists.rename([(lists[0], "renamed".into())]);
    assert_eq!(relabel_all(&mut blocklist).addresses, [0]);
    let after = labels(&blocklist, [0, 1]);
    assert!(!before.contains(&after[0]) && after[1] == before[1]);
    assert_eq!(&*blocklist.number(after[0]).unwrap().name, "renamed");
}
