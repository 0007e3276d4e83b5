//! The guard allows the addresses that this host needs, whatever else is blocked. They stand on a list of the
//! host that no command can change.
//!
//! Facts are read before anything is published and kept current afterwards. The kernel reports changes of
//! addresses and routes. Files are checked for changes regularly, and before anything is blocked.

mod askers;
mod tell;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use filter_common::target::Target;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::{error, info};

use super::commit::Protection;
use super::diff::GuardedAddresses;
use crate::blocklist::{
    Blocklist, Change, Meaning, Origin, Polarity, Record, Refusal, ReleaseFrom, Targets, Timestamp, Want,
};
use crate::clock;
use crate::command::render::figure::counted_as;
use crate::config::name::GUARD_LIST;
use crate::control::wire::{About, Fault};
use crate::host::{self, FileStamp, HostFiles, MissingFact, ProtectedAddress};
use crate::text::{Explain, Explanation};
use askers::Askers;
pub use view::{GuardView, GuardedTarget};

/// How often files are checked while there are no requests.
const POLL: Duration = Duration::from_secs(5);

/// A router's routes may change all the time, and reading all of them takes a while.
const LOOKS_APART: Duration = Duration::from_millis(500);

/// More addresses than any host has. The limit prevents a user who can create addresses from having
/// everything allowed.
const MOST: usize = 1 << 14;

type LinkFacts = Result<Vec<ProtectedAddress>, String>;

/// The part of the owner's state that concerns the needs of this host.
pub struct Guard {
    places: HostFiles,
    links: Vec<ProtectedAddress>,
    /// Name servers and login sessions.
    files: Vec<ProtectedAddress>,
    stamp: FileStamp,
    looked_at: Instant,
    /// A running search for addresses and gateways.
    looking: Option<JoinHandle<LinkFacts>>,
    links_at: Instant,
    /// Addresses or routes have changed since.
    is_stale: bool,
    /// The addresses that are allowed now, and why.
    in_force: BTreeMap<IpAddr, Arc<str>>,
    /// The addresses of `in_force` without servers of lists. Nothing overrides these.
    needed: BTreeMap<IpAddr, Arc<str>>,
    /// Errors in finding or allowing addresses, and since when.
    untold: BTreeMap<MissingFact, Timestamp>,
    links_untold: Option<MissingFact>,
    files_untold: Vec<MissingFact>,
    undone: Option<MissingFact>,
    /// Users who send requests over SSH, while their connections are open.
    askers: Askers,
    /// The servers that lists were fetched from. Lists cannot block them, but the operator can, because the
    /// publisher of a list chooses its servers.
    feeds: Vec<ProtectedAddress>,
}

impl Guard {
    /// Finds the addresses that this host needs, with those stored in this state directory by the filterd
    /// before.
    pub async fn begin(state: &Path) -> Self {
        let mut this = Self { askers: Askers::noted_in(state), ..Self::of_nothing() };
        this.take_links(links().await);
        this.read_files();
        this
    }

    /// A guard without any facts.
    fn of_nothing() -> Self {
        let now = clock::instant();
        Self {
            stamp: FileStamp::default(),
            places: HostFiles::default(),
            links: Vec::new(),
            files: Vec::new(),
            // The first check is due at once.
            looked_at: now.checked_sub(POLL).unwrap_or(now),
            looking: None,
            links_at: now,
            is_stale: false,
            in_force: BTreeMap::new(),
            needed: BTreeMap::new(),
            untold: BTreeMap::new(),
            links_untold: None,
            files_untold: Vec::new(),
            undone: None,
            askers: Askers::default(),
            feeds: Vec::new(),
        }
    }

    /// Allows the needed addresses in a blocklist that is not enforced yet.
    pub fn enter(&mut self, blocklist: &mut Blocklist) -> Result<(), Refusal> {
        if blocklist.lists().find(GUARD_LIST).is_none() {
            let (name, meaning) = (GUARD_LIST.into(), Meaning::plain(Polarity::Allow));
            blocklist.apply(&Change::Make { name, origin: Origin::Host, meaning }, clock::now())?;
        }
        let wanted = by_address(self.needed_facts());
        let now = clock::now();
        for (why, targets) in by_reason(wanted.iter()) {
            let (list, polarity) = (GUARD_LIST.into(), Polarity::Allow);
            let want =
                Record::Want { list, polarity, since: now, until: None, note: Some(why), by: None, targets };
            blocklist.apply(&Change::Replay(want), now)?;
        }
        let addresses = counted_as(wanted.len() as u64, ["address", "addresses"]);
        info!("{addresses} that this host depends on guarded; see them: filterd allow list --list guard");
        self.needed.clone_from(&wanted);
        self.in_force = wanted;
        Ok(())
    }

    /// Records that addresses or routes have changed.
    pub fn mark_stale(&mut self) {
        self.is_stale = true;
    }

    /// The time until the next check is due.
    pub fn until_due(&self) -> Duration {
        let now = clock::instant();
        let links = self.looking.is_none() && self.is_stale;
        let links = links.then(|| LOOKS_APART.saturating_sub(now.duration_since(self.links_at)));
        let files = POLL.saturating_sub(now.duration_since(self.looked_at));
        links.into_iter().fold(files, Duration::min)
    }

    /// Checks files and starts reading links, if that is due.
    pub fn mind(&mut self, protection: &mut Protection) {
        let now = clock::instant();
        let is_due = now.duration_since(self.links_at) >= LOOKS_APART;
        if self.is_stale && self.looking.is_none() && is_due {
            (self.is_stale, self.links_at) = (false, now);
            self.looking = Some(tokio::spawn(links()));
        }
        if now.duration_since(self.looked_at) >= POLL {
            self.askers.forget_gone();
            self.look_at_files(protection);
        }
    }

    /// Sets the channel on which control connections report the SSH connections of users.
    pub fn listen(&mut self, askers: mpsc::Receiver<String>) {
        self.askers.listen(askers);
    }

    /// Brings all facts up to date before a request that may cut off users.
    pub fn hear(&mut self, protection: &mut Protection) {
        self.askers.hear();
        self.look_at_files(protection);
    }

    /// Reads the files again if they have changed.
    pub fn look_at_files(&mut self, protection: &mut Protection) {
        self.looked_at = clock::instant();
        if !self.stamp.is_still(&self.places.stamp()) {
            self.read_files();
        }
        self.settle(protection);
    }

    /// Waits for the addresses and gateways that are being read, or forever if they are not.
    pub async fn found(&mut self) -> LinkFacts {
        let Some(looking) = &mut self.looking else { return std::future::pending().await };
        let found = looking.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        self.looking = None;
        found
    }

    /// Uses the addresses and gateways that were read.
    pub fn take(&mut self, found: LinkFacts, protection: &mut Protection) {
        self.take_links(found);
        self.settle(protection);
    }

    fn take_links(&mut self, found: LinkFacts) {
        match found {
            Ok(facts) => {
                self.links = facts;
                self.links_untold = None;
            }
            // Keeps the earlier facts after an error, because they are better than none.
            Err(error) => {
                self.is_stale = true;
                let message =
                    format!("cannot read this host's addresses and gateways from the kernel: {error}");
                let remedy = "filterd retries; until then allow them by command: filterd allow add ADDRESS";
                self.links_untold = Some(MissingFact { message, remedy: remedy.to_owned() });
            }
        }
        self.note_untold();
    }

    fn read_files(&mut self) {
        self.stamp = self.places.stamp();
        let found = self.places.look();
        (self.files, self.files_untold) = (found.facts, found.untold);
        self.note_untold();
    }

    /// Keeps for each error since when it exists, and logs new ones.
    fn note_untold(&mut self) {
        let now = clock::now();
        let all = self.links_untold.iter().chain(&self.files_untold).chain(&self.undone);
        let before = std::mem::take(&mut self.untold);
        for untold in all {
            let since = before.get(untold).copied().unwrap_or_else(|| {
                error!("{}; {}", untold.message, untold.remedy);
                now
            });
            self.untold.insert(untold.clone(), since);
        }
    }

    /// Sets the servers that filterd asks: those of feeds and of CrowdSec. They are guarded at the next check
    /// of files.
    pub fn follow_servers(&mut self, feeds: Vec<ProtectedAddress>) {
        self.feeds = feeds;
    }

    /// The addresses of this host.
    pub fn own(&self) -> Vec<IpAddr> {
        let own = self.links.iter().filter(|fact| matches!(fact.what, host::HostRole::Own(_)));
        own.map(|fact| fact.address).collect()
    }

    /// The facts that nothing overrides. A further need of this host is one more source here.
    fn needed_facts(&self) -> impl Iterator<Item = ProtectedAddress> + '_ {
        self.links.iter().chain(&self.files).cloned().chain(self.askers.facts())
    }

    /// The addresses that must be allowed, and why.
    fn wanted(&self, blocklist: &Blocklist) -> BTreeMap<IpAddr, Arc<str>> {
        let is_blocked = |fact: &&ProtectedAddress| is_blocked_by_operator(fact.address, blocklist);
        let servers = self.feeds.iter().filter(|fact| !is_blocked(fact)).cloned();
        by_address(self.needed_facts().chain(servers))
    }

    /// Servers of lists that this host does not need otherwise, and why they are guarded.
    fn servers(&self) -> BTreeMap<IpAddr, Arc<str>> {
        let mut servers = by_address(self.feeds.iter().cloned());
        servers.retain(|address, _| !self.needed.contains_key(address));
        servers
    }

    /// Stops guarding the servers of lists that these targets cover, because the operator blocks them.
    /// Returns them.
    pub fn give_way(&mut self, targets: &Targets, protection: &mut Protection) -> Vec<GuardedTarget> {
        let servers = self.servers();
        let covered = GuardView::of(&servers).covered_by(targets);
        let is_guarded = |server: &&GuardedTarget| self.in_force.contains_key(&server.address);
        let gone: Vec<_> = covered.iter().filter(is_guarded).map(|server| server.address).collect();
        // If that fails, they stay guarded until the next check.
        if !gone.is_empty() && protection.commit(&release(&gone), clock::now()).is_ok() {
            for address in gone {
                info!("{address} is no longer guarded: a command blocks it");
                self.in_force.remove(&address);
            }
        }
        covered
    }

    /// Allows exactly the wanted addresses. Additions come before removals.
    pub(super) fn settle(&mut self, protection: &mut Protection) {
        self.needed = by_address(self.needed_facts());
        let wanted = self.wanted(protection.blocklist());
        let is_new = |(address, why): &(&IpAddr, &Arc<str>)| self.in_force.get(address) != Some(why);
        let come: Vec<_> = wanted.iter().filter(is_new).collect();
        let gone: Vec<_> =
            self.in_force.keys().filter(|address| !wanted.contains_key(address)).copied().collect();
        if come.is_empty() && gone.is_empty() && self.undone.is_none() {
            return;
        }
        let changes = by_reason(come.iter().copied()).into_iter().map(|(why, targets)| {
            let want = Want::live(GUARD_LIST, Polarity::Allow, targets);
            Change::Want(Want { origin: Origin::Host, note: Some(why), ..want })
        });
        let changes: Vec<_> = changes.chain((!gone.is_empty()).then(|| release(&gone))).collect();
        let done = changes.iter().try_for_each(|change| protection.commit(change, clock::now()).map(drop));
        match done {
            Ok(()) => {
                come.iter().for_each(|(address, why)| info!("{address} is guarded: {why}"));
                gone.iter().for_each(|address| info!("{address} is no longer guarded"));
                self.in_force = wanted;
                self.undone = None;
            }
            // A partial change does no harm, because all of it is tried again.
            Err(error) => {
                let message = format!("cannot guard the addresses this host depends on: {}", error.explain());
                let remedy = "filterd retries every 5 s; until then they may be blocked".to_owned();
                self.undone = Some(MissingFact { message, remedy });
            }
        }
        self.note_untold();
    }

    /// Reports the needed addresses that could not be found or allowed.
    pub fn faults(&self) -> impl Iterator<Item = Fault> + '_ {
        self.untold.iter().map(|(MissingFact { message, remedy }, since)| Fault {
            about: About::Protection,
            since: clock::on_the_wall(*since),
            told: Explanation::new(message.clone(), remedy.clone()),
            id: None,
        })
    }

    /// How many guarded addresses each list would block.
    pub fn counts(&self, blocklist: &Blocklist) -> BTreeMap<Arc<str>, u64> {
        let lists = tell::by_list(self.view(), blocklist).into_iter();
        lists.map(|(list, all)| (list, all.len() as u64)).collect()
    }

    /// Warnings about lists that name guarded addresses.
    pub fn warnings(&self, blocklist: &Blocklist) -> impl Iterator<Item = String> {
        let servers = tell::blocked_servers(&self.servers(), blocklist);
        tell::warnings(self.view(), blocklist).chain(servers)
    }

    /// The addresses that are guarded now.
    pub fn view(&self) -> GuardView<'_> {
        GuardView::of(&self.in_force)
    }

    /// The guarded addresses without those that the operator can block.
    pub fn view_of_needed(&self) -> GuardView<'_> {
        GuardView::of(&self.needed)
    }

    /// A copy of the guarded addresses, for later use.
    pub fn copied(&self) -> GuardedAddresses {
        let servers = self.servers().into_keys().collect();
        GuardedAddresses { all: self.in_force.clone(), servers }
    }
}

/// Reports each change of addresses or routes. Call it before they are read for the first time, so that no
/// change is missed.
pub fn changes() -> io::Result<mpsc::Receiver<()>> {
    host::changes()
}

async fn links() -> LinkFacts {
    host::links().await.map_err(|error| error.to_string())
}

/// Groups facts by address, with all reasons.
fn by_address(facts: impl Iterator<Item = ProtectedAddress>) -> BTreeMap<IpAddr, Arc<str>> {
    let mut reasons: BTreeMap<IpAddr, BTreeSet<host::HostRole>> = BTreeMap::new();
    for ProtectedAddress { address, what } in facts {
        if reasons.len() < MOST || reasons.contains_key(&address) {
            reasons.entry(address).or_default().insert(what);
        }
    }
    let told = reasons.iter().map(|(address, reasons)| (*address, tell::reason(reasons)));
    told.collect()
}

/// Whether a command or `block:` of the configuration blocks this address.
fn is_blocked_by_operator(address: IpAddr, blocklist: &Blocklist) -> bool {
    let lists = blocklist.lists();
    let is_of_operator = |name: &str| lists.find(name).is_some_and(|id| lists.get(id).origin != Origin::File);
    let claims = blocklist.covering(Polarity::Block, Target::from(address));
    claims.iter().any(|claim| is_of_operator(&claim.list))
}

fn release(addresses: &[IpAddr]) -> Change {
    Change::Release { from: ReleaseFrom::List(GUARD_LIST.into()), targets: targets(addresses) }
}

/// Groups addresses by reason, because a change has only one note.
fn by_reason<'a>(all: impl Iterator<Item = (&'a IpAddr, &'a Arc<str>)>) -> BTreeMap<Arc<str>, Targets> {
    let mut changes: BTreeMap<Arc<str>, Vec<IpAddr>> = BTreeMap::new();
    all.for_each(|(address, why)| changes.entry(why.clone()).or_default().push(*address));
    changes.into_iter().map(|(why, addresses)| (why, targets(&addresses))).collect()
}

fn targets(addresses: &[IpAddr]) -> Targets {
    let mut targets: Targets = addresses.iter().map(|address| Target::from(*address)).collect();
    targets.sort();
    targets
}

#[cfg(test)]
mod tests;
