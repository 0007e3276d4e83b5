//! The whole decision about a packet: find its source, look it up in the sets, and decide what follows from a
//! hit.

use crate::hash::Address6;
use crate::labels::Counted;
use crate::packet::{self, Again6, Frame, Source};
use crate::ports::{Port, Wants};
use crate::reason::{Enforcement, Reason, Told, Verdict};
use crate::set::{self, Found4, Found6, Set};
use crate::sets::{SLOTS, Slot};

/// The tables that a judge looks things up in: a view for each set, and the settings that apply to all of
/// them.
///
/// The blocked and the allowed sources are two sets of the same type, each with its own settings and maps.
pub trait Tables {
    /// Whether packets are dropped, or only counted as packets that would be.
    fn enforcement(&self) -> Enforcement;

    /// The sources to block.
    fn block(&self) -> impl Set;

    /// The sources to allow even if another set blocks them.
    fn allow(&self) -> impl Set;

    /// The reason for which the clause in this slot blocks this IPv4 address on some ports, or `UNLISTED`.
    #[inline(always)]
    fn holds4(&self, _slot: Slot, _address: u32) -> Told {
        Told::UNLISTED
    }

    /// The reason for which the clause in this slot blocks this IPv6 address on some ports, or `UNLISTED`.
    #[inline(always)]
    fn holds6(&self, _slot: Slot, _address: Address6) -> Told {
        Told::UNLISTED
    }

    /// Whether the clause in this slot wants packets to this port dropped.
    #[inline(always)]
    fn wants(&self, _slot: Slot, _port: Port) -> Wants {
        Wants::Pass
    }

    /// Decides by the clauses about `frame`, which no list blocks on all ports.
    #[inline(always)]
    fn judge_by_port(&self, frame: &(impl Frame + ?Sized)) -> Told
    where
        Self: Sized,
    {
        judge_by_port(frame, self)
    }

    /// Decides by the clauses about an IPv4 packet from this address.
    #[inline(always)]
    fn judge4_by_port(&self, frame: &(impl Frame + ?Sized), address: u32) -> Told
    where
        Self: Sized,
    {
        judge4_by_port(frame, address, self)
    }

    /// Decides by the clauses about an IPv6 packet from this address.
    #[inline(always)]
    fn judge6_by_port(&self, frame: &(impl Frame + ?Sized), address: Address6) -> Told
    where
        Self: Sized,
    {
        judge6_by_port(frame, address, self)
    }

    /// True if a source may be in both sets. This is one word, so a hit pays for the second lookup only if it
    /// may matter.
    fn may_overlap(&self) -> bool;

    /// True if this blocked IPv4 address is allowed.
    #[inline(always)]
    fn allows4(&self, address: u32) -> bool {
        set::find4(&self.allow(), address).is_some()
    }

    /// True if this blocked IPv6 address is allowed.
    #[inline(always)]
    fn allows6(&self, address: Address6) -> bool {
        set::find6(&self.allow(), address).is_some()
    }

    /// Counts a packet from an IPv4 source for the list that the hit belongs to. No verdict depends on it.
    #[inline(always)]
    fn count4(&self, _found: Found4, _counted: Counted) {}

    /// Counts a packet from an IPv6 source for the list that the hit belongs to.
    #[inline(always)]
    fn count6(&self, _address: Address6, _found: Found6, _counted: Counted) {}

    /// Counts a packet from a source that can no longer be read.
    #[inline(always)]
    fn count_other(&self, _counted: Counted) {}

    /// Decides what follows from a hit on an IPv4 source. A program does this in a separate function, which
    /// its verifier checks once instead of once for each path that leads there.
    #[inline(always)]
    fn follow4(&self, found: Found4) -> Reason
    where
        Self: Sized,
    {
        follow4(found, self)
    }

    /// Decides what follows from a hit on an IPv6 source. The rest of the packet is read only here.
    #[inline(always)]
    fn follow6(&self, found: Found6, packet: impl FnOnce() -> Option<Again6>) -> Reason
    where
        Self: Sized,
    {
        follow6(found, packet(), self)
    }

    /// Counts a packet from an IPv4 source for its list, after a clause dropped it for the reason `found`.
    #[inline(always)]
    fn count4_by_clause(&self, _address: u32, _found: Told, _counted: Counted) {}

    /// Counts a packet from an IPv6 source for its list, after a clause dropped it.
    #[inline(always)]
    fn count6_by_clause(&self, _address: Address6, _found: Told, _counted: Counted) {}

    /// True if the frame passes because it is part of a flow that this host began. Called only for a frame
    /// that would be dropped because of its source. Only a program in the kernel knows flows; other callers
    /// ask about a source alone.
    #[inline(always)]
    fn is_reply(&self) -> bool {
        false
    }
}

/// Decides about `frame`. Anything but its source is read only after a hit.
#[inline(always)]
pub fn judge(frame: &(impl Frame + ?Sized), tables: &impl Tables) -> Verdict {
    match packet::source(frame) {
        // After a hit the frame is read again, so that a miss need not keep the result.
        Source::V6(address) => match set::find6(&tables.block(), address) {
            None => Reason::Unlisted,
            Some(found) => tables.follow6(found, || packet::again6(frame)),
        }
        .verdict(),
        source @ (Source::V4(_) | Source::NotIp | Source::Malformed | Source::TooManyTags) => {
            judge_source(source, tables)
        }
    }
}

/// Decides about `frame` if some sources are blocked on some ports only. The set that blocks on all ports is
/// looked up first, and only packets from sources that it does not list pay for the second step. All rules
/// for sources blocked on all ports apply to the others as well.
#[inline(always)]
pub fn judge_with_ports(frame: &(impl Frame + ?Sized), tables: &impl Tables) -> Verdict {
    let on_all_ports = judge(frame, tables);
    if on_all_ports.reason() == Reason::Unlisted {
        tables.judge_by_port(frame).reason().verdict()
    } else {
        on_all_ports
    }
}

/// Decides by the clauses: `frame` is dropped if any clause that covers its source wants it dropped.
#[inline(always)]
pub fn judge_by_port(frame: &(impl Frame + ?Sized), tables: &impl Tables) -> Told {
    match packet::source(frame) {
        Source::V4(address) => tables.judge4_by_port(frame, address),
        Source::V6(address) => tables.judge6_by_port(frame, address),
        Source::NotIp | Source::Malformed | Source::TooManyTags => Told::UNLISTED,
    }
}

/// Decides by the clauses about an IPv4 packet.
#[inline(always)]
pub fn judge4_by_port(frame: &(impl Frame + ?Sized), address: u32, tables: &impl Tables) -> Told {
    let told = by_clauses(frame, tables, |slot| tables.holds4(slot, address));
    if !told.is(Reason::Address4) && !told.is(Reason::Network4) {
        return told;
    }
    if tables.may_overlap() && tables.allows4(address) {
        return Reason::Allowed.told();
    }
    if tables.is_reply() {
        tables.count4_by_clause(address, told, Counted::Reply);
        return Reason::Reply.told();
    }
    tables.count4_by_clause(address, told, Counted::of_drop(tables.enforcement()));
    told
}

/// Decides by the clauses about an IPv6 packet.
#[inline(always)]
pub fn judge6_by_port(frame: &(impl Frame + ?Sized), address: Address6, tables: &impl Tables) -> Told {
    let told = by_clauses(frame, tables, |slot| tables.holds6(slot, address));
    if !told.is(Reason::Net64) && !told.is(Reason::Other6) {
        return told;
    }
    if tables.may_overlap() && tables.allows6(address) {
        return Reason::Allowed.told();
    }
    if packet::again6(frame).is_some_and(|again| again.is_neighbour_discovery) {
        return Reason::Neighbour.told();
    }
    if tables.is_reply() {
        tables.count6_by_clause(address, told, Counted::Reply);
        return Reason::Reply.told();
    }
    tables.count6_by_clause(address, told, Counted::of_drop(tables.enforcement()));
    told
}

/// The reason of the first clause that covers the source and wants `frame` dropped. If there is none, the
/// reason why it passes.
#[inline(always)]
fn by_clauses(frame: &(impl Frame + ?Sized), tables: &impl Tables, holds: impl Fn(Slot) -> Told) -> Told {
    let (mut told, mut number) = (Told::UNLISTED, 0);
    while number < SLOTS {
        let Some(slot) = Slot::of(number) else { break };
        number += 1;
        let held = holds(slot);
        if held.is(Reason::Unlisted) {
            continue;
        }
        match tables.wants(slot, frame.port()) {
            Wants::Drop => return held.by_clause(slot),
            Wants::Pass if told.is(Reason::LaterFragment) => {}
            Wants::Pass => told = Reason::OtherPort.told(),
            Wants::Fragment => told = Reason::LaterFragment.told(),
        }
    }
    told
}

/// Decides about a frame from `source`, whatever its other contents are. `filterd test` calls this, so all
/// decisions that depend on the source alone belong here.
///
/// A word of the blocked set is always loaded before one of the allowed set. None of a source's packets is
/// dropped if it is allowed before it is blocked, and unblocked before it is no longer allowed. This requires
/// that loads and stores are seen in order.
#[inline(always)]
pub fn judge_source(source: Source, tables: &impl Tables) -> Verdict {
    let reason = match source {
        Source::V4(address) => match set::find4(&tables.block(), address) {
            None => Reason::Unlisted,
            Some(found) => tables.follow4(found),
        },
        Source::V6(source) => match set::find6(&tables.block(), source) {
            None => Reason::Unlisted,
            Some(found) => tables.follow6(found, || Some(Again6 { source, is_neighbour_discovery: false })),
        },
        Source::NotIp => Reason::NotIp,
        Source::Malformed => Reason::Malformed,
        Source::TooManyTags => Reason::TooManyTags,
    };
    reason.verdict()
}

/// Decides what follows from an IPv4 hit: whether the source is allowed, and otherwise which list counts the
/// packet.
#[inline(always)]
pub fn follow4(found: Found4, tables: &impl Tables) -> Reason {
    if tables.may_overlap() && tables.allows4(found.address(&tables.block())) {
        return Reason::Allowed;
    }
    let (reason, counted) = unless_reply(found.reason(), tables);
    tables.count4(found, counted);
    reason
}

/// The reason why a packet from a blocked source is dropped or passes, and how its list counts it.
#[inline(always)]
fn unless_reply(found: Reason, tables: &impl Tables) -> (Reason, Counted) {
    if tables.is_reply() {
        (Reason::Reply, Counted::Reply)
    } else {
        (found, Counted::of_drop(tables.enforcement()))
    }
}

/// Decides what follows from an IPv6 hit. The packet may no longer be readable.
#[inline(always)]
pub fn follow6(found: Found6, packet: Option<Again6>, tables: &impl Tables) -> Reason {
    let Some(Again6 { source, is_neighbour_discovery }) = packet else {
        tables.count_other(Counted::of_drop(tables.enforcement()));
        return found.reason();
    };
    if tables.may_overlap() && tables.allows6(source) {
        return Reason::Allowed;
    }
    if is_neighbour_discovery {
        return Reason::Neighbour;
    }
    let (reason, counted) = unless_reply(found.reason(), tables);
    tables.count6(source, found, counted);
    reason
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks;
    use crate::set::View;
    use crate::settings::SetSettings;
    use core::cell::Cell;
    use std::{vec, vec::Vec};

    /// Two sets that are values of the same type.
    struct TwoSets {
        settings: [SetSettings; 2],
        networks: [Vec<Cell<u64>>; 2],
        may_overlap: Cell<bool>,
        /// The number of lookups in the allowed set.
        asked: Cell<u32>,
    }

    impl TwoSets {
        /// The first set blocks, the second allows.
        fn of(slash24s: [&[u32]; 2]) -> Self {
            let networks = slash24s.map(|slash24s| {
                let words = vec![Cell::new(0); networks::WORDS as usize];
                slash24s.iter().for_each(|slash24| networks::set(&words[..], *slash24, 1, |_| u64::MAX));
                words
            });
            let settings = [SetSettings { networks4: 1, ..SetSettings::OFF }; 2];
            Self { settings, networks, may_overlap: Cell::new(true), asked: Cell::new(0) }
        }

        fn view(&self, number: usize) -> View<'_, &[Cell<u64>]> {
            let settings = &self.settings[number];
            View {
                settings,
                addresses: None,
                networks: Some(&self.networks[number][..]),
                levels: None,
                six: None,
            }
        }
    }

    impl Tables for TwoSets {
        fn enforcement(&self) -> Enforcement {
            Enforcement::Drop
        }

        fn block(&self) -> impl Set {
            self.view(0)
        }

        fn allow(&self) -> impl Set {
            self.asked.set(self.asked.get() + 1);
            self.view(1)
        }

        fn may_overlap(&self) -> bool {
            self.may_overlap.get()
        }
    }

    #[test]
    fn allowed_source_wins_over_blocked() {
        let tables = TwoSets::of([&[0x0A_0102, 0x0A_0103], &[0x0A_0103, 0x0A_0104]]);
        let verdict = |address| judge_source(Source::V4(address), &tables);
        assert_eq!(verdict(0x0A01_0207), Verdict::Drop(Reason::Network4));
        assert_eq!(verdict(0x0A01_0307), Verdict::Pass(Reason::Allowed));
        assert_eq!(verdict(0x0A01_0407), Verdict::Pass(Reason::Unlisted), "nobody blocks it");
    }

    #[test]
    fn allow_lookup_needs_hit_and_overlap() {
        let tables = TwoSets::of([&[0x0A_0102], &[0x0A_0102, 0x0A_0103]]);
        let asked = |address| {
            let before = tables.asked.get();
            let verdict = judge_source(Source::V4(address), &tables);
            (verdict.reason(), tables.asked.get() - before)
        };
        assert_eq!(asked(0x0A01_0307), (Reason::Unlisted, 0));
        assert_eq!(asked(0x0A01_0207), (Reason::Allowed, 1));
        tables.may_overlap.set(false);
        assert_eq!(asked(0x0A01_0207), (Reason::Network4, 0));
    }

    #[test]
    fn disabled_sets_are_not_looked_up() {
        let mut tables = TwoSets::of([&[0x0A_0102], &[0x0A_0102]]);
        tables.settings[1] = SetSettings::OFF;
        assert_eq!(judge_source(Source::V4(0x0A01_0207), &tables), Verdict::Drop(Reason::Network4));
        tables.settings[0] = SetSettings::OFF;
        assert_eq!(judge_source(Source::V4(0x0A01_0207), &tables), Verdict::Pass(Reason::Unlisted));
    }
}
