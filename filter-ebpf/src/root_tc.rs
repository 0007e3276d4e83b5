//! The root program for TC: stays attached to the interface permanently, and jumps to the current judge.
//!
//! When tables grow, are rekeyed or reconfigured, one store replaces the judge in `NEXT`. The interface is
//! not affected.

#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod license;

use aya_ebpf::bindings::TC_ACT_UNSPEC;
use aya_ebpf::btf_maps::ProgramArray;
use aya_ebpf::macros::{btf_map, classifier};
use aya_ebpf::programs::TcContext;

/// Its only slot contains the judge.
#[btf_map]
static NEXT: ProgramArray<1> = ProgramArray::new();

/// Without a judge every packet passes: a missing filter must not cut a host off.
#[classifier]
pub fn filterd_tc_root(ctx: TcContext) -> i32 {
    jump(&ctx);
    TC_ACT_UNSPEC
}

#[inline(always)]
#[allow(unsafe_code, reason = "a jump out of the program cannot be proven safe by its types")]
fn jump(ctx: &TcContext) {
    // SAFETY: nothing in this program needs dropping, and if the jump fails, the caller continues.
    unsafe { NEXT.tail_call(ctx, 0) }
}
