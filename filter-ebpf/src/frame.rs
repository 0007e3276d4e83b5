//! Reads the packet in memory. Every read is checked against the packet's end, as the verifier demands.
#![allow(unsafe_code, reason = "a packet is reached by raw pointers, nothing else")]

use core::mem::MaybeUninit;

use filter_common::flow::Bytes;
use filter_common::hash::Address6;
use filter_common::packet::Frame;
use filter_common::ports::{self, Port};

use crate::hook::{self, Raw, Wrapped};

const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;

/// The offset of the address to judge by in an IPv4 header: the source, or the destination of a sent packet.
#[inline(always)]
fn ipv4_address() -> usize {
    if hook::is_outbound() { 16 } else { 12 }
}

/// The same in an IPv6 header.
#[inline(always)]
fn ipv6_address() -> usize {
    if hook::is_outbound() { 24 } else { 8 }
}

/// The context that the program was called with, kept in memory. A miss does not need it any more, and has
/// no register for it.
pub struct Context(*mut Raw);

impl Context {
    /// An empty place for the context.
    #[inline(always)]
    pub const fn nowhere() -> Self {
        Self(core::ptr::null_mut())
    }

    /// The context of a separate function, which is called with it.
    #[inline(always)]
    pub const fn of(context: *mut Raw) -> Self {
        Self(context)
    }

    /// Stores the context in memory.
    #[inline(always)]
    pub fn keep(&mut self, ctx: &Wrapped) {
        let place = &raw mut self.0;
        // SAFETY: the pointer comes from a reference. Volatile, so that the store really takes place.
        unsafe { place.write_volatile(hook::raw(ctx)) }
    }

    #[inline(always)]
    pub fn get(&self) -> *mut Raw {
        let place = &raw const self.0;
        // SAFETY: the pointer comes from a reference. Volatile, so that it is read only where it is needed.
        unsafe { place.read_volatile() }
    }
}

/// The linear part of a packet, which nearly always contains all its headers.
pub struct InPlace<'a> {
    context: &'a Context,
    linear: Linear,
}

impl<'a> InPlace<'a> {
    #[inline(always)]
    pub fn new(ctx: &Wrapped, context: &'a Context) -> Self {
        let linear = Linear::of(hook::raw(ctx), ctx.data(), ctx.data_end());
        Self { context, linear }
    }

    /// Reads the packet again, where only the context is at hand.
    #[inline(always)]
    pub fn again(context: &'a Context) -> Self {
        Self { context, linear: Anywhere { context: context.get() }.in_place() }
    }
}

/// The addresses where the linear part begins and ends.
struct Linear {
    start: usize,
    end: usize,
    /// The type of the packet, if the frame has no Ethernet header. Nothing is read from this part then: Linux 7
    /// accepts no pointer to where the header would begin.
    bare: Option<u16>,
}

/// The offset of the type in an Ethernet header, and the length of that header.
const TYPE: usize = 12;
const ETHERNET: usize = 14;

impl Linear {
    #[inline(always)]
    fn of(context: *mut Raw, start: usize, end: usize) -> Self {
        Self { start, end, bare: hook::bare_packet(context) }
    }

    /// Returns whether the `length` bytes at `at` lie in the packet.
    #[inline(always)]
    fn reaches(&self, at: usize, length: usize) -> bool {
        if hook::MAY_BE_BARE && self.bare.is_some() {
            return false;
        }
        self.start + at + length <= self.end
    }

    /// The bits at `at`, in the order of the wire. The caller must have checked `reaches`.
    #[inline(always)]
    fn read<T>(&self, at: usize) -> T {
        let pointer = (self.start + at) as *const T;
        // SAFETY: `reaches` held for these bytes. The pointer may be unaligned; BPF loads of packet data
        // may be too on every architecture this program is built for, and a bytewise load would cost four
        // times as much.
        unsafe { pointer.read_volatile() }
    }

    #[inline(always)]
    fn u16(&self, at: usize) -> Option<u16> {
        if let (TYPE, Some(kind)) = (at, self.bare) {
            return Some(kind);
        }
        self.reaches(at, 2).then(|| u16::from_be(self.read(at)))
    }

    #[inline(always)]
    fn ipv4(&self, at: usize) -> Option<(u8, u32)> {
        self.reaches(at, IPV4_HEADER).then(|| (self.read(at), u32::from_be(self.read(at + ipv4_address()))))
    }

    #[inline(always)]
    fn ipv6(&self, at: usize) -> Option<(u8, Address6)> {
        self.reaches(at, IPV6_HEADER).then(|| {
            let address = at + ipv6_address();
            let (high, low) = (u64::from_be(self.read(address)), u64::from_be(self.read(address + 8)));
            (self.read(at), Address6 { high, low })
        })
    }
}

impl Frame for InPlace<'_> {
    #[inline(always)]
    fn u16(&self, at: usize) -> Option<u16> {
        self.linear.u16(at)
    }

    #[inline(always)]
    fn ipv4(&self, at: usize) -> Option<(u8, u32)> {
        self.linear.ipv4(at)
    }

    #[inline(always)]
    fn ipv6(&self, at: usize) -> Option<(u8, Address6)> {
        self.linear.ipv6(at)
    }

    #[inline(always)]
    fn port(&self) -> Port {
        Port::of(filterd_port(self.context.get()))
    }

    #[inline(always)]
    fn removed_tags(&self) -> (u32, u32) {
        hook::removed_tags(|| self.context.get())
    }

    #[inline(always)]
    fn thoroughly(&self) -> impl Frame {
        Anywhere { context: self.context.get() }
    }
}

/// A packet of which any byte may lie outside its linear part. Some drivers put even the headers there.
///
/// Each read determines anew where its bytes lie. Nothing is remembered between two reads.
pub struct Anywhere {
    pub context: *mut Raw,
}

impl Anywhere {
    /// The linear part, as it is now.
    #[inline(always)]
    fn in_place(&self) -> Linear {
        // SAFETY: the context lives as long as the program runs.
        let start = unsafe { &raw const (*self.context).data };
        // SAFETY: as above.
        let end = unsafe { &raw const (*self.context).data_end };
        // SAFETY: it is a field of the context. Volatile, so that no earlier value is reused.
        let start = unsafe { start.read_volatile() };
        // SAFETY: as above.
        let end = unsafe { end.read_volatile() };
        Linear::of(self.context, start as usize, end as usize)
    }

    /// How much nearer to the frame's beginning everything lies, because it has no Ethernet header.
    #[inline(always)]
    pub fn shift(&self) -> u32 {
        if hook::bare_packet(self.context).is_some() { ETHERNET as u32 } else { 0 }
    }

    /// A copy of the value at `at`, in network byte order, if the packet reaches that far.
    #[inline(always)]
    fn copy<T>(&self, at: usize) -> Option<T> {
        let mut copy = MaybeUninit::<T>::uninit();
        let (into, length) = (copy.as_mut_ptr().cast(), size_of::<T>() as u32);
        let at = (at as u32).wrapping_sub(self.shift());
        // SAFETY: there is room for this many bytes, and the context is the one that the program was called
        // with.
        let is_copied = unsafe { hook::load_bytes(self.context, at, into, length) };
        // SAFETY: the kernel has written all of it, and any bytes form valid numbers.
        is_copied.then(|| unsafe { copy.assume_init() })
    }
}

impl Frame for Anywhere {
    #[inline(always)]
    fn u16(&self, at: usize) -> Option<u16> {
        self.in_place().u16(at).or_else(|| self.copy(at).map(u16::from_be))
    }

    #[inline(always)]
    fn ipv4(&self, at: usize) -> Option<(u8, u32)> {
        self.in_place().ipv4(at).or_else(|| {
            let [first, _, _, source, destination] = self.copy::<[u32; IPV4_HEADER / 4]>(at)?;
            let address = if hook::is_outbound() { destination } else { source };
            Some((first.to_ne_bytes()[0], u32::from_be(address)))
        })
    }

    #[inline(always)]
    fn ipv6(&self, at: usize) -> Option<(u8, Address6)> {
        self.in_place().ipv6(at).or_else(|| {
            let [first, source @ .., to_high, to_low] = self.copy::<[u64; IPV6_HEADER / 8]>(at)?;
            let [high, low] = if hook::is_outbound() { [to_high, to_low] } else { source };
            let address = Address6 { high: u64::from_be(high), low: u64::from_be(low) };
            Some((first.to_ne_bytes()[0], address))
        })
    }

    #[inline(always)]
    fn port(&self) -> Port {
        Port::of(filterd_port(self.context))
    }

    #[inline(always)]
    fn removed_tags(&self) -> (u32, u32) {
        hook::removed_tags(|| self.context)
    }

    #[inline(always)]
    fn thoroughly(&self) -> impl Frame {
        Self { context: self.context }
    }
}

/// For packets with a listed source. It does not check where bytes lie, because the verifier would have to
/// track that.
impl Bytes for Anywhere {
    #[inline(always)]
    fn words<const N: usize>(&self, at: usize) -> Option<[u32; N]> {
        self.copy(at)
    }

    /// Without an Ethernet header there are no tags either.
    #[inline(always)]
    fn kind(&self, at: usize) -> Option<[u32; 1]> {
        match hook::bare_packet(self.context) {
            Some(kind) => (at == TYPE).then(|| [u32::from(kind.to_be())]),
            None => self.copy(at),
        }
    }
}

/// The destination port of a packet. This is a separate function, because few packets need it and it has
/// many paths.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_port(context: *mut Raw) -> u32 {
    ports::port_behind(&Anywhere { context }, filterd_header(context)).number()
}

/// The offset of the packet's IP header.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_header(context: *mut Raw) -> u32 {
    ports::header(&Anywhere { context })
}
