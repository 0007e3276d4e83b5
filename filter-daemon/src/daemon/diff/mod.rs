//! What a reload would change, and whom of those in touch with this host it would cut: read as a reload reads (away from the
//! owner), compared page by page, and nothing is changed. `peers` says who is in touch, by `sockets`; `cover` which of what
//! was read covers them.

mod cover;
mod peers;

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use filter_common::labels::Counters;
use filter_common::target::Target;

use super::pages::{Parts, Turn, Work};
use super::reload::{Found, Loaded};
use crate::blocklist::{Blocklist, ListId, NamedClaim, Origin, PAGE, Polarity, Targets};
use crate::clock;
use crate::config::name::{CONFIG_ALLOW_LIST, CONFIG_LIST};
use crate::config::{Config, Matches};
use crate::control::wire::diff::{Cut, EntryDifference, ListDifference, MOST_CUT, MOST_ENTRIES, Reply, Role};
use crate::control::wire::reload::HeldBack;
use cover::Cover;
use peers::Peers;

/// Peers that are looked at in one turn.
const PEERS_A_TURN: usize = 256;

/// What was read for it.
#[derive(Debug)]
pub struct Read {
    loaded: Loaded,
    peers: Vec<Peer>,
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
    /// Are listed sources dropped now, and would they be then?
    drops: [bool; 2],
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
pub fn gather(loaded: Loaded) -> Read {
    let Peers { known, unseen } = Peers::look();
    let config: Arc<str> = CONFIG_LIST.into();
    let of = |polarity, inline| {
        let lists = loaded.lists.iter().filter(move |list| list.polarity == polarity);
        let lists = lists.filter_map(|list| Some((&list.name, list.found.targets()?)));
        let contents = std::iter::once((&config, inline)).chain(lists);
        contents.map(|(name, targets)| (name, Cover::of(targets))).collect::<Vec<_>>()
    };
    let (blocks, allows) = (of(Polarity::Block, &loaded.block), of(Polarity::Allow, &loaded.allow));
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
    drop((blocks, allows));
    Read { loaded, peers, unseen }
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
        let Read { loaded, peers, unseen } = read;
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
            unseen,
            ..Reply::default()
        };
        // Who comes by an interface that is not filtered yet is not dropped yet.
        let drops = [enforced && reply.attach.is_empty(), enforces];
        let stage = Stage::Come { list: 0, from: 0 };
        let mut this = Self { lists: Vec::new(), stage, peers, replaced: HashSet::new(), drops, reply };
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
        note(&mut self.reply, &compared.told.name, &come, true);
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
            note(&mut self.reply, &compared.told.name, &over, false);
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

    /// Whether it would be cut, and is not now.
    fn cut(&self, peer: &Peer, blocklist: &Blocklist) -> Option<Cut> {
        let ([drops, would_drop], target) = (self.drops, Target::from(peer.address));
        let [by, allowed_by] =
            [Polarity::Block, Polarity::Allow].map(|side| blocklist.covering(side, target));
        let is_cut = drops && !by.is_empty() && allowed_by.is_empty();
        let stays = |claim: &NamedClaim| !self.replaced.contains(&claim.list);
        if is_cut || !would_drop || peer.allowed || allowed_by.iter().any(stays) {
            return None;
        }
        let (stays, comes) = (by.into_iter().find(stays), peer.covered.clone());
        let (list, target) = comes.or_else(|| stays.map(|claim| (claim.list, claim.target)))?;
        let (target, list) = (target.to_string(), list.to_string());
        Some(Cut { address: peer.address.to_string(), is: peer.is.clone(), target, list })
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

fn note(reply: &mut Reply, list: &str, targets: &Targets, comes: bool) {
    let room = MOST_ENTRIES.saturating_sub(reply.entries.len());
    let told = targets.iter().take(room).map(|target| EntryDifference {
        list: list.to_owned(),
        target: target.to_string(),
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
        let special = (before.special != list.special).then(|| "include_special".to_owned());
        let told: Vec<_> = [ttl, limits, special].into_iter().flatten().collect();
        (!told.is_empty()).then(|| format!("list {}: {}", list.name, told.join(", ")))
    });
    told.collect()
}
