//! The guard: what this host needs is allowed, whatever is blocked, by a list of the host's own that nobody else changes. Facts are
//! read before anything is published, and followed while they change: addresses and routes as the kernel tells of them,
//! files when they are other than they were, which is looked at now and then and before anything is blocked.

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
    Blocklist, Change, From, Origin, Polarity, Record, Refusal, Targets, Timestamp, Want,
};
use crate::clock;
use crate::command::render::figure::counted_as;
use crate::config::name::GUARD_LIST;
use crate::control::wire::{About, Fault};
use crate::host::{self, Fact, Places, Stamp, Untold};
use crate::text::{Explain, Explanation};
use askers::Askers;
pub use view::{Guarded, View};

/// How often files are looked at where nobody asks for anything.
const POLL: Duration = Duration::from_secs(5);

/// A router's routes may change all the time, and to look at all of them takes a while.
const LOOKS_APART: Duration = Duration::from_millis(500);

/// More addresses than any host has; whoever could have as many made as they like would have everything allowed.
const MOST: usize = 1 << 14;

type Links = Result<Vec<Fact>, String>;

/// The part of the owner's state that is about what this host needs.
pub struct Guard {
    places: Places,
    /// Addresses and gateways.
    links: Vec<Fact>,
    /// Name servers and sessions.
    files: Vec<Fact>,
    stamp: Stamp,
    looked_at: Instant,
    /// Addresses and gateways are being looked for.
    looking: Option<JoinHandle<Links>>,
    links_at: Instant,
    /// They have changed since.
    is_stale: bool,
    /// What is allowed because of all this, and why.
    in_force: BTreeMap<IpAddr, Arc<str>>,
    /// The same without servers of lists: nothing overrides it.
    needed: BTreeMap<IpAddr, Arc<str>>,
    /// What could not be found out, and what could not be done, since when.
    untold: BTreeMap<Untold, Timestamp>,
    links_untold: Option<Untold>,
    files_untold: Vec<Untold>,
    undone: Option<Untold>,
    /// Whoever asks, as long as their SSH connections stand.
    askers: Askers,
    /// Servers that lists were fetched from. They are guarded against what lists name, and not against the operator: whoever
    /// publishes a list chooses them.
    feeds: Vec<Fact>,
}

impl Guard {
    /// Finds out what this host needs, with what the filterd before noted in this state directory.
    pub async fn begin(state: &Path) -> Self {
        let mut this = Self { askers: Askers::noted_in(state), ..Self::of_nothing() };
        this.take_links(links().await);
        this.read_files();
        this
    }

    /// Nothing is known yet.
    fn of_nothing() -> Self {
        let now = clock::instant();
        Self {
            stamp: Stamp::default(),
            places: Places::default(),
            links: Vec::new(),
            files: Vec::new(),
            // The first look is due at once.
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

    /// Allows what nothing overrides in a blocklist that nobody enforces yet.
    pub fn enter(&mut self, blocklist: &mut Blocklist) -> Result<(), Refusal> {
        if blocklist.lists().find(GUARD_LIST).is_none() {
            blocklist.lists_mut().make_anyway(GUARD_LIST, Origin::Host, Polarity::Allow)?;
        }
        let wanted = by_address(self.needed_facts());
        let now = clock::now();
        for (why, targets) in by_reason(wanted.iter()) {
            let (list, polarity) = (GUARD_LIST.into(), Polarity::Allow);
            let want =
                Record::Want { list, polarity, since: now, until: None, note: Some(why), by: None, targets };
            blocklist.replay(want, now)?;
        }
        let addresses = counted_as(wanted.len() as u64, ["address", "addresses"]);
        info!("{addresses} that this host depends on guarded; see them: filterd allow list --list guard");
        self.needed.clone_from(&wanted);
        self.in_force = wanted;
        Ok(())
    }

    /// Addresses or routes have changed.
    pub fn have_changed(&mut self) {
        self.is_stale = true;
    }

    /// How long until something is to be done.
    pub fn until_due(&self) -> Duration {
        let now = clock::instant();
        let links = self.looking.is_none() && self.is_stale;
        let links = links.then(|| LOOKS_APART.saturating_sub(now.duration_since(self.links_at)));
        let files = POLL.saturating_sub(now.duration_since(self.looked_at));
        links.into_iter().fold(files, Duration::min)
    }

    /// Looks at files, and begins to look at links, where it is time for that.
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

    /// Those who ask tell this from now on by which SSH connections they have come.
    pub fn listen(&mut self, askers: mpsc::Receiver<String>) {
        self.askers.listen(askers);
    }

    /// Somebody asks for what may cut off whoever is there: what is known of that is to be so at this moment.
    pub fn hear(&mut self, protection: &mut Protection) {
        self.askers.hear();
        self.look_at_files(protection);
    }

    /// Looks whether files are as they were, and reads them if not.
    pub fn look_at_files(&mut self, protection: &mut Protection) {
        self.looked_at = clock::instant();
        if !self.stamp.is_still(&self.places.stamp()) {
            self.read_files();
        }
        self.settle(protection);
    }

    /// Waits until addresses and gateways are known anew, or for ever if nobody looks.
    pub async fn found(&mut self) -> Links {
        let Some(looking) = &mut self.looking else { return std::future::pending().await };
        let found = looking.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        self.looking = None;
        found
    }

    /// They are.
    pub fn take(&mut self, found: Links, protection: &mut Protection) {
        self.take_links(found);
        self.settle(protection);
    }

    fn take_links(&mut self, found: Links) {
        match found {
            Ok(facts) => {
                self.links = facts;
                self.links_untold = None;
            }
            // What was so a moment ago is better than nothing.
            Err(error) => {
                self.is_stale = true;
                let message =
                    format!("cannot read this host's addresses and gateways from the kernel: {error}");
                let remedy = "filterd retries; until then allow them by command: filterd allow add ADDRESS";
                self.links_untold = Some(Untold { message, remedy: remedy.to_owned() });
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

    /// Each is told since it began.
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

    /// Whom lists were fetched from. They are guarded when files are looked at next.
    pub fn follow_feeds(&mut self, feeds: Vec<Fact>) {
        self.feeds = feeds;
    }

    /// The addresses of this host.
    pub fn own(&self) -> Vec<IpAddr> {
        let own = self.links.iter().filter(|fact| matches!(fact.what, host::What::Own(_)));
        own.map(|fact| fact.address).collect()
    }

    /// All that nothing overrides. Whatever else this host comes to need is one more source here.
    fn needed_facts(&self) -> impl Iterator<Item = Fact> + '_ {
        self.links.iter().chain(&self.files).cloned().chain(self.askers.facts())
    }

    /// What is to be allowed, and why.
    fn wanted(&self, blocklist: &Blocklist) -> BTreeMap<IpAddr, Arc<str>> {
        let is_blocked = |fact: &&Fact| is_blocked_by_operator(fact.address, blocklist);
        let servers = self.feeds.iter().filter(|fact| !is_blocked(fact)).cloned();
        by_address(self.needed_facts().chain(servers))
    }

    /// Servers of lists that this host does not need otherwise, and why they are guarded.
    fn servers(&self) -> BTreeMap<IpAddr, Arc<str>> {
        let mut servers = by_address(self.feeds.iter().cloned());
        servers.retain(|address, _| !self.needed.contains_key(address));
        servers
    }

    /// The operator blocks these targets: servers of lists that they cover are guarded no longer. Returns those.
    pub fn give_way(&mut self, targets: &Targets, protection: &mut Protection) -> Vec<Guarded> {
        let servers = self.servers();
        let covered = View::of(&servers).covered_by(targets);
        let is_guarded = |server: &&Guarded| self.in_force.contains_key(&server.address);
        let gone: Vec<_> = covered.iter().filter(is_guarded).map(|server| server.address).collect();
        // Where that fails they stay guarded until the next look.
        if !gone.is_empty() && protection.commit(&release(&gone), clock::now()).is_ok() {
            for address in gone {
                info!("{address} is no longer guarded: a command blocks it");
                self.in_force.remove(&address);
            }
        }
        covered
    }

    /// Makes what is allowed what it is to be: who comes is allowed before anybody goes.
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
            // In part it may be done, which is no harm: all of it is tried again.
            Err(error) => {
                let message = format!("cannot guard the addresses this host depends on: {}", error.explain());
                let remedy = "filterd retries every 5 s; until then they may be blocked".to_owned();
                self.undone = Some(Untold { message, remedy });
            }
        }
        self.note_untold();
    }

    /// What is not guarded and should be.
    pub fn faults(&self) -> impl Iterator<Item = Fault> + '_ {
        self.untold.iter().map(|(Untold { message, remedy }, since)| Fault {
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

    /// Which lists name what is guarded, for people.
    pub fn warnings(&self, blocklist: &Blocklist) -> impl Iterator<Item = String> {
        let servers = tell::blocked_servers(&self.servers(), blocklist);
        tell::warnings(self.view(), blocklist).chain(servers)
    }

    /// What is guarded now, to ask.
    pub fn view(&self) -> View<'_> {
        View::of(&self.in_force)
    }

    /// The same without what gives way to the operator.
    pub fn view_of_needed(&self) -> View<'_> {
        View::of(&self.needed)
    }

    /// What is guarded now, for whoever looks later.
    pub fn copied(&self) -> GuardedAddresses {
        let servers = self.servers().into_keys().collect();
        GuardedAddresses { all: self.in_force.clone(), servers }
    }
}

/// Tells whenever addresses or routes change. To be asked before they are looked at for the first time.
pub fn changes() -> io::Result<mpsc::Receiver<()>> {
    host::changes()
}

async fn links() -> Links {
    host::links().await.map_err(|error| error.to_string())
}

/// Facts by their addresses, with all reasons.
fn by_address(facts: impl Iterator<Item = Fact>) -> BTreeMap<IpAddr, Arc<str>> {
    let mut reasons: BTreeMap<IpAddr, BTreeSet<host::What>> = BTreeMap::new();
    for Fact { address, what } in facts {
        if reasons.len() < MOST || reasons.contains_key(&address) {
            reasons.entry(address).or_default().insert(what);
        }
    }
    let told = reasons.iter().map(|(address, reasons)| (*address, tell::reason(reasons)));
    told.collect()
}

/// Does a command or `block:` of the configuration block it?
fn is_blocked_by_operator(address: IpAddr, blocklist: &Blocklist) -> bool {
    let lists = blocklist.lists();
    let is_of_operator = |name: &str| lists.find(name).is_some_and(|id| lists.get(id).origin != Origin::File);
    let claims = blocklist.covering(Polarity::Block, Target::from(address));
    claims.iter().any(|claim| is_of_operator(&claim.list))
}

fn release(addresses: &[IpAddr]) -> Change {
    Change::Release { from: From::List(GUARD_LIST.into()), targets: targets(addresses) }
}

/// The same by reasons: a change has one note.
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
