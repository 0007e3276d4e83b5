//! The whole decision about a packet: who sent it, is that source in the set to block, and what follows from a hit.

use crate::packet::{self, Frame, Source};
use crate::reason::{Reason, Verdict};
use crate::set::{self, Set};

/// Everything a judge looks things up in: a view for each set, and what holds for all of them.
///
/// A set to allow would be one more method beside `block`, with the same type behind it: it has a block of settings and
/// maps of its own, and is asked in [`judge`] after a hit, so that a packet that is in no set never pays for it.
pub trait Tables {
    /// Are packets dropped, or only counted as those that would be?
    fn enforces(&self) -> bool;

    /// The sources to block.
    fn block(&self) -> impl Set;
}

/// What becomes of `frame`? Whatever is asked after a hit belongs here, not into [`judge_source`]: a miss skips it.
#[inline(always)]
pub fn judge(frame: &(impl Frame + ?Sized), tables: &impl Tables) -> Verdict {
    match judge_source(packet::source(frame), tables) {
        Verdict::Drop(Reason::Net64 | Reason::Other6) if packet::is_neighbour_discovery(&frame.anew()) => {
            Reason::Neighbour.verdict()
        }
        verdict @ (Verdict::Pass(_) | Verdict::Drop(_)) => verdict,
    }
}

/// What becomes of a frame from `source`, whatever else is in it?
#[inline(always)]
pub fn judge_source(source: Source, tables: &impl Tables) -> Verdict {
    let reason = match source {
        Source::V4(address) => set::find4(&tables.block(), address).unwrap_or(Reason::Unlisted),
        Source::V6(address) => set::find6(&tables.block(), address).unwrap_or(Reason::Unlisted),
        Source::NotIp => Reason::NotIp,
        Source::Malformed => Reason::Malformed,
        Source::TooManyTags => Reason::TooManyTags,
    };
    reason.verdict()
}
