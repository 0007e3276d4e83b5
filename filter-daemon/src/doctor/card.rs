//! Reads the abilities and settings of a network card and its driver from the kernel: XDP features (since
//! Linux 6.3), and the values that `ethtool` shows.

use std::io;

use rtnetlink::packet_core::DefaultNla;
use rtnetlink::sys::protocols::NETLINK_GENERIC;

use crate::netlink::{self, AttributeMessage, each, text, within};

/// The facts about a card; none where the kernel does not report them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    /// The XDP features of its driver, as bits.
    pub xdp: Option<u64>,
    /// The features by which it merges packets: `rx-lro`, `rx-gro-hw`.
    pub merges: Vec<String>,
    /// The merging features that cannot be disabled here; for a virtual card the host decides.
    pub fixed: Vec<String>,
    /// How many channels are in use, and how many are possible.
    pub channels: Option<(u32, u32)>,
}

/// The feature bit: the driver runs a program.
pub const XDP_BASIC: u64 = 1;

/// The feature bit: the driver accepts frames larger than a page.
pub const XDP_IN_PIECES: u64 = 1 << 5;

/// The family that lists the other families, and its request.
const CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// Requests of the family `netdev`.
const GET_DEVICE: u8 = 1;
const DEVICE_INDEX: u16 = 1;
const DEVICE_XDP: u16 = 3;

/// Requests of the family `ethtool`. They begin with a header that names the interface by its number.
const GET_FEATURES: u8 = 11;
const GET_CHANNELS: u8 = 17;
const HEADER: u16 = 1;
const HEADER_INDEX: u16 = 1;
const NESTED: u16 = 1 << 15;
const FEATURES_CHANGEABLE: u16 = 2;
const FEATURES_ACTIVE: u16 = 4;
const BITS: u16 = 3;
const BITS_NO_MASK: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_IS_SET: u16 = 3;
const RX_MOST: u16 = 2;
const COMBINED_MOST: u16 = 5;
const RX_NOW: u16 = 6;
const COMBINED_NOW: u16 = 9;

/// Features that merge packets before a program sees them.
const MERGING: [&str; 2] = ["rx-lro", "rx-gro-hw"];

/// The facts about the card with this number.
pub fn of(index: u32) -> Card {
    let [merges, changeable] = merges(index).unwrap_or_default();
    Card {
        xdp: xdp(index).ok().flatten(),
        fixed: merges.iter().filter(|name| !changeable.contains(name)).cloned().collect(),
        merges,
        channels: channels(index).ok().flatten(),
    }
}

/// Whether the driver of this card runs programs, according to the kernel. Kernels before 6.3 do not report
/// it.
pub fn runs_programs(index: u32) -> Option<bool> {
    Some(xdp(index).ok()?? & XDP_BASIC != 0)
}

fn xdp(index: u32) -> io::Result<Option<u64>> {
    let named = DefaultNla::new(DEVICE_INDEX, index.to_ne_bytes().to_vec());
    let answer = generic("netdev", GET_DEVICE, named)?;
    let bits = answer.and_then(|answer| answer.attribute(DEVICE_XDP));
    Ok(bits.and_then(|bits| Some(u64::from_ne_bytes(bits.try_into().ok()?))))
}

/// The features that are enabled, and those that can be changed.
fn merges(index: u32) -> io::Result<[Vec<String>; 2]> {
    let answer = generic("ethtool", GET_FEATURES, header(index))?;
    Ok([FEATURES_ACTIVE, FEATURES_CHANGEABLE].map(|which| {
        let set = answer.as_ref().and_then(|answer| answer.attribute(which)).unwrap_or_default();
        let bits = within(&set, BITS).unwrap_or_default();
        // A set with a mask names all bits, and marks those that are set.
        let is_plain = within(&set, BITS_NO_MASK).is_some();
        let set = each(bits).map(|(_, bit)| bit).filter(|bit| is_plain || within(bit, BIT_IS_SET).is_some());
        let names = set.filter_map(|bit| within(bit, BIT_NAME)).map(text);
        names.filter(|name| MERGING.contains(&name.as_str())).collect()
    }))
}

fn channels(index: u32) -> io::Result<Option<(u32, u32)>> {
    let Some(answer) = generic("ethtool", GET_CHANNELS, header(index))? else { return Ok(None) };
    let number = |kind| {
        let bytes = answer.attribute(kind)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    // Some cards have channels that only receive.
    let both = |now, most| Some((number(now)?, number(most)?));
    Ok(both(COMBINED_NOW, COMBINED_MOST).or_else(|| both(RX_NOW, RX_MOST)))
}

fn header(index: u32) -> DefaultNla {
    // An attribute of four bytes inside another one.
    let index =
        [8_u16.to_ne_bytes(), HEADER_INDEX.to_ne_bytes()].concat().into_iter().chain(index.to_ne_bytes());
    DefaultNla::new(HEADER | NESTED, index.collect())
}

fn generic(family: &str, command: u8, about: DefaultNla) -> io::Result<Option<AttributeMessage>> {
    let name = DefaultNla::new(FAMILY_NAME, family.bytes().chain([0]).collect());
    let asked = AttributeMessage { kind: CONTROL, head: [GET_FAMILY, 2, 0, 0], attributes: vec![name] };
    let known = netlink::ask(NETLINK_GENERIC, asked)?;
    let id = known.first().and_then(|family| family.attribute(FAMILY_ID));
    let Some(kind) = id.and_then(|id| Some(u16::from_ne_bytes(id.try_into().ok()?))) else { return Ok(None) };
    let asked = AttributeMessage { kind, head: [command, 1, 0, 0], attributes: vec![about] };
    Ok(netlink::ask(NETLINK_GENERIC, asked)?.into_iter().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_driver_runs_no_programs() {
        // The loopback interface has number 1 in every namespace. Kernels before 6.3 do not report features.
        let card = of(1);
        assert!(card.xdp.is_none_or(|bits| bits & XDP_BASIC == 0), "{card:?}");
        assert_eq!(card.channels, None);
        assert_ne!(runs_programs(1), Some(true));
    }
}
