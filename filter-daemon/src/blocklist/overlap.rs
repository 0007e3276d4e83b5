//! Does anything allowed overlap anything blocked? Only then need a packet that is blocked be looked up among what is
//! allowed. The answer may be yes too often, which costs some packets a lookup, but never no wrongly.

use filter_common::target::{Prefix, Target};

use super::page::merged;
use super::{Blocklist, Effects, Side, Targets};

/// So many targets of a change, or of the smaller side, are looked up on the other one: some milliseconds' worth. Of a change
/// of more, which is no page, the answer is yes.
const MOST_SEEN: usize = 1 << 12;

/// So many targets of both sides are walked past in one page of a look, about a millisecond's worth.
const PAGE: usize = 1 << 13;

/// A look under way: all targets of both sides in order, and how far those already seen reach. Behind it nothing overlaps;
/// whatever enters meanwhile and overlaps anything ends it.
#[derive(Debug, Default)]
pub(super) struct Look {
    after: Option<Target>,
    /// The last address of what is allowed, and of what is blocked, by its family.
    reached: [Option<(u8, u128)>; 2],
}

impl Blocklist {
    /// Does anything that is allowed overlap anything that is blocked?
    pub fn overlaps(&self) -> bool {
        let mut look = Look::default();
        loop {
            if let Some(overlaps) = self.look_on(&mut look) {
                return overlaps;
            }
        }
    }

    /// The same page by page, each asked for by a change of its own. Nothing if there are more.
    pub(super) fn look_for_overlap(&mut self) -> Option<bool> {
        let mut look = self.look.take().unwrap_or_default();
        let overlaps = self.look_on(&mut look);
        self.look = overlaps.is_none().then_some(look);
        overlaps
    }

    /// Are there more pages?
    pub fn is_looking_for_overlap(&self) -> bool {
        self.look.is_some()
    }

    /// Where little is allowed, or little is blocked, it is looked up on the other side, else all are walked side by side.
    fn look_on(&self, look: &mut Look) -> Option<bool> {
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

    /// A page of so many: nothing that is seen may lie within what was seen of the other polarity.
    pub(super) fn walk_all(&self, look: &mut Look, most: usize) -> Option<bool> {
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
            // What several sides have is not parted.
            if seen >= most && all.peek().is_none_or(|(next, _)| *next != target) {
                look.after = Some(target);
                return None;
            }
        }
        None
    }

    /// The same after a change, as far as what entered with it can have made a difference.
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

/// The first and the last address, each behind its family.
fn ends(target: Target) -> ((u8, u128), (u8, u128)) {
    match target {
        Target::V4(prefix) => ((4, prefix.first().into()), (4, prefix.last().into())),
        Target::V6(prefix) => ((6, prefix.first()), (6, prefix.last())),
    }
}

/// Does anything of `entered`, which is on the side `own` by now, overlap the side `other`?
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
    /// Does any target of this side overlap one of the other?
    fn any_touches(&self, other: &Self) -> bool {
        self.all_after(None).any(|(target, _)| other.touches(target))
    }

    /// Is there a target that covers this one, or lies within it?
    pub fn touches(&self, target: Target) -> bool {
        self.covers(target) || self.has_within(target)
    }

    /// Is there a target that covers this one? The same one counts.
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

    /// Is there a target within this one? The same one counts.
    fn has_within(&self, target: Target) -> bool {
        self.all_within(target).next().is_some()
    }
}
