//! While a reload waits for other judges, no turn of the owner blocks: neither the reload's own turns nor
//! those of changes meanwhile.

mod room;
mod times;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use filter_common::packet::Source;
use filter_common::reason::Verdict;
use filter_common::target::Target;
use tempfile::TempDir;
use tokio::sync::{Mutex, MutexGuard};

use super::super::capacity::Capacity;
use super::super::change::carry_out;
use super::super::commit::Protection;
use super::super::jobs::Jobs;
use super::super::lists::ListCopies;
use super::super::persistence::{self, WriteOutcome};
use super::*;
use crate::blocklist::{Polarity, ReleaseFrom, Targets, Want};
use crate::kernel::Filter;
use crate::kernel::tests::memory::KernelInMemory;

/// More turns than any reload takes, however slow the thread that fills a larger table is.
const ENDLESS: usize = 100_000;

/// The part of the owner that a reload uses.
struct TestOwner {
    core: Core,
    kernel: KernelInMemory,
    is_reloading: bool,
    _place: TempDir,
}

impl AsMut<Core> for TestOwner {
    fn as_mut(&mut self) -> &mut Core {
        &mut self.core
    }
}

/// An owner and its jobs, with their share of the loop.
struct World {
    owner: Arc<Mutex<TestOwner>>,
    jobs: Jobs<TestOwner>,
}

impl World {
    fn new() -> Self {
        let place = TempDir::new().unwrap();
        let (persistence, _) = persistence::restore(place.path(), Default::default()).unwrap();
        let kernel = KernelInMemory::default();
        let protection = Protection::begin(Blocklist::default(), Filter::through(kernel.broker())).unwrap();
        let lists = ListCopies::of(place.path());
        let core = Core::new(protection, Capacity::default(), persistence, lists);
        let owner = TestOwner { core, kernel, is_reloading: false, _place: place };
        let owner = Arc::new(Mutex::new(owner));
        Self { jobs: Jobs::of(owner.clone()), owner }
    }

    fn owner(&self) -> MutexGuard<'_, TestOwner> {
        self.owner.try_lock().unwrap()
    }

    /// Applies a change like `filterd add` and `remove`.
    async fn ask(&mut self, change: Change) {
        let (Change::Want(Want { targets, .. }) | Change::Release { targets, .. }) = &change else { return };
        let targets = targets.clone();
        self.jobs
            .begin_one(|turn| async move {
                let done = carry_out(&turn, targets, vec![change], &mut WriteOutcome::default()).await;
                assert!(done.is_ok(), "{done:?}");
            })
            .await;
    }

    /// Applies a configuration, and calls `comes` before each turn. Returns the number of turns.
    async fn reload(&mut self, loaded: Loaded, mut comes: impl AsyncFnMut(&mut Self, usize)) -> usize {
        self.begin_reload(loaded).await;
        for turn in 0..ENDLESS {
            if !self.owner().is_reloading {
                return turn;
            }
            comes(self, turn).await;
            self.settle().await;
        }
        panic!("the reload goes on and on");
    }

    async fn begin_reload(&mut self, loaded: Loaded) {
        let mut reload = {
            let mut owner = self.owner();
            owner.is_reloading = true;
            let Core { protection, lists, .. } = &mut owner.core;
            RunningReload::begin(loaded, protection.blocklist_mut(), &mut lists.sources).unwrap()
        };
        self.jobs
            .begin_one(|turn| async move {
                reload.run(&turn).await.unwrap();
                turn.now(|owner| {
                    let Core { protection, lists, .. } = &mut owner.core;
                    reload.finish(protection.blocklist_mut(), &mut lists.sources);
                    owner.is_reloading = false;
                });
            })
            .await;
    }

    /// Does what the loop does after each event.
    async fn settle(&mut self) {
        self.jobs.turn().await;
        if !self.jobs.outlook().are_due {
            // The other thread gets time to work.
            thread::sleep(Duration::from_millis(1));
        }
        self.jobs.wake();
        let mut owner = self.owner();
        let Core { protection, capacity, .. } = &mut owner.core;
        capacity.settle(protection);
        capacity.everybody_has_seen(protection);
    }

    fn drops(&self, word: &str) -> bool {
        let source = match target(word) {
            Target::V4(prefix) => Source::V4(prefix.address()),
            Target::V6(prefix) => Source::V6(prefix.address().into()),
        };
        matches!(self.owner().kernel.judge(source), Verdict::Drop(_))
    }
}

/// Both polarities use maps, levels and lengths that no lookup used before. Other settings follow.
const BLOCK: [&str; 5] =
    ["192.0.2.0/24", "2001:db8::/32", "2001:db8:1::/48", "2001:db8:2:3::/64", "2001:db8::7"];
const ALLOW: [&str; 2] = ["192.0.2.7", "2001:db8:1:5::/64"];

#[tokio::test]
async fn loading_judges_for_reload_delays_no_turn() {
    let mut world = World::new();
    world.ask(want(&["198.51.100.0", "198.51.100.1"])).await;
    world.reload(loaded(&["203.0.113.1"], &[], true), async |_, _| {}).await;
    let before = world.owner().kernel.waits_for_judges();
    let turns = world.reload(loaded(&BLOCK, &ALLOW, false), async |world, turn| {
        let (comes, goes) = (format!("198.51.100.{}", turn + 2), format!("198.51.100.{turn}"));
        world.ask(want(&[&comes])).await;
        assert!(world.drops(&comes), "{comes} is blocked at once, in turn {turn}");
        world.ask(release(&[&goes])).await;
        assert!(!world.drops(&goes), "{goes} passes at once, in turn {turn}");
    });
    let turns = turns.await;
    assert!(turns > 8, "judges take their time: {turns} turns");
    world.reload(loaded(&BLOCK, &ALLOW, true), async |_, _| {}).await;
    assert_eq!(world.owner().kernel.waits_for_judges(), before);
    assert!(BLOCK.iter().all(|word| world.drops(word)) && !ALLOW.iter().any(|word| world.drops(word)));
}

/// One `filterd add` needs a new prefix length, and another comes before its judge is loaded.
#[tokio::test]
async fn new_lookup_during_reload_does_not_delay_turns() {
    let mut world = World::new();
    world.ask(want(&["198.51.100.0", "2001:db8:1::/48"])).await;
    for _ in 0..20 {
        world.settle().await;
    }
    let before = world.owner().kernel.waits_for_judges();
    world.ask(want(&["2001:db8:2::/52"])).await;
    world.ask(want(&["2001:db8:3::/56"])).await;
    assert_eq!(world.jobs.len(), 2, "both wait for their turn");
    world.ask(want(&["2001:db8:4::/48"])).await;
    world.ask(release(&["198.51.100.0"])).await;
    assert!(world.drops("2001:db8:4::/48") && !world.drops("198.51.100.0"), "they do not");
    for _ in 0..40 {
        world.settle().await;
    }
    assert!(world.jobs.is_empty());
    assert!(["2001:db8:1::/48", "2001:db8:2::/52", "2001:db8:3::/56"].iter().all(|word| world.drops(word)));
    assert_eq!(world.owner().kernel.waits_for_judges(), before);
}

/// As when filterd ends in the middle: the kernel keeps what is in force then.
#[tokio::test]
async fn reload_cancelled_in_any_turn_keeps_what_both_configurations_say() {
    let stays = ["192.0.2.0/24", "2001:db8::/32"];
    let before = || {
        loaded(
            &[stays[0], stays[1], "198.51.100.1", "198.51.100.9"],
            &["192.0.2.7", "192.0.2.8", "198.51.100.9"],
            true,
        )
    };
    let after = || {
        loaded(
            &[stays[0], stays[1], "203.0.113.1", "203.0.113.9"],
            &["192.0.2.7", "192.0.2.9", "203.0.113.9"],
            true,
        )
    };
    // What a packet from there meets before and after.
    let sources = [
        ("192.0.2.1", true, true),
        ("2001:db8::1", true, true),
        ("192.0.2.7", false, false),
        ("198.51.100.2", false, false),
        // Blocked and allowed by one of the two.
        ("198.51.100.9", false, false),
        ("203.0.113.9", false, false),
        ("192.0.2.8", false, true),
        ("192.0.2.9", true, false),
        ("198.51.100.1", true, false),
        ("203.0.113.1", false, true),
    ];
    let mut was_cancelled_between = false;
    for turns in 0..ENDLESS {
        let mut world = World::new();
        world.reload(before(), async |_, _| {}).await;
        world.begin_reload(after()).await;
        for _ in 0..turns {
            world.settle().await;
        }
        let is_over = !world.owner().is_reloading;
        world.jobs = Jobs::of(world.owner.clone());
        let drops = sources.map(|(source, ..)| world.drops(source));
        for ((source, before, after), drops) in sources.iter().zip(drops) {
            let is_said = drops == *before || drops == *after;
            assert!(is_said && (!is_over || drops == *after), "{source} after {turns} turns");
        }
        was_cancelled_between |= drops != sources.map(|(_, before, _)| before) && !is_over;
        if is_over {
            break;
        }
    }
    assert!(was_cancelled_between, "each reload was cancelled before it began, or too late");
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
