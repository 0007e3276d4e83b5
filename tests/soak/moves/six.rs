//! IPv6 prefixes around the same sources come and go, shorter ones and longer ones, on all levels, until tables grow and levels
//! are packed anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

use filter_common::target::Prefix;
use filterd::kernel::grace;
use filterd::kernel::hook::Hook;
use harness::Net;

use super::traffic::{Sender, Traffic};
use super::world::World;
use super::{ENOUGH, PATIENCE};
use crate::rounds;
use crate::six::Blocked6;

/// The table begins anew when it has grown to this.
const MOST: u64 = 5_000;
/// So many unlisted sources the control lists.
const MISTAKES: usize = 100;
/// So many prefixes leave together there.
const TOGETHER: usize = 64;

#[test]
fn ipv6_prefixes_move() {
    move_before(Hook::Xdp);
}

#[test]
fn ipv6_prefixes_move_before_tc() {
    move_before(Hook::Tc);
}

fn move_before(hook: Hook) {
    let frames = rounds(5_000_000, 1_000_000_000) as u64;
    let (growths, packings, changes) = (rounds(4, 100), rounds(1, 100), rounds(2_000, 500_000));
    let net = Net::new();
    let mut churn = Churn::new(net.home().pins());
    let (members, strangers) = (churn.world.members(), churn.world.strangers());
    let traffic = Traffic::new(&net, Sender::six(&net, &members, &strangers), hook);

    let seen = traffic.during(|seen| {
        while seen().arrived() < frames
            || churn.growths < growths
            || churn.packings < packings
            || churn.world.outer_left + churn.world.inner_left < changes
        {
            churn.round();
        }
    });
    assert_eq!((seen.passed_of_members, seen.dropped_of_unlisted()), (0, 0), "{seen:?}");

    // The control: what covers members leaves before it comes again, and some strangers are listed by mistake.
    let covers = churn.begin_anew();
    let control = traffic.during(|seen| {
        churn.filter().add(strangers.iter().take(MISTAKES).map(|address| Prefix::host(*address)));
        let begun = Instant::now();
        while seen().passed_of_members < ENOUGH && begun.elapsed() < PATIENCE {
            for some in covers.chunks(TOGETHER) {
                churn.filter().remove(some.iter().copied());
                churn.filter().add(some.iter().copied());
            }
        }
    });
    assert!(control.passed_of_members >= ENOUGH && control.dropped_of_unlisted() > 0, "{control:?}");
    println!(
        "{} frames in {hook:?} during {} relocations, {} growths and {} packings of the levels, while members lost {} outer \
         and {} inner prefixes: 0 of {} listed passed, 0 of {} unlisted dropped\n\
         control, prefixes that leave before they come again: {} of {} listed passed; \
         {MISTAKES} strangers listed by mistake: {} unlisted dropped",
        seen.arrived(),
        churn.relocations,
        churn.growths,
        churn.packings,
        churn.world.outer_left,
        churn.world.inner_left,
        seen.arrived_of_members,
        seen.arrived_of_unlisted,
        control.passed_of_members,
        control.arrived_of_members,
        control.dropped_of_unlisted(),
    );
}

/// The world, and what the kernel is told of it.
struct Churn<'a> {
    pins: &'a Path,
    world: World,
    filter: Option<Blocked6>,
    capacity: u64,
    moved: u64,
    levels: BTreeSet<String>,
    growths: usize,
    packings: usize,
    relocations: u64,
}

impl<'a> Churn<'a> {
    fn new(pins: &'a Path) -> Self {
        let mut churn = Self {
            pins,
            world: World::new(),
            filter: None,
            capacity: 0,
            moved: 0,
            levels: BTreeSet::new(),
            growths: 0,
            packings: 0,
            relocations: 0,
        };
        churn.begin_anew();
        churn
    }

    /// A small table again, as after a restart. The one before lets go of the pins first: they are one filter's at a time.
    fn begin_anew(&mut self) -> Vec<Prefix<u128>> {
        let covers = self.world.forget_others();
        self.filter = None;
        self.filter = Some(Blocked6::blocking(self.pins, covers.iter().copied()));
        self.capacity = self.filter().table().capacity;
        self.levels = levels(self.pins);
        self.moved = 0;
        covers
    }

    fn filter(&mut self) -> &mut Blocked6 {
        self.filter.as_mut().expect("one is at work")
    }

    /// Some come, and when no packet is under way any more that may not have seen them, others leave.
    fn round(&mut self) {
        let coming = self.world.coming();
        self.in_pages(coming, |filter, page| filter.add(page));
        grace::wait().expect("this kernel has grace periods");
        let leaving = self.world.leaving();
        self.in_pages(leaving, |filter, page| filter.remove(page));
        if self.filter().table().entries > MOST {
            self.begin_anew();
        }
    }

    fn in_pages(&mut self, prefixes: Vec<Prefix<u128>>, act: fn(&mut Blocked6, Vec<Prefix<u128>>)) {
        let mut left = prefixes.into_iter().peekable();
        while left.peek().is_some() {
            let page = left.by_ref().take(self.world.page()).collect();
            act(self.filter(), page);
            self.look();
            if self.filter().settle() {
                grace::wait().expect("this kernel has grace periods");
            }
            self.look();
        }
    }

    /// Counts what has happened.
    fn look(&mut self) {
        let (capacity, moved) = (self.filter().table().capacity, self.filter().protection.filter().moves6());
        self.growths += usize::from(capacity > self.capacity);
        self.relocations += moved.saturating_sub(self.moved);
        (self.capacity, self.moved) = (capacity, moved);
        let levels = levels(self.pins);
        if levels != self.levels {
            self.packings += 1;
            self.levels = levels;
        }
    }
}

/// The map that tells IPv6 from the top, by the name of its pin: it has another one when it has been made anew.
fn levels(pins: &Path) -> BTreeSet<String> {
    let tables = fs::read_dir(pins.join("tables")).expect("tables are pinned").flatten();
    let names = tables.filter_map(|pin| pin.file_name().into_string().ok());
    names.filter(|name| name.starts_with("levels-")).collect()
}
