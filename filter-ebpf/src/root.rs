//! The root program: stays on the interface for good, and jumps to the judge of the day.
//!
//! Growing, rekeying and reconfiguring replace the judge in `NEXT` by one store; the interface notices nothing.

#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod license;

use aya_ebpf::bindings::xdp_action::XDP_PASS;
use aya_ebpf::btf_maps::ProgramArray;
use aya_ebpf::macros::{btf_map, xdp};
use aya_ebpf::programs::XdpContext;

/// One slot: the judge.
#[btf_map]
static NEXT: ProgramArray<1> = ProgramArray::new();

/// Without a judge every packet passes: a filter that is not there must not cut anybody off.
#[xdp(frags)]
pub fn filterd_root(ctx: XdpContext) -> u32 {
    jump(&ctx);
    XDP_PASS
}

#[inline(always)]
#[allow(unsafe_code, reason = "a jump out of the program cannot be proven safe by its types")]
fn jump(ctx: &XdpContext) {
    // SAFETY: nothing in this program needs dropping, and where the jump fails the caller goes on.
    unsafe { NEXT.tail_call(ctx, 0) }
}
