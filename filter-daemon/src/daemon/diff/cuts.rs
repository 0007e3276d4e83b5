//! Finds the peers of this host that a reload would cut off.

use std::sync::Arc;
use std::time::Duration;

use filter_common::ports::{Clause, Port, Wants};
use filter_common::target::Target;

use super::gather::{BlockedPackets, CoveringTarget, Peer, PeerRelation};
use super::{Comparison, DropStrictness};
use crate::blocklist::{Blocklist, ListId, NamedClaim, Polarity, Strictness, Timestamp};
use crate::clock;
use crate::control::wire::diff::{Cut, MOST_CUT};

/// Peers that are checked in one turn.
const PEERS_A_TURN: usize = 256;

impl Comparison {
    /// Checks the peers from this index on. Returns the next index.
    pub(super) fn look_at_peers(&mut self, from: usize, blocklist: &Blocklist) -> usize {
        let to = self.peers.len().min(from + PEERS_A_TURN);
        for at in from..to {
            let Some(cut) = self.cut(&self.peers[at], blocklist) else { continue };
            if cut.allowed_until.is_some() {
                if self.reply.cut_later.len() < MOST_CUT {
                    self.reply.cut_later.push(cut);
                }
                continue;
            }
            self.reply.cuts += 1;
            if self.reply.cut.len() < MOST_CUT {
                self.reply.cut.push(cut);
            }
        }
        to
    }

    /// Reports a peer that the reload would cut off, at once or when the last entry that allows it expires.
    /// Both states, with and without the reload, are compared at that moment. A peer that would be dropped
    /// then anyway, without the reload, is not reported.
    fn cut(&self, peer: &Peer, blocklist: &Blocklist) -> Option<Cut> {
        let target = Target::from(peer.address);
        let [blocks, allows] =
            [Polarity::Block, Polarity::Allow].map(|side| blocklist.covering(side, target));
        let moment = self.allowed_until(peer, &allows, blocklist)?;
        let without = if allows.iter().any(|claim| lasts(claim.until, moment)) {
            Strictness::Nothing
        } else {
            self.drops.without(moment)
        };
        let by = blocks.iter().filter(|claim| lasts(claim.until, moment));
        let by: Vec<_> = by.map(|claim| BlockedPackets::of(blocklist, claim.id)).collect();
        let is_cut_anyway = |is: &PeerRelation| by.iter().any(|packets| packets.are_of(is, without));
        let mut is: Vec<_> = peer.is.iter().filter(|is| !is_cut_anyway(is)).collect();
        let all = self.blocked_at(moment, peer, blocks, blocklist);
        let first = |is: &PeerRelation| all.iter().find(|one| one.packets.are_of(is, self.drops.then));
        is.retain(|is| first(is).is_some());
        let BlockingEntry { list, target, .. } = first(is.first()?)?;
        Some(Cut {
            address: peer.address.to_string(),
            is: is.into_iter().map(|is| is.role.clone()).collect(),
            target: target.to_string(),
            list: list.to_string(),
            allowed_until: (moment > self.drops.from).then(|| clock::on_the_wall(moment)),
        })
    }

    /// When the last entry that allows this peer expires. None if one never does.
    fn allowed_until(&self, peer: &Peer, now: &[NamedClaim], blocklist: &Blocklist) -> Option<Timestamp> {
        let stay = now.iter().filter(|claim| self.stays(claim)).map(|claim| claim.until);
        let come = peer.allowed.iter().filter_map(|one| one.until(blocklist));
        stay.chain(come).try_fold(self.drops.from, |last, until| Some(last.max(until?)))
    }

    /// The entries that block the peer at that moment, after the reload.
    fn blocked_at(
        &self,
        moment: Timestamp,
        peer: &Peer,
        now: Vec<NamedClaim>,
        blocklist: &Blocklist,
    ) -> Vec<BlockingEntry> {
        let come = peer.covered.iter().filter_map(|one| {
            let until = one.until(blocklist)?;
            let CoveringTarget { list, target, packets, .. } = one.clone();
            lasts(until, moment).then_some(BlockingEntry { list, target, packets })
        });
        let reached = self.reached(peer.address.into(), moment, blocklist);
        let stay = now.into_iter().filter(|claim| self.stays(claim)).chain(reached).filter_map(|claim| {
            let NamedClaim { list, id, target, until, .. } = claim;
            let turned = self.turned.iter().find(|turned| turned.list == id);
            let (packets, until) = match turned {
                Some(turned) => {
                    let now = clock::after(Duration::ZERO);
                    (turned.packets, turned.lifetime.until(target, blocklist, now)?)
                }
                None => (BlockedPackets::of(blocklist, id), until),
            };
            lasts(until, moment).then_some(BlockingEntry { list, target, packets })
        });
        come.chain(stay).collect()
    }

    /// Whether this entry stays as it is.
    fn stays(&self, claim: &NamedClaim) -> bool {
        let reaches_otherwise = self.reaching.iter().any(|(list, _)| *list == claim.id);
        !self.replaced.contains(&claim.id) && !reaches_otherwise
    }

    /// An existing entry that covers the peer at that moment once its list has its new reach.
    fn reached(&self, peer: Target, moment: Timestamp, blocklist: &Blocklist) -> Option<NamedClaim> {
        self.reaching.iter().filter(|(list, _)| !self.replaced.contains(list)).find_map(|(list, reach)| {
            let wide = reach.of(peer).next()?;
            let own = blocklist.covering(Polarity::Block, peer).into_iter();
            let covers = |claim: &NamedClaim| reach.of(claim.target).any(|one| one.covers(&peer));
            own.chain(blocklist.within(Polarity::Block, wide))
                .find(|claim| claim.id == *list && covers(claim) && lasts(claim.until, moment))
        })
    }
}

impl DropStrictness {
    /// The strictness at that moment without a reload.
    fn without(&self, moment: Timestamp) -> Strictness {
        if moment > self.from { self.later } else { self.now }
    }
}

/// An entry that blocks a peer.
struct BlockingEntry {
    list: Arc<str>,
    target: Target,
    packets: BlockedPackets,
}

impl BlockedPackets {
    /// The packets that this list blocks.
    fn of(blocklist: &Blocklist, list: ListId) -> Self {
        let row = blocklist.lists().get(list);
        Self { clause: blocklist.clause(row), direction: row.direction }
    }

    /// Whether a listed peer in this role is cut off. It is by whatever drops all packets to it, even those of
    /// connections that this host began.
    fn are_of(self, is: &PeerRelation, strictness: Strictness) -> bool {
        let is_cut_by_source = || drops(strictness, is) && wants(self.clause, is);
        strictness != Strictness::Nothing && (self.direction.is_outbound() || is_cut_by_source())
    }
}

/// Whether it has not expired at that moment.
fn lasts(until: Option<Timestamp>, moment: Timestamp) -> bool {
    until.is_none_or(|until| until > moment)
}

/// Whether a list with this clause drops packets of a peer in this role. A name server answers to any port
/// that the kernel assigns automatically.
fn wants(clause: Option<Clause>, is: &PeerRelation) -> bool {
    const FIRST_GIVEN: u16 = 1024;
    let Some(clause) = clause else { return true };
    match is.role.role.as_str() {
        "gateway" => clause.wants(Port::NONE) == Wants::Drop,
        "name_server" => clause.is_except() || clause.ranges().any(|range| range.last() >= FIRST_GIVEN),
        _ => is.ours.iter().any(|port| clause.wants(Port::to(*port)) == Wants::Drop),
    }
}

/// Whether packets of a listed peer in this role are dropped. Connections that this host began continue with
/// `match: new`.
fn drops(strictness: Strictness, is: &PeerRelation) -> bool {
    match strictness {
        Strictness::Nothing => false,
        Strictness::New => !["server", "name_server"].contains(&is.role.role.as_str()),
        Strictness::All => true,
    }
}
