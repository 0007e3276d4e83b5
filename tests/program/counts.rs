//! For which list the bytecode counts what it drops, and that no packet is left out or counted twice.

use std::cell::RefCell;

use aya::programs::{TestRun, TestRunOptions, Xdp};
use aya_obj::programs::XdpAttachType;
use filter_common::labels::{Counted, Counters, Label};
use filter_common::packet::Source;
use filter_common::reason::Outcome;
use filter_common::target::Target;
use filterd::blocklist::{Effects, Settings, Timestamp};
use filterd::kernel::Filter;
use harness::numbered::Numbered;
use harness::{Frame, Home};

/// What was counted for the list of a label, in one way.
type OfLabel = (Label, Counted, u64);

/// A filter at work, and what is blocked.
struct Counting {
    filter: RefCell<Filter>,
    program: Xdp,
    wanted: Numbered,
    // Dropped last: the pins.
    _home: Home,
}

impl Counting {
    fn of(counters: Counters, blocked: &[(&str, Label)]) -> Self {
        let home = Home::new();
        let mut filter = Filter::open(home.pins()).expect("root may load programs");
        let mut wanted = Numbered::default();
        let settings = Settings { counters, ..Settings::default() };
        filter
            .apply(&Effects { settings: Some(settings), ..Effects::default() }, &wanted)
            .expect("there is room");
        let blocked: Vec<(Target, Label)> =
            blocked.iter().map(|(word, label)| (word.parse().expect("it is a target"), *label)).collect();
        wanted.block(&mut filter, &blocked).expect("there is room");
        let program = Xdp::from_pin(home.pins().join("root"), XdpAttachType::Interface);
        let program = program.expect("the root program is pinned");
        Self { filter: RefCell::new(filter), program, wanted, _home: home }
    }

    fn set(&self, settings: Settings) {
        let effects = Effects { settings: Some(settings), ..Effects::default() };
        self.filter.borrow_mut().apply(&effects, &self.wanted).expect("there is room");
    }

    fn send(&self, frame: &Frame) {
        let bytes = frame.bytes([6; 6]);
        let options = TestRunOptions { data_in: Some(&bytes), ..TestRunOptions::new() };
        self.program.test_run(options).expect("the kernel runs it");
    }

    /// Counters that are not zero: of labels, and of outcomes.
    fn counted(&self) -> (Vec<OfLabel>, Vec<(Outcome, u64)>) {
        let mut filter = self.filter.borrow_mut();
        let lists = (0..=Label::MAX).zip(filter.list_counters());
        let lists = lists.flat_map(|(label, counts)| {
            Counted::ALL.into_iter().zip(counts).map(move |(kind, count)| (label, kind, count))
        });
        let outcomes = filter.counters().expect("counters can be read");
        (
            lists.filter(|(.., count)| *count > 0).collect(),
            outcomes.into_iter().filter(|(_, count)| *count > 0).collect(),
        )
    }
}

#[test]
fn each_drop_counts_for_its_list() {
    let counting = Counting::of(
        Counters::Lists,
        &[("192.0.2.7", 1), ("192.0.2.8", 2), ("192.0.2.16/28", 250), ("198.51.100.1", 0)],
    );
    for (source, times) in
        [("192.0.2.7", 3), ("192.0.2.8", 5), ("192.0.2.17", 7), ("198.51.100.1", 11), ("203.0.113.9", 13)]
    {
        (0..times).for_each(|_| counting.send(&Frame::from(source)));
    }
    let (lists, _) = counting.counted();
    let dropped = Counted::Dropped;
    assert_eq!(lists, [(0, dropped, 11), (1, dropped, 3), (2, dropped, 5), (250, dropped, 7)]);
    counting.filter.borrow_mut().zero_list(2);
    let (lists, _) = counting.counted();
    assert_eq!(lists, [(0, dropped, 11), (1, dropped, 3), (250, dropped, 7)], "one begins anew");
}

/// Whatever holds a source: prefixes that share a /16 or a /24 of IPv6, and what stands in the table.
#[test]
fn each_kind_of_target_counts_for_its_list() {
    let blocked = [
        ("10.1.0.0/16", 1),
        ("10.1.2.0/24", 2),
        ("10.2.0.0/15", 3),
        ("10.4.0.9", 4),
        ("10.4.0.16/28", 5),
        ("2a00::/12", 6),
        ("2001:db8::/32", 7),
        ("2001:db9::/32", 8),
        ("2001:4000::/19", 9),
        ("2400:1:2::/48", 10),
        ("2400:1:3:4::/64", 11),
        ("2400:1:4::7", 12),
    ];
    let counting = Counting::of(Counters::Lists, &blocked);
    let sources = [
        ("10.1.1.1", 1),
        ("10.1.2.1", 2),
        ("10.3.255.255", 3),
        ("10.4.0.9", 4),
        ("10.4.0.31", 5),
        ("2a0f::1", 6),
        ("2001:db8:1::1", 7),
        ("2001:db9::1", 8),
        ("2001:5fff::1", 9),
        ("2400:1:2:ffff::1", 10),
        ("2400:1:3:4::9", 11),
        ("2400:1:4::7", 12),
    ];
    for (source, label) in sources {
        (0..label).for_each(|_| counting.send(&Frame::from(source)));
    }
    ["10.0.0.1", "10.4.0.10", "2400:1:4::8", "2001:dba::1"]
        .into_iter()
        .for_each(|other| counting.send(&Frame::from(other)));
    let (lists, outcomes) = counting.counted();
    let expected: Vec<_> =
        sources.iter().map(|(_, label)| (*label, Counted::Dropped, u64::from(*label))).collect();
    assert_eq!(lists, expected);
    let dropped = outcomes.iter().filter(|(outcome, _)| matches!(outcome, Outcome::Drop(_)));
    let sum: u64 = lists.iter().map(|(.., count)| count).sum();
    assert_eq!(dropped.map(|(_, count)| count).sum::<u64>(), sum, "the lists together have all of them");
}

#[test]
fn would_drop_counts_per_list() {
    let counting = Counting::of(Counters::Lists, &[("192.0.2.7", 1)]);
    let settings = Settings { counters: Counters::Lists, ..Settings::default() };
    for settings in [
        settings,
        Settings { enforce: false, ..settings },
        Settings { paused: Some(Timestamp::from_secs(u32::MAX)), ..settings },
        Settings { enforce: false, ..settings },
    ] {
        counting.set(settings);
        counting.send(&Frame::from("192.0.2.7"));
    }
    let (lists, _) = counting.counted();
    assert_eq!(lists, [(1, Counted::Dropped, 1), (1, Counted::WouldDrop, 2), (1, Counted::Paused, 1)]);
}

#[test]
fn list_counters_can_pause_and_continue() {
    let counting = Counting::of(Counters::Total, &[("192.0.2.7", 1)]);
    let lists = Settings { counters: Counters::Lists, ..Settings::default() };
    let total = Settings { counters: Counters::Total, ..Settings::default() };
    let mut needs = counting.wanted.needs();
    for (settings, sum) in [(total, 0), (lists, 1), (total, 1), (lists, 2)] {
        counting.set(settings);
        counting.send(&Frame::from("192.0.2.7"));
        needs.counters = settings.counters;
        counting.filter.borrow_mut().tidy(&needs).expect("there is nothing to make");
        let (counted, outcomes) = counting.counted();
        assert_eq!(counted.iter().map(|(.., count)| count).sum::<u64>(), sum);
        assert!(counted.iter().all(|(label, counted, _)| (*label, *counted) == (1, Counted::Dropped)));
        assert_eq!(outcomes.len(), 1, "{outcomes:?}");
        let source = Source::V4(0xC000_0207);
        let label = counting.filter.borrow().label(source);
        assert_eq!(label, Some(u8::from(settings.counters == Counters::Lists)));
    }
}
