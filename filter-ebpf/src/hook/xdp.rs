//! Where the judge runs: in XDP. Each frame is one that was on the wire, and begins with an Ethernet header.
#![allow(unsafe_code, reason = "the context is a raw pointer")]

use core::ffi::c_void;

use aya_ebpf::bindings::{xdp_action, xdp_md};
use aya_ebpf::helpers;
use aya_ebpf::helpers::generated::bpf_xdp_get_buff_len;
use aya_ebpf::programs::XdpContext;

use crate::frame::Context;

/// The context as the kernel passes it, and as aya wraps it.
pub type Raw = xdp_md;
pub type Wrapped = XdpContext;

/// Every frame has an Ethernet header.
pub const MAY_BE_BARE: bool = false;

/// What the program returns.
#[allow(dead_code, reason = "programs of benchmarks act by themselves")]
pub type Action = xdp_action::Type;
#[allow(dead_code, reason = "as above")]
pub const PASS: Action = xdp_action::XDP_PASS;
#[allow(dead_code, reason = "as above")]
pub const DROP: Action = xdp_action::XDP_DROP;

/// Whether frames are sent, and judged by their destination. XDP sees only received ones.
#[inline(always)]
pub const fn is_outbound() -> bool {
    false
}

#[inline(always)]
pub fn raw(ctx: &Wrapped) -> *mut Raw {
    ctx.ctx
}

/// Copies `length` bytes of the frame. Returns false if the frame ends before.
///
/// # Safety
///
/// `into` has room for them, and the context is the one that the program was called with.
#[inline(always)]
pub unsafe fn load_bytes(context: *mut Raw, at: u32, into: *mut c_void, length: u32) -> bool {
    // SAFETY: the caller has ensured it.
    (unsafe { helpers::bpf_xdp_load_bytes(context, at, into, length) }) == 0
}

/// The length of the frame.
#[inline(always)]
pub fn length(context: *mut Raw) -> u64 {
    // SAFETY: it is the context that the program was called with.
    unsafe { bpf_xdp_get_buff_len(context) }
}

/// The number of the interface that received the frame.
#[inline(always)]
pub fn interface(context: *mut Raw) -> u32 {
    // SAFETY: it is the context that the program was called with.
    unsafe { (*context).ingress_ifindex }
}

/// How many frames of the wire this one consists of.
#[inline(always)]
pub fn segments(_: &Context) -> u64 {
    1
}

/// The length of all these frames together.
#[inline(always)]
pub fn bytes(context: *mut Raw) -> u64 {
    length(context)
}

/// Puts the number of frames into the word that says how a list counts them.
#[inline(always)]
pub fn with_segments(counted: u32, _: &Context) -> u32 {
    counted
}

/// The two parts of such a word: how a list counts the frames, and their number.
#[inline(always)]
pub fn without_segments(word: u32) -> (u32, u64) {
    (word, 1)
}

/// The VLAN tags that were removed from the frame, and those of them that have an ID.
#[inline(always)]
pub fn removed_tags(_: impl FnOnce() -> *mut Raw) -> (u32, u32) {
    (0, 0)
}

/// The type of the packet, if the frame has no Ethernet header and begins with that packet.
#[inline(always)]
pub fn bare_packet(_: *mut Raw) -> Option<u16> {
    None
}
