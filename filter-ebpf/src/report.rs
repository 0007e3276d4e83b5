//! Reports what the judge decided: one counter for each outcome, and with debugging a line for each packet.
#![allow(unsafe_code, reason = "a counter is reached by a raw pointer")]

use filter_common::counters;
use filter_common::reason::Outcome;

use crate::frame::Context;
use crate::{drops, hook, maps};

/// Counts the outcome on this processor.
#[inline(always)]
pub fn count(_ctx: &hook::Wrapped, context: &Context, outcome: Outcome) {
    #[cfg(feature = "log")]
    aya_log_ebpf::debug!(_ctx, "{} {}", outcome.name(), outcome.reason().name());
    if let Some(number) = counters::drop_number(outcome) {
        return drops::count(context, number);
    }
    let segments = hook::segments(context);
    let counter = maps::counter(outcome.counter());
    // SAFETY: it is a counter of a map that lives as long as the program runs, as the verifier has checked.
    // It belongs to this processor, and no other program interrupts this one to change it.
    unsafe { *counter += segments }
}
