//! What `cargo xtask soak exact` and `soak moves` put before and behind filterd's own programs.
//!
//! `walker` asks the judge about one IPv4 address after the other, `asker` about IPv6 sources. `traffic` makes frames of members and of unlisted sources, counts
//! them where they arrive, and counts those that filterd let pass.

#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod asker;
#[path = "../bench/packet/crowd.rs"]
#[expect(dead_code, reason = "nobody here sends IPv6")]
mod crowd;
#[path = "../src/license.rs"]
mod license;
mod numbered;
mod traffic;
mod walker;

use aya_ebpf::bindings::xdp_action::XDP_PASS;
use aya_ebpf::bindings::{TC_ACT_OK, TC_ACT_SHOT};
use aya_ebpf::macros::{classifier, xdp};
use aya_ebpf::programs::{TcContext, XdpContext};

/// Gives a frame the next address, and hands it to filterd's root program.
#[xdp(frags)]
pub fn soak_walker(ctx: XdpContext) -> u32 {
    walker::step(&ctx);
    XDP_PASS
}

/// Gives a frame the next IPv6 source, and hands it to filterd's root program.
#[xdp(frags)]
pub fn soak_asker(ctx: XdpContext) -> u32 {
    asker::step(&ctx);
    XDP_PASS
}

/// Makes a frame of somebody, and sends it.
#[xdp(frags)]
pub fn soak_sender(ctx: XdpContext) -> u32 {
    traffic::send(&ctx)
}

/// The same with an IPv6 source.
#[xdp(frags)]
pub fn soak_sender6(ctx: XdpContext) -> u32 {
    traffic::send6(&ctx)
}

/// Counts a frame that has arrived, and hands it to filterd's root program.
#[xdp(frags)]
pub fn soak_gate(ctx: XdpContext) -> u32 {
    traffic::let_in(&ctx);
    XDP_PASS
}

/// Counts a frame that has passed; nobody waits for it.
#[classifier]
pub fn soak_receiver(ctx: TcContext) -> i32 {
    if traffic::receive(&ctx) { TC_ACT_SHOT } else { TC_ACT_OK }
}
