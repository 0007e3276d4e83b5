//! What a comparison needs is read, and looked at, away from the owner: the configuration with its lists, who is in touch with
//! this host, and which of what was read covers them.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use filter_common::ports::Clause;
use filter_common::target::Target;

use super::guarded::{self, Guarded, Named};
use super::peers::Peers;
use crate::blocklist::{Polarity, Targets};
use crate::config::name::CONFIG_LIST;
use crate::control::wire::diff::Role;
use crate::daemon::covering::Cover;
use crate::daemon::reload::Loaded;

/// What was read for it.
#[derive(Debug)]
pub struct Read {
    pub(super) loaded: Loaded,
    pub(super) peers: Vec<Peer>,
    pub(super) guarded: Vec<Named>,
    pub(super) unseen: Vec<String>,
}

/// Somebody in touch with this host.
#[derive(Debug)]
pub struct Peer {
    pub(super) address: IpAddr,
    pub(super) is: Vec<Is>,
    /// What was read to be blocked and covers it: the first on all ports, and of each clause the first.
    pub(super) covered: Vec<Covering>,
    /// Does anything that was read to be allowed?
    pub(super) allowed: bool,
}

/// What somebody is to this host.
#[derive(Debug)]
pub struct Is {
    /// As it is told.
    pub(super) role: Role,
    /// The ports of ours to which he sends, where there are connections.
    pub(super) ours: Vec<u16>,
}

/// What covers somebody.
#[derive(Clone, Debug)]
pub struct Covering {
    pub(super) list: Arc<str>,
    pub(super) target: Target,
    /// On which ports, if not on all.
    pub(super) clause: Option<Clause>,
}

/// Looks for peers, and which of what was read covers them: whatever takes its time, away from the owner.
pub fn gather(loaded: Loaded, guarded: Guarded) -> Read {
    gather_with(loaded, Peers::look(), guarded)
}

/// The same for these peers.
pub fn gather_with(loaded: Loaded, peers: Peers, guarded: Guarded) -> Read {
    let Peers { known, mut ours, unseen } = peers;
    let config: Arc<str> = CONFIG_LIST.into();
    let of = |polarity, inline| {
        let lists = loaded.lists.iter().filter(move |list| list.meaning.polarity == polarity);
        let lists = lists.filter_map(|list| {
            Some((&list.name, list.meaning.ports, list.meaning.reach.all_of(list.found.targets()?)))
        });
        std::iter::once((&config, None, Cow::Borrowed(inline))).chain(lists).collect::<Vec<_>>()
    };
    let (blocked, allowed) = (of(Polarity::Block, &loaded.block), of(Polarity::Allow, &loaded.allow));
    let (blocks, allows) = (covers(&blocked), covers(&allowed));
    let peers = known.into_iter().map(|(address, roles)| Peer {
        address,
        is: roles
            .into_iter()
            .map(|(role, count)| Is {
                role: role.told(count),
                ours: ours.remove(&(address, role)).unwrap_or_default().into_iter().collect(),
            })
            .collect(),
        covered: covering(&blocks, address),
        allowed: !covering(&allows, address).is_empty(),
    });
    let peers = peers.collect();
    let guarded = guarded::named(guarded, |address| {
        covering(&blocks, address).into_iter().next().map(|first| (first.list, first.target))
    });
    drop((blocks, allows));
    drop((blocked, allowed));
    Read { loaded, peers, guarded, unseen }
}

/// A list with its clause, and its targets as they lie.
type Listed<'a> = (&'a Arc<str>, Option<Clause>, Cow<'a, Targets>);

/// The same, to be asked.
type Covers<'a> = (&'a Arc<str>, Option<Clause>, Cover<'a>);

fn covers<'a>(lists: &'a [Listed<'_>]) -> Vec<Covers<'a>> {
    lists.iter().map(|(name, clause, targets)| (*name, *clause, Cover::of(targets))).collect()
}

/// Which of these cover an address: of those with the same clause the first.
fn covering(covers: &[Covers<'_>], address: IpAddr) -> Vec<Covering> {
    let mut found: Vec<Covering> = Vec::new();
    for (list, clause, cover) in covers {
        if found.iter().any(|other| other.clause == *clause) {
            continue;
        }
        let target = cover.covering(address).into_iter();
        found.extend(target.map(|target| Covering { list: (*list).clone(), target, clause: *clause }));
    }
    found
}

impl Read {
    /// The configuration that was read.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }
}
