//! While a reload waits for other judges, no turn of the owner blocks: neither the reload's own turns nor
//! those of changes meanwhile.

mod room;
mod times;

use std::collections::VecDeque;
use std::thread;
use std::time::Duration;

use filter_common::packet::Source;
use filter_common::reason::Verdict;
use filter_common::target::Target;
use tempfile::TempDir;

use super::super::capacity::Capacity;
use super::super::change::Request;
use super::super::commit::Protection;
use super::super::persistence::{self, Persistence};
use super::*;
use crate::blocklist::{Polarity, ReleaseFrom, Targets, Want};
use crate::kernel::Filter;
use crate::kernel::tests::memory::KernelInMemory;

/// More turns than any reload takes, however slow the thread that fills a larger table is.
const ENDLESS: usize = 100_000;

/// The parts of the owner that a reload uses, and their share of its loop.
struct Owner {
    protection: Protection,
    capacity: Capacity,
    persistence: Persistence,
    sources: SourceReadings,
    kernel: KernelInMemory,
    requests: VecDeque<Request>,
    _place: TempDir,
}

impl Owner {
    fn new() -> Self {
        let place = TempDir::new().unwrap();
        let (persistence, _) = persistence::restore(place.path(), Default::default()).unwrap();
        let kernel = KernelInMemory::default();
        let protection = Protection::begin(Blocklist::default(), Filter::through(kernel.broker())).unwrap();
        let (capacity, requests, sources) = (Capacity::default(), VecDeque::new(), Default::default());
        Self { protection, capacity, persistence, sources, kernel, requests, _place: place }
    }

    /// Applies a change like `filterd add` and `remove`: at once, or in its turn.
    fn ask(&mut self, change: Change) {
        let (Change::Want(Want { targets, .. }) | Change::Release { targets, .. }) = &change else { return };
        let answer = |done: Result<ChangeTotals, CommitError>, _: &mut OwnerParts<'_>, _| {
            assert!(done.is_ok(), "{done:?}")
        };
        let request = Request::new(&targets.clone(), vec![change], Box::new(answer));
        let waits = request.at_once(&mut self.parts());
        self.requests.extend(waits);
    }

    fn parts(&mut self) -> OwnerParts<'_> {
        let Self { protection, capacity, persistence, sources, .. } = self;
        OwnerParts { protection, capacity, persistence, sources }
    }

    /// Applies a configuration, and calls `comes` before each turn. Returns the number of turns.
    fn reload(&mut self, loaded: Loaded, comes: impl Fn(&mut Self, usize)) -> usize {
        let blocklist = self.protection.blocklist_mut();
        let mut reload = RunningReload::begin(loaded, blocklist, &mut self.sources).unwrap();
        let ended = (0..ENDLESS).find(|turn| {
            comes(self, *turn);
            self.settle();
            is_done(reload.turn(&mut self.parts()))
        });
        let turns = ended.expect("the reload goes on and on");
        reload.finish(self.protection.blocklist_mut(), &mut self.sources).unwrap();
        turns
    }

    /// Does what the loop does after each event.
    fn settle(&mut self) {
        if let Some(mut request) = self.requests.pop_front()
            && !is_done(request.turn(&mut self.parts()))
        {
            self.requests.push_back(request);
        }
        self.capacity.settle(&mut self.protection);
        self.capacity.everybody_has_seen(&self.protection);
    }

    fn drops(&self, word: &str) -> bool {
        let source = match target(word) {
            Target::V4(prefix) => Source::V4(prefix.address()),
            Target::V6(prefix) => Source::V6(prefix.address().into()),
        };
        matches!(self.kernel.judge(source), Verdict::Drop(_))
    }
}

/// A turn that waits gives the other thread time to work.
fn is_done(turn: Turn) -> bool {
    if turn == Turn::Wait {
        thread::sleep(Duration::from_millis(1));
    }
    turn == Turn::Done
}

/// Both polarities use maps, levels and lengths that no lookup used before. Other settings follow.
const BLOCK: [&str; 5] =
    ["192.0.2.0/24", "2001:db8::/32", "2001:db8:1::/48", "2001:db8:2:3::/64", "2001:db8::7"];
const ALLOW: [&str; 2] = ["192.0.2.7", "2001:db8:1:5::/64"];

#[tokio::test]
async fn loading_judges_for_reload_delays_no_turn() {
    let mut owner = Owner::new();
    owner.ask(want(&["198.51.100.0", "198.51.100.1"]));
    owner.reload(loaded(&["203.0.113.1"], &[], true), |_, _| {});
    let before = owner.kernel.waits_for_judges();
    let turns = owner.reload(loaded(&BLOCK, &ALLOW, false), |owner, turn| {
        let (comes, goes) = (format!("198.51.100.{}", turn + 2), format!("198.51.100.{turn}"));
        owner.ask(want(&[&comes]));
        assert!(owner.drops(&comes), "{comes} is blocked at once, in turn {turn}");
        owner.ask(release(&[&goes]));
        assert!(!owner.drops(&goes), "{goes} passes at once, in turn {turn}");
    });
    assert!(turns > 8, "judges take their time: {turns} turns");
    owner.reload(loaded(&BLOCK, &ALLOW, true), |_, _| {});
    assert_eq!(owner.kernel.waits_for_judges(), before);
    assert!(BLOCK.iter().all(|word| owner.drops(word)) && !ALLOW.iter().any(|word| owner.drops(word)));
}

/// One `filterd add` needs a new prefix length, and another comes before its judge is loaded.
#[tokio::test]
async fn new_lookup_during_reload_does_not_delay_turns() {
    let mut owner = Owner::new();
    owner.ask(want(&["198.51.100.0", "2001:db8:1::/48"]));
    (0..20).for_each(|_| owner.settle());
    let before = owner.kernel.waits_for_judges();
    owner.ask(want(&["2001:db8:2::/52"]));
    owner.ask(want(&["2001:db8:3::/56"]));
    assert_eq!(owner.requests.len(), 2, "both wait for their turn");
    owner.ask(want(&["2001:db8:4::/48"]));
    owner.ask(release(&["198.51.100.0"]));
    assert!(owner.drops("2001:db8:4::/48") && !owner.drops("198.51.100.0"), "they do not");
    (0..40).for_each(|_| owner.settle());
    assert!(owner.requests.is_empty());
    assert!(["2001:db8:1::/48", "2001:db8:2::/52", "2001:db8:3::/56"].iter().all(|word| owner.drops(word)));
    assert_eq!(owner.kernel.waits_for_judges(), before);
}

fn want(words: &[&str]) -> Change {
    Change::Want(Want::live("manual", Polarity::Block, targets(words)))
}

fn release(words: &[&str]) -> Change {
    Change::Release { from: ReleaseFrom::EveryLiveList(Polarity::Block), targets: targets(words) }
}

fn targets(words: &[&str]) -> Targets {
    words.iter().map(|word| target(word)).collect()
}

fn target(word: &str) -> Target {
    word.parse().unwrap()
}

/// A configuration with these entries and no lists.
fn loaded(block: &[&str], allow: &[&str], enforce: bool) -> Loaded {
    let (block, allow) = (targets(block), targets(allow));
    let config = Config { enforce, ..Config::default() };
    Loaded {
        config,
        block,
        allow,
        lists: Vec::new(),
        text: None,
        checksum: 0,
        restores: false,
        says_its_file: false,
    }
}
