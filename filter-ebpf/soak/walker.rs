//! All addresses in a row: what becomes of one shows in filterd's own counter when the next is due.
#![allow(unsafe_code, reason = "packets and maps are reached by raw pointers, and a jump cannot be typed")]

use aya_ebpf::btf_maps::{Array, ProgramArray};
use aya_ebpf::helpers::generated::bpf_get_smp_processor_id;
use aya_ebpf::macros::btf_map;
use aya_ebpf::programs::XdpContext;
use filter_common::counters;
use filter_common::reason::{Outcome, Reason};

/// One slot: filterd's root program.
#[btf_map]
static SUBJECT: ProgramArray<1> = ProgramArray::new();
/// The highest number of a processor in filterd's counters.
#[unsafe(no_mangle)]
static LAST_PROCESSOR: u64 = 0;
#[allow(improper_ctypes, reason = "an array of no length is how C tells of the beginning of one")]
unsafe extern "C" {
    /// filterd's own, which have a row for each processor.
    static COUNTERS: [u64; 0];
}
/// Where the walk has come to.
#[btf_map]
static WALK: Array<u64, 3> = Array::new();
/// Who was dropped, in the order of the walk.
#[btf_map]
static FOUND: Array<u32, { 1 << 21 }> = Array::new();

/// The next address.
const NEXT: u32 = 0;
/// How many have been dropped; [`UNKNOWN`] before the first.
const DROPS: u32 = 1;
/// How many of them the walk has found.
const COUNT: u32 = 2;
const UNKNOWN: u64 = u64::MAX;

const SOURCE: usize = 14 + 12;

#[inline(always)]
pub fn step(ctx: &XdpContext) {
    let drops = counted(Outcome::Drop(Reason::Address4));
    let (next, before) = (load(NEXT), load(DROPS));
    if before != UNKNOWN && before != drops {
        note(next - 1);
    }
    store(DROPS, drops);
    store(NEXT, next + 1);
    write(ctx, (next as u32).to_be());
    // SAFETY: nothing in this program needs dropping, and where the jump fails the caller goes on.
    unsafe { SUBJECT.tail_call(ctx, 0) }
}

/// Of how many packets this has become on this processor.
#[inline(always)]
pub fn counted(outcome: Outcome) -> u64 {
    // SAFETY: it is a static. Volatile, because the loader gives it its value after compilation.
    let last = unsafe { (&raw const LAST_PROCESSOR).read_volatile() };
    // SAFETY: it asks for nothing but a number.
    let processor = unsafe { bpf_get_smp_processor_id() } & last as u32;
    // Nothing is attached to what frames come from here, so it has no slot of its own.
    let place = counters::drop_number(outcome)
        .map_or(outcome.counter(), |drop| counters::place(counters::OTHER, drop));
    let at = processor * counters::ROW + place;
    let counter = (&raw const COUNTERS).cast::<u64>().wrapping_add(at as usize);
    // SAFETY: the counter belongs to this processor, and the judge is not running.
    unsafe { counter.read_volatile() }
}

#[inline(always)]
fn note(address: u64) {
    let count = load(COUNT);
    if let Some(place) = FOUND.get_ptr_mut(count as u32) {
        // SAFETY: the map gave this pointer to a number of its own.
        unsafe { place.write_volatile(address as u32) }
    }
    store(COUNT, count + 1);
}

#[inline(always)]
fn load(at: u32) -> u64 {
    // SAFETY: the map gave this pointer to a word of its own.
    WALK.get_ptr(at).map_or(0, |word| unsafe { word.read_volatile() })
}

#[inline(always)]
fn store(at: u32, value: u64) {
    if let Some(word) = WALK.get_ptr_mut(at) {
        // SAFETY: the map gave this pointer to a word of its own.
        unsafe { word.write_volatile(value) }
    }
}

#[inline(always)]
fn write(ctx: &XdpContext, source: u32) {
    let start = ctx.data() + SOURCE;
    if start + size_of::<u32>() <= ctx.data_end() {
        // SAFETY: these bytes lie in the packet; BPF stores to packets need no alignment where this is built for.
        unsafe { (start as *mut u32).write_volatile(source) }
    }
}
