//! What a comparison needs is read, and looked at, away from the owner: the configuration with its lists, who is in touch with
//! this host, and which of what was read covers them.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use filter_common::ports::Clause;
use filter_common::target::Target;

use super::guarded::{self, GuardedAddresses, NamedGuarded};
use super::lasting::EntryLifetime;
use super::peers::Peers;
use crate::blocklist::{Blocklist, Polarity, Targets, Timestamp};
use crate::config::name::CONFIG_LIST;
use crate::control::wire::diff::Role;
use crate::daemon::covering::TargetLookup;
use crate::daemon::reload::Loaded;

/// What was read for it.
#[derive(Debug)]
pub struct ComparisonInput {
    pub(super) loaded: Loaded,
    pub(super) peers: Vec<Peer>,
    pub(super) guarded: Vec<NamedGuarded>,
    pub(super) unseen: Vec<String>,
}

/// Somebody in touch with this host.
#[derive(Debug)]
pub struct Peer {
    pub(super) address: IpAddr,
    pub(super) is: Vec<PeerRelation>,
    /// What was read to be blocked and covers it, in the order of the configuration.
    pub(super) covered: Vec<CoveringTarget>,
    /// What was read to be allowed and covers it.
    pub(super) allowed: Vec<CoveringTarget>,
}

/// What somebody is to this host.
#[derive(Debug)]
pub struct PeerRelation {
    /// As it is told.
    pub(super) role: Role,
    /// The ports of ours to which he sends, where there are connections.
    pub(super) ours: Vec<u16>,
}

/// What covers somebody.
#[derive(Clone, Debug)]
pub struct CoveringTarget {
    pub(super) list: Arc<str>,
    pub(super) target: Target,
    /// On which ports, if not on all.
    pub(super) clause: Option<Clause>,
    /// How long each of what the list names of it.
    pub(super) lasting: EntryLifetime,
    /// These: where the list widens what it names, it may stand for several.
    pub(super) named: Vec<Target>,
}

impl CoveringTarget {
    /// Until when it is on the list: as long as the last that it stands for. The same as of one target otherwise.
    pub(super) fn until(&self, blocklist: &Blocklist) -> Option<Option<Timestamp>> {
        if self.named.len() > MOST_NAMED {
            return Some(self.lasting.anew());
        }
        let each = self.named.iter().filter_map(|target| self.lasting.until(*target, blocklist));
        each.reduce(|one, other| Some(one?.max(other?)))
    }
}

/// Of what stands for more than these, it is taken that one of them is new.
const MOST_NAMED: usize = 64;

/// Looks for peers, and which of what was read covers them: whatever takes its time, away from the owner.
pub fn gather(loaded: Loaded, guarded: GuardedAddresses) -> ComparisonInput {
    gather_with(loaded, Peers::look(), guarded)
}

/// The same for these peers.
pub fn gather_with(loaded: Loaded, peers: Peers, guarded: GuardedAddresses) -> ComparisonInput {
    let Peers { known, mut ours, unseen } = peers;
    let config: Arc<str> = CONFIG_LIST.into();
    let of = |polarity, inline| {
        let inline = ListedTargets::of(&config, None, EntryLifetime::FOR_GOOD, inline, Cow::Borrowed(inline));
        let lists = loaded.lists.iter().filter(move |list| list.meaning.polarity == polarity);
        let lists = lists.filter_map(|list| {
            let named = list.found.targets()?;
            let targets = list.meaning.reach.all_of(named);
            Some(ListedTargets::of(&list.name, list.meaning.ports, EntryLifetime::on(list), named, targets))
        });
        std::iter::once(inline).chain(lists).collect::<Vec<_>>()
    };
    let (blocked, allowed) = (of(Polarity::Block, &loaded.block), of(Polarity::Allow, &loaded.allow));
    let (blocks, allows) = (asked(&blocked), asked(&allowed));
    let peers = known.into_iter().map(|(address, roles)| Peer {
        address,
        is: roles
            .into_iter()
            .map(|(role, count)| PeerRelation {
                role: role.told(count),
                ours: ours.remove(&(address, role)).unwrap_or_default().into_iter().collect(),
            })
            .collect(),
        covered: covering(&blocks, address),
        allowed: covering(&allows, address),
    });
    let peers = peers.collect();
    let guarded = guarded::named(guarded, |address| {
        blocks.iter().find_map(|(list, cover)| Some((list.name.clone(), cover.covering(address)?)))
    });
    drop((blocks, allows));
    drop((blocked, allowed));
    ComparisonInput { loaded, peers, guarded, unseen }
}

/// A list with its targets as they lie.
struct ListedTargets<'a> {
    name: &'a Arc<str>,
    clause: Option<Clause>,
    lasting: EntryLifetime,
    named: &'a Targets,
    /// As they are blocked.
    targets: Cow<'a, Targets>,
}

impl<'a> ListedTargets<'a> {
    const fn of(
        name: &'a Arc<str>,
        clause: Option<Clause>,
        lasting: EntryLifetime,
        named: &'a Targets,
        targets: Cow<'a, Targets>,
    ) -> Self {
        Self { name, clause, lasting, named, targets }
    }
}

/// The same, to be asked.
type LookupOfList<'a> = (&'a ListedTargets<'a>, TargetLookup<'a>);

fn asked<'a>(lists: &'a [ListedTargets<'a>]) -> Vec<LookupOfList<'a>> {
    lists.iter().map(|list| (list, TargetLookup::of(&list.targets))).collect()
}

/// Everything of these that covers an address: what is covered by one may be so for longer by another.
fn covering(lists: &[LookupOfList<'_>], address: IpAddr) -> Vec<CoveringTarget> {
    let of = |(list, cover): &LookupOfList<'_>| {
        let ListedTargets { name, clause, lasting, named, .. } = **list;
        let named = move |target| match lasting.widened(target) {
            Some(wide) => named.within6(wide).take(MOST_NAMED + 1).collect(),
            None => vec![target],
        };
        let covering = move |target| CoveringTarget {
            list: name.clone(),
            target,
            clause,
            lasting,
            named: named(target),
        };
        cover.all_covering(address).map(covering).collect::<Vec<_>>()
    };
    lists.iter().flat_map(of).collect()
}

impl ComparisonInput {
    /// The configuration that was read.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }
}
