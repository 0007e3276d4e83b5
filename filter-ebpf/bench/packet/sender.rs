//! Gives a packet another source, and hands it to the program under test.
#![allow(
    unsafe_code,
    reason = "packets and statics are written and read by raw pointers, and a jump cannot be typed"
)]

use core::sync::atomic::AtomicU64;

use aya_ebpf::btf_maps::{Array, ProgramArray};
use aya_ebpf::helpers::{bpf_get_prandom_u32, bpf_ktime_get_ns};
use aya_ebpf::macros::btf_map;
use aya_ebpf::programs::XdpContext;

use crate::crowd;

/// One slot: the program under test.
#[btf_map]
static SUBJECT: ProgramArray<1> = ProgramArray::new();

/// Sources in network order, two words each, for senders who are told whom to be.
#[btf_map]
static SOURCES: Array<u64, { 2 * TOLD }, MMAPABLE> = Array::new();

/// So many sources there are.
const TOLD: usize = 1 << 18;
const MMAPABLE: usize = 1 << 10;

/// What the runner tells, and is told.
#[unsafe(no_mangle)]
static RUN: [AtomicU64; 7] = [const { AtomicU64::new(0) }; 7];
/// Who sends: the first of the crowd, and how many from there on. Of those who are told whom to be the first, and by which
/// bits of the number of packets the next ones are found: none means the same source again and again.
const FIRST: usize = 0;
const COUNT: usize = 1;
/// How many packets there have been.
const SENT: usize = 2;
/// Which of them begins what is measured, and which ends it.
const BEGIN: usize = 3;
const END: usize = 4;
/// When they did, in nanoseconds.
const BEGUN: usize = 5;
const ENDED: usize = 6;
/// Does a packet wait until the one before it is done with? (0 or 1)
#[unsafe(no_mangle)]
static ALONE: u64 = 0;
/// What the words of the header come to without its source and its checksum.
#[unsafe(no_mangle)]
static HEADER: u64 = 0;

const ETHERNET: usize = 14;
const CHECKSUM: usize = ETHERNET + 10;
const SOURCE4: usize = ETHERNET + 12;
const SOURCE6: usize = ETHERNET + 8;

#[inline(always)]
pub fn send4(ctx: &XdpContext) {
    note();
    let source = crowd::address(choose());
    if write(ctx, SOURCE4, source.to_be()) {
        jump(ctx);
    }
}

/// Gives a frame another source, and the checksum that goes with it.
#[inline(always)]
pub fn dress4(ctx: &XdpContext) -> bool {
    let source = crowd::address(choose());
    let sum = setting(&HEADER) as u32 + (source >> 16) + (source & 0xffff);
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
    write(ctx, SOURCE4, source.to_be()) && write(ctx, CHECKSUM, checksum.to_be())
}

#[inline(always)]
pub fn send6(ctx: &XdpContext) {
    note();
    let source = crowd::network(choose());
    if write(ctx, SOURCE6, source.to_be()) {
        jump(ctx);
    }
}

#[inline(always)]
pub fn send_told4(ctx: &XdpContext) {
    note();
    let source = told(2 * turn()) as u32;
    if write(ctx, SOURCE4, source) {
        jump(ctx);
    }
}

#[inline(always)]
pub fn send_told6(ctx: &XdpContext) {
    note();
    let turn = turn();
    if write(ctx, SOURCE6, told(2 * turn)) && write(ctx, SOURCE6 + 8, told(2 * turn + 1)) {
        jump(ctx);
    }
}

/// Whose turn it is: one after the other, so that the processor has them in its caches before they are needed.
#[inline(always)]
fn turn() -> u32 {
    let turn = get(FIRST) + (get(SENT) & get(COUNT)) + after_everything();
    turn as u32 & (TOLD as u32 - 1)
}

#[inline(always)]
fn told(at: u32) -> u64 {
    match SOURCES.get_ptr(at) {
        // SAFETY: the map gave this pointer to a word of its own.
        Some(word) => unsafe { word.read_volatile() },
        None => 0,
    }
}

/// Nothing, told when everything before is done, if packets wait for each other.
#[inline(always)]
fn after_everything() -> u64 {
    // No clock runs that long.
    if setting(&ALONE) == 0 { 0 } else { now() >> 63 }
}

#[inline(always)]
fn choose() -> u32 {
    (get(FIRST) + ((u64::from(random()) * get(COUNT)) >> 32)) as u32
}

/// Looks at the clock where the runner wants it: what comes before only warms the caches.
#[inline(always)]
fn note() {
    let sent = get(SENT) + 1;
    set(SENT, sent);
    if sent == get(BEGIN) {
        set(BEGUN, now());
    }
    if sent == get(END) {
        set(ENDED, now());
    }
}

#[inline(always)]
fn get(at: usize) -> u64 {
    let word = RUN[at].as_ptr();
    // SAFETY: it is a static, which the runner changes only while no packet is under way. Volatile, because the compiler
    // does not see it do so, and knows no atomic loads of this machine.
    unsafe { word.read_volatile() }
}

#[inline(always)]
fn set(at: usize, value: u64) {
    let word = RUN[at].as_ptr();
    // SAFETY: as above, and packets are under way on one processor only.
    unsafe { word.write_volatile(value) }
}

/// A processor reads its clock when it has done everything before; what depends on the time waits for that.
#[inline(always)]
fn random() -> u32 {
    // SAFETY: it takes nothing and gives a number.
    let random = unsafe { bpf_get_prandom_u32() };
    if setting(&ALONE) == 0 {
        return random;
    }
    random.wrapping_add(now() as u32)
}

#[inline(always)]
fn now() -> u64 {
    // SAFETY: it takes nothing and gives a number.
    unsafe { bpf_ktime_get_ns() }
}

#[inline(always)]
fn setting(setting: &'static u64) -> u64 {
    let word = &raw const *setting;
    // SAFETY: it is a static. Volatile, because the loader gives it its value after compilation.
    unsafe { word.read_volatile() }
}

#[inline(always)]
fn write<T>(ctx: &XdpContext, at: usize, value: T) -> bool {
    let start = ctx.data() + at;
    let fits = start + size_of::<T>() <= ctx.data_end();
    if fits {
        // SAFETY: these bytes lie in the packet; BPF stores to packets need no alignment where this is built for.
        unsafe { (start as *mut T).write_volatile(value) }
    }
    fits
}

#[inline(always)]
fn jump(ctx: &XdpContext) {
    // SAFETY: nothing in this program needs dropping, and where the jump fails the caller goes on.
    unsafe { SUBJECT.tail_call(ctx, 0) }
}
