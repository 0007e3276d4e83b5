//! The judge: turns a packet's verdict into an action, and counts its reason. Everything else is filter-common.

#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod frame;
mod license;
mod maps;
mod report;

use aya_ebpf::bindings::xdp_action::{XDP_DROP, XDP_PASS};
use aya_ebpf::macros::xdp;
use aya_ebpf::programs::XdpContext;
use filter_common::judge::{Tables as _, judge};
use filter_common::reason::Verdict;

#[xdp(frags)]
pub fn filterd_judge(ctx: XdpContext) -> u32 {
    let tables = maps::Maps;
    let verdict = judge(&frame::InPlace::new(&ctx), &tables);
    report::count(&ctx, verdict);
    match verdict {
        Verdict::Pass(_) => XDP_PASS,
        Verdict::Drop(_) if !tables.enforces() => XDP_PASS,
        Verdict::Drop(_) => XDP_DROP,
    }
}
