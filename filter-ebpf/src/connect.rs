//! The programs for what local processes send: where a destination is blocked, `connect` and `sendto` fail at
//! once. The judge of sent frames would drop the packets anyway, and the process would wait for an answer.

#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod license;
mod tables;

use aya_ebpf::macros::cgroup_sock_addr;
use aya_ebpf::programs::SockAddrContext;
use filter_common::hash::Address6;
use filter_common::reason::Enforcement;
use filter_common::set;

use tables::{allowed, blocked, enforcement, may_overlap};

/// What a program returns: the call goes on, or fails with `EPERM`.
const GOES_ON: i32 = 1;
const FAILS: i32 = 0;

#[cgroup_sock_addr(connect4)]
pub fn filterd_connect4(ctx: SockAddrContext) -> i32 {
    four(address4(&ctx))
}

#[cgroup_sock_addr(sendmsg4)]
pub fn filterd_sendmsg4(ctx: SockAddrContext) -> i32 {
    four(address4(&ctx))
}

#[cgroup_sock_addr(connect6)]
pub fn filterd_connect6(ctx: SockAddrContext) -> i32 {
    six(&ctx)
}

#[cgroup_sock_addr(sendmsg6)]
pub fn filterd_sendmsg6(ctx: SockAddrContext) -> i32 {
    six(&ctx)
}

#[inline(always)]
fn four(address: u32) -> i32 {
    let is_blocked = || set::find4(&blocked(), address).is_some();
    let is_allowed = || may_overlap() && set::find4(&allowed(), address).is_some();
    answer(is_blocked() && !is_allowed())
}

/// An IPv4 address may be written as an IPv6 address.
#[inline(always)]
fn six(ctx: &SockAddrContext) -> i32 {
    const MAPPED: u32 = 0xFFFF;
    let [first, second, third, last] = [0, 1, 2, 3].map(|number| word6(ctx, number));
    if first == 0 && second == 0 && third == MAPPED {
        return four(last);
    }
    let half = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let address = Address6 { high: half(first, second), low: half(third, last) };
    let is_blocked = || set::find6(&blocked(), address).is_some();
    let is_allowed = || may_overlap() && set::find6(&allowed(), address).is_some();
    answer(is_blocked() && !is_allowed())
}

#[inline(always)]
fn answer(is_dropped: bool) -> i32 {
    if is_dropped && enforcement() == Enforcement::Drop { FAILS } else { GOES_ON }
}

/// The destination, if it is an IPv4 address.
#[inline(always)]
fn address4(ctx: &SockAddrContext) -> u32 {
    #[allow(unsafe_code, reason = "the context is a raw pointer")]
    // SAFETY: it is the context that the program was called with.
    let place = unsafe { &raw const (*ctx.sock_addr).user_ip4 };
    load(place)
}

/// The word of this number of the destination, if it is an IPv6 address.
#[inline(always)]
fn word6(ctx: &SockAddrContext, number: usize) -> u32 {
    #[allow(unsafe_code, reason = "the context is a raw pointer")]
    // SAFETY: as above.
    let words = unsafe { &raw const (*ctx.sock_addr).user_ip6 };
    load(words.cast::<u32>().wrapping_add(number))
}

/// A word of the context, in host byte order.
#[inline(always)]
fn load(place: *const u32) -> u32 {
    #[allow(unsafe_code, reason = "the context is a raw pointer")]
    // SAFETY: the place is within the context. Volatile, so that it is one load of 32 bits.
    let word = unsafe { place.read_volatile() };
    u32::from_be(word)
}
