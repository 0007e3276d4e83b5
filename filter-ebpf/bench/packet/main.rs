//! What `cargo xtask bench packet` measures filterd's program with, and against.
//!
//! `sender` gives every packet another source and hands it to the program under test: filterd's own, or one of those
//! here. They read packets by the very code that filterd reads them by, and two of them are filterd's judge but for one
//! thing.

#![no_std]
#![no_main]
#![deny(unsafe_code)]

#[path = "../../src/clauses.rs"]
mod clauses;
mod crowd;
#[path = "../../src/drops.rs"]
mod drops;
#[path = "../../src/flow_map.rs"]
mod flow_map;
#[path = "../../src/frame.rs"]
mod frame;
#[path = "../../src/hook/xdp.rs"]
mod hook;
#[path = "../../src/length_by_length.rs"]
mod length_by_length;
mod lengths;
#[path = "../../src/license.rs"]
mod license;
#[path = "../../src/maps.rs"]
mod maps;
mod peers;
#[path = "../../src/report.rs"]
mod report;
#[path = "../../src/samples.rs"]
mod samples;
mod sender;
#[path = "../../src/tables.rs"]
mod tables;
mod unstashed;

use aya_ebpf::bindings::xdp_action::{XDP_DROP, XDP_PASS, XDP_TX};
use aya_ebpf::macros::xdp;
use aya_ebpf::programs::XdpContext;
use filter_common::judge::{Tables as _, judge};
use filter_common::packet::{self, Source};
use filter_common::reason::{Enforcement, Outcome, Verdict};

#[xdp(frags)]
pub fn bench_sender4(ctx: XdpContext) -> u32 {
    sender::send4(&ctx);
    XDP_PASS
}

/// Before programs that do not take packets in pieces: the kernel lets only like jump to like.
#[xdp]
pub fn bench_sender4_whole(ctx: XdpContext) -> u32 {
    sender::send4(&ctx);
    XDP_PASS
}

#[xdp(frags)]
pub fn bench_sender6(ctx: XdpContext) -> u32 {
    sender::send6(&ctx);
    XDP_PASS
}

/// Those whose sources are made up beforehand, because a list says whose packets meet it.
#[xdp(frags)]
pub fn bench_sender4_told(ctx: XdpContext) -> u32 {
    sender::send_told4(&ctx);
    XDP_PASS
}

#[xdp(frags)]
pub fn bench_sender6_told(ctx: XdpContext) -> u32 {
    sender::send_told6(&ctx);
    XDP_PASS
}

/// Frames for the wire of the device that this runs for.
#[xdp(frags)]
pub fn bench_sender_live(ctx: XdpContext) -> u32 {
    if sender::dress4(&ctx) { XDP_TX } else { XDP_PASS }
}

/// The limit of what dropping can cost: it looks at nothing.
#[xdp(frags)]
pub fn bench_drop(_: XdpContext) -> u32 {
    XDP_DROP
}

/// The limit: who sent it is all that this asks.
#[xdp(frags)]
pub fn bench_parse(ctx: XdpContext) -> u32 {
    action(match source_of(&ctx) {
        Source::V4(address) => address == 0,
        Source::V6(address) => address.high == 0,
        Source::NotIp | Source::Malformed | Source::TooManyTags => true,
    })
}

/// The floor of what a lookup can cost: one word of a table, chosen by the source, compared with it.
#[xdp(frags)]
pub fn bench_load(ctx: XdpContext) -> u32 {
    drop_if(&ctx, |address| peers::word_for(address) == u64::from(address))
}

/// The same where the word is looked up in an array map, as programs usually reach what they share with others.
#[xdp(frags)]
pub fn bench_load_in_array(ctx: XdpContext) -> u32 {
    drop_if(&ctx, |address| peers::word_in_array(address) == u64::from(address))
}

/// What most programs like filterd do.
#[xdp(frags)]
pub fn bench_hash(ctx: XdpContext) -> u32 {
    drop_if(&ctx, peers::hash_holds)
}

/// What those do that count for each entry.
#[xdp(frags)]
pub fn bench_per_cpu(ctx: XdpContext) -> u32 {
    drop_if(&ctx, peers::per_cpu_holds)
}

/// What those do that block prefixes.
#[xdp(frags)]
pub fn bench_trie(ctx: XdpContext) -> u32 {
    drop_if(&ctx, peers::trie_holds)
}

/// The same for IPv6.
#[xdp(frags)]
pub fn bench_trie6(ctx: XdpContext) -> u32 {
    action(match source_of(&ctx) {
        Source::V6(address) => peers::trie6_holds(address),
        Source::V4(_) | Source::NotIp | Source::Malformed | Source::TooManyTags => false,
    })
}

/// What filterd did once: one probe for each length in use.
#[xdp(frags)]
pub fn bench_lengths6(ctx: XdpContext) -> u32 {
    action(match source_of(&ctx) {
        Source::V6(address) => peers::lengths_hold(address),
        Source::V4(_) | Source::NotIp | Source::Malformed | Source::TooManyTags => false,
    })
}

/// The filter that the kernel has itself. Nothing can be removed from it.
#[xdp(frags)]
pub fn bench_bloom(ctx: XdpContext) -> u32 {
    drop_if(&ctx, peers::bloom_holds)
}

/// filterd's judge as it would be if it did not count.
#[xdp(frags)]
pub fn bench_judge_uncounted(ctx: XdpContext) -> u32 {
    let verdict = with_frame(&ctx, |frame, context| judge(frame, &maps::Maps { context }));
    action(matches!(verdict, Verdict::Drop(_)))
}

/// filterd's judge as it would be if there were no stash.
#[xdp(frags)]
pub fn bench_judge_unstashed(ctx: XdpContext) -> u32 {
    let outcome = with_frame(&ctx, |frame, context| {
        let tables = unstashed::Unstashed(maps::Maps { context });
        match judge(frame, &tables) {
            verdict @ Verdict::Pass(_) => verdict.outcome(Enforcement::Count),
            verdict @ Verdict::Drop(_) => verdict.outcome(tables.enforcement()),
        }
    });
    let mut context = frame::Context::nowhere();
    context.keep(&ctx);
    report::count(&ctx, &context, outcome);
    action(matches!(outcome, Outcome::Drop(_)))
}

#[inline(always)]
fn drop_if(ctx: &XdpContext, listed: impl Fn(u32) -> bool) -> u32 {
    action(match source_of(ctx) {
        Source::V4(address) => listed(address),
        Source::V6(_) | Source::NotIp | Source::Malformed | Source::TooManyTags => false,
    })
}

#[inline(always)]
fn source_of(ctx: &XdpContext) -> Source {
    with_frame(ctx, |frame, _| packet::source(frame))
}

/// The packet as filterd's judge reads it.
#[inline(always)]
fn with_frame<T>(ctx: &XdpContext, ask: impl FnOnce(&frame::InPlace<'_>, &frame::Context) -> T) -> T {
    let mut context = frame::Context::nowhere();
    context.keep(ctx);
    ask(&frame::InPlace::new(ctx, &context), &context)
}

#[inline(always)]
fn action(drop: bool) -> u32 {
    if drop { XDP_DROP } else { XDP_PASS }
}
