//! The judge: turns a packet's verdict into an action, and counts it. All other logic is in filter-common.

#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod clauses;
mod drops;
mod flow_map;
mod frame;
mod length_by_length;
mod license;
mod maps;
mod report;
mod samples;

use aya_ebpf::bindings::xdp_action::{XDP_DROP, XDP_PASS};
use aya_ebpf::macros::xdp;
use aya_ebpf::programs::XdpContext;
use filter_common::judge::{Tables as _, judge, judge_with_ports};
use filter_common::reason::{Enforcement, Outcome, Verdict};

#[xdp(frags)]
pub fn filterd_judge(ctx: XdpContext) -> u32 {
    let mut context = frame::Context::nowhere();
    context.keep(&ctx);
    let tables = maps::Maps { context: &context };
    carry_out(&ctx, &tables, judge(&frame::InPlace::new(&ctx, &context), &tables))
}

/// The judge for configurations that block some sources on some ports only. It is a separate program, so
/// that a filter without clauses does not even pay for finding out that there are none.
#[xdp(frags)]
pub fn filterd_ports(ctx: XdpContext) -> u32 {
    let mut context = frame::Context::nowhere();
    context.keep(&ctx);
    let tables = maps::Maps { context: &context };
    carry_out(&ctx, &tables, judge_with_ports(&frame::InPlace::new(&ctx, &context), &tables))
}

#[inline(always)]
fn carry_out(ctx: &XdpContext, tables: &maps::Maps<'_>, verdict: Verdict) -> u32 {
    // The enforcement is read only for drops, because most packets are not dropped.
    let enforcement = match verdict {
        Verdict::Pass(_) => Enforcement::Count,
        Verdict::Drop(_) => tables.enforcement(),
    };
    let outcome = verdict.outcome(enforcement);
    report::count(ctx, tables.context, outcome);
    match outcome {
        Outcome::Pass(_) | Outcome::WouldDrop(_) | Outcome::Paused(_) => XDP_PASS,
        Outcome::Drop(_) => XDP_DROP,
    }
}
