//! What a reload would change, and whom of those in touch with this host it would cut: read as a reload reads (away from the
//! owner), compared page by page, and nothing is changed. `peers` says who is in touch, by `sockets`; `covering` which of what
//! was read covers them.

mod guarded;
mod peers;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use filter_common::labels::Counters;
use filter_common::target::Target;

use super::covering::Cover;
use super::pages::{Parts, Turn, Work};
use super::reload::{Found, Loaded, settings_of};
use crate::blocklist::{Blocklist, ListId, NamedClaim, Origin, PAGE, Polarity, Reach, Strictness, Targets};
use crate::clock;
use crate::config::name::{CONFIG_ALLOW_LIST, CONFIG_LIST};
use crate::config::{AS_GIVEN, Config, ListName, Matches};
use crate::control::wire::diff::{Cut, EntryDifference, ListDifference, MOST_CUT, MOST_ENTRIES, Reply, Role};
use crate::control::wire::reload::HeldBack;
pub use guarded::Guarded;
use guarded::Named;
pub use peers::Peers;
#[cfg(test)]
pub use peers::Role as PeerRole;

/// Peers that are looked at in one turn.
const PEERS_A_TURN: usize = 256;

/// What was read for it.
#[derive(Debug)]
pub struct Read {
    loaded: Loaded,
    peers: Vec<Peer>,
    guarded: Vec<Named>,
    unseen: Vec<String>,
}

/// Somebody in touch with this host.
#[derive(Debug)]
struct Peer {
    address: IpAddr,
    is: Vec<Role>,
    /// The first of what was read to be blocked that covers it.
    covered: Option<(Arc<str>, Target)>,
    /// Does anything that was read to be allowed?
    allowed: bool,
}

/// How things are, as far as the blocklist does not know it.
pub struct Now<'a> {
    /// The configuration in force.
    pub config: &'a Config,
    /// The interfaces that are asked for now, and would be then.
    pub interfaces: [Vec<String>; 2],
}

/// A comparison under way.
pub struct Diff {
    lists: Vec<Compared>,
    stage: Stage,
    peers: Vec<Peer>,
    /// The names of lists of which nothing stays as it is.
    replaced: HashSet<Arc<str>>,
    /// Lists of which what is there would reach otherwise.
    reaching: Vec<(Arc<str>, Reach)>,
    /// How much of what listed sources send is dropped now, and would be then.
    drops: [Strictness; 2],
    reply: Reply,
}

/// A list that may be another from then on.
struct Compared {
    id: Option<ListId>,
    targets: Targets,
    told: ListDifference,
}

/// What is done next.
enum Stage {
    /// Look for what would come: from this target of this list's on.
    Come { list: usize, from: usize },
    /// Look for what would go: of this list, behind this target.
    Go { list: usize, after: Option<Target> },
    /// Look at the peers from this one on.
    Peers(usize),
}

/// Looks for peers, and which of what was read covers them: whatever takes its time, away from the owner.
pub fn gather(loaded: Loaded, guarded: Guarded) -> Read {
    gather_with(loaded, Peers::look(), guarded)
}

/// The same for these peers.
pub fn gather_with(loaded: Loaded, peers: Peers, guarded: Guarded) -> Read {
    let Peers { known, unseen } = peers;
    let config: Arc<str> = CONFIG_LIST.into();
    let of = |polarity, inline| {
        let lists = loaded.lists.iter().filter(move |list| list.polarity == polarity);
        let lists = lists.filter_map(|list| Some((&list.name, list.reach.all_of(list.found.targets()?))));
        std::iter::once((&config, Cow::Borrowed(inline))).chain(lists).collect::<Vec<_>>()
    };
    let (blocked, allowed) = (of(Polarity::Block, &loaded.block), of(Polarity::Allow, &loaded.allow));
    let (blocks, allows) = (covers(&blocked), covers(&allowed));
    let covered = |covers: &[(&Arc<str>, Cover<'_>)], address| {
        covers.iter().find_map(|(name, cover)| Some(((*name).clone(), cover.covering(address)?)))
    };
    let peers = known.into_iter().map(|(address, roles)| Peer {
        address,
        is: roles.into_iter().map(|(role, count)| role.told(count)).collect(),
        covered: covered(&blocks, address),
        allowed: covered(&allows, address).is_some(),
    });
    let peers = peers.collect();
    let guarded = guarded::named(guarded, |address| covered(&blocks, address));
    drop((blocks, allows));
    drop((blocked, allowed));
    Read { loaded, peers, guarded, unseen }
}

fn covers<'a>(lists: &'a [(&'a Arc<str>, Cow<'_, Targets>)]) -> Vec<(&'a Arc<str>, Cover<'a>)> {
    lists.iter().map(|(name, targets)| (*name, Cover::of(targets))).collect()
}

impl Read {
    /// The configuration that was read.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }
}

impl Diff {
    /// Begins to compare what was read with what is.
    pub fn begin(read: Read, now: Now<'_>, blocklist: &Blocklist) -> Self {
        let Read { loaded, peers, guarded, unseen } = read;
        let [before, after] = now.interfaces;
        let beyond = |known: &[String], all: &[String]| -> Vec<String> {
            all.iter().filter(|name| !known.contains(name)).cloned().collect()
        };
        let (enforced, enforces) = (blocklist.settings().enforce, loaded.config.enforce);
        let reply = Reply {
            enforce: (enforced != enforces).then_some(enforces),
            attach: beyond(&before, &after),
            detach: beyond(&after, &before),
            settings: settings(now.config, &loaded.config),
            peers: peers.len() as u64,
            guarded: guarded::tell(&guarded, blocklist),
            unseen,
            ..Reply::default()
        };
        // Who comes by an interface that is not filtered yet is not dropped yet.
        let now = blocklist.settings().unpaused().strictness();
        let now = if reply.attach.is_empty() { now } else { Strictness::Nothing };
        let drops = [now, settings_of(&loaded.config).strictness()];
        let stage = Stage::Come { list: 0, from: 0 };
        let reaching = reaching(&loaded, blocklist);
        let mut this =
            Self { lists: Vec::new(), stage, peers, replaced: HashSet::new(), reaching, drops, reply };
        this.take(loaded, blocklist);
        this
    }

    /// What it has found.
    pub fn into_reply(self) -> Reply {
        self.reply
    }

    fn take(&mut self, loaded: Loaded, blocklist: &Blocklist) {
        let rows = blocklist.lists();
        let continued: HashSet<ListId> = loaded.lists.iter().filter_map(|list| list.before).collect();
        self.compare(rows.find(CONFIG_LIST), CONFIG_LIST, Polarity::Block, loaded.block, blocklist);
        let allow = rows.find(CONFIG_ALLOW_LIST);
        if allow.is_some() || !loaded.allow.is_empty() {
            self.compare(allow, CONFIG_ALLOW_LIST, Polarity::Allow, loaded.allow, blocklist);
        }
        for list in loaded.lists {
            let targets = match list.found {
                Found::Unchanged => None,
                Found::Accepted { targets, .. } => Some(targets),
                Found::Doubted { told, targets, .. } => {
                    let (list, since) = (list.name.to_string(), clock::now().secs());
                    self.reply.held_back.push(HeldBack { list, since, told });
                    targets
                }
            };
            let was = list.before.map(|id| rows.get(id).name.clone());
            match targets {
                Some(targets) => {
                    self.compare(list.before, &list.name, list.polarity, targets, blocklist);
                    if let Some(compared) = self.lists.last_mut() {
                        compared.told.ports = list.ports.map(|clause| clause.to_string());
                    }
                }
                None if was.as_deref() == Some(&*list.name) => self.reply.unchanged += 1,
                None => {
                    let (name, was) = (list.name.to_string(), was.map(|was| was.to_string()));
                    self.reply.lists.push(ListDifference { name, was, ..ListDifference::default() });
                }
            }
        }
        let gone = rows.iter().filter(|(id, list)| list.origin == Origin::File && !continued.contains(id));
        for (id, list) in gone {
            self.compare(Some(id), &list.name, list.polarity, Targets::default(), blocklist);
            if let Some(compared) = self.lists.last_mut() {
                compared.told.gone = true;
            }
        }
    }

    fn compare(
        &mut self,
        id: Option<ListId>,
        name: &str,
        polarity: Polarity,
        targets: Targets,
        blocklist: &Blocklist,
    ) {
        let was = id.map(|id| blocklist.lists().get(id).name.clone());
        self.replaced.extend(was.clone());
        let told = ListDifference {
            name: name.to_owned(),
            allows: polarity == Polarity::Allow,
            new: id.is_none() && ![CONFIG_LIST, CONFIG_ALLOW_LIST].contains(&name),
            was: was.filter(|was| **was != *name).map(|was| was.to_string()),
            ..ListDifference::default()
        };
        self.lists.push(Compared { id, targets, told });
    }

    fn come(&mut self, list: usize, from: usize, blocklist: &Blocklist) -> Stage {
        let Some(compared) = self.lists.get_mut(list) else { return Stage::Peers(0) };
        let page = compared.targets.page(from, PAGE);
        if page.is_empty() {
            return Stage::Go { list, after: None };
        }
        let come = blocklist.not_on(compared.id, &page);
        compared.told.come += come.len() as u64;
        note(&mut self.reply, &compared.told, &come, true);
        Stage::Come { list, from: from + page.len() }
    }

    fn go(&mut self, list: usize, after: Option<Target>, blocklist: &Blocklist) -> Stage {
        let Some(compared) = self.lists.get_mut(list) else { return Stage::Peers(0) };
        let entries = compared.id.map_or(0, |id| blocklist.lists().get(id).entries);
        let stay = (compared.targets.len() as u64).saturating_sub(compared.told.come);
        let is_more = entries > stay + compared.told.go;
        if let Some(id) = compared.id.filter(|_| is_more) {
            let (over, next) = blocklist.to_release(id, after, |target| !compared.targets.contains(target));
            compared.told.go += over.len() as u64;
            note(&mut self.reply, &compared.told, &over, false);
            if next.is_some() {
                return Stage::Go { list, after: next };
            }
        }
        let ListDifference { was, new, gone, come, go, .. } = &compared.told;
        if was.is_some() || *new || *gone || *come > 0 || *go > 0 {
            self.reply.lists.push(compared.told.clone());
        } else if ![CONFIG_LIST, CONFIG_ALLOW_LIST].contains(&compared.told.name.as_str()) {
            self.reply.unchanged += 1;
        }
        Stage::Come { list: list + 1, from: 0 }
    }

    fn look_at_peers(&mut self, from: usize, blocklist: &Blocklist) -> usize {
        let to = self.peers.len().min(from + PEERS_A_TURN);
        for at in from..to {
            let Some(cut) = self.cut(&self.peers[at], blocklist) else { continue };
            self.reply.cuts += 1;
            if self.reply.cut.len() < MOST_CUT {
                self.reply.cut.push(cut);
            }
        }
        to
    }

    /// What is on a list already, and would cover this once it reaches otherwise.
    fn reached(&self, peer: Target, blocklist: &Blocklist) -> Option<NamedClaim> {
        self.reaching.iter().filter(|(name, _)| !self.replaced.contains(name)).find_map(|(name, reach)| {
            let wide = reach.of(peer).next()?;
            let own = blocklist.covering(Polarity::Block, peer).into_iter();
            let covers = |claim: &NamedClaim| reach.of(claim.target).any(|one| one.covers(&peer));
            own.chain(blocklist.within(Polarity::Block, wide))
                .find(|claim| claim.list == *name && covers(claim))
        })
    }

    /// Whether it would be cut, and is not now.
    fn cut(&self, peer: &Peer, blocklist: &Blocklist) -> Option<Cut> {
        let ([now, then], target) = (self.drops, Target::from(peer.address));
        let [by, allowed_by] =
            [Polarity::Block, Polarity::Allow].map(|side| blocklist.covering(side, target));
        let is_listed = !by.is_empty() && allowed_by.is_empty();
        let is_cut = |role: &Role| is_listed && drops(now, role);
        let is =
            peer.is.iter().filter(|role| drops(then, role) && !is_cut(role)).cloned().collect::<Vec<_>>();
        let reaches = |claim: &NamedClaim| self.reaching.iter().any(|(name, _)| *name == claim.list);
        let stays = |claim: &NamedClaim| !self.replaced.contains(&claim.list) && !reaches(claim);
        if is.is_empty() || peer.allowed || allowed_by.iter().any(stays) {
            return None;
        }
        let reached = || self.reached(target, blocklist);
        let (stays, comes) = (by.into_iter().find(stays).or_else(reached), peer.covered.clone());
        let (list, target) = comes.or_else(|| stays.map(|claim| (claim.list, claim.target)))?;
        let (target, list) = (target.to_string(), list.to_string());
        Some(Cut { address: peer.address.to_string(), is, target, list })
    }
}

/// Is one who is that to us dropped when he is listed? What this host has begun goes on with `match: new`.
fn drops(strictness: Strictness, role: &Role) -> bool {
    match strictness {
        Strictness::Nothing => false,
        Strictness::New => !["server", "name_server"].contains(&role.role.as_str()),
        Strictness::All => true,
    }
}

impl Work for Diff {
    fn turn(&mut self, parts: &mut Parts<'_>) -> Turn {
        let blocklist = parts.protection.blocklist();
        self.stage = match self.stage {
            Stage::Come { list, from } => self.come(list, from, blocklist),
            Stage::Go { list, after } => self.go(list, after, blocklist),
            Stage::Peers(from) if from >= self.peers.len() => return Turn::Done,
            Stage::Peers(from) => Stage::Peers(self.look_at_peers(from, blocklist)),
        };
        Turn::More
    }
}

/// Lists that are there and would reach otherwise.
fn reaching(loaded: &Loaded, blocklist: &Blocklist) -> Vec<(Arc<str>, Reach)> {
    let rows = blocklist.lists();
    let files = loaded.lists.iter().filter_map(|list| Some((rows.get(list.before?), list.reach)));
    let live = rows.live(Polarity::Block).map(|id| {
        let list = rows.get(id);
        let said = loaded.config.live.iter().find(|said| said.name.as_str() == &*list.name);
        (list, said.map_or(Reach::AS_GIVEN, |said| Reach::to(said.ipv6_prefix)))
    });
    let others = files.chain(live).filter(|(list, reach)| list.reach != *reach);
    others.map(|(list, reach)| (list.name.clone(), reach)).collect()
}

fn note(reply: &mut Reply, list: &ListDifference, targets: &Targets, comes: bool) {
    let room = MOST_ENTRIES.saturating_sub(reply.entries.len());
    let told = targets.iter().take(room).map(|target| EntryDifference {
        list: list.name.clone(),
        target: target.to_string(),
        allows: list.allows,
        comes,
    });
    reply.entries.extend(told);
}

/// Settings beside `enforce` that would be others.
fn settings(now: &Config, then: &Config) -> Vec<String> {
    let told = [
        (now.mode != then.mode)
            .then(|| "mode: interfaces stay attached as they are until filterd starts anew".to_owned()),
        (now.counters != then.counters).then(|| match then.counters {
            Counters::Total => "counters: total".to_owned(),
            Counters::Lists => "counters: lists".to_owned(),
        }),
        (now.matches != then.matches).then(|| {
            let what = match then.matches {
                Matches::All => "whatever a blocked source sends would be dropped, answers to this host too",
                Matches::New => "what this host began itself would pass, whoever answers",
            };
            format!("match: {}, {what}", then.matches.name())
        }),
        (now.durable != then.durable).then(|| format!("durable: {}", then.durable)),
        (now.on_exit != then.on_exit).then(|| format!("on_exit: {}", then.on_exit.name())),
    ];
    told.into_iter().flatten().chain(lists_read_otherwise(now, then)).collect()
}

/// Lists that are called the same and of which more than their entries would be other: how long these stay, or what is
/// believed.
fn lists_read_otherwise(now: &Config, then: &Config) -> Vec<String> {
    let told = then.lists.iter().filter_map(|list| {
        let before = now.lists.iter().find(|before| before.name == list.name)?;
        let ttl = (before.ttl != list.ttl).then(|| match list.ttl {
            Some(ttl) => format!("ttl {} s, counted anew from then on", ttl.as_secs()),
            None => "no ttl: what is on it stays".to_owned(),
        });
        let limits = (before.limits != list.limits).then(|| "other limits".to_owned());
        let prefix = (before.ipv6_prefix != list.ipv6_prefix).then(|| widens(list.ipv6_prefix));
        let special = (before.special != list.special).then(|| "include_special".to_owned());
        let told: Vec<_> = [ttl, prefix, limits, special].into_iter().flatten().collect();
        (!told.is_empty()).then(|| format!("list {}: {}", list.name, told.join(", ")))
    });
    told.chain(live_lists_read_otherwise(now, then)).collect()
}

fn live_lists_read_otherwise(now: &Config, then: &Config) -> Vec<String> {
    let names: BTreeSet<_> = now.live.iter().chain(&then.live).map(|list| &list.name).collect();
    let length = |config: &Config, name: &ListName| {
        let list = config.live.iter().find(|list| list.name == *name);
        list.map_or(AS_GIVEN, |list| list.ipv6_prefix)
    };
    let others = names.into_iter().filter(|name| length(now, name) != length(then, name));
    others.map(|name| format!("list {name}: {}", widens(length(then, name)))).collect()
}

fn widens(length: u8) -> String {
    match length {
        AS_GIVEN => "IPv6 is blocked as it is given".to_owned(),
        length => format!("IPv6 is widened to /{length}"),
    }
}
