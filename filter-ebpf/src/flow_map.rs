//! The map of flows that this host began, as both programs access it, and their clock.
#![allow(unsafe_code, reason = "a helper tells where a value lies by a raw pointer")]

use core::ffi::c_void;

use aya_ebpf::helpers::{bpf_ktime_get_coarse_ns, bpf_map_lookup_elem};
use filter_common::flow::Key;

/// When a packet of this flow was last sent, if known. A lookup counts as a use, so the entry is not among
/// those evicted first.
#[inline(always)]
pub fn last(map: *mut c_void, key: &Key) -> Option<u64> {
    // SAFETY: the verifier has checked that this is a map, and that its keys are as long as this one.
    let value: *const u64 = unsafe { bpf_map_lookup_elem(map, (&raw const *key).cast()) }.cast();
    // SAFETY: it is a value of that map, or null. Another processor may change it meanwhile, by one store.
    (!value.is_null()).then(|| unsafe { value.read_volatile() })
}

/// Nanoseconds since boot, without time in suspend: exact to some milliseconds, and cheap.
#[inline(always)]
pub fn now() -> u64 {
    // SAFETY: the helper takes no argument and returns a number.
    unsafe { bpf_ktime_get_coarse_ns() }
}
