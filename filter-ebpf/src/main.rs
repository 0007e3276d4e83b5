//! The judge: turns what becomes of a packet into an action, and counts it. Everything else is filter-common.

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

/// The same where some sources are blocked on some ports only. A program of its own: without clauses nobody pays for them, not
/// even by being told that there are none.
#[xdp(frags)]
pub fn filterd_ports(ctx: XdpContext) -> u32 {
    let mut context = frame::Context::nowhere();
    context.keep(&ctx);
    let tables = maps::Maps { context: &context };
    carry_out(&ctx, &tables, judge_with_ports(&frame::InPlace::new(&ctx, &context), &tables))
}

#[inline(always)]
fn carry_out(ctx: &XdpContext, tables: &maps::Maps<'_>, verdict: Verdict) -> u32 {
    // Whether drops are enforced is read where there is one: most packets have none.
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
