//! Decides how an interface is attached: by XDP in the driver, or behind the driver by TC.
//!
//! Generic XDP is no alternative. It filters nothing where frames have no Ethernet header, costs more than TC,
//! and can hand misaligned buffers to the stack (CVE-2026-99127).

use super::super::interface::Framing;
use super::super::{AttachReason, KernelInterface};
use crate::config::Mode;

/// The largest MTU of a veth whose buffers stay aligned in native mode. With a larger one, the kernel uses several buffers for
/// a frame (CVE-2026-99127).
const LARGEST_VETH: u32 = 3500;

/// A way to attach, and the reason for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    Native(AttachReason),
    /// By a link of TCX, or else as a filter of `clsact`.
    Tc(AttachReason),
}

/// Why no way suits the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoWay {
    /// XDP cannot read its frames, and the configuration demands XDP.
    NoEthernet,
    /// Its frames begin with a header that filterd does not know.
    UnknownFraming,
    /// Another program has the place in XDP that the configuration demands.
    Occupied,
}

/// The ways to attach that `mode` allows, best first. `foreign` is a program of others in XDP there.
pub fn ladder(mode: Mode, interface: &KernelInterface, foreign: Option<u32>) -> Result<Vec<Rung>, NoWay> {
    match (mode, interface.framing) {
        (_, Framing::Unknown) => Err(NoWay::UnknownFraming),
        (Mode::Native, Framing::Bare) => Err(NoWay::NoEthernet),
        (Mode::Native, Framing::Ethernet) if foreign.is_some() => Err(NoWay::Occupied),
        (Mode::Native, Framing::Ethernet) if interface.is_veth && interface.mtu > LARGEST_VETH => {
            Ok(vec![Rung::Native(AttachReason::DemandedOnLargeVeth(interface.mtu))])
        }
        (Mode::Native, Framing::Ethernet) => Ok(vec![Rung::Native(AttachReason::Demanded)]),
        (Mode::Tc | Mode::Generic, _) => Ok(vec![Rung::Tc(AttachReason::Demanded)]),
        (Mode::Auto, Framing::Bare) => Ok(vec![Rung::Tc(AttachReason::Framing)]),
        (Mode::Auto, Framing::Ethernet) => Ok(match foreign {
            Some(id) => vec![Rung::Tc(AttachReason::Occupied(id))],
            None if interface.is_veth => vec![Rung::Tc(AttachReason::Veth)],
            None => vec![Rung::Native(AttachReason::Driver), Rung::Tc(AttachReason::Refused)],
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interface_gets_the_best_way_it_allows() {
        let eth = |is_veth, framing| KernelInterface {
            name: "eth0".into(),
            index: 2,
            mtu: 1500,
            framing,
            is_veth,
            occupant: None,
        };
        let (card, veth) = (eth(false, Framing::Ethernet), eth(true, Framing::Ethernet));
        let large = KernelInterface { mtu: 9000, ..veth.clone() };
        let (tun, infiniband) = (eth(false, Framing::Bare), eth(false, Framing::Unknown));
        let tc = |reason| Ok(vec![Rung::Tc(reason)]);
        let demanded = AttachReason::Demanded;
        for (mode, interface, foreign, expected) in [
            (
                Mode::Auto,
                &card,
                None,
                Ok(vec![Rung::Native(AttachReason::Driver), Rung::Tc(AttachReason::Refused)]),
            ),
            (Mode::Auto, &card, Some(7), tc(AttachReason::Occupied(7))),
            (Mode::Auto, &veth, None, tc(AttachReason::Veth)),
            (Mode::Auto, &veth, Some(7), tc(AttachReason::Occupied(7))),
            (Mode::Auto, &tun, None, tc(AttachReason::Framing)),
            (Mode::Native, &card, None, Ok(vec![Rung::Native(demanded)])),
            (Mode::Native, &veth, None, Ok(vec![Rung::Native(demanded)])),
            (Mode::Native, &large, None, Ok(vec![Rung::Native(AttachReason::DemandedOnLargeVeth(9000))])),
            (Mode::Auto, &large, None, tc(AttachReason::Veth)),
            (Mode::Native, &card, Some(7), Err(NoWay::Occupied)),
            (Mode::Native, &tun, None, Err(NoWay::NoEthernet)),
            (Mode::Tc, &card, Some(7), tc(demanded)),
            (Mode::Tc, &tun, None, tc(demanded)),
            (Mode::Auto, &infiniband, None, Err(NoWay::UnknownFraming)),
            (Mode::Tc, &infiniband, None, Err(NoWay::UnknownFraming)),
        ] {
            assert_eq!(ladder(mode, interface, foreign), expected, "{mode:?} {interface:?} {foreign:?}");
        }
    }
}
