//! Does anything allowed overlap anything blocked? Only then need a packet that is blocked be looked up among what is
//! allowed. The answer may be yes too often, which costs some packets a lookup, but never no wrongly.

use filter_common::target::{Prefix, Target};

use super::{Blocklist, Effects, Side, Targets};

/// So many targets are looked at, some milliseconds' worth; where there are more on both sides, the answer is yes.
const MOST_SEEN: usize = 1 << 12;

impl Blocklist {
    /// Does anything that is allowed overlap anything that is blocked? Looked for from the smaller side.
    pub fn overlaps(&self) -> bool {
        self.sides.blocking().any(|(_, block)| {
            let allow = self.allow();
            let [smaller, larger] = if allow.len() <= block.len() { [allow, block] } else { [block, allow] };
            smaller.any_touches(larger)
        })
    }

    /// The same after a change, as far as what entered with it can have made a difference.
    pub(super) fn note_overlap(&self, effects: &mut Effects) {
        let allow = self.allow();
        let overlaps = self.sides.blocking().any(|(set, block)| {
            meets(&effects.sets[set].entered, allow, block)
                || meets(&effects.sets.allow.entered, block, allow)
        });
        effects.overlaps = overlaps.then_some(true);
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
        self.len() > MOST_SEEN || self.all_after(None).any(|(target, _)| other.touches(target))
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
