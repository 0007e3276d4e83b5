//! The judge for TC. It decides as the one for XDP does, by the same modules.

#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod clauses;
mod decide;
mod drops;
mod flow_map;
mod frame;
#[path = "hook/tc.rs"]
mod hook;
mod length_by_length;
mod license;
mod maps;
mod report;
mod samples;
mod tables;

use aya_ebpf::macros::classifier;
use aya_ebpf::programs::TcContext;

#[classifier]
pub fn filterd_judge(ctx: TcContext) -> hook::Action {
    decide::judge(&ctx)
}

/// The judge for configurations that block some sources on some ports only. It is a separate program, so
/// that a filter without clauses does not even pay for finding out that there are none.
#[classifier]
pub fn filterd_ports(ctx: TcContext) -> hook::Action {
    decide::judge_with_ports(&ctx)
}
