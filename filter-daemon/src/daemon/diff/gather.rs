//! What a comparison needs is read, and looked at, away from the owner: the configuration with its lists, who is in touch with
//! this host, and which of what was read covers them.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

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
    pub(super) is: Vec<Role>,
    /// The first of what was read to be blocked that covers it.
    pub(super) covered: Option<(Arc<str>, Target)>,
    /// Does anything that was read to be allowed?
    pub(super) allowed: bool,
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
