//! Samples drops while a client watches; each sample stands for many drops (`filter_common::sampling`).
//! While no client watches, a setting switches all of it off, and the verifier removes it.
#![allow(unsafe_code, reason = "the ring and a processor's state are reached by raw pointers")]

use core::ffi::c_void;

use aya_ebpf::bindings::BPF_RB_NO_WAKEUP;
use aya_ebpf::helpers::generated::{
    bpf_get_prandom_u32, bpf_jiffies64, bpf_ktime_get_boot_ns, bpf_ringbuf_reserve, bpf_ringbuf_submit,
};
use filter_common::counters;
use filter_common::labels::Label;
use filter_common::sampling::{HEAD, NO_LABEL, RECORD, SNAP, Stratum, WINDOW_BITS, at};

use crate::hook::{self, Raw};
use crate::maps;
use crate::tables::{SETTINGS, read};

/// Counts a drop with this number, from this row, towards the next sample. Nearly all drops are skipped
/// here, without a call.
#[inline(always)]
pub fn meet(context: *mut Raw, row: *mut u64, number: u32) {
    let state = state_in(row);
    let left = load(state, at::LEFT);
    if Stratum::passes_over(left, load(state, at::WINDOW), window()) {
        store(state, at::LEFT, left - 1);
    } else {
        filterd_sample(context, number);
    }
}

/// Remembers the list for which the packet that is judged now counts.
#[inline(always)]
pub fn note_label(row: *mut u64, label: Label) {
    store(state_in(row), at::LABEL, label.into());
}

/// A separate function, which the verifier walks once.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_sample(context: *mut Raw, number: u32) -> u32 {
    // Older kernels also verify functions that are never called. Without this setting there is no such map.
    if read(&SETTINGS.samples) == 0 {
        return 0;
    }
    let state = state_in(maps::counters_here().0);
    let mut stratum = Stratum {
        window: load(state, at::WINDOW),
        left: load(state, at::LEFT),
        position: load(state, at::POSITION),
        size: load(state, at::SIZE),
        used: load(state, at::USED),
    };
    // SAFETY: the helper takes no argument and returns a number.
    let random = unsafe { bpf_get_prandom_u32() };
    let weight = stratum.meet(window(), read(&SETTINGS.samples), random);
    store(state, at::WINDOW, stratum.window);
    store(state, at::LEFT, stratum.left);
    store(state, at::POSITION, stratum.position);
    store(state, at::SIZE, stratum.size);
    store(state, at::USED, stratum.used);
    let Some(weight) = weight else { return 0 };
    let lost = load(state, at::LOST);
    let label = if read(&SETTINGS.lists) == 0 { NO_LABEL } else { load(state, at::LABEL) };
    let is_told = tell(context, [weight, lost, label << 32 | u64::from(number) << 16]);
    store(state, at::LOST, if is_told { 0 } else { lost + weight });
    0
}

/// Writes a drop to the ring. Returns whether there was room.
#[inline(always)]
fn tell(context: *mut Raw, [weight, lost, what]: [u64; 3]) -> bool {
    // SAFETY: it is a ring, as the loader has ensured.
    let record = unsafe { bpf_ringbuf_reserve(maps::samples(), RECORD as u64, 0) }.cast::<u64>();
    if record.is_null() {
        return false;
    }
    let length = hook::length(context);
    let captured = copy(context, length, record.wrapping_add(HEAD).cast());
    let interface = hook::interface(context);
    // SAFETY: the helper takes no argument and returns a number.
    let now = unsafe { bpf_ktime_get_boot_ns() };
    let head: [u64; HEAD] = [now, weight, lost, u64::from(interface) << 32 | length, what | captured];
    store(record, 0, head[0]);
    store(record, 1, head[1]);
    store(record, 2, head[2]);
    store(record, 3, head[3]);
    store(record, 4, head[4]);
    // SAFETY: the record was reserved, and is given up by this. The reader polls, so no wakeup is needed.
    unsafe { bpf_ringbuf_submit(record.cast(), BPF_RB_NO_WAKEUP.into()) };
    true
}

/// Copies the first bytes of the frame, and returns how many.
#[inline(always)]
fn copy(context: *mut Raw, length: u64, to: *mut c_void) -> u64 {
    let snap = u64::from(SNAP);
    // In this form every verifier sees that the number is between 1 and `snap`.
    let wanted = if length > snap { snap } else { (length.wrapping_sub(1) & (snap - 1)) + 1 };
    // SAFETY: there is room for this many bytes, and the context is the one that the program was called
    // with.
    let is_copied = unsafe { hook::load_bytes(context, 0, to, wanted as u32) };
    if is_copied { wanted } else { 0 }
}

#[inline(always)]
fn window() -> u64 {
    // SAFETY: the helper takes no argument and returns a number. Just-in-time compilers turn it into a
    // load.
    unsafe { bpf_jiffies64() >> WINDOW_BITS }
}

#[inline(always)]
fn state_in(row: *mut u64) -> *mut u64 {
    row.wrapping_add(counters::SAMPLING as usize)
}

#[inline(always)]
fn load(words: *mut u64, at: usize) -> u64 {
    // SAFETY: it is in this processor's row, as the verifier has checked.
    unsafe { words.wrapping_add(at).read_volatile() }
}

#[inline(always)]
fn store(words: *mut u64, at: usize, word: u64) {
    // SAFETY: it is in this processor's row or in the record, as the verifier has checked; no other program
    // interrupts this one.
    unsafe { words.wrapping_add(at).write_volatile(word) }
}
