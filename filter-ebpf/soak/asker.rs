//! IPv6 sources by number: what becomes of one shows in filterd's own counters when the next is due, and is noted by a bit.
#![allow(unsafe_code, reason = "packets and maps are reached by raw pointers, and a jump cannot be typed")]

use aya_ebpf::btf_maps::{Array, ProgramArray};
use aya_ebpf::macros::btf_map;
use aya_ebpf::programs::XdpContext;
use filter_common::hash::Address6;
use filter_common::reason::{Outcome, Reason};

use crate::numbered;
use crate::walker::counted;

/// BPF_F_MMAPABLE: the runner reads and writes these maps through a window in its own memory.
const MMAPABLE: usize = 1 << 10;
/// Sources that can be told.
const MOST_TOLD: usize = 1 << 21;
/// Verdicts that are noted before the runner reads them.
const BLOCK: u64 = 1 << 21;

/// One slot: filterd's root program.
#[btf_map]
static ASKED: ProgramArray<1> = ProgramArray::new();
/// What is asked next.
#[btf_map]
static ASKING: Array<u64, 3> = Array::new();
/// Two words for each source that is told.
#[btf_map]
static TOLD: Array<u64, { 2 * MOST_TOLD }, MMAPABLE> = Array::new();
/// A bit for each of the last numbers: was that source dropped?
#[btf_map]
static DROPPED: Array<u64, { (BLOCK / 64) as usize }, MMAPABLE> = Array::new();

/// The next number.
const NEXT: u32 = 0;
/// How many packets have been dropped; [`UNKNOWN`] before the first.
const DROPS: u32 = 1;
/// How many sources are told.
const COUNT: u32 = 2;
const UNKNOWN: u64 = u64::MAX;

const SOURCE: usize = 14 + 8;

#[inline(always)]
pub fn step(ctx: &XdpContext) {
    let drops = counted(Outcome::Drop(Reason::Net64)) + counted(Outcome::Drop(Reason::Other6));
    let (next, before) = (load(NEXT), load(DROPS));
    if before != UNKNOWN {
        note(next - 1, before != drops);
    }
    store(DROPS, drops);
    store(NEXT, next + 1);
    write(ctx, numbered::source(next, load(COUNT), told));
    // SAFETY: nothing in this program needs dropping, and where the jump fails the caller goes on.
    unsafe { ASKED.tail_call(ctx, 0) }
}

#[inline(always)]
fn note(number: u64, is_dropped: bool) {
    let (word, bit) = ((number % BLOCK / 64) as u32, number % 64);
    if let Some(word) = DROPPED.get_ptr_mut(word) {
        // SAFETY: the map gave this pointer to a word of its own.
        let others = unsafe { word.read_volatile() } & !(1 << bit);
        // SAFETY: as above.
        unsafe { word.write_volatile(others | u64::from(is_dropped) << bit) }
    }
}

/// The source of this number, if it was told.
#[inline(always)]
pub fn told(number: u64) -> Address6 {
    let word = |at| {
        // SAFETY: the map gave this pointer to a word of its own.
        TOLD.get_ptr(at).map_or(0, |word| unsafe { word.read_volatile() })
    };
    let at = number as u32 * 2;
    Address6 { high: word(at), low: word(at + 1) }
}

#[inline(always)]
fn load(at: u32) -> u64 {
    // SAFETY: the map gave this pointer to a word of its own.
    ASKING.get_ptr(at).map_or(0, |word| unsafe { word.read_volatile() })
}

#[inline(always)]
fn store(at: u32, value: u64) {
    if let Some(word) = ASKING.get_ptr_mut(at) {
        // SAFETY: the map gave this pointer to a word of its own.
        unsafe { word.write_volatile(value) }
    }
}

/// Makes it the frame's.
#[inline(always)]
pub fn write(ctx: &XdpContext, source: Address6) {
    let start = ctx.data() + SOURCE;
    if start + size_of::<[u64; 2]>() <= ctx.data_end() {
        // SAFETY: these bytes lie in the packet; BPF stores to packets need no alignment where this is built for.
        unsafe { (start as *mut u64).write_volatile(source.high.to_be()) }
        let low = start + size_of::<u64>();
        // SAFETY: as above.
        unsafe { (low as *mut u64).write_volatile(source.low.to_be()) }
    }
}
