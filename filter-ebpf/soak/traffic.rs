//! Frames of members, which are listed all the time, and of unlisted sources, which never are: each says which by a mark.
#![allow(unsafe_code, reason = "packets and maps are reached by raw pointers, and a jump cannot be typed")]

use aya_ebpf::bindings::xdp_action::XDP_ABORTED;
use aya_ebpf::btf_maps::{PerCpuArray, ProgramArray};
use aya_ebpf::helpers::{bpf_get_prandom_u32, bpf_redirect};
use aya_ebpf::macros::btf_map;
use aya_ebpf::programs::{TcContext, XdpContext};

use crate::{asker, crowd};

/// One slot: filterd's root program.
#[btf_map]
static ROOT: ProgramArray<1> = ProgramArray::new();
/// Arrived of members, of unlisted sources; passed of members, of unlisted sources.
#[btf_map]
static SEEN: PerCpuArray<u64, 4> = PerCpuArray::new();

/// The interface to send from.
#[unsafe(no_mangle)]
static LINK: u64 = 0;
/// The first of the crowd are members; of told IPv6 sources the first, too, and so many others are strangers.
#[unsafe(no_mangle)]
static MEMBERS: u64 = 0;
#[unsafe(no_mangle)]
static STRANGERS: u64 = 0;

/// One in so many frames is from an unlisted source: those that pass cost much more.
const UNLISTED_SHARE: u32 = 16;
/// Unlisted sources are the last of the crowd, so many of them.
const LAST: u32 = 1 << 16;

/// The last byte of the sender's hardware address, and what it is for either of them.
const MARK: usize = 11;
const MEMBER: u8 = 0xf0;
const UNLISTED: u8 = 0xf1;
const SOURCE: usize = 14 + 12;
const PASSED: u32 = 2;

#[inline(always)]
pub fn send(ctx: &XdpContext) -> u32 {
    let (random, which) = (random(), random());
    let is_unlisted = which % UNLISTED_SHARE == 0;
    let members = setting(&MEMBERS);
    let number =
        if is_unlisted { u32::MAX - random % LAST } else { ((u64::from(random) * members) >> 32) as u32 };
    write(ctx, SOURCE, crowd::address(number).to_be());
    mark_and_send(ctx, is_unlisted)
}

#[inline(always)]
pub fn send6(ctx: &XdpContext) -> u32 {
    let (random, which) = (random(), random());
    let is_unlisted = which % UNLISTED_SHARE == 0;
    let members = setting(&MEMBERS);
    let (first, count) = if is_unlisted { (members, setting(&STRANGERS)) } else { (0, members) };
    asker::write(ctx, asker::told(first + ((u64::from(random) * count) >> 32)));
    mark_and_send(ctx, is_unlisted)
}

#[inline(always)]
fn mark_and_send(ctx: &XdpContext, is_unlisted: bool) -> u32 {
    write(ctx, MARK, if is_unlisted { UNLISTED } else { MEMBER });
    // SAFETY: it takes numbers and gives one.
    let action = unsafe { bpf_redirect(setting(&LINK) as u32, 0) };
    u32::try_from(action).unwrap_or(XDP_ABORTED)
}

#[inline(always)]
pub fn let_in(ctx: &XdpContext) {
    let mark = ctx.data() + MARK;
    if mark < ctx.data_end() {
        // SAFETY: the byte lies in the packet.
        count(unsafe { (mark as *const u8).read_volatile() }, 0);
    }
    // SAFETY: nothing in this program needs dropping, and where the jump fails the caller goes on.
    unsafe { ROOT.tail_call(ctx, 0) }
}

/// Was it one of ours?
#[inline(always)]
pub fn receive(ctx: &TcContext) -> bool {
    ctx.load(MARK).is_ok_and(|mark| count(mark, PASSED))
}

#[inline(always)]
fn count(mark: u8, base: u32) -> bool {
    let is_ours = mark == MEMBER || mark == UNLISTED;
    if is_ours && let Some(counter) = SEEN.get_ptr_mut(base + u32::from(mark - MEMBER)) {
        // SAFETY: the counter belongs to this processor, and no other program interrupts this one to change it.
        unsafe { *counter += 1 }
    }
    is_ours
}

#[inline(always)]
fn random() -> u32 {
    // SAFETY: it takes nothing and gives a number.
    unsafe { bpf_get_prandom_u32() }
}

#[inline(always)]
fn setting(setting: &'static u64) -> u64 {
    let word = &raw const *setting;
    // SAFETY: it is a static. Volatile, because the loader gives it its value after compilation.
    unsafe { word.read_volatile() }
}

#[inline(always)]
fn write<T>(ctx: &XdpContext, at: usize, value: T) {
    let start = ctx.data() + at;
    if start + size_of::<T>() <= ctx.data_end() {
        // SAFETY: these bytes lie in the packet; BPF stores to packets need no alignment where this is built for.
        unsafe { (start as *mut T).write_volatile(value) }
    }
}
