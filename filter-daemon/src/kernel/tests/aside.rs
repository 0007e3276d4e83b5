//! Tests judges that are loaded in the background: plans wait for them, and other requests do not.

use crate::blocklist::{Change, Meaning, Origin, Polarity, Settings, Targets, Timestamp};
use crate::daemon::needs;
use crate::kernel::KernelError;
use filter_common::ports::{Clause, Range};
use filter_common::sets::SetName;
use filter_common::target::{Prefix, Target};

use super::growth::{Owner, four, net64, six};
use super::world::at;

/// A network, a /64 and an IPv6 address: they need maps, levels and lengths that no judge has looked up
/// before.
fn first_of_their_kind() -> Targets {
    Targets::from_iter([Target::V4(Prefix::covering(0x0B00_0000, 24)), net64(7), six(1)])
}

impl Owner {
    /// An owner whose judge looks up addresses only, and that waits for a judge that looks up more.
    fn waiting() -> Self {
        let mut owner = Self::new();
        owner.add((0..300).map(four)).expect("the kernel is well");
        assert!(!owner.reserve_aside(&first_of_their_kind()).expect("there is memory"), "it takes a while");
        owner
    }

    fn reserve_aside(&mut self, more: &Targets) -> Result<bool, KernelError> {
        let needs = self.protection.needs_with(SetName::Block.into(), more);
        let (filter, blocklist) = self.protection.parts();
        filter.reserve_aside(&needs, blocklist)
    }

    /// The steps of the main loop until no judge is awaited, at most a hundred.
    fn settle_judge(&mut self) -> usize {
        let steps = (0..100).take_while(|_| {
            let is_awaited = self.filter().is_awaiting_judge();
            self.settle(u32::from(is_awaited));
            is_awaited
        });
        steps.count()
    }
}

#[test]
fn new_judge_is_loaded_without_waiting() {
    let mut owner = Owner::waiting();
    let before = owner.kernel.waits_for_judges();
    assert!(owner.settle_judge() > 1, "it takes a while");
    assert!(owner.reserve_aside(&first_of_their_kind()).expect("it is there"));
    owner.add(first_of_their_kind().iter()).expect("there is room");
    assert!(first_of_their_kind().iter().all(|target| owner.drops(target)));
    assert_eq!(owner.kernel.waits_for_judges(), before);
}

#[test]
fn additions_to_current_tables_do_not_wait() {
    let mut owner = Owner::waiting();
    let before = owner.kernel.requests();
    owner.add([four(300)].into_iter()).expect("there is room");
    assert!(owner.drops(four(300)), "he is met at once");
    assert_eq!(owner.kernel.requests(), before, "nothing was loaded or published for him");
    assert!(owner.filter().is_awaiting_judge());
    owner.settle_judge();
    owner.add(first_of_their_kind().iter()).expect("there is room");
    assert!((0..301).map(four).chain(first_of_their_kind().iter()).all(|target| owner.drops(target)));
}

/// Targets that are blocked on some ports only have a set of their own, which must not affect the set blocked
/// on all.
#[test]
fn additions_do_not_wait_for_new_clause() {
    let mut owner = Owner::new();
    owner.add((0..300).map(four)).expect("the kernel is well");
    let blocklist = owner.protection.blocklist_mut();
    let ports = Some(Clause::new(false, Range::new(22, 22)).expect("it is one range"));
    let meaning = Meaning { ports, ..Meaning::plain(Polarity::Block) };
    let make = Change::Make { name: "ssh".into(), origin: Origin::File, meaning };
    let made = blocklist.apply(&make, Timestamp::default()).expect("there is a slot").made;
    let list = made.expect("it is made");
    let set = owner.protection.blocklist().lists().get(list).set();
    let needs = owner.protection.needs_with(set.into(), &Targets::from_iter([four(1000)]));
    let (filter, blocklist) = owner.protection.parts();
    assert!(!filter.reserve_aside(&needs, blocklist).expect("there is memory"), "it takes a while");
    let of = |number| Targets::from_iter([four(number)]);
    assert!(owner.filter().sees(SetName::Block, &of(300)), "packets look there");
    assert!(!owner.filter().sees(set, &of(1000)), "and not here");
    let before = owner.kernel.requests();
    owner.add([four(300)].into_iter()).expect("there is room");
    assert!(owner.drops(four(300)) && owner.filter().is_awaiting_judge());
    assert_eq!(owner.kernel.requests(), before, "nothing was loaded or published for him");
}

#[test]
fn removal_meanwhile_sends_no_request() {
    let mut owner = Owner::waiting();
    let next = owner.kernel.requests();
    owner.kernel.refuse(next..next + 1000);
    owner.remove([four(1)].into_iter());
    assert!(!owner.drops(four(1)) && owner.drops(four(2)));
    assert!(owner.filter().is_awaiting_judge(), "what was planned goes on");
    assert_eq!(owner.kernel.requests(), next);
}

/// The caller adds at once instead of waiting for the judge.
#[test]
fn addition_to_planned_table_is_published() {
    let mut owner = Owner::waiting();
    owner.add([net64(7)].into_iter()).expect("there is room");
    assert!(owner.drops(net64(7)) && owner.drops(four(1)) && !owner.drops(six(1)));
    assert!(!owner.filter().is_awaiting_judge(), "it is published");
}

#[test]
fn waiting_caller_gets_load_error() {
    let mut owner = Owner::waiting();
    owner.kernel.refuse_judges(true);
    owner.settle_judge();
    let told = (0..10).find_map(|_| {
        let asked = owner.reserve_aside(&first_of_their_kind());
        owner.settle_judge();
        asked.err()
    });
    assert!(told.is_some(), "he waits for ever");
    assert!(owner.add([six(1)].into_iter()).is_err(), "and is told so himself");
    assert!((0..300).all(|number| owner.drops(four(number))) && !owner.drops(six(1)));
    owner.kernel.refuse_judges(false);
    owner.add(first_of_their_kind().iter()).expect("the kernel is well again");
    assert!(owner.drops(net64(7)) && owner.drops(six(1)));
    let (pinned, used) = owner.kernel.pins();
    assert_eq!(pinned.len(), used.len(), "nothing of the trouble is left");
}

#[test]
fn load_error_is_reported_after_recovery() {
    let mut owner = Owner::waiting();
    owner.kernel.refuse_judges(true);
    owner.settle_judge();
    owner.kernel.refuse_judges(false);
    assert!(owner.reserve_aside(&first_of_their_kind()).is_err(), "what he waited for was given up");
    assert!(!owner.reserve_aside(&first_of_their_kind()).expect("he is told once"), "it takes a while");
}

/// Both may wait for the same judge: the broker loads one at a time, and in the end one judge serves both.
#[test]
fn larger_table_shares_the_awaited_judge() {
    let mut owner = Owner::waiting();
    let before = owner.kernel.waits_for_judges();
    let more: Targets = (300..2000).map(four).collect();
    let needs = owner.protection.needs_with(SetName::Block.into(), &more);
    let (filter, blocklist) = owner.protection.parts();
    assert!(filter.grow_aside(&needs, blocklist).expect("there is memory").addresses);
    while owner.filter().is_growing() || owner.filter().is_awaiting_judge() {
        owner.settle(1);
    }
    owner.add(more.iter().chain(first_of_their_kind().iter())).expect("there is room");
    assert!(more.iter().chain(first_of_their_kind().iter()).all(|target| owner.drops(target)));
    assert_eq!(owner.kernel.waits_for_judges(), before);
}

#[test]
fn judge_for_new_settings_loads_without_waiting() {
    let mut owner = Owner::waiting();
    let before = owner.kernel.waits_for_judges();
    let other = Settings { enforce: false, ..owner.filter().settings() };
    let asked = (0..20).position(|_| {
        let is_there = owner.protection.filter_mut().foresee(other).expect("there is memory");
        owner.settle(u32::from(!is_there));
        is_there
    });
    assert!(asked.is_some_and(|asked| asked > 3), "that of what is planned comes first: {asked:?}");
    owner.protection.commit(&Change::Settings(other), at(2)).expect("the kernel is well");
    assert_eq!(owner.kernel.settings().map(|settings| settings.enforce), Some(false.into()));
    assert_eq!(owner.kernel.waits_for_judges(), before);
}

/// The judge is loaded already when nothing needs the plan any more.
#[test]
fn judge_of_dropped_plan_is_not_published() {
    let mut owner = Owner::new();
    owner.add((0..300).map(four)).expect("the kernel is well");
    owner.reserve(first_of_their_kind().iter()).expect("there is memory");
    let needs = needs::of(owner.protection.blocklist());
    owner.protection.filter_mut().tidy(&needs).expect("the kernel is well");
    let (pinned, used) = owner.kernel.pins();
    assert_eq!(pinned.len(), used.len(), "packets meet the tables that are in use");
    assert!((0..300).all(|number| owner.drops(four(number))));
}
