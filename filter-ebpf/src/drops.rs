//! Counts drops by interface, in packets and bytes. A miss does none of this.
#![allow(unsafe_code, reason = "counters are reached by raw pointers")]

use filter_common::counters;

use crate::frame::Context;
use crate::{hook, maps, samples};

/// Counts a packet under this number of the drop counters. This is in line, because a call takes as long as
/// all the rest where returns are guarded (retbleed, SRSO).
#[inline(always)]
pub fn count(context: &Context, number: u32) {
    let segments = hook::segments(context);
    let context = context.get();
    let (row, slots, is_sampled) = maps::counters_here();
    let interface = hook::interface(context);
    let slot = if interface < counters::NUMBERED {
        let slot = slots.wrapping_add(interface as usize);
        // SAFETY: there is a byte for each of these numbers. Volatile, because the daemon changes it.
        unsafe { slot.read_volatile() }.into()
    } else {
        counters::OTHER
    };
    let packets = row.wrapping_add(counters::place(slot, number) as usize);
    let bytes = hook::bytes(context);
    add(packets, segments);
    add(packets.wrapping_add(1), bytes);
    if is_sampled {
        samples::meet(context, row, number);
    }
}

#[inline(always)]
fn add(counter: *mut u64, more: u64) {
    // SAFETY: it is in this processor's row, as the verifier has checked, and no other program interrupts
    // this one to change it.
    let before = unsafe { counter.read_volatile() };
    // SAFETY: as above.
    unsafe { counter.write_volatile(before + more) }
}
