//! The clauses: for each slot, its maps, functions that look a source up in them, and two that count it for
//! its list.
//!
//! This is called after a miss in the set that is blocked on all ports, and by the program for ports only.
//! It reads the packet again for what it needs.
#![allow(
    unsafe_code,
    reason = "the maps are names that the loader fills in, and the functions must keep theirs"
)]

use filter_common::hash::Address6;
use filter_common::judge;
use filter_common::labels;
use filter_common::ports::{self, Port, Wants};
use filter_common::reason::{Reason, Told};
use filter_common::set::{self, Found4};
use filter_common::sets::{SLOTS, Slot};

use crate::frame::{Anywhere, Context, InPlace};
use crate::hook::Raw;
use crate::length_by_length::{self, LengthByLength};
use crate::maps::{LabelMaps, Maps, count, label_of_six};
use crate::tables::{Map, SETTINGS, SetMaps, read};

/// Judges a packet by its port, in a separate function that the verifier walks once.
#[inline(always)]
pub fn judge_by_port(context: *mut Raw) -> Told {
    Told(filterd_by_port(context))
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_by_port(context: *mut Raw) -> u32 {
    let context = Context::of(context);
    judge::judge_by_port(&InPlace::again(&context), &Maps { context: &context }).0
}

/// Judges an IPv4 packet from this address by its port.
#[inline(always)]
pub fn judge4_by_port(context: *mut Raw, address: u32) -> Told {
    Told(filterd_by_port4(context, address))
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_by_port4(context: *mut Raw, address: u32) -> u32 {
    judge::judge4_by_port(&Anywhere { context }, address, &Maps { context: &Context::of(context) }).0
}

/// Judges an IPv6 packet from this address by its port.
#[inline(always)]
pub fn judge6_by_port(context: *mut Raw, address: Address6) -> Told {
    Told(filterd_by_port6(context, address.high, address.low))
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_by_port6(context: *mut Raw, high: u64, low: u64) -> u32 {
    let tables = Maps { context: &Context::of(context) };
    judge::judge6_by_port(&Anywhere { context }, Address6 { high, low }, &tables).0
}

/// Returns whether this clause wants packets to this port dropped.
#[inline(always)]
pub fn wants(slot: Slot, port: Port) -> Wants {
    Wants::of(filterd_wants(slot.number() as u32, port.number()))
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_wants(slot: u32, port: u32) -> u32 {
    // The verifier also checks this function alone, and then does not know that this is the number of a
    // slot.
    let settings = &SETTINGS.ports[slot as usize & (SLOTS - 1)];
    let range = |number: usize| read(&settings.ranges[number]);
    ports::wants(read(&settings.except) != 0, range, Port::of(port)) as u32
}

const _: () = assert!(SLOTS.is_power_of_two());

/// Counts an IPv4 packet for its list. `found` says which clause holds its source.
#[inline(always)]
pub fn count4(address: u32, found: Told, counted: u32) {
    filterd_count_clause4(found.0, address, counted);
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_count_clause4(found: u32, address: u32, counted: u32) -> u32 {
    let found = Told(found);
    count_in4(found.slot(), address, found.is(Reason::Network4).into(), counted)
}

/// Counts an IPv6 packet for its list.
#[inline(always)]
pub fn count6(address: Address6, found: Told, counted: u32) {
    filterd_count_clause6(found.0, address.high, address.low, counted);
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn filterd_count_clause6(found: u32, high: u64, low: u64, counted: u32) -> u32 {
    let found = Told(found);
    count_in6(found.slot(), high, low, found.is(Reason::Net64).into(), counted)
}

macro_rules! clauses {
    ($($number:literal: [$($map:ident)*] [$($label:ident)*] $four:ident $sixes:ident $shorter:ident $longer:ident $count4:ident $count6:ident $of_six:ident,)*) => {
        #[allow(improper_ctypes, reason = "an array of no length is how C tells of the beginning of one")]
        unsafe extern "C" {
            $($(static $map: Map;)*
            $(static $label: Map;)*)*
        }

        $(#[unsafe(no_mangle)]
        #[inline(never)]
        extern "C" fn $four(address: u32) -> u32 {
            let found = set::find4(&clauses!(set $number $($map)*), address);
            found.map_or(0, |found| Found4::reason(found) as u32)
        }

        #[unsafe(no_mangle)]
        #[inline(never)]
        extern "C" fn $sixes(high: u64, low: u64) -> u32 {
            let set = LengthByLength {
                set: clauses!(set $number $($map)*),
                shorter: |network, bit| $shorter(network, bit),
                longer: |high, low, number| $longer(high, low, number),
            };
            set::find6(&set, Address6 { high, low }).map_or(0, |found| found.reason() as u32)
        }

        #[unsafe(no_mangle)]
        #[inline(never)]
        extern "C" fn $shorter(network: u64, bit: u64) -> u32 {
            length_by_length::shorter(&clauses!(set $number $($map)*), network, bit)
        }

        #[unsafe(no_mangle)]
        #[inline(never)]
        extern "C" fn $longer(high: u64, low: u64, number: u32) -> u32 {
            length_by_length::longer(&clauses!(set $number $($map)*), Address6 { high, low }, number)
        }

        #[unsafe(no_mangle)]
        #[inline(never)]
        extern "C" fn $count4(address: u32, is_network: u32, counted: u32) -> u32 {
            let (set, labels) = (clauses!(set $number $($map)*), clauses!(labels $of_six $($label)*));
            count(set::label4(&set, &labels, set::held4(&set, address, is_network != 0)), counted)
        }

        #[unsafe(no_mangle)]
        #[inline(never)]
        extern "C" fn $count6(high: u64, low: u64, is_net64: u32, counted: u32) -> u32 {
            let (set, labels) = (clauses!(set $number $($map)*), clauses!(labels $of_six $($label)*));
            let address = Address6 { high, low };
            count(set::label6(&set, &labels, address, set::held6(&set, address, is_net64 != 0)), counted)
        }

        #[unsafe(no_mangle)]
        #[inline(never)]
        extern "C" fn $of_six(kind: u32, number: u64, more: u32) -> u32 {
            let (set, labels) = (clauses!(set $number $($map)*), clauses!(labels $of_six $($label)*));
            label_of_six(&set, &labels, (kind, number, more))
        })*

        /// Returns whether this clause blocks an IPv4 address on some ports.
        #[inline(always)]
        pub fn holds4(slot: Slot, address: u32) -> Told {
            match slot.number() {
                $($number => Told($four(address)),)*
                _ => Told::UNLISTED,
            }
        }

        /// Returns whether this clause blocks an IPv6 address on some ports.
        #[inline(always)]
        pub fn holds6(slot: Slot, address: Address6) -> Told {
            match slot.number() {
                $($number => Told($sixes(address.high, address.low)),)*
                _ => Told::UNLISTED,
            }
        }

        #[inline(always)]
        fn count_in4(slot: u32, address: u32, is_network: u32, counted: u32) -> u32 {
            match slot {
                $($number => $count4(address, is_network, counted),)*
                _ => count(labels::OTHER, counted),
            }
        }

        #[inline(always)]
        fn count_in6(slot: u32, high: u64, low: u64, is_net64: u32, counted: u32) -> u32 {
            match slot {
                $($number => $count6(high, low, is_net64, counted),)*
                _ => count(labels::OTHER, counted),
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
    (labels $of_six:ident $addresses:ident $networks:ident $levels:ident $six:ident) => {
        LabelMaps {
            addresses: &raw const $addresses,
            networks: &raw const $networks,
            levels: &raw const $levels,
            six: &raw const $six,
            of_six: |kind, number, more| $of_six(kind, number, more),
        }
    };
}

clauses! {
    0: [C0_ADDRESSES C0_NETWORKS C0_LEVELS C0_SIX]
        [C0_ADDRESS_LABELS C0_NETWORK_LABELS C0_LEVEL_LABELS C0_SIX_LABELS]
        filterd_c0_4 filterd_c0_6 filterd_c0_shorter filterd_c0_longer
        filterd_c0_count4 filterd_c0_count6 filterd_c0_of_six,
    1: [C1_ADDRESSES C1_NETWORKS C1_LEVELS C1_SIX]
        [C1_ADDRESS_LABELS C1_NETWORK_LABELS C1_LEVEL_LABELS C1_SIX_LABELS]
        filterd_c1_4 filterd_c1_6 filterd_c1_shorter filterd_c1_longer
        filterd_c1_count4 filterd_c1_count6 filterd_c1_of_six,
    2: [C2_ADDRESSES C2_NETWORKS C2_LEVELS C2_SIX]
        [C2_ADDRESS_LABELS C2_NETWORK_LABELS C2_LEVEL_LABELS C2_SIX_LABELS]
        filterd_c2_4 filterd_c2_6 filterd_c2_shorter filterd_c2_longer
        filterd_c2_count4 filterd_c2_count6 filterd_c2_of_six,
    3: [C3_ADDRESSES C3_NETWORKS C3_LEVELS C3_SIX]
        [C3_ADDRESS_LABELS C3_NETWORK_LABELS C3_LEVEL_LABELS C3_SIX_LABELS]
        filterd_c3_4 filterd_c3_6 filterd_c3_shorter filterd_c3_longer
        filterd_c3_count4 filterd_c3_count6 filterd_c3_of_six,
    4: [C4_ADDRESSES C4_NETWORKS C4_LEVELS C4_SIX]
        [C4_ADDRESS_LABELS C4_NETWORK_LABELS C4_LEVEL_LABELS C4_SIX_LABELS]
        filterd_c4_4 filterd_c4_6 filterd_c4_shorter filterd_c4_longer
        filterd_c4_count4 filterd_c4_count6 filterd_c4_of_six,
    5: [C5_ADDRESSES C5_NETWORKS C5_LEVELS C5_SIX]
        [C5_ADDRESS_LABELS C5_NETWORK_LABELS C5_LEVEL_LABELS C5_SIX_LABELS]
        filterd_c5_4 filterd_c5_6 filterd_c5_shorter filterd_c5_longer
        filterd_c5_count4 filterd_c5_count6 filterd_c5_of_six,
    6: [C6_ADDRESSES C6_NETWORKS C6_LEVELS C6_SIX]
        [C6_ADDRESS_LABELS C6_NETWORK_LABELS C6_LEVEL_LABELS C6_SIX_LABELS]
        filterd_c6_4 filterd_c6_6 filterd_c6_shorter filterd_c6_longer
        filterd_c6_count4 filterd_c6_count6 filterd_c6_of_six,
    7: [C7_ADDRESSES C7_NETWORKS C7_LEVELS C7_SIX]
        [C7_ADDRESS_LABELS C7_NETWORK_LABELS C7_LEVEL_LABELS C7_SIX_LABELS]
        filterd_c7_4 filterd_c7_6 filterd_c7_shorter filterd_c7_longer
        filterd_c7_count4 filterd_c7_count6 filterd_c7_of_six,
}
