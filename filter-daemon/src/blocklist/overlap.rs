//! Searches for overlaps of allowed and blocked targets. Only if there is one, a packet from a blocked
//! source needs a second lookup among the allowed ones. A false yes costs some packets that lookup. A false
//! no would be an error, and never happens.

use filter_common::target::{Prefix, Target};

use super::page::merged;
use super::{Blocklist, Effects, Side, Targets};

/// The most targets of a change, or of the smaller side, that are looked up on the other side. This takes a
/// few milliseconds. For larger changes, which are not pages, the answer is yes.
const MOST_SEEN: usize = 1 << 12;

/// How many targets of both sides one page of a walk passes, which takes about a millisecond.
const PAGE: usize = 1 << 13;

/// A search under way through all targets of both sides in order. Nothing overlaps up to `after`. A target
/// that enters meanwhile and overlaps another ends the search.
#[derive(Debug, Default)]
pub(super) struct OverlapSearch {
    after: Option<Target>,
    /// The last address seen of blocked and of allowed targets, each with its family.
    reached: [Option<(u8, u128)>; 2],
}

impl Blocklist {
    /// True if an allowed target overlaps a blocked one.
    pub fn overlaps(&self) -> bool {
        let mut look = OverlapSearch::default();
        loop {
            if let Some(overlaps) = self.look_on(&mut look) {
                return overlaps;
            }
        }
    }

    /// Searches one more page. Returns none if there are more pages.
    pub(super) fn look_for_overlap(&mut self) -> Option<bool> {
        let mut look = self.look.take().unwrap_or_default();
        let overlaps = self.look_on(&mut look);
        self.look = overlaps.is_none().then_some(look);
        overlaps
    }

    /// True if the search has more pages.
    pub fn is_looking_for_overlap(&self) -> bool {
        self.look.is_some()
    }

    /// If one side is small, it is looked up on the other; otherwise both are walked in parallel.
    fn look_on(&self, look: &mut OverlapSearch) -> Option<bool> {
        let allow = self.allow();
        let blocked: usize = self.sides.blocking().map(|(_, block)| block.len()).sum();
        if allow.len().min(blocked) > MOST_SEEN {
            return self.walk_all(look, PAGE);
        }
        let touches = |block: &Side| {
            if allow.len() <= blocked { allow.any_touches(block) } else { block.any_touches(allow) }
        };
        Some(self.sides.blocking().any(|(_, block)| touches(block)))
    }

    /// Walks a page of `most` targets. There is an overlap if a target starts within an earlier one of the
    /// other polarity.
    pub(super) fn walk_all(&self, look: &mut OverlapSearch, most: usize) -> Option<bool> {
        let after = look.after;
        let sides = self.sides.iter().map(|(set, side)| {
            let polarity = usize::from(set.blocks());
            side.all_after(after).map(move |(target, _)| (target, polarity))
        });
        let mut all = merged(sides).peekable();
        for seen in 1.. {
            let Some((target, own)) = all.next() else { return Some(false) };
            let (first, last) = ends(target);
            if look.reached[1 - own] >= Some(first) {
                return Some(true);
            }
            look.reached[own] = look.reached[own].max(Some(last));
            // A page never ends between two sides that have the same target.
            if seen >= most && all.peek().is_none_or(|(next, _)| *next != target) {
                look.after = Some(target);
                return None;
            }
        }
        None
    }

    /// Sets the answer after a change, as far as the entered targets can have changed it.
    pub(super) fn note_overlap(&mut self, effects: &mut Effects) {
        let allow = self.allow();
        let overlaps = self.sides.blocking().any(|(set, block)| {
            meets(&effects.sets[set].entered, allow, block)
                || meets(&effects.sets.allow.entered, block, allow)
        });
        effects.overlaps = overlaps.then_some(true);
        if overlaps {
            self.look = None;
        }
    }
}

/// The first and the last address, each with its family.
fn ends(target: Target) -> ((u8, u128), (u8, u128)) {
    match target {
        Target::V4(prefix) => ((4, prefix.first().into()), (4, prefix.last().into())),
        Target::V6(prefix) => ((6, prefix.first()), (6, prefix.last())),
    }
}

/// True if a target of `entered`, which is already on the side `own`, overlaps the side `other`.
fn meets(entered: &Targets, other: &Side, own: &Side) -> bool {
    if entered.is_empty() || other.is_empty() {
        return false;
    }
    if entered.len() <= other.len() {
        return entered.len() > MOST_SEEN || entered.iter().any(|target| other.touches(target));
    }
    other.any_touches(own)
}

impl Side {
    /// True if any target of this side overlaps one of the other.
    fn any_touches(&self, other: &Self) -> bool {
        self.all_after(None).any(|(target, _)| other.touches(target))
    }

    /// True if a target of this side covers this one or lies within it.
    pub fn touches(&self, target: Target) -> bool {
        self.covers(target) || self.has_within(target)
    }

    /// True if a target of this side covers this one or equals it.
    pub fn covers(&self, target: Target) -> bool {
        if self.contains(target) {
            return true;
        }
        match target {
            Target::V4(prefix) => {
                let mut wider = self.cover.v4().filter(|(length, _)| *length < prefix.length());
                wider.any(|(length, _)| self.contains(Target::V4(Prefix::covering(prefix.address(), length))))
            }
            Target::V6(prefix) => {
                let mut wider = self.cover.v6().filter(|(length, _)| *length < prefix.length());
                wider.any(|(length, _)| self.contains(Target::V6(Prefix::covering(prefix.address(), length))))
            }
        }
    }

    /// True if a target of this side lies within this one or equals it.
    fn has_within(&self, target: Target) -> bool {
        self.all_within(target).next().is_some()
    }
}
