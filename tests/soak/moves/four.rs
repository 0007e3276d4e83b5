//! IPv4 addresses come until their table grows, again and again.

use std::path::Path;
use std::time::Instant;

use filterd::kernel::grace;
use filterd::kernel::hook::Hook;
use harness::Net;

use super::traffic::{Sender, Traffic};
use super::{ENOUGH, PATIENCE};
use crate::filter::Blocked;
use crate::{crowd, rounds};

/// Listed all the time, and sending.
const MEMBERS: u32 = 4_000;
/// A table of 29,440 buckets of three, as full as it may be: six growths away from the members' own.
const MOST: u32 = 80_371;
/// So many unlisted sources it lists.
const MISTAKES: u32 = 1_000;

#[test]
fn ipv4_addresses_move() {
    move_before(Hook::Xdp);
}

#[test]
fn ipv4_addresses_move_before_tc() {
    move_before(Hook::Tc);
}

fn move_before(hook: Hook) {
    let frames = rounds(20_000_000, 1_000_000_000) as u64;
    let (growths, relocations) = (rounds(3, 20), rounds(10_000, 300_000) as u64);
    let net = Net::new();
    let pins = net.home().pins();
    let mut churn = Churn { filter: Some(members(pins)), growths: 0, relocations: 0 };
    let traffic = Traffic::new(&net, Sender::four(&net, MEMBERS), hook);

    let seen = traffic.during(|seen| {
        while seen().arrived() < frames || churn.growths < growths || churn.relocations < relocations {
            churn.begin_anew(pins);
            churn.fill();
        }
    });
    assert_eq!((seen.passed_of_members, seen.dropped_of_unlisted()), (0, 0), "{seen:?}");

    // The control: entries leave before they come again elsewhere, and some unlisted sources are listed by mistake.
    let control = traffic.during(|seen| {
        churn.filter().add((0..MISTAKES).map(|number| crowd::address(u32::MAX - number)));
        let begun = Instant::now();
        while seen().passed_of_members < ENOUGH && begun.elapsed() < PATIENCE {
            for address in (0..MEMBERS).map(crowd::address) {
                churn.filter().remove(address);
                churn.filter().add([address]);
            }
        }
    });
    assert!(control.passed_of_members >= ENOUGH && control.dropped_of_unlisted() > 0, "{control:?}");
    println!(
        "{} frames in {hook:?} during {} relocations and {} growths: 0 of {} listed passed, 0 of {} unlisted dropped\n\
         control, entries that leave before they come again: {} of {} listed passed; \
         {MISTAKES} unlisted sources listed by mistake: {} unlisted dropped",
        seen.arrived(),
        churn.relocations,
        churn.growths,
        seen.arrived_of_members,
        seen.arrived_of_unlisted,
        control.passed_of_members,
        control.arrived_of_members,
        control.dropped_of_unlisted(),
    );
}

fn members(pins: &Path) -> Blocked {
    Blocked::blocking(pins, u64::from(MEMBERS), (0..MEMBERS).map(crowd::address))
}

/// Others than the members, who come and go.
struct Churn {
    filter: Option<Blocked>,
    growths: usize,
    relocations: u64,
}

impl Churn {
    /// A small table again, as after a restart. The one before lets go of the pins first: they are one filter's at a time.
    fn begin_anew(&mut self, pins: &Path) {
        self.filter = None;
        self.filter = Some(members(pins));
    }

    fn filter(&mut self) -> &mut Blocked {
        self.filter.as_mut().expect("one is at work")
    }

    /// Fills the table to its limit, lets it grow, and fills it again.
    fn fill(&mut self) {
        let mut moved = self.filter().tables.moves();
        let mut capacity = self.filter().occupancy().capacity;
        for number in MEMBERS..MOST {
            self.filter().add([crowd::address(number)]);
            let now = self.filter().tables.moves();
            self.relocations += now.saturating_sub(moved);
            moved = now;
            let occupancy = self.filter().occupancy();
            self.growths += usize::from(occupancy.capacity > capacity);
            capacity = occupancy.capacity;
            let is_due = occupancy.entries.is_multiple_of(128) || self.filter().tables.is_crowded();
            if is_due && self.filter().settle() {
                grace::wait().expect("this kernel has grace periods");
            }
        }
        self.filter().settle_all();
    }
}
