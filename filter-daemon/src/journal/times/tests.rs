//! Tests clocks that jump, machines that are off for a while, and successive filterds.

use proptest::prelude::*;

use super::*;
use crate::blocklist::Polarity;
use crate::clock::Boot;

const HOUR: i64 = 3600;
const YEAR: i64 = 365 * 24 * HOUR;

/// When the tests begin, in true time.
const START: i64 = 1_800_000_000;

/// A machine whose clock may be wrong, and the events on it. Times are in seconds, and true time is never
/// wrong.
struct SimulatedMachine {
    now: i64,
    boot: u8,
    booted: i64,
    /// How far the wall clock is ahead of true time.
    wrong: i64,
    times: WriterTimes,
    changes: Vec<Record>,
    /// The running filterd.
    offset: i64,
    begun: i64,
    is_read: bool,
}

impl SimulatedMachine {
    fn new() -> Self {
        let (times, changes) = (WriterTimes::default(), Vec::new());
        let booted = START - HOUR;
        let mut world = Self {
            now: START,
            boot: 1,
            booted,
            wrong: 0,
            times,
            changes,
            offset: 0,
            begun: 0,
            is_read: false,
        };
        world.start();
        world
    }

    fn wall(&self) -> i64 {
        self.now + self.wrong
    }

    /// The row that the running filterd writes after it has read the journal, before anything else happens.
    fn has_read(&mut self) -> &mut Self {
        if !std::mem::replace(&mut self.is_read, true) && self.times.end_in_another_time(&self.moment()) {
            self.times.add(Some(self.moment()), 0);
        }
        self
    }

    fn start(&mut self) {
        self.is_read = false;
        self.offset = self.wall() - (self.now - self.booted);
        self.begun = self.wall();
    }

    fn own(&self) -> i64 {
        self.offset + self.now - self.booted
    }

    fn moment(&self) -> Moment {
        Moment {
            boot: Boot([self.boot; 16]),
            offset: self.offset * 1000,
            begun: at(self.begun),
            own: at(self.own()),
            wall: at(self.wall()),
        }
    }

    /// Adds an entry with this time to live.
    fn add(&mut self, ttl: i64) -> &mut Self {
        let (since, until) = (at(self.own()), Some(at(self.own() + ttl)));
        let (list, targets) = ("manual".into(), Default::default());
        self.changes.push(Record::Want {
            list,
            since,
            until,
            note: None,
            by: None,
            polarity: Polarity::Block,
            targets,
        });
        self.times.add(Some(self.moment()), 1);
        self
    }

    fn passes(&mut self, seconds: i64) -> &mut Self {
        self.has_read().now += seconds;
        self
    }

    fn clock_is_set(&mut self, by: i64) -> &mut Self {
        self.has_read().wrong += by;
        self
    }

    /// The clock was set, and filterd has noticed.
    fn clock_is_seen_to_be_set(&mut self, by: i64) -> &mut Self {
        let moment = self.clock_is_set(by).moment();
        self.times.add(Some(moment), 0);
        self
    }

    fn restart(&mut self) -> &mut Self {
        self.has_read().start();
        self
    }

    fn reboot(&mut self, off: i64) -> &mut Self {
        self.has_read();
        (self.now, self.boot, self.booted) = (self.now + off + 1, self.boot + 1, self.now + off);
        self.start();
        self
    }

    /// The seconds left of each entry for a filterd that reads the journal now, and how far the clock is
    /// behind.
    fn left(&self) -> (Vec<i64>, Option<u64>) {
        let mut changes = self.changes.clone();
        let behind = self.times.translate(&mut changes, &self.moment());
        let left = changes.iter().map(|change| match change {
            Record::Want { until: Some(until), .. } => until.after(at(self.own())),
            Record::Want { .. } | Record::Release { .. } | Record::ReleaseAll { .. } => {
                panic!("nothing else was written")
            }
        });
        (left.collect(), behind)
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_secs(0).later_by(seconds)
}

#[test]
fn within_a_boot_the_clock_is_ignored() {
    for set in [0, YEAR, -YEAR, -START, 7] {
        let mut world = SimulatedMachine::new();
        world.add(HOUR).passes(600).clock_is_set(set).restart();
        assert_eq!(world.left(), (vec![3000], None), "set by {set}");
        world.add(HOUR).passes(60).clock_is_set(-set / 2).restart().passes(40);
        assert_eq!(world.left(), (vec![2900, 3500], None), "set by {set}, and by half of it back");
    }
}

#[test]
fn wall_clock_counts_across_reboots() {
    let mut world = SimulatedMachine::new();
    world.add(HOUR).passes(600).reboot(1000);
    assert_eq!(world.left(), (vec![3600 - 1601], None));
    world.add(HOUR).reboot(100);
    assert_eq!(world.left(), (vec![3600 - 1702, 3600 - 101], None));
}

#[test]
fn corrected_clock_counts_after_reboot() {
    let mut world = SimulatedMachine::new();
    // A board without a clock starts in 1970, and learns the time later.
    world.clock_is_set(-START).restart().add(HOUR).passes(60);
    world.clock_is_seen_to_be_set(START).reboot(40);
    assert_eq!(world.left(), (vec![3600 - 101], None));
}

#[test]
fn clock_behind_keeps_remaining_times() {
    let mut world = SimulatedMachine::new();
    world.add(HOUR).passes(600).add(HOUR).clock_is_set(-YEAR).reboot(1000);
    let behind = (YEAR - 1001) as u64;
    assert_eq!(world.left(), (vec![3000, 3600], Some(behind)));
    // This stays so for every reader, even if the clock is set meanwhile. Only the first reader reports it.
    world.passes(100).add(HOUR).passes(10).clock_is_set(YEAR).restart();
    assert_eq!(world.left(), (vec![2890, 3490, 3590], None));
    world.add(HOUR).reboot(9);
    assert_eq!(world.left(), (vec![2880, 3480, 3580, 3590], None));
}

#[test]
fn second_start_uses_row_of_first() {
    for set in [0, YEAR, -YEAR, -1800] {
        let mut world = SimulatedMachine::new();
        world.add(2 * HOUR).reboot(100).passes(1800).clock_is_set(set).restart();
        assert_eq!(world.left(), (vec![7200 - 101 - 1800], None), "set by {set}");
    }
}

#[test]
fn clock_set_between_filterds_is_ignored() {
    for set in [-10, 10, -YEAR / 2, YEAR] {
        let mut world = SimulatedMachine::new();
        world.add(HOUR).passes(2).clock_is_set(set).restart().passes(3).reboot(100);
        assert_eq!(world.left(), (vec![3600 - 2 - 3 - 101], None), "set by {set}");
    }
}

#[test]
fn unknown_boot_counts_as_other() {
    let mut world = SimulatedMachine::new();
    world.boot = 0;
    world.start();
    world.add(HOUR).passes(60).clock_is_set(30).restart();
    assert_eq!(world.left(), (vec![3600 - 90], None));
}

#[test]
fn old_rows_are_in_wall_time() {
    let world = SimulatedMachine::new();
    let (until, list) = (Some(at(START + 60)), "manual".into());
    let before = Record::Want {
        list,
        since: at(START),
        until,
        note: None,
        by: None,
        polarity: Polarity::Block,
        targets: Default::default(),
    };
    let mut changes = vec![before.clone()];
    let mut times = WriterTimes::default();
    times.add(None, 1);
    assert_eq!(times.translate(&mut changes, &world.moment()), None);
    assert_eq!(changes[0], before);
    // Before rows with moments, written by an old version, which writes nothing after it has read the
    // journal.
    let mut world = SimulatedMachine::new();
    (world.times, world.changes, world.is_read) = (times, changes, true);
    world.passes(10).clock_is_set(1000).restart().add(HOUR);
    assert_eq!(world.left().0, [50 - 1000, 3600], "by the wall, as the filterd that wrote it would have it");
}

#[test]
fn long_expired_entries_never_become_permanent() {
    let mut world = SimulatedMachine::new();
    world.add(5).passes(HOUR).clock_is_set(-2 * START).restart();
    let mut changes = world.changes.clone();
    world.times.translate(&mut changes, &world.moment());
    assert!(matches!(changes[0], Record::Want { until: Some(until), .. } if until.secs() == 1));
}

proptest! {
    /// If the clock is never set, every entry expires on time, however many starts and boots there are.
    #[test]
    fn unset_clock_keeps_every_expiry(steps in prop::collection::vec((0..4u8, 1..5000i64), 1..30), wrong in -YEAR..YEAR) {
        let mut world = SimulatedMachine::new();
        world.clock_is_set(wrong).restart();
        let mut ends = Vec::new();
        for (step, number) in steps {
            match step {
                0 => {
                    ends.push(world.now + number);
                    world.add(number)
                }
                1 => world.passes(number),
                2 => world.restart(),
                _ => world.reboot(number),
            };
        }
        let left: Vec<i64> = ends.iter().map(|end| end - world.now).collect();
        prop_assert_eq!(world.left(), (left, None));
    }

    /// Within one boot, the clock may be set at any time.
    #[test]
    fn in_one_boot_no_clock_moves_a_deadline(steps in prop::collection::vec((0..4u8, -5000..5000i64), 1..30)) {
        let mut world = SimulatedMachine::new();
        let mut ends = Vec::new();
        for (step, number) in steps {
            match step {
                0 => {
                    ends.push(world.now + number.abs());
                    world.add(number.abs())
                }
                1 => world.passes(number.abs()),
                2 => world.clock_is_set(number),
                _ => world.restart(),
            };
        }
        let left: Vec<i64> = ends.iter().map(|end| end - world.now).collect();
        prop_assert_eq!(world.left(), (left, None));
    }

    /// A reboot never expires an entry sooner than the wall clock says. It never leaves more time than was
    /// left at the last record.
    #[test]
    fn reboot_never_extends_remaining_time(ttl in 1..100_000i64, ran in 0..5000i64, off in 0..5000i64, set in -YEAR..YEAR) {
        let mut world = SimulatedMachine::new();
        world.add(ttl).passes(ran).add(1).clock_is_set(set).reboot(off);
        let (left, behind) = world.left();
        prop_assert!(left[0] <= ttl - ran, "{:?}", left);
        prop_assert_eq!(behind.is_some(), set + off + 1 < 0);
        let by_the_wall = ttl - ran - off - 1 - set;
        prop_assert_eq!(left[0], if behind.is_some() { ttl - ran } else { by_the_wall });
    }
}
