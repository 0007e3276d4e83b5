//! The map of own flows, as both programs reach it, and their clock.
#![allow(unsafe_code, reason = "a helper tells where a value lies by a raw pointer")]

use core::ffi::c_void;

use aya_ebpf::helpers::{bpf_ktime_get_coarse_ns, bpf_map_lookup_elem};
use filter_common::flow::Key;

/// When something of this flow was last sent, if it is known. To look it up is to use it: it is not among those that are
/// forgotten first.
#[inline(always)]
pub fn last(map: *mut c_void, key: &Key) -> Option<u64> {
    // SAFETY: the verifier has made sure that this is a map, and that its keys are as long as this one.
    let value: *const u64 = unsafe { bpf_map_lookup_elem(map, (&raw const *key).cast()) }.cast();
    // SAFETY: it is a value of that map, or null. Another processor may change it meanwhile, by one store.
    (!value.is_null()).then(|| unsafe { value.read_volatile() })
}

/// Nanoseconds since boot without those asleep: exact to some milliseconds, and cheap.
#[inline(always)]
pub fn now() -> u64 {
    // SAFETY: it takes nothing and returns a number.
    unsafe { bpf_ktime_get_coarse_ns() }
}
