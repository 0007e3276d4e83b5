//! Whom of those in touch with this host a reload would cut.

use filter_common::ports::{Clause, Port, Wants};
use filter_common::target::Target;

use super::Diff;
use super::gather::{Covering, Is, Peer};
use crate::blocklist::{Blocklist, NamedClaim, Polarity, Strictness};
use crate::clock;
use crate::control::wire::diff::{Cut, MOST_CUT};

/// Peers that are looked at in one turn.
const PEERS_A_TURN: usize = 256;

impl Diff {
    /// Looks at the peers from this one on. Tells how far it has come.
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

    /// Whether it would be cut, and is not now; or would be when what allows it has ended.
    fn cut(&self, peer: &Peer, blocklist: &Blocklist) -> Option<Cut> {
        let ([now, then], target) = (self.drops, Target::from(peer.address));
        let [by, allowed_by] =
            [Polarity::Block, Polarity::Allow].map(|side| blocklist.covering(side, target));
        let by: Vec<_> = by.into_iter().map(|claim| (blocklist.clause_of(&claim.list), claim)).collect();
        let is_listed = |is: &Is| by.iter().any(|(clause, _)| wants(*clause, is));
        let reaches = |claim: &NamedClaim| self.reaching.iter().any(|(name, _)| *name == claim.list);
        let stays = |claim: &NamedClaim| !self.replaced.contains(&claim.list) && !reaches(claim);
        let allows: Vec<_> =
            allowed_by.iter().filter(|claim| stays(claim)).map(|claim| claim.until).collect();
        if peer.allowed || allows.iter().any(Option::is_none) {
            return None;
        }
        // Whom nothing but what allows him keeps from being cut already, no reload cuts.
        let allowed_until = allows.into_iter().flatten().max().map(clock::on_the_wall);
        let is_spared = allowed_by.is_empty() || allowed_until.is_some();
        let is_cut = |is: &Is| is_spared && drops(now, is) && is_listed(is);
        let mut is: Vec<_> = peer.is.iter().filter(|is| drops(then, is) && !is_cut(is)).collect();
        let reached = self.reached(target, blocklist).into_iter();
        let stay = by.iter().map(|(_, claim)| claim).filter(|claim| stays(claim)).cloned().chain(reached);
        let then_of = |list: &str| self.turned.iter().find(|(name, _)| **name == *list);
        let stay = stay.map(|NamedClaim { list, target, .. }| {
            let clause = then_of(&list).map_or_else(|| blocklist.clause_of(&list), |(_, clause)| *clause);
            Covering { list, target, clause }
        });
        let all: Vec<_> = peer.covered.iter().cloned().chain(stay).collect();
        let first = |is: &Is| all.iter().find(|one| wants(one.clause, is));
        is.retain(|is| first(is).is_some());
        let Covering { list, target, .. } = first(is.first()?)?;
        let (target, list) = (target.to_string(), list.to_string());
        let is = is.into_iter().map(|is| is.role.clone()).collect();
        Some(Cut { address: peer.address.to_string(), is, target, list, allowed_until })
    }
}

/// Does a list with this clause drop what one who is that to us sends? A name server answers to any port that the kernel gives to
/// whoever asks for none.
fn wants(clause: Option<Clause>, is: &Is) -> bool {
    const FIRST_GIVEN: u16 = 1024;
    let Some(clause) = clause else { return true };
    match is.role.role.as_str() {
        "gateway" => clause.wants(Port::NONE) == Wants::Drop,
        "name_server" => clause.is_except() || clause.ranges().any(|range| range.last() >= FIRST_GIVEN),
        _ => is.ours.iter().any(|port| clause.wants(Port::to(*port)) == Wants::Drop),
    }
}

/// Is one who is that to us dropped when he is listed? What this host has begun goes on with `match: new`.
fn drops(strictness: Strictness, is: &Is) -> bool {
    match strictness {
        Strictness::Nothing => false,
        Strictness::New => !["server", "name_server"].contains(&is.role.role.as_str()),
        Strictness::All => true,
    }
}
