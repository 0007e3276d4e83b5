//! `test`: whether packets from an address or a prefix are dropped, and why.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use filter_common::direction::Direction;
use filter_common::packet::Source;
use filter_common::ports::Clause;
use filter_common::reason::Verdict;
use filter_common::sets::{SetName, Slot};
use filter_common::target::Target;

use super::question::{direction, entry};
use crate::blocklist::{DroppedRanges, ListId, NamedClaim, Polarity, Strictness, want_everything};
use crate::clock;
use crate::control::wire::test::{Expired, File, Reply, Request, Tested, TestedTo};
use crate::daemon::owner::Owner;
use crate::source::reading::SourceReadings;
use crate::text::printable;

/// The most entries within all prefixes of a request that are read, which takes some milliseconds.
const MOST_SEEN: usize = 1 << 17;

/// The most addresses of a prefix that are looked up in the tables: those where the answer should change.
const MOST_ASKED: usize = 256;

/// The most entries within a prefix that are returned.
const MOST_WITHIN: usize = 10;

/// The answer for a target: whether its packets are dropped.
struct DropFinding {
    whole: bool,
    partly: bool,
    is_complete: bool,
    /// The ports on which packets are dropped, if not on all.
    ports: Vec<String>,
    /// An address for which the blocklist gives the opposite answer.
    disagrees: Option<IpAddr>,
}

impl Owner {
    pub(super) fn test(&self, request: Request) -> Reply {
        let mut left = MOST_SEEN;
        let tested = request.targets.into_iter().map(|target| self.test_one(target, &mut left)).collect();
        let strictness = self.core.protection.blocklist().settings().strictness();
        Reply {
            tested,
            replies_pass: strictness == Strictness::New,
            paused_until: self.pause.until().map(clock::on_the_wall),
            on_trial_until: self.configuration.trial.until(),
        }
    }

    fn test_one(&self, target: Target, left: &mut usize) -> Tested {
        let blocklist = self.core.protection.blocklist();
        let on_all = (!target.is_host()).then(|| blocklist.extent(SetName::Block, target, left));
        let met =
            on_all.as_ref().map_or_else(|| self.meets(target), |extent| self.meet_parts(target, extent));
        let met = if met.whole { met } else { self.meet_ports(target, left, met, on_all.as_ref()) };
        if let Some(address) = met.disagrees {
            tracing::error!("{address}: the kernel tables and the blocklist disagree, please report this");
        }
        let [covering, allowed_by] = Polarity::ALL.map(|side| blocklist.covering(side, target));
        let within = |polarity: Polarity| -> Vec<NamedClaim> {
            if target.is_host() {
                return Vec::new();
            }
            blocklist.only_within(polarity, target).take(MOST_WITHIN + 1).collect()
        };
        let [mut all_within, mut allowed_within] = Polarity::ALL.map(within);
        let more = !met.is_complete || all_within.len() > MOST_WITHIN || allowed_within.len() > MOST_WITHIN;
        [&mut all_within, &mut allowed_within].into_iter().for_each(|within| within.truncate(MOST_WITHIN));
        let is_from = |claim: &NamedClaim| direction(blocklist, claim) != Direction::Out;
        let is_to = |claim: &&NamedClaim| direction(blocklist, claim).is_outbound();
        let to_because: Vec<_> = covering.iter().filter(is_to).cloned().collect();
        let to_within: Vec<_> = all_within.iter().filter(is_to).cloned().collect();
        let because: Vec<_> = covering.into_iter().filter(is_from).collect();
        let within: Vec<_> = all_within.into_iter().filter(is_from).collect();
        let files = files(
            &self.core.lists.sources,
            because.iter().chain(&within).chain(&to_because).chain(&to_within),
        );
        let is_dropped = met.whole || met.partly;
        let idle = self.idle();
        let expired = Polarity::ALL.into_iter().flat_map(|polarity| {
            let all = blocklist.spent_covering(polarity, target).into_iter();
            all.map(move |(target, list)| Expired {
                target: target.to_string(),
                list: list.to_string(),
                allows: polarity == Polarity::Allow,
            })
        });
        let entries =
            |claims: Vec<NamedClaim>| claims.into_iter().map(|claim| entry(blocklist, claim)).collect();
        Tested {
            address: target.to_string(),
            dropped: met.whole && idle.is_none(),
            partly: met.partly && idle.is_none(),
            idle: idle.filter(|_| is_dropped),
            ports: met.ports,
            except: if is_dropped { self.except() } else { Vec::new() },
            to: self.test_to(target, left, to_because, to_within),
            files,
            because: entries(because),
            allowed_by: entries(allowed_by),
            within: entries(within),
            allowed_within: entries(allowed_within),
            more,
            disagrees: met.disagrees.map(|address| address.to_string()),
            expired: expired.collect(),
            remedies: Vec::new(),
        }
    }

    /// The answer for packets to a target; none if no entry blocks them.
    fn test_to(
        &self,
        target: Target,
        left: &mut usize,
        because: Vec<NamedClaim>,
        within: Vec<NamedClaim>,
    ) -> Option<TestedTo> {
        if because.is_empty() && within.is_empty() {
            return None;
        }
        let blocklist = self.core.protection.blocklist();
        let filter = self.core.protection.filter();
        let is_dropped = |source| matches!(filter.judge_sent(source), Verdict::Drop(_));
        let extent = blocklist.extent(SetName::Out, target, left);
        let met = DropFinding {
            whole: extent.is_whole(),
            partly: !extent.is_whole() && !extent.is_nothing(),
            is_complete: extent.is_complete,
            ports: Vec::new(),
            disagrees: None,
        };
        let met = met.told_by_tables(&extent, target, is_dropped);
        if let Some(address) = met.disagrees {
            tracing::error!(
                "{address}: the kernel tables and the blocklist disagree about packets to it, please report this"
            );
        }
        let is_enforced = self.idle().is_none();
        let entries =
            |claims: Vec<NamedClaim>| claims.into_iter().map(|claim| entry(blocklist, claim)).collect();
        Some(TestedTo {
            dropped: met.whole && is_enforced,
            partly: met.partly && is_enforced,
            because: entries(because),
            within: entries(within),
        })
    }

    /// Asks the tables that packets are judged by. The blocklist only gives the reason.
    fn meets(&self, target: Target) -> DropFinding {
        let (address, source) = match target {
            Target::V4(prefix) => of4(prefix.address()),
            Target::V6(prefix) => of6(prefix.address()),
        };
        let is_dropped = matches!(self.core.protection.filter().judge(source), Verdict::Drop(_));
        let (block, allow) =
            (self.core.protection.blocklist().block(), self.core.protection.blocklist().allow());
        let is_listed = block.covers(target) && !allow.covers(target);
        let disagrees = (is_dropped != is_listed).then_some(address);
        DropFinding { whole: is_dropped, partly: false, is_complete: true, ports: Vec::new(), disagrees }
    }

    /// Checks a prefix. Its addresses are too many to look up, so the blocklist says where the answer
    /// changes, and the tables are asked there.
    fn meet_parts(&self, target: Target, extent: &DroppedRanges) -> DropFinding {
        let filter = self.core.protection.filter();
        let is_dropped = |source| matches!(filter.judge(source), Verdict::Drop(_));
        let (whole, is_complete) = (extent.is_whole(), extent.is_complete);
        let partly = !whole && !extent.is_nothing();
        let met = DropFinding { whole, partly, is_complete, ports: Vec::new(), disagrees: None };
        met.told_by_tables(extent, target, is_dropped)
    }

    /// Adds drops on some ports, for each clause. A clause within targets that are dropped on all ports adds
    /// no ports.
    fn meet_ports(
        &self,
        target: Target,
        left: &mut usize,
        mut met: DropFinding,
        on_all: Option<&DroppedRanges>,
    ) -> DropFinding {
        let (blocklist, filter) = (self.core.protection.blocklist(), self.core.protection.filter());
        let mut some = Vec::new();
        for (slot, clause) in Slot::all().zip(blocklist.clauses()) {
            let set = SetName::Clause(slot);
            let Some(clause) = clause.filter(|_| !blocklist.side(set).is_empty()) else { continue };
            let extent = blocklist.extent(set, target, left);
            let is_dropped = |source| filter.clauses_of(source).contains(&clause);
            let (whole, partly) = (extent.is_whole(), !extent.is_nothing());
            let of_clause = DropFinding {
                whole,
                partly,
                is_complete: extent.is_complete,
                ports: Vec::new(),
                disagrees: None,
            };
            let of_clause = of_clause.told_by_tables(&extent, target, is_dropped);
            met.disagrees = met.disagrees.or(of_clause.disagrees);
            met.is_complete &= of_clause.is_complete;
            met.whole |= of_clause.whole;
            met.partly |= of_clause.partly || of_clause.whole;
            if on_all.is_none_or(|on_all| !extent.is_within(on_all)) && (of_clause.partly || of_clause.whole)
            {
                some.push((clause, of_clause.whole));
            }
        }
        let all: Vec<_> = some.iter().filter(|(_, is_whole)| *is_whole).map(|(clause, _)| *clause).collect();
        if !want_everything(&all) {
            // If more is dropped, clauses that cover only a part are marked.
            let is_more = met.whole || on_all.is_some_and(|on_all| !on_all.is_nothing());
            let told = |(clause, is_whole): &(Clause, bool)| match is_more && !is_whole {
                true => format!("a part of it {clause}"),
                false => clause.to_string(),
            };
            met.ports = some.iter().map(told).collect();
        }
        met.partly &= !met.whole;
        met
    }
}

impl DropFinding {
    /// Corrects the result by the tables, which are asked at the edges of `extent`. If they give the opposite
    /// answer, the addresses between the edges are unknown.
    fn told_by_tables(
        self,
        extent: &DroppedRanges,
        target: Target,
        is_dropped: impl Fn(Source) -> bool,
    ) -> Self {
        let of = |address: u128| match target {
            Target::V4(_) => of4(address as u32),
            Target::V6(_) => of6(address),
        };
        let edges = if extent.is_complete { extent.edges(MOST_ASKED) } else { Vec::new() };
        let met: Vec<_> = edges
            .into_iter()
            .map(|(address, is_listed)| {
                let (address, source) = of(address);
                (address, is_listed, is_dropped(source))
            })
            .collect();
        let other = met.iter().find(|(_, is_listed, is_dropped)| is_listed != is_dropped);
        let Some((address, ..)) = other else { return self };
        let (any, is_host) = (met.iter().any(|(.., is_dropped)| *is_dropped), target.is_host());
        Self { whole: any && is_host, partly: any && !is_host, disagrees: Some(*address), ..self }
    }
}

fn of4(address: u32) -> (IpAddr, Source) {
    (Ipv4Addr::from_bits(address).into(), Source::V4(address))
}

fn of6(address: u128) -> (IpAddr, Source) {
    (Ipv6Addr::from_bits(address).into(), Source::V6(address.into()))
}

/// The files of the lists of these claims, each once.
fn files<'a>(sources: &SourceReadings, claims: impl Iterator<Item = &'a NamedClaim>) -> Vec<File> {
    let lists: BTreeSet<_> = claims.map(|claim| (&claim.list, claim.id)).collect();
    let file = |(name, id): (&Arc<str>, ListId)| {
        let reading = sources.of(id)?;
        Some(File { list: name.to_string(), path: printable::path(&reading.path).to_string() })
    };
    let mut files: Vec<_> = lists.into_iter().filter_map(file).collect();
    // A reload that replaces a list has two lists of this name for a moment.
    files.dedup();
    files
}
