//! Collects the input of a comparison outside the owner: the configuration with its lists, the peers of this
//! host, and the entries that cover them.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use filter_common::direction::Direction;
use filter_common::ports::Clause;
use filter_common::target::{Prefix6, Target};

use super::guarded::{self, GuardedAddresses, NamedGuarded};
use super::peers::Peers;
use crate::blocklist::{Blocklist, Polarity, Reach, Targets, Timestamp};
use crate::clock;
use crate::config::name::CONFIG_LIST;
use crate::control::wire::diff::Role;
use crate::daemon::covering::TargetLookup;
use crate::daemon::reload::Loaded;
use crate::plan::Lifetime;

/// The input of a comparison.
#[derive(Debug)]
pub struct ComparisonInput {
    pub(super) loaded: Loaded,
    pub(super) peers: Vec<Peer>,
    pub(super) guarded: Vec<NamedGuarded>,
    pub(super) unseen: Vec<String>,
}

/// A peer of this host.
#[derive(Debug)]
pub struct Peer {
    pub(super) address: IpAddr,
    pub(super) is: Vec<PeerRelation>,
    /// The blocked targets in the files that cover it, in the order of the configuration.
    pub(super) covered: Vec<CoveringTarget>,
    /// The allowed targets in the files that cover it.
    pub(super) allowed: Vec<CoveringTarget>,
}

/// A role of a peer for this host.
#[derive(Debug)]
pub struct PeerRelation {
    /// The role as it is reported.
    pub(super) role: Role,
    /// Our ports that the peer sends to, if there are connections.
    pub(super) ours: Vec<u16>,
}

/// A target of a list that covers a peer.
#[derive(Clone, Debug)]
pub struct CoveringTarget {
    pub(super) list: Arc<str>,
    pub(super) target: Target,
    pub(super) packets: BlockedPackets,
    /// How long the entries of the list stay on it.
    pub(super) lifetime: Lifetime,
    /// The targets that the list names. A widened prefix may stand for several.
    pub(super) named: Vec<Target>,
}

/// The packets of a listed peer that a list blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockedPackets {
    /// The ports that it is limited to, if any.
    pub(super) clause: Option<Clause>,
    pub(super) direction: Direction,
}

impl CoveringTarget {
    /// When the last of the named targets expires. The outer option is none if all have expired.
    pub(super) fn until(&self, blocklist: &Blocklist) -> Option<Option<Timestamp>> {
        let now = clock::after(Duration::ZERO);
        if self.named.len() > MOST_NAMED {
            return Some(self.lifetime.anew(now));
        }
        let each = self.named.iter().filter_map(|target| self.lifetime.until(*target, blocklist, now));
        each.reduce(|one, other| Some(one?.max(other?)))
    }
}

/// If a prefix stands for more targets than this, one of them is assumed to be new.
const MOST_NAMED: usize = 64;

/// Finds the peers and the targets that cover them. This takes time, so it runs outside the owner.
pub fn gather(loaded: Loaded, guarded: GuardedAddresses) -> ComparisonInput {
    gather_with(loaded, Peers::look(), guarded)
}

/// Like `gather`, with these peers.
pub fn gather_with(loaded: Loaded, peers: Peers, guarded: GuardedAddresses) -> ComparisonInput {
    let Peers { known, mut ours, unseen } = peers;
    let config: Arc<str> = CONFIG_LIST.into();
    let of = |polarity, inline| {
        let inline = ListedTargets::of(
            &config,
            BlockedPackets::default(),
            (Lifetime::FOR_GOOD, Reach::AS_GIVEN),
            inline,
            Cow::Borrowed(inline),
        );
        let lists = loaded.lists.iter().filter(move |list| list.meaning.polarity == polarity);
        let lists = lists.filter_map(|list| {
            let named = list.found.targets()?;
            let reach = list.meaning.reach;
            let targets = reach.all_of(named);
            let packets = BlockedPackets { clause: list.meaning.ports, direction: list.meaning.direction };
            Some(ListedTargets::of(&list.name, packets, (list.lifetime(), reach), named, targets))
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

/// A list with its targets as they were read.
struct ListedTargets<'a> {
    name: &'a Arc<str>,
    packets: BlockedPackets,
    lifetime: Lifetime,
    reach: Reach,
    named: &'a Targets,
    /// The targets as they are blocked, widened by the list's reach.
    targets: Cow<'a, Targets>,
}

impl<'a> ListedTargets<'a> {
    const fn of(
        name: &'a Arc<str>,
        packets: BlockedPackets,
        (lifetime, reach): (Lifetime, Reach),
        named: &'a Targets,
        targets: Cow<'a, Targets>,
    ) -> Self {
        Self { name, packets, lifetime, reach, named, targets }
    }

    /// The widened prefix, if it may stand for several named targets with times of their own.
    fn widened(&self, target: Target) -> Option<Prefix6> {
        let is_widened =
            |prefix: &Prefix6| self.reach != Reach::AS_GIVEN && prefix.length() == self.reach.length();
        match target {
            Target::V4(_) => None,
            Target::V6(prefix) => self.lifetime.ttl.and(Some(prefix)).filter(is_widened),
        }
    }
}

/// A list with a lookup over its targets.
type LookupOfList<'a> = (&'a ListedTargets<'a>, TargetLookup<'a>);

fn asked<'a>(lists: &'a [ListedTargets<'a>]) -> Vec<LookupOfList<'a>> {
    lists.iter().map(|list| (list, TargetLookup::of(&list.targets))).collect()
}

/// All targets in these lists that cover an address. One of them may last longer than another.
fn covering(lists: &[LookupOfList<'_>], address: IpAddr) -> Vec<CoveringTarget> {
    let of = |(list, cover): &LookupOfList<'_>| {
        let ListedTargets { name, packets, lifetime, named, .. } = **list;
        let named = move |target| match list.widened(target) {
            Some(wide) => named.within6(wide).take(MOST_NAMED + 1).collect(),
            None => vec![target],
        };
        let covering = move |target| CoveringTarget {
            list: name.clone(),
            target,
            packets,
            lifetime,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocklist::{Change, ListChange, Origin, Want};
    use crate::plan::Continued;

    const HOUR: Duration = Duration::from_secs(3600);

    fn target(word: &str) -> Target {
        word.parse().unwrap()
    }

    #[test]
    fn only_prefix_of_the_list_reach_stands_for_others() {
        let (name, none) = ("partners".into(), Targets::default());
        let list = |ttl, reach| {
            let lifetime = Lifetime { ttl, known: None };
            let packets = BlockedPackets::default();
            ListedTargets::of(&name, packets, (lifetime, reach), &none, Cow::Borrowed(&none))
        };
        let (wide, ttl) = (target("2001:db8::/64"), Some(HOUR));
        for (ttl, reach, word, is_widened) in [
            (ttl, Reach::to(64), "2001:db8::/64", true),
            (None, Reach::to(64), "2001:db8::/64", false),
            (ttl, Reach::AS_GIVEN, "2001:db8::/64", false),
            (ttl, Reach::to(64), "2001:db8::/48", false),
            (ttl, Reach::to(64), "192.0.2.1", false),
        ] {
            let widened = list(ttl, reach).widened(target(word)).map(Target::V6);
            assert_eq!(widened, is_widened.then_some(wide), "{word}");
        }
    }

    #[test]
    fn widened_entry_lasts_as_long_as_its_last() {
        let (mut blocklist, soon) = (Blocklist::default(), clock::after(Duration::from_secs(60)));
        let one = |word| [target(word)].into_iter().collect();
        let want = Want::live("partners", Polarity::Allow, one("192.0.2.1"));
        let want = Change::Want(Want { origin: Origin::File, until: Some(soon), ..want });
        blocklist.apply(&want, clock::now()).unwrap();
        let id = blocklist.lists().find("partners").unwrap();
        ListChange::Spend(id, one("192.0.2.2")).apply_to(&mut blocklist, clock::now());
        let lasting = Lifetime::new(Some(HOUR), Continued::Same(id), Some(HOUR));
        // In minutes from now.
        let left = |named: &[&str], lifetime| {
            let (list, target) = ("partners".into(), target("2001:db8::/64"));
            let named = named.iter().map(|word| word.parse().unwrap()).collect();
            let one = CoveringTarget { list, target, packets: BlockedPackets::default(), lifetime, named };
            let until = one.until(&blocklist)?;
            Some(until.map(|until| clock::until(until).as_secs().div_ceil(60)))
        };
        let [soon, over, new] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
        assert_eq!(left(&[over], lasting), None, "nobody is cut for its sake");
        assert_eq!(left(&[over, soon], lasting), Some(Some(1)));
        assert_eq!(left(&[new, over, soon], lasting), Some(Some(60)));
        assert_eq!(left(&[over; 65], lasting), Some(Some(60)), "of so many nobody looks at each");
        assert_eq!(left(&[over, soon], Lifetime::FOR_GOOD), Some(None));
    }
}
