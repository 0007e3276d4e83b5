//! The packet where it lies: every read is checked against its end, as the verifier demands.
#![allow(unsafe_code, reason = "a packet is reached by raw pointers, nothing else")]

use aya_ebpf::bindings::xdp_md;
use aya_ebpf::programs::XdpContext;
use filter_common::hash::Address6;
use filter_common::packet::Frame;

const IPV4_HEADER: usize = 20;
const IPV4_SOURCE: usize = 12;
const IPV6_HEADER: usize = 40;
const IPV6_SOURCE: usize = 8;

/// The linear part of a packet, which holds all its headers.
pub struct InPlace {
    context: *const xdp_md,
    start: usize,
    end: usize,
}

impl InPlace {
    #[inline(always)]
    pub fn new(ctx: &XdpContext) -> Self {
        Self { context: ctx.ctx, start: ctx.data(), end: ctx.data_end() }
    }

    /// Do the `length` bytes at `at` lie in the packet?
    #[inline(always)]
    fn reaches(&self, at: usize, length: usize) -> bool {
        self.start + at + length <= self.end
    }

    /// The bits at `at` in the order of the wire. The caller has asked `reaches`.
    #[inline(always)]
    fn read<T>(&self, at: usize) -> T {
        let pointer = (self.start + at) as *const T;
        // SAFETY: `reaches` held for these bytes. The pointer may be unaligned; BPF loads of packet data may be too
        // on every architecture this program is built for, and a bytewise load would cost four times as much.
        unsafe { pointer.read_volatile() }
    }
}

impl Frame for InPlace {
    #[inline(always)]
    fn u16(&self, at: usize) -> Option<u16> {
        self.reaches(at, 2).then(|| u16::from_be(self.read(at)))
    }

    #[inline(always)]
    fn ipv4(&self, at: usize) -> Option<(u8, u32)> {
        self.reaches(at, IPV4_HEADER).then(|| (self.read(at), u32::from_be(self.read(at + IPV4_SOURCE))))
    }

    #[inline(always)]
    fn ipv6(&self, at: usize) -> Option<(u8, Address6)> {
        self.reaches(at, IPV6_HEADER).then(|| {
            let high = u64::from_be(self.read(at + IPV6_SOURCE));
            let low = u64::from_be(self.read(at + IPV6_SOURCE + 8));
            (self.read(at), Address6 { high, low })
        })
    }

    #[inline(always)]
    fn anew(&self) -> impl Frame {
        // SAFETY: the context lives as long as the program runs.
        let start = unsafe { &raw const (*self.context).data };
        // SAFETY: as above.
        let end = unsafe { &raw const (*self.context).data_end };
        // SAFETY: both are fields of the context. Volatile, so that they are not remembered from before.
        let (start, end) = (unsafe { start.read_volatile() }, unsafe { end.read_volatile() });
        Self { context: self.context, start: start as usize, end: end as usize }
    }
}
