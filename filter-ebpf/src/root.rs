//! The root program: stays attached to the interface permanently, and jumps to the current judge.
//!
//! When tables grow, are rekeyed or reconfigured, one store replaces the judge in `NEXT`. The interface is
//! not affected.

#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod license;

use aya_ebpf::bindings::xdp_action::XDP_PASS;
use aya_ebpf::btf_maps::ProgramArray;
use aya_ebpf::macros::{btf_map, xdp};
use aya_ebpf::programs::XdpContext;

/// Its only slot contains the judge.
#[btf_map]
static NEXT: ProgramArray<1> = ProgramArray::new();

/// Without a judge every packet passes: a missing filter must not cut a host off.
#[xdp(frags)]
pub fn filterd_root(ctx: XdpContext) -> u32 {
    jump(&ctx);
    XDP_PASS
}

#[inline(always)]
#[allow(unsafe_code, reason = "a jump out of the program cannot be proven safe by its types")]
fn jump(ctx: &XdpContext) {
    // SAFETY: nothing in this program needs dropping, and if the jump fails, the caller continues.
    unsafe { NEXT.tail_call(ctx, 0) }
}
