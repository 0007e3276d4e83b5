//! The egress program: records the flows that this host begins, and lets every packet pass.

#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod flow_map;
mod license;

use core::mem::MaybeUninit;

use aya_ebpf::bindings::{BPF_F_MMAPABLE, TC_ACT_UNSPEC};
use aya_ebpf::btf_maps::{Array, LruHashMap};
use aya_ebpf::helpers::{bpf_get_smp_processor_id, bpf_skb_load_bytes};
use aya_ebpf::macros::{btf_map, classifier};
use aya_ebpf::programs::TcContext;
use filter_common::flow::{self, BEGUN, Bytes, COUNTERS, ENTRIES, Key, Memory, WORDS};

/// When this host last sent a packet of each flow.
#[btf_map]
static FLOWS: LruHashMap<[u64; flow::KEY_WORDS], u64, ENTRIES> = LruHashMap::new();

/// The UDP ports that begin flows, written by the daemon, and counters of begun flows.
#[btf_map]
static PORTS: Array<[u64; WORDS as usize], 1, { BPF_F_MMAPABLE as usize }> = Array::new();

/// Programs that others have attached after this one still run, and the packet continues.
#[classifier]
pub fn filterd_egress(ctx: TcContext) -> i32 {
    record::<false>(&ctx)
}

/// The same for interfaces whose frames have no Ethernet header.
#[classifier]
pub fn filterd_eg_bare(ctx: TcContext) -> i32 {
    record::<true>(&ctx)
}

#[inline(always)]
fn record<const BARE: bool>(ctx: &TcContext) -> i32 {
    if let Some(ports) = PORTS.get(0)
        && flow::record(&Sent::<BARE>(ctx), &FlowWriter, |port| begins(ports, port), flow_map::now)
    {
        count(ports);
    }
    TC_ACT_UNSPEC
}

#[inline(always)]
fn begins(ports: &[u64; WORDS as usize], port: u16) -> bool {
    let word = usize::from(port >> 6);
    #[allow(unsafe_code, reason = "the daemon changes it")]
    // SAFETY: the pointer comes from a reference. Volatile, because the daemon changes it meanwhile.
    let word = unsafe { (&raw const ports[word]).read_volatile() };
    word >> (port & 63) & 1 != 0
}

/// Each processor has a counter of its own, up to `COUNTERS` processors. On one processor, no packet that
/// is sent interrupts another one.
#[inline(always)]
fn count(ports: &[u64; WORDS as usize]) {
    #[allow(unsafe_code, reason = "which processor is told by a helper")]
    // SAFETY: the helper takes no argument and returns a number.
    let processor = unsafe { bpf_get_smp_processor_id() };
    let counter = (&raw const ports[(BEGUN + processor % COUNTERS) as usize]).cast_mut();
    #[allow(unsafe_code, reason = "a map is read")]
    // SAFETY: it is one aligned word of a map.
    let before = unsafe { counter.read_volatile() };
    #[allow(unsafe_code, reason = "a map is written to")]
    // SAFETY: as above, and no other program changes it at this moment.
    unsafe {
        counter.write_volatile(before + 1)
    }
}

/// The memory of flows, as the map.
struct FlowWriter;

impl Memory for FlowWriter {
    #[inline(always)]
    fn last(&self, key: &Key) -> Option<u64> {
        flow_map::last((&raw const FLOWS).cast_mut().cast(), key)
    }

    /// If there is no room even after older flows were evicted, the flow's next packet tries again.
    #[inline(always)]
    fn note(&self, key: &Key, now: u64) {
        _ = FLOWS.insert(key.0, now, 0);
    }
}

/// A frame that this host sends.
struct Sent<'a, const BARE: bool>(&'a TcContext);

/// The offset of the type in an Ethernet header, and the length of that header.
const TYPE: usize = 12;
const ETHERNET: usize = 14;

impl<const BARE: bool> Sent<'_, BARE> {
    /// The type of the packet, in network byte order.
    #[inline(always)]
    fn protocol(&self) -> u16 {
        let context = self.0.skb.skb;
        #[allow(unsafe_code, reason = "the context is a raw pointer")]
        // SAFETY: it is the context that the program was called with.
        let protocol = unsafe { &raw const (*context).protocol };
        #[allow(unsafe_code, reason = "the context is a raw pointer")]
        // SAFETY: as above. Volatile, so that it is one load of 32 bits.
        let protocol = unsafe { protocol.read_volatile() };
        protocol as u16
    }
}

impl<const BARE: bool> Bytes for Sent<'_, BARE> {
    /// Positions are those in a frame with an Ethernet header.
    #[inline(always)]
    fn words<const N: usize>(&self, at: usize) -> Option<[u32; N]> {
        let at = if BARE { at.wrapping_sub(ETHERNET) } else { at };
        let mut copy = MaybeUninit::<[u32; N]>::uninit();
        let frame = self.0.skb.skb.cast();
        #[allow(unsafe_code, reason = "a frame is copied by a helper")]
        // SAFETY: there is room for this many bytes, and the context is the one that the program was called
        // with.
        let refused = unsafe { bpf_skb_load_bytes(frame, at as u32, copy.as_mut_ptr().cast(), 4 * N as u32) };
        #[allow(unsafe_code, reason = "a frame is copied by a helper")]
        // SAFETY: the kernel has written all of it, and any bytes form valid numbers.
        (refused == 0).then(|| unsafe { copy.assume_init() })
    }

    /// Without an Ethernet header there are no tags either.
    #[inline(always)]
    fn kind(&self, at: usize) -> Option<[u32; 1]> {
        if BARE { (at == TYPE).then(|| [u32::from(self.protocol())]) } else { self.words(at) }
    }
}
