//! Where the judge runs: in TC, behind the driver. The kernel may have joined several frames of the wire into one
//! (GRO), and may have removed the outer VLAN tag. The frames of some devices have no Ethernet header.
#![allow(unsafe_code, reason = "the context is a raw pointer")]

use core::ffi::c_void;

use aya_ebpf::bindings::{__sk_buff, TC_ACT_SHOT, TC_ACT_UNSPEC};
use aya_ebpf::helpers::generated::bpf_skb_load_bytes;
use aya_ebpf::programs::TcContext;
use filter_common::flow;

use crate::frame::{Anywhere, Context};
use crate::tables::{SETTINGS, read};

/// The context as the kernel passes it, and as aya wraps it.
pub type Raw = __sk_buff;
pub type Wrapped = TcContext;

/// Frames of some devices have no Ethernet header.
pub const MAY_BE_BARE: bool = true;

/// What the program returns. Filters that others have attached still judge what passes.
pub type Action = i32;
pub const PASS: Action = TC_ACT_UNSPEC;
pub const DROP: Action = TC_ACT_SHOT;

/// Reads a field of the context by one load of 32 bits.
#[inline(always)]
fn field(field: *const u32) -> u32 {
    // SAFETY: callers pass a field of the context that the program was called with.
    unsafe { field.read_volatile() }
}

/// Whether frames are sent, and judged by their destination.
#[inline(always)]
pub fn is_outbound() -> bool {
    read(&SETTINGS.outbound) != 0
}

#[inline(always)]
pub fn raw(ctx: &Wrapped) -> *mut Raw {
    ctx.skb.skb
}

/// Copies `length` bytes of the frame. Returns false if the frame ends before.
///
/// # Safety
///
/// `into` has room for them, and the context is the one that the program was called with.
#[inline(always)]
pub unsafe fn load_bytes(context: *mut Raw, at: u32, into: *mut c_void, length: u32) -> bool {
    // SAFETY: the caller has ensured it.
    (unsafe { bpf_skb_load_bytes(context.cast(), at, into, length) }) == 0
}

/// The length of the frame.
#[inline(always)]
pub fn length(context: *mut Raw) -> u64 {
    // SAFETY: it is the context that the program was called with.
    u64::from(unsafe { (*context).len })
}

/// The number of the interface that received the frame.
#[inline(always)]
pub fn interface(context: *mut Raw) -> u32 {
    // SAFETY: it is the context that the program was called with.
    unsafe { (*context).ifindex }
}

/// How many frames of the wire this one consists of.
#[inline(always)]
pub fn segments(context: &Context) -> u64 {
    joined(context.get()).into()
}

#[inline(always)]
fn joined(context: *mut Raw) -> u32 {
    // SAFETY: it is the context that the program was called with. Volatile, so that it is one load of 32 bits.
    let joined = field(unsafe { &raw const (*context).gso_segs });
    if joined == 0 { 1 } else { joined }
}

/// The length of all these frames together. Each has the headers that the joined frame has once.
#[inline(always)]
pub fn bytes(context: *mut Raw) -> u64 {
    let more = joined(context) - 1;
    if more == 0 {
        length(context)
    } else {
        length(context) + u64::from(more) * u64::from(filterd_headers(context))
    }
}

/// The length of all headers, to where the data of TCP or UDP begins. A separate function, because few frames need it.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_headers(context: *mut Raw) -> u32 {
    let frame = Anywhere { context };
    flow::length_of_headers(&frame).map_or(0, |length| length.wrapping_sub(frame.shift()))
}

/// Puts the number of frames into the word that says how a list counts them.
#[inline(always)]
pub fn with_segments(counted: u32, context: &Context) -> u32 {
    counted | joined(context.get()) << KIND_BITS
}

/// The two parts of such a word: how a list counts the frames, and their number.
#[inline(always)]
pub fn without_segments(word: u32) -> (u32, u64) {
    (word & ((1 << KIND_BITS) - 1), (word >> KIND_BITS).into())
}

const KIND_BITS: u32 = 8;

/// The VLAN tags that were removed from the frame, and those of them that have an ID.
#[inline(always)]
pub fn removed_tags(context: impl FnOnce() -> *mut Raw) -> (u32, u32) {
    let context = context();
    const ID: u32 = 0x0FFF;
    // SAFETY: it is the context that the program was called with.
    let is_tagged = field(unsafe { &raw const (*context).vlan_present }) & 1;
    // SAFETY: as above.
    let tag = field(unsafe { &raw const (*context).vlan_tci });
    (is_tagged, is_tagged & ((tag & ID) + ID) >> 12)
}

/// The type of the packet, if the frame has no Ethernet header and begins with that packet.
#[inline(always)]
pub fn bare_packet(context: *mut Raw) -> Option<u16> {
    if read(&SETTINGS.bare) == 0 {
        return None;
    }
    // SAFETY: it is the context that the program was called with.
    let protocol = field(unsafe { &raw const (*context).protocol });
    Some(u16::from_be(protocol as u16))
}
