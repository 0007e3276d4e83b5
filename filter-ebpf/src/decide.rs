//! Turns a packet's verdict into an action, and counts it. All other logic is in filter-common.

use filter_common::judge::{self, Tables as _};
use filter_common::reason::{Enforcement, Outcome, Verdict};

use crate::frame::{Context, InPlace};
use crate::hook::{self, Action, DROP, PASS, Wrapped};
use crate::maps::Maps;
use crate::report;

#[inline(always)]
pub fn judge(ctx: &Wrapped) -> Action {
    let mut context = Context::nowhere();
    context.keep(ctx);
    let tables = Maps { context: &context };
    carry_out(ctx, &tables, judge::judge(&InPlace::new(ctx, &context), &tables))
}

#[inline(always)]
pub fn judge_with_ports(ctx: &Wrapped) -> Action {
    let mut context = Context::nowhere();
    context.keep(ctx);
    let tables = Maps { context: &context };
    carry_out(ctx, &tables, judge::judge_with_ports(&InPlace::new(ctx, &context), &tables))
}

#[inline(always)]
fn carry_out(ctx: &Wrapped, tables: &Maps<'_>, verdict: Verdict) -> Action {
    let verdict = if hook::is_outbound() { verdict.outbound() } else { verdict };
    // The enforcement is read only for drops, because most packets are not dropped.
    let enforcement = match verdict {
        Verdict::Pass(_) => Enforcement::Count,
        Verdict::Drop(_) => tables.enforcement(),
    };
    let outcome = verdict.outcome(enforcement);
    // Passes are those of received frames.
    if !(hook::is_outbound() && matches!(outcome, Outcome::Pass(_))) {
        report::count(ctx, tables.context, outcome);
    }
    match outcome {
        Outcome::Pass(_) | Outcome::WouldDrop(_) | Outcome::Paused(_) => PASS,
        Outcome::Drop(_) => DROP,
    }
}
