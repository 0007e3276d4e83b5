//! Fetches lists. A fetched list is stored in the state directory, and a *refresh* then reads it like any
//! other list file. Neither a start nor a reload therefore waits for the network.
//!
//! `fed` is one feed, and `schedule` decides when it is fetched. `fetching` does that on a separate thread,
//! and `told` reports the state to users. Only the filterd that is in charge fetches.

mod fed;
mod fetching;
mod reached;
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

use crate::blocklist::Timestamp;
use crate::clock;
use crate::config::secret::SystemdCredentials;
use crate::config::{Config, Feed};
use crate::fetch::{FetchError, FetchOrder, Fetcher};
use crate::host::{HostRole, ProtectedAddress};
use crate::source;
use crate::source::feeds::FeedKey;
use fed::FeedState;
pub use fetching::FetchResponse;
use fetching::{FetchFunction, FetchJob, FetchOutcome};
use reached::ReachedServers;
pub use schedule::{RandomNumber, after_success};

/// How many fetches run at once. More would share the bandwidth and hold threads.
const MOST_AT_ONCE: usize = 4;

/// How long the addresses that a feed was last fetched from are guarded, and how many of them.
const GUARDED_FOR: Duration = Duration::from_secs(24 * 60 * 60);
const MOST_GUARDED: usize = 8;

/// The fetcher, and the credentials that systemd handed over. Both are found before the daemon gives up its
/// privileges.
#[derive(Clone, Default)]
pub struct FetchTools {
    fetch: Option<Arc<FetchFunction>>,
    handed: Arc<SystemdCredentials>,
}

/// The part of the owner's state that concerns feeds.
pub struct Feeds {
    store: source::FeedStore,
    means: FetchTools,
    feeds: BTreeMap<FeedKey, FeedState>,
    running: JoinSet<EndedFetch>,
    /// The number of fetches begun.
    begun: u64,
    /// Whether this filterd may write to the state directory; false once it ends.
    is_ours: Arc<AtomicBool>,
}

/// A feed as the configuration defines it.
struct ConfiguredFeed {
    feed: Feed,
    most: u64,
    lists: BTreeSet<Arc<str>>,
}

/// A fetch that has ended.
pub struct EndedFetch {
    key: FeedKey,
    number: u64,
    outcome: FetchOutcome,
}

/// The result of a fetch.
pub struct FeedResult {
    pub key: FeedKey,
    /// The lists that must be read because of it.
    pub lists: Vec<Arc<str>>,
}

impl FetchTools {
    /// Uses this fetcher, and the credentials that systemd handed over. They must be looked up before
    /// privileges are given up.
    pub fn of(fetcher: Fetcher) -> Self {
        Self { fetch: Some(fetching::through(fetcher)), handed: Arc::new(SystemdCredentials::by_systemd()) }
    }

    /// Whether there is a fetcher.
    pub fn can_fetch(&self) -> bool {
        self.fetch.is_some()
    }

    /// The credentials that systemd handed over.
    pub fn handed(&self) -> &SystemdCredentials {
        &self.handed
    }

    /// Fetches. It waits for the network, so call it on a thread of its own.
    pub fn fetch(&self, order: &FetchOrder) -> Result<FetchResponse, FetchError> {
        match &self.fetch {
            Some(fetch) => fetch(order),
            None => Err(FetchError::Interrupted("there is no process that fetches".to_owned())),
        }
    }
}

impl Feeds {
    /// The feeds of this configuration, with their state from the state directory.
    pub fn begin(state: &Path, config: &Config) -> Self {
        let mut this = Self {
            store: source::FeedStore::of(state),
            means: FetchTools::default(),
            feeds: BTreeMap::new(),
            running: JoinSet::new(),
            begun: 0,
            is_ours: Arc::new(AtomicBool::new(true)),
        };
        this.follow(config);
        this
    }

    /// Sets the means to fetch with.
    pub fn go_by(&mut self, means: FetchTools) {
        self.means = means;
    }

    /// Replaces the feeds by those of this configuration. Feeds whose settings changed are fetched at once.
    pub fn follow(&mut self, config: &Config) {
        let mut before = std::mem::take(&mut self.feeds);
        let now = clock::now();
        let reached = reached(before.values());
        for (key, ConfiguredFeed { feed, most, lists }) in wanted(config) {
            let url = feed.url.to_string();
            let fed = match before.remove(&key) {
                Some(fed) => {
                    let is_same = fed.feed == feed && fed.most == most;
                    let next = if is_same { fed.next } else { now };
                    let again = fed.again || fed.running.is_some() && !is_same;
                    FeedState { feed, most, lists, next, again, ..fed }
                }
                None => {
                    let (note, failed) = (None, None);
                    let same_host = |(host, _): &&(String, ReachedServers)| *host == feed.url.host();
                    let reached = lists.iter().filter_map(|list| reached.get(list)).find(same_host);
                    let reached = reached.map(|(_, reached)| reached.clone());
                    let fed = FeedState {
                        feed,
                        most,
                        lists,
                        note,
                        reached,
                        next: now,
                        running: None,
                        again: false,
                        failed,
                        transfer: None,
                        has_come: false,
                        doubted: 0,
                    };
                    fed.with(self.store.note(key, &url), self.store.known(key, &url))
                }
            };
            self.feeds.insert(key, fed);
        }
    }

    /// Removes the files of feeds that are no longer configured.
    pub fn tidy(&self) {
        let keys: Vec<_> = self.feeds.keys().copied().collect();
        self.store.retain(&keys, |key| self.feeds.get(&key).is_some_and(|fed| fed.running.is_some()));
    }

    /// The time until the next fetch is due.
    pub fn until_due(&self) -> Option<Duration> {
        let waits = self.running.len() >= MOST_AT_ONCE || self.means.fetch.is_none();
        let next = self.feeds.values().filter(|fed| fed.running.is_none()).map(|fed| fed.next).min();
        next.filter(|_| !waits).map(clock::until)
    }

    /// Starts the fetches that are due; `own` returns the addresses of this host.
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
            let job = FetchJob {
                key: *key,
                feed: fed.feed.clone(),
                most: fed.most,
                note: fed.note.clone(),
                reached: fed.reached.clone(),
                is_doubted: fed.doubted > 0,
                failed: fed.failed.as_ref().map(|failed| (clock::on_the_wall(failed.since), failed.times)),
                own: own(),
                store: self.store.clone(),
                handed: self.means.handed.clone(),
                fetch: fetch.clone(),
                is_ours: self.is_ours.clone(),
            };
            let key = *key;
            self.running.spawn_blocking(move || EndedFetch { key, number, outcome: job.run() });
        }
    }

    /// Schedules these lists to be fetched now, and returns their feeds. A feed that is being fetched already
    /// is fetched once more.
    pub fn ask(&mut self, lists: &[Arc<str>]) -> BTreeSet<FeedKey> {
        let mut asked = BTreeSet::new();
        for (key, fed) in &mut self.feeds {
            if lists.iter().any(|list| fed.lists.contains(list)) {
                (fed.next, fed.again) = (Timestamp::default(), fed.running.is_some());
                asked.insert(*key);
            }
        }
        asked
    }

    /// Waits until a fetch ends, or forever if none is running.
    pub async fn fetched(&mut self) -> EndedFetch {
        match self.running.join_next().await {
            Some(done) => done.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())),
            None => std::future::pending().await,
        }
    }

    pub fn has(&self, key: FeedKey) -> bool {
        self.feeds.contains_key(&key)
    }

    /// Records the result of a fetch. Returns none if the feed was removed meanwhile, even briefly, or is
    /// fetched once more.
    pub fn note(&mut self, EndedFetch { key, number, outcome }: EndedFetch) -> Option<FeedResult> {
        let Some(fed) = self.feeds.get_mut(&key).filter(|fed| fed.running == Some(number)) else {
            self.tidy();
            return None;
        };
        let has_come = matches!(outcome, FetchOutcome::New(..) | FetchOutcome::Unchanged(..));
        fed.note(outcome);
        if std::mem::take(&mut fed.again) {
            fed.next = Timestamp::default();
            return None;
        }
        let lists = fed.lists.iter().filter(|_| has_come).cloned().collect();
        Some(FeedResult { key, lists })
    }

    /// Records whether the lists that were read were accepted. A feed whose content is held back is retried
    /// as after a failure, because a gateway may have put another page in its place.
    pub fn judge<'a>(&mut self, lists: impl Iterator<Item = &'a str>, is_held_back: impl Fn(&str) -> bool) {
        let read: BTreeSet<&str> = lists.collect();
        for fed in self.feeds.values_mut() {
            let mut own = fed.lists.iter().filter(|list| read.contains(&***list)).peekable();
            if own.peek().is_some() {
                let is_doubted = own.any(|list| is_held_back(list));
                fed.judge(is_doubted);
            }
        }
    }

    /// The addresses where the hosts of feeds were last reached. Lists must not block them.
    pub fn facts(&self) -> Vec<ProtectedAddress> {
        let day = i64::try_from(GUARDED_FOR.as_secs()).unwrap_or(i64::MAX);
        let now = clock::now();
        let of = |fed: &FeedState| {
            let name = fed.name();
            let recent = fed.reached.clone().filter(|reached| reached.at.later_by(day) > now);
            let from = recent.into_iter().flat_map(|reached| reached.from).take(MOST_GUARDED);
            from.map(move |address| ProtectedAddress {
                address: address.to_canonical(),
                what: HostRole::Feed(name.clone()),
            })
        };
        self.feeds.values().flat_map(of).collect()
    }

    /// Stops all writing by running fetches, because the state directory will belong to another filterd.
    pub fn let_go(&self) {
        self.is_ours.store(false, Ordering::Release);
    }
}

/// The feeds that a configuration names. Lists with the same feed share it: the largest size limit, the
/// longest timeout and the shortest interval apply. A permission given for one list alone makes a feed of its
/// own.
fn wanted(config: &Config) -> BTreeMap<FeedKey, ConfiguredFeed> {
    let mut all: BTreeMap<FeedKey, ConfiguredFeed> = BTreeMap::new();
    for list in &config.lists {
        let Some(feed) = &list.feed else { continue };
        let most = list.limits.most_bytes();
        let new = || ConfiguredFeed { feed: feed.clone(), most, lists: BTreeSet::new() };
        let wanted = all.entry(FeedKey::of(&feed.key())).or_insert_with(new);
        wanted.lists.insert(list.name.as_str().into());
        wanted.most = wanted.most.max(most);
        wanted.feed.refresh = wanted.feed.refresh.min(feed.refresh);
        wanted.feed.timeout = wanted.feed.timeout.max(feed.timeout);
    }
    all
}

/// The host of each list of these feeds, and where it was last reached.
fn reached<'a>(feeds: impl Iterator<Item = &'a FeedState>) -> BTreeMap<Arc<str>, (String, ReachedServers)> {
    let of = |fed: &'a FeedState| {
        let host = fed.feed.url.host();
        fed.lists.iter().filter_map(move |list| Some((list.clone(), (host.to_owned(), fed.reached.clone()?))))
    };
    feeds.flat_map(of).collect()
}
