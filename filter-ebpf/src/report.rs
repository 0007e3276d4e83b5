//! What the judge tells of its verdicts: one counter for each reason, and a line for each packet when debugging.
#![allow(unsafe_code, reason = "a counter is reached by a raw pointer")]

use aya_ebpf::programs::XdpContext;
use filter_common::reason::Verdict;

use crate::maps::COUNTERS;

/// Counts `verdict` on this processor.
#[inline(always)]
pub fn count(_ctx: &XdpContext, verdict: Verdict) {
    #[cfg(feature = "log")]
    aya_log_ebpf::debug!(_ctx, "{}", verdict.reason().name());
    if let Some(counter) = COUNTERS.get_ptr_mut(verdict.reason() as u32) {
        // SAFETY: the counter belongs to this processor, and no other program interrupts this one to change it.
        unsafe { *counter += 1 }
    }
}
