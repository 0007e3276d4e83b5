//! What the judge tells of packets: one counter for each outcome, and a line for each packet when debugging.
#![allow(unsafe_code, reason = "a counter is reached by a raw pointer")]

use aya_ebpf::programs::XdpContext;
use filter_common::counters;
use filter_common::reason::Outcome;

use crate::frame::Context;
use crate::{drops, maps};

/// Counts `outcome` on this processor.
#[inline(always)]
pub fn count(_ctx: &XdpContext, context: &Context, outcome: Outcome) {
    #[cfg(feature = "log")]
    aya_log_ebpf::debug!(_ctx, "{} {}", outcome.name(), outcome.reason().name());
    if let Some(number) = counters::drop_number(outcome) {
        return drops::count(context, number);
    }
    let counter = maps::counter(outcome.counter());
    // SAFETY: it is one of a map that lives as long as the program runs, as the verifier has made sure. It belongs to this
    // processor, and no other program interrupts this one to change it.
    unsafe { *counter += 1 }
}
