//! The whole decision about a packet: who sent it, is that source in the set to block, and what follows from a hit.

use crate::hash::Address6;
use crate::labels::Counted;
use crate::packet::{self, Again6, Frame, Source};
use crate::ports::{Port, Wants};
use crate::reason::{Enforcement, Reason, Told, Verdict};
use crate::set::{self, Found4, Set};
use crate::sets::{SLOTS, Slot};

/// Everything a judge looks things up in: a view for each set, and what holds for all of them.
///
/// What blocks and what allows are two sets of the same type, each with a block of settings and maps of its own.
pub trait Tables {
    /// Are packets dropped, or only counted as those that would be?
    fn enforcement(&self) -> Enforcement;

    /// The sources to block.
    fn block(&self) -> impl Set;

    /// The sources to allow, whatever blocks them.
    fn allow(&self) -> impl Set;

    /// Why the clause of this slot blocks this IPv4 address on some ports, if it does.
    #[inline(always)]
    fn holds4(&self, _slot: Slot, _address: u32) -> Told {
        Told::UNLISTED
    }

    /// The same of an IPv6 address.
    #[inline(always)]
    fn holds6(&self, _slot: Slot, _address: Address6) -> Told {
        Told::UNLISTED
    }

    /// Does the clause of this slot want a packet dropped that is sent to this port?
    #[inline(always)]
    fn wants(&self, _slot: Slot, _port: Port) -> Wants {
        Wants::Pass
    }

    /// What the clauses make of `frame`, which no list drops on all ports.
    #[inline(always)]
    fn judge_by_port(&self, frame: &(impl Frame + ?Sized)) -> Told
    where
        Self: Sized,
    {
        judge_by_port(frame, self)
    }

    /// The same of an IPv4 packet from this address.
    #[inline(always)]
    fn judge4_by_port(&self, frame: &(impl Frame + ?Sized), address: u32) -> Told
    where
        Self: Sized,
    {
        judge4_by_port(frame, address, self)
    }

    /// The same of an IPv6 packet.
    #[inline(always)]
    fn judge6_by_port(&self, frame: &(impl Frame + ?Sized), address: Address6) -> Told
    where
        Self: Sized,
    {
        judge6_by_port(frame, address, self)
    }

    /// May a source be in both? One word tells, so that a hit pays for the other lookup only where there is reason to.
    fn may_overlap(&self) -> bool;

    /// Is this IPv4 address allowed? Asked of one that is blocked.
    #[inline(always)]
    fn allows4(&self, address: u32) -> bool {
        set::find4(&self.allow(), address).is_some()
    }

    /// The same of an IPv6 address.
    #[inline(always)]
    fn allows6(&self, address: Address6) -> bool {
        set::find6(&self.allow(), address).is_some()
    }

    /// Counts a packet from a source that is held so for its list. No verdict depends on it.
    #[inline(always)]
    fn count4(&self, _found: Found4, _counted: Counted) {}

    /// The same of an IPv6 address, held by its /64 or by anything else; none where it cannot be read any more.
    #[inline(always)]
    fn count6(&self, _address: Option<Address6>, _found: Reason, _counted: Counted) {}

    /// Counts a packet from an IPv4 source for its list, which a clause holds and drops as it has been told.
    #[inline(always)]
    fn count4_by_clause(&self, _address: u32, _found: Told, _counted: Counted) {}

    /// The same of an IPv6 source.
    #[inline(always)]
    fn count6_by_clause(&self, _address: Option<Address6>, _found: Told, _counted: Counted) {}

    /// Does the frame that is judged pass because this host began what it is part of? Asked of one that is to be dropped
    /// for its source. Only a program in the kernel knows; whoever asks elsewhere asks about a source alone.
    #[inline(always)]
    fn is_reply(&self) -> bool {
        false
    }
}

/// What becomes of `frame`? What else is in it is asked after a hit only.
#[inline(always)]
pub fn judge(frame: &(impl Frame + ?Sized), tables: &impl Tables) -> Verdict {
    match packet::source(frame) {
        // What a hit needs is read once more, so that a miss need not keep it.
        Source::V6(address) => match set::find6(&tables.block(), address) {
            None => Reason::Unlisted,
            Some(found) => {
                let count = |address, counted| tables.count6(address, found, counted);
                judge_found6(found, packet::again6(frame), tables, count)
            }
        }
        .verdict(),
        source @ (Source::V4(_) | Source::NotIp | Source::Malformed | Source::TooManyTags) => {
            judge_source(source, tables)
        }
    }
}

/// The same where some sources are blocked on some ports only. Those that are blocked on all are asked for first: who is not
/// listed pays for both. What holds for whoever is blocked on all ports holds for the others as well.
#[inline(always)]
pub fn judge_with_ports(frame: &(impl Frame + ?Sized), tables: &impl Tables) -> Verdict {
    let on_all_ports = match packet::source(frame) {
        Source::V6(address) => set::find6(&tables.block(), address).unwrap_or(Reason::Unlisted),
        source @ (Source::V4(_) | Source::NotIp | Source::Malformed | Source::TooManyTags) => {
            judge_source(source, tables).reason()
        }
    };
    let is_unlisted = on_all_ports == Reason::Unlisted;
    let told = if is_unlisted { tables.judge_by_port(frame) } else { on_all_ports.told() };
    let found = told.reason();
    if !matches!(found, Reason::Net64 | Reason::Other6) {
        return found.verdict();
    }
    let count = |address, counted| match told.is_by_clause() {
        true => tables.count6_by_clause(address, told, counted),
        false => tables.count6(address, found, counted),
    };
    judge_found6(found, packet::again6(frame), tables, count).verdict()
}

/// What the clauses make of `frame`: it is dropped if any of them that covers its source wants it.
#[inline(always)]
pub fn judge_by_port(frame: &(impl Frame + ?Sized), tables: &impl Tables) -> Told {
    match packet::source(frame) {
        Source::V4(address) => tables.judge4_by_port(frame, address),
        Source::V6(address) => tables.judge6_by_port(frame, address),
        Source::NotIp | Source::Malformed | Source::TooManyTags => Told::UNLISTED,
    }
}

/// The same of an IPv4 packet.
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

/// The same of an IPv6 packet, whether it is allowed or not.
#[inline(always)]
pub fn judge6_by_port(frame: &(impl Frame + ?Sized), address: Address6, tables: &impl Tables) -> Told {
    by_clauses(frame, tables, |slot| tables.holds6(slot, address))
}

/// By what the first clause that wants `frame` dropped holds its source; if none does, why not.
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

/// What becomes of a frame from `source`, whatever else is in it? `filterd test` asks this, so all that follows from the
/// source alone belongs here.
///
/// A word of the set to block is always loaded before one of the set to allow. So whoever allows a source before it is
/// blocked, and no longer blocks it before it is no longer allowed, has no packet of it dropped (where loads and stores
/// are seen in order).
#[inline(always)]
pub fn judge_source(source: Source, tables: &impl Tables) -> Verdict {
    let reason = match source {
        Source::V4(address) => match set::find4(&tables.block(), address) {
            None => Reason::Unlisted,
            Some(found) => judge_found4(found, tables),
        },
        Source::V6(source) => match set::find6(&tables.block(), source) {
            None => Reason::Unlisted,
            Some(found) => {
                let again = Again6 { source, is_neighbour_discovery: false };
                judge_found6(found, Some(again), tables, |address, counted| {
                    tables.count6(address, found, counted)
                })
            }
        },
        Source::NotIp => Reason::NotIp,
        Source::Malformed => Reason::Malformed,
        Source::TooManyTags => Reason::TooManyTags,
    };
    reason.verdict()
}

/// What follows when the set to block holds a source: is it allowed, and if not, for which list does it count?
#[inline(always)]
fn judge_found4(found: Found4, tables: &impl Tables) -> Reason {
    if tables.may_overlap() && tables.allows4(found.address(&tables.block())) {
        return Reason::Allowed;
    }
    if tables.is_reply() {
        tables.count4(found, Counted::Reply);
        return Reason::Reply;
    }
    tables.count4(found, Counted::of_drop(tables.enforcement()));
    found.reason()
}

/// The same for IPv6; `count` counts for a list.
#[inline(always)]
fn judge_found6(
    found: Reason,
    packet: Option<Again6>,
    tables: &impl Tables,
    count: impl Fn(Option<Address6>, Counted),
) -> Reason {
    let Some(Again6 { source, is_neighbour_discovery }) = packet else {
        count(None, Counted::of_drop(tables.enforcement()));
        return found;
    };
    if tables.may_overlap() && tables.allows6(source) {
        Reason::Allowed
    } else if is_neighbour_discovery {
        Reason::Neighbour
    } else if tables.is_reply() {
        count(Some(source), Counted::Reply);
        Reason::Reply
    } else {
        count(Some(source), Counted::of_drop(tables.enforcement()));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks;
    use crate::set::View;
    use crate::settings::SetSettings;
    use core::cell::Cell;
    use std::{vec, vec::Vec};

    /// Some sets, each a value of the same type.
    struct TwoSets {
        settings: [SetSettings; 2],
        networks: [Vec<Cell<u64>>; 2],
        may_overlap: Cell<bool>,
        /// How often the set to allow was looked into.
        asked: Cell<u32>,
    }

    impl TwoSets {
        /// What blocks is the first, what allows the second.
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
    fn what_is_in_both_sets_is_allowed() {
        let tables = TwoSets::of([&[0x0A_0102, 0x0A_0103], &[0x0A_0103, 0x0A_0104]]);
        let verdict = |address| judge_source(Source::V4(address), &tables);
        assert_eq!(verdict(0x0A01_0207), Verdict::Drop(Reason::Network4));
        assert_eq!(verdict(0x0A01_0307), Verdict::Pass(Reason::Allowed));
        assert_eq!(verdict(0x0A01_0407), Verdict::Pass(Reason::Unlisted), "nobody blocks it");
    }

    #[test]
    fn what_allows_is_asked_on_a_hit_only_and_only_while_the_sets_may_overlap() {
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
    fn what_is_switched_off_is_not_looked_up() {
        let mut tables = TwoSets::of([&[0x0A_0102], &[0x0A_0102]]);
        tables.settings[1] = SetSettings::OFF;
        assert_eq!(judge_source(Source::V4(0x0A01_0207), &tables), Verdict::Drop(Reason::Network4));
        tables.settings[0] = SetSettings::OFF;
        assert_eq!(judge_source(Source::V4(0x0A01_0207), &tables), Verdict::Pass(Reason::Unlisted));
    }
}
