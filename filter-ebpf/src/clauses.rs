//! The clauses: for each slot its maps, and two functions that look a source up in them.
//!
//! Everything here is asked after a miss in what is blocked on all ports, and by the program for ports alone. What it needs of
//! the packet it reads again.
#![allow(
    unsafe_code,
    reason = "the maps are names that the loader fills in, and the functions must keep theirs"
)]

use aya_ebpf::bindings::xdp_md;
use filter_common::hash::Address6;
use filter_common::judge;
use filter_common::ports::{self, Port, Wants};
use filter_common::reason::Told;
use filter_common::set::{self, Found4};
use filter_common::sets::{SLOTS, Slot};

use crate::frame::{Anywhere, Context, InPlace};
use crate::maps::{Map, Maps, SETTINGS, SetMaps, read};

/// What becomes of a packet by its port. A function of its own, which the verifier walks once.
#[inline(always)]
pub fn judge_by_port(context: *mut xdp_md) -> Told {
    Told(filterd_by_port(context))
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_by_port(context: *mut xdp_md) -> u32 {
    let context = Context::of(context);
    judge::judge_by_port(&InPlace::again(&context), &Maps { context: &context }).0
}

/// The same of an IPv4 packet from this address.
#[inline(always)]
pub fn judge4_by_port(context: *mut xdp_md, address: u32) -> Told {
    Told(filterd_by_port4(context, address))
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_by_port4(context: *mut xdp_md, address: u32) -> u32 {
    judge::judge4_by_port(&Anywhere { context }, address, &Maps { context: &Context::of(context) }).0
}

/// The same of an IPv6 packet.
#[inline(always)]
pub fn judge6_by_port(context: *mut xdp_md, address: Address6) -> Told {
    Told(filterd_by_port6(context, address.high, address.low))
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_by_port6(context: *mut xdp_md, high: u64, low: u64) -> u32 {
    let tables = Maps { context: &Context::of(context) };
    judge::judge6_by_port(&Anywhere { context }, Address6 { high, low }, &tables).0
}

/// Does this clause want a packet dropped that is sent to this port?
#[inline(always)]
pub fn wants(slot: Slot, port: Port) -> Wants {
    Wants::of(filterd_wants(slot.number() as u32, port.number()))
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_wants(slot: u32, port: u32) -> u32 {
    // A verifier that comes here alone does not know that it is a slot.
    let settings = &SETTINGS.ports[slot as usize & (SLOTS - 1)];
    let range = |number: usize| read(&settings.ranges[number]);
    ports::wants(read(&settings.except) != 0, range, Port::of(port)) as u32
}

const _: () = assert!(SLOTS.is_power_of_two());

macro_rules! clauses {
    ($($number:literal: $addresses:ident $networks:ident $levels:ident $six:ident $four:ident $sixes:ident,)*) => {
        #[allow(improper_ctypes, reason = "an array of no length is how C tells of the beginning of one")]
        unsafe extern "C" {
            $(static $addresses: Map;
            static $networks: Map;
            static $levels: Map;
            static $six: Map;)*
        }

        $(#[unsafe(no_mangle)]
        #[inline(never)]
        extern "C" fn $four(address: u32) -> u32 {
            let found = set::find4(&clauses!(set $number $addresses $networks $levels $six), address);
            found.map_or(0, |found| Found4::reason(found) as u32)
        }

        #[unsafe(no_mangle)]
        #[inline(never)]
        extern "C" fn $sixes(high: u64, low: u64) -> u32 {
            let set = clauses!(set $number $addresses $networks $levels $six);
            set::find6(&set, Address6 { high, low }).map_or(0, |reason| reason as u32)
        })*

        /// Does it block this IPv4 address on some ports?
        #[inline(always)]
        pub fn holds4(slot: Slot, address: u32) -> Told {
            match slot.number() {
                $($number => Told($four(address)),)*
                _ => Told::UNLISTED,
            }
        }

        /// The same of an IPv6 address.
        #[inline(always)]
        pub fn holds6(slot: Slot, address: Address6) -> Told {
            match slot.number() {
                $($number => Told($sixes(address.high, address.low)),)*
                _ => Told::UNLISTED,
            }
        }
    };
    (set $number:literal $addresses:ident $networks:ident $levels:ident $six:ident) => {
        SetMaps {
            settings: &SETTINGS.sets.clauses[$number],
            addresses: &raw const $addresses,
            networks: &raw const $networks,
            levels: &raw const $levels,
            six: &raw const $six,
        }
    };
}

clauses! {
    0: C0_ADDRESSES C0_NETWORKS C0_LEVELS C0_SIX filterd_c0_4 filterd_c0_6,
    1: C1_ADDRESSES C1_NETWORKS C1_LEVELS C1_SIX filterd_c1_4 filterd_c1_6,
    2: C2_ADDRESSES C2_NETWORKS C2_LEVELS C2_SIX filterd_c2_4 filterd_c2_6,
    3: C3_ADDRESSES C3_NETWORKS C3_LEVELS C3_SIX filterd_c3_4 filterd_c3_6,
    4: C4_ADDRESSES C4_NETWORKS C4_LEVELS C4_SIX filterd_c4_4 filterd_c4_6,
    5: C5_ADDRESSES C5_NETWORKS C5_LEVELS C5_SIX filterd_c5_4 filterd_c5_6,
    6: C6_ADDRESSES C6_NETWORKS C6_LEVELS C6_SIX filterd_c6_4 filterd_c6_6,
    7: C7_ADDRESSES C7_NETWORKS C7_LEVELS C7_SIX filterd_c7_4 filterd_c7_6,
}
