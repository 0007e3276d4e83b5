//! Feeds: lists that are fetched. What comes is written to the state directory, and from there on it is a list file like any
//! other: a *refresh* reads it. So neither a start nor a reload ever waits for the network.
//!
//! `schedule` says when a feed is fetched, `fetching` does it on a thread of its own, `told` is what people are told. Only
//! the filterd that is in force fetches.

mod fetching;
mod schedule;
#[cfg(test)]
mod tests;
mod told;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tracing::{info, warn};

use crate::blocklist::{Lists, Timestamp};
use crate::clock;
use crate::config::secret::Handed;
use crate::config::{Config, Feed};
use crate::control::wire::refresh::Transfer;
use crate::fetch::Fetcher;
use crate::host::{Fact, What};
use crate::source;
use crate::source::feeds::{Key, Note};
use crate::text::Explanation;
use fetching::{Fetch, Job, Outcome};
use schedule::Chance;

/// What is fetched at once: more would share the line, and keep threads.
const MOST_AT_ONCE: usize = 4;

/// The addresses that a feed was last fetched from are guarded so long, and no more of them.
const GUARDED_FOR: Duration = Duration::from_secs(24 * 60 * 60);
const MOST_GUARDED: usize = 8;

/// Whoever fetches, and by what servers know us: both found before privileges are given up.
#[derive(Clone, Default)]
pub struct Means {
    fetch: Option<Arc<Fetch>>,
    handed: Arc<Handed>,
}

/// The part of the owner's state that is about what is fetched.
pub struct Feeds {
    store: source::Feeds,
    means: Means,
    feeds: BTreeMap<Key, Fed>,
    running: JoinSet<Came>,
    /// So many fetches were begun.
    begun: u64,
    /// May the state directory be written to? Not while another filterd may have it.
    is_ours: Arc<AtomicBool>,
}

/// A feed, and what became of it.
struct Fed {
    feed: Feed,
    /// How many bytes it may have.
    most: u64,
    /// The lists that it is.
    lists: BTreeSet<Arc<str>>,
    note: Option<Note>,
    /// When its server was last heard, as far as that is known.
    heard: Option<Timestamp>,
    /// When it is fetched next.
    next: Timestamp,
    /// The number of the fetch that is under way.
    running: Option<u64>,
    /// Somebody has asked since that began, or it is fetched otherwise from now on.
    again: bool,
    failed: Option<Failed>,
    /// What was sent when it was last fetched, if it could be.
    transfer: Option<Transfer>,
    /// Something has come, and nobody has read it yet.
    has_come: bool,
    /// What came was held back so many times in a row.
    doubted: u32,
}

/// A feed as a configuration says it.
struct Wanted {
    feed: Feed,
    most: u64,
    lists: BTreeSet<Arc<str>>,
}

/// It could not be fetched.
struct Failed {
    since: Timestamp,
    /// So many times in a row.
    times: u32,
    told: Explanation,
    /// Trying again is in vain.
    is_for_good: bool,
}

/// A fetch that has ended.
pub struct Came {
    key: Key,
    number: u64,
    outcome: Outcome,
}

/// What came of a fetch.
pub struct Done {
    pub key: Key,
    /// The lists that are to be read because of it.
    pub lists: Vec<Arc<str>>,
}

impl Means {
    /// This fetcher, and what systemd has handed over, which is to be looked for before privileges are given up.
    pub fn of(fetcher: Fetcher) -> Self {
        Self { fetch: Some(fetching::through(fetcher)), handed: Arc::new(Handed::by_systemd()) }
    }
}

impl Feeds {
    /// Those of this configuration, as far as they lie in the state directory.
    pub fn begin(state: &Path, config: &Config) -> Self {
        let mut this = Self {
            store: source::Feeds::of(state),
            means: Means::default(),
            feeds: BTreeMap::new(),
            running: JoinSet::new(),
            begun: 0,
            is_ours: Arc::new(AtomicBool::new(true)),
        };
        this.follow(config);
        this
    }

    /// From now on it fetches by these means.
    pub fn go_by(&mut self, means: Means) {
        self.means = means;
    }

    /// Makes the feeds those of this configuration. What is said otherwise of one than before is tried at once.
    pub fn follow(&mut self, config: &Config) {
        let mut before = std::mem::take(&mut self.feeds);
        let now = clock::now();
        for (key, Wanted { feed, most, lists }) in wanted(config) {
            let url = feed.url.to_string();
            let fed = match before.remove(&key) {
                Some(fed) => {
                    let is_same = fed.feed == feed && fed.most == most;
                    let next = if is_same { fed.next } else { now };
                    let again = fed.again || fed.running.is_some() && !is_same;
                    Fed { feed, most, lists, next, again, ..fed }
                }
                None => {
                    let (note, heard, failed) = (None, None, None);
                    let fed = Fed {
                        feed,
                        most,
                        lists,
                        note,
                        heard,
                        next: now,
                        running: None,
                        again: false,
                        failed,
                        transfer: None,
                        has_come: false,
                        doubted: 0,
                    };
                    fed.with(self.store.note(key, &url), self.store.not_before(key, &url))
                }
            };
            self.feeds.insert(key, fed);
        }
    }

    /// The place is this filterd's own from here on: what lies there may be what the one before has fetched meanwhile.
    pub fn look_again(&mut self) {
        for (key, fed) in std::mem::take(&mut self.feeds) {
            let url = fed.feed.url.to_string();
            let (note, not_before) = (self.store.note(key, &url), self.store.not_before(key, &url));
            self.feeds.insert(key, fed.with(note, not_before));
        }
    }

    /// Removes what lies there of feeds that are no more.
    pub fn tidy(&self) {
        if self.is_ours.load(Ordering::Acquire) {
            let keys: Vec<_> = self.feeds.keys().copied().collect();
            self.store.retain(&keys, |key| self.feeds.get(&key).is_some_and(|fed| fed.running.is_some()));
        }
    }

    /// How long until one is to be fetched.
    pub fn until_due(&self) -> Option<Duration> {
        let waits = self.running.len() >= MOST_AT_ONCE || self.means.fetch.is_none();
        let next = self.feeds.values().filter(|fed| fed.running.is_none()).map(|fed| fed.next).min();
        next.filter(|_| !waits).map(clock::until)
    }

    /// Begins to fetch what is due; `own` are the addresses of this host.
    pub fn mind(&mut self, own: impl Fn() -> Vec<IpAddr>) {
        let Some(fetch) = self.means.fetch.clone() else { return };
        while self.running.len() < MOST_AT_ONCE {
            let due = self
                .feeds
                .iter_mut()
                .filter(|(_, fed)| fed.running.is_none() && clock::until(fed.next).is_zero());
            let Some((key, fed)) = due.min_by_key(|(_, fed)| fed.next) else { return };
            let number = self.begun;
            self.begun += 1;
            fed.running = Some(number);
            let job = Job {
                key: *key,
                feed: fed.feed.clone(),
                most: fed.most,
                note: fed.note.clone(),
                is_doubted: fed.doubted > 0,
                failed: fed.failed.as_ref().map_or(0, |failed| failed.times),
                own: own(),
                store: self.store.clone(),
                handed: self.means.handed.clone(),
                fetch: fetch.clone(),
                is_ours: self.is_ours.clone(),
            };
            let key = *key;
            self.running.spawn_blocking(move || Came { key, number, outcome: job.run() });
        }
    }

    /// Has these lists fetched now, and tells which feeds that are; of one that is being fetched already, once more.
    pub fn ask(&mut self, lists: &[Arc<str>]) -> BTreeSet<Key> {
        let mut asked = BTreeSet::new();
        for (key, fed) in &mut self.feeds {
            if lists.iter().any(|list| fed.lists.contains(list)) {
                (fed.next, fed.again) = (Timestamp::default(), fed.running.is_some());
                asked.insert(*key);
            }
        }
        asked
    }

    /// Waits until one was fetched, or could not be; for ever if none is being fetched.
    pub async fn fetched(&mut self) -> Came {
        match self.running.join_next().await {
            Some(done) => done.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())),
            None => std::future::pending().await,
        }
    }

    /// Is it a feed of this configuration?
    pub fn has(&self, key: Key) -> bool {
        self.feeds.contains_key(&key)
    }

    /// Notes what came of it. None if it was gone meanwhile, perhaps for a moment only, or is fetched once more.
    pub fn note(&mut self, Came { key, number, outcome }: Came) -> Option<Done> {
        let Some(fed) = self.feeds.get_mut(&key).filter(|fed| fed.running == Some(number)) else {
            self.tidy();
            return None;
        };
        let has_come = matches!(outcome, Outcome::New(..) | Outcome::Unchanged(..));
        fed.note(outcome);
        if std::mem::take(&mut fed.again) {
            fed.next = Timestamp::default();
            return None;
        }
        let lists = fed.lists.iter().filter(|_| has_come).cloned().collect();
        Some(Done { key, lists })
    }

    /// These lists were read: where what came is held back, it is asked for again as after a failure, since a page that a
    /// gateway puts in a list's place is one.
    pub fn judge<'a>(&mut self, lists: impl Iterator<Item = &'a str>, rows: &Lists) {
        let read: BTreeSet<&str> = lists.collect();
        for fed in self.feeds.values_mut() {
            let mut own = fed.lists.iter().filter(|list| read.contains(&***list)).peekable();
            if own.peek().is_some() {
                let is_doubted = own.any(|list| is_held_back(rows, list));
                fed.judge(is_doubted);
            }
        }
    }

    /// The addresses that feeds were last fetched from: they must not be blocked by what comes of them.
    pub fn facts(&self) -> Vec<Fact> {
        let day = i64::try_from(GUARDED_FOR.as_secs()).unwrap_or(i64::MAX);
        let now = clock::now();
        let is_recent = |fed: &Fed| fed.heard.is_some_and(|heard| heard.later_by(day) > now);
        let of = |fed: &Fed| {
            let (name, from) =
                (fed.name(), fed.note.as_ref().filter(|_| is_recent(fed)).map(|note| note.from.clone()));
            let from = from.unwrap_or_default().into_iter().take(MOST_GUARDED);
            from.map(move |address| Fact { address: address.to_canonical(), what: What::Feed(name.clone()) })
        };
        self.feeds.values().flat_map(of).collect()
    }

    /// Another filterd is about to have this one's place, or has it: nothing is written from here on.
    pub fn let_go(&self) {
        self.is_ours.store(false, Ordering::Release);
    }

    /// It has come to nothing.
    pub fn come_back(&self) {
        self.is_ours.store(true, Ordering::Release);
    }
}

/// The feeds that a configuration names. Where several lists are one, whatever any of them says suffices; what is allowed for
/// one alone makes it a feed of its own.
fn wanted(config: &Config) -> BTreeMap<Key, Wanted> {
    let mut all: BTreeMap<Key, Wanted> = BTreeMap::new();
    for list in &config.lists {
        let Some(feed) = &list.feed else { continue };
        let most = list.limits.most_bytes();
        let new = || Wanted { feed: feed.clone(), most, lists: BTreeSet::new() };
        let wanted = all.entry(Key::of(&feed.key())).or_insert_with(new);
        wanted.lists.insert(list.name.as_str().into());
        wanted.most = wanted.most.max(most);
        wanted.feed.refresh = wanted.feed.refresh.min(feed.refresh);
        wanted.feed.timeout = wanted.feed.timeout.max(feed.timeout);
    }
    all
}

fn is_held_back(rows: &Lists, list: &str) -> bool {
    let reading = rows.find(list).and_then(|id| rows.get(id).reading.as_ref());
    reading.is_some_and(|reading| reading.trouble.is_some())
}

impl Fed {
    /// It goes on where the filterd before it was.
    fn with(self, note: Option<Note>, not_before: Option<u64>) -> Self {
        let (now, wall) = (clock::now(), clock::since_1970().as_secs());
        let wait = schedule::after_start(note.as_ref(), not_before, wall, self.feed.refresh, Chance::new());
        let next = if wait.is_zero() { now } else { clock::after(wait) };
        let age = note.as_ref().and_then(|note| wall.checked_sub(note.checked));
        let heard = age.and_then(|age| Some(now.later_by(-i64::try_from(age).ok()?)));
        Self { note, heard, next, ..self }
    }

    /// What it is called: as the first of its lists.
    fn name(&self) -> String {
        self.lists.first().map(ToString::to_string).unwrap_or_default()
    }

    fn note(&mut self, outcome: Outcome) {
        self.running = None;
        match outcome {
            Outcome::New(note, transfer) | Outcome::Unchanged(note, transfer) => {
                if self.failed.take().is_some() || self.note.is_none() {
                    let name = self.name();
                    info!(
                        watch.verb = "fetch",
                        watch.lists = name.as_str(),
                        "list {name}: fetched from {}",
                        self.feed.url
                    );
                }
                (self.note, self.heard, self.has_come) = (Some(note), Some(clock::now()), true);
                self.transfer = Some(transfer);
                self.next = clock::after(schedule::after_success(self.feed.refresh, Chance::new()));
            }
            Outcome::Failed { told, wait, is_for_good } => {
                let before = self.failed.take();
                if before.as_ref().is_none_or(|before| before.told != told) {
                    let name = self.name();
                    let url = &self.feed.url;
                    warn!(
                        watch.verb = "fetch",
                        watch.lists = name.as_str(),
                        "list {name}: {url} cannot be fetched: {told}"
                    );
                }
                let since = before.as_ref().map_or_else(clock::now, |before| before.since);
                let times = before.map_or(0, |before| before.times).saturating_add(1);
                self.next = clock::after(wait);
                self.transfer = None;
                self.failed = Some(Failed { since, times, told, is_for_good });
            }
        }
    }

    /// What came is believed, or not; what is there already counts once, however often it is read.
    fn judge(&mut self, is_doubted: bool) {
        let (refresh, chance) = (self.feed.refresh, Chance::new());
        let has_come = std::mem::take(&mut self.has_come);
        let wait = match (is_doubted, self.doubted) {
            (false, 0) => return,
            (false, _) => {
                self.doubted = 0;
                schedule::after_success(refresh, chance)
            }
            (true, before) if has_come || before == 0 => {
                self.doubted = before.saturating_add(1);
                schedule::after_failure(self.doubted, refresh, None, chance)
            }
            (true, _) => return,
        };
        // What could not be fetched since has a time of its own.
        if self.failed.is_none() {
            self.next = clock::after(wait);
        }
    }
}
