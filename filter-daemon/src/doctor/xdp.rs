//! Predicts whether an interface accepts filterd's program in its driver, and why not.

use super::card::{Card, XDP_BASIC, XDP_IN_PIECES};
use super::device::Device;
use super::findings::Health;
use crate::kernel::interface::Framing;

/// The longest frame in one page. The kernel reserves 256 bytes before it and 320 behind it, and the Ethernet
/// header with a tag takes 18. Longer frames lie in pieces.
const LONGEST_WHOLE: u32 = 4096 - 256 - 320 - 18;

/// Drivers that need a second channel for each one while a program is attached, so that half of them must be
/// free.
const NEED_HALF: [&str; 2] = ["ena", "gve"];

/// What a finding about an interface without native XDP ends with.
pub const USES_TC: &str = "filterd uses TC, which costs more than native XDP";

/// The severity, the message and the command that fixes it.
pub type XdpFinding = (Health, String, Option<String>);

/// The prediction for an interface without a program.
pub fn expect(device: &Device, lower: Option<&Device>, card: &Card) -> Vec<XdpFinding> {
    if device.known.framing == Framing::Bare {
        return vec![by_tc("its frames have no Ethernet header".to_owned(), None)];
    }
    if device.known.is_veth {
        return vec![by_tc("native XDP slows down TCP on veth".to_owned(), None)];
    }
    if let Some(said) = by_kind(device, lower) {
        return vec![said];
    }
    let Some(bits) = card.xdp else {
        let told = "this kernel does not say whether the driver supports XDP (6.3 and newer do): filterd tries, and logs the result";
        return [vec![(Health::Ok, told.to_owned(), None)], hindrances(device, card, true)].concat();
    };
    if bits & XDP_BASIC == 0 {
        return vec![by_tc("its driver does not support XDP".to_owned(), None)];
    }
    let hindrances = hindrances(device, card, bits & XDP_IN_PIECES != 0);
    if hindrances.is_empty() { vec![(Health::Ok, "native XDP".to_owned(), None)] } else { hindrances }
}

/// Kinds that are known to refuse a program, with the interface to use instead.
fn by_kind(device: &Device, lower: Option<&Device>) -> Option<XdpFinding> {
    if device.is_loopback {
        return Some(by_tc("the loopback: no packet from outside arrives here".to_owned(), None));
    }
    let below = lower.map_or("the interface below it", Device::name);
    match device.kind.as_deref()? {
        "vlan" => Some(by_tc(
            format!(
                "a VLAN of {below} has no native XDP, but {below} may have it, and filterd reads VLAN tags: filter {below} instead"
            ),
            Some(format!("filterd run --iface {below}")),
        )),
        "bridge" => Some(by_tc(
            "a bridge has no native XDP, and packets it forwards are not seen here: filter its ports instead"
                .to_owned(),
            Some(format!("ip link show master {}", device.name())),
        )),
        "macvlan" | "ipvlan" | "macvtap" | "ipvtap" => Some(by_tc(
            format!("it shares {below}, which may have native XDP, and whose filter covers both"),
            Some(format!("filterd run --iface {below}")),
        )),
        _ => None,
    }
}

/// Settings that may prevent a program which the driver could run.
fn hindrances(device: &Device, card: &Card, takes_pieces: bool) -> Vec<XdpFinding> {
    let name = device.name();
    let mtu = device.known.mtu;
    let mut found = Vec::new();
    if mtu > LONGEST_WHOLE && !takes_pieces {
        let told = format!(
            "its driver does not support fragmented frames, which an MTU of {mtu} needs: native XDP may be refused, and filterd then uses TC, which costs more"
        );
        found.push((Health::Warn, told, Some(format!("ip link set dev {name} mtu 1500"))));
    }
    if !card.merges.is_empty() {
        found.push((Health::Warn, merging(card), off(name, card)));
    }
    let needs_half = device.driver.as_deref().is_some_and(|driver| NEED_HALF.contains(&driver));
    if let Some((now, most)) = card.channels.filter(|(now, most)| needs_half && now * 2 > *most) {
        let half = most / 2;
        found.push(by_tc(
            format!("its driver needs half of its channels for XDP, but {now} of {most} are in use"),
            (half > 0).then(|| format!("ethtool -L {name} combined {half}")),
        ));
    }
    found
}

fn merging(card: &Card) -> String {
    let whose = if card.fixed.is_empty() { "" } else { "; only its host can switch that off" };
    format!(
        "the card merges packets ({}): its driver may refuse XDP until this is off{whose}",
        card.merges.join(", ")
    )
}

/// The command for the features that can be disabled here.
fn off(name: &str, card: &Card) -> Option<String> {
    let ours = card.merges.iter().filter(|feature| !card.fixed.contains(feature));
    let off: Vec<_> = ours.map(|feature| format!("{feature} off")).collect();
    (!off.is_empty()).then(|| format!("ethtool -K {name} {}", off.join(" ")))
}

/// The finding for an interface that filterd filters by TC.
fn by_tc(why: String, remedy: Option<String>) -> XdpFinding {
    (Health::Ok, format!("{why}: {USES_TC}"), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::KernelInterface;

    fn device(kind: Option<&str>) -> Device {
        Device {
            known: KernelInterface {
                name: "eth0".into(),
                index: 2,
                mtu: 1500,
                framing: Framing::Ethernet,
                is_veth: false,
                occupant: None,
            },
            kind: kind.map(str::to_owned),
            master: None,
            lower: None,
            leads_elsewhere: false,
            driver: None,
            is_loopback: false,
            is_up: true,
        }
    }

    fn card(bits: u64) -> Card {
        Card { xdp: Some(bits), ..Card::default() }
    }

    fn remedy(said: &[XdpFinding]) -> &str {
        said[0].2.as_deref().unwrap_or_default()
    }

    #[test]
    fn a_driver_that_runs_programs_takes_ours() {
        let said = expect(&device(None), None, &card(XDP_BASIC));
        assert_eq!(said, [(Health::Ok, "native XDP".to_owned(), None)]);
        assert!(
            expect(&device(None), None, &card(0))[0]
                .1
                .ends_with("filterd uses TC, which costs more than native XDP")
        );
        assert_eq!(
            expect(&device(None), None, &Card::default())[0].0,
            Health::Ok,
            "an older kernel says nothing"
        );
    }

    #[test]
    fn virtual_interfaces_point_to_the_lower_one() {
        let below =
            Device { known: KernelInterface { name: "eth7".into(), ..device(None).known }, ..device(None) };
        for kind in ["vlan", "macvlan", "ipvlan"] {
            let said = expect(&device(Some(kind)), Some(&below), &card(XDP_BASIC));
            assert_eq!(remedy(&said), "filterd run --iface eth7", "{kind}");
        }
        let said = expect(&device(Some("bridge")), None, &card(0));
        assert_eq!(remedy(&said), "ip link show master eth0");
    }

    #[test]
    fn large_mtu_matters_only_without_fragments() {
        let mut large = device(None);
        large.known.mtu = 9000;
        let said = expect(&large, None, &card(XDP_BASIC));
        assert_eq!((said[0].0, remedy(&said)), (Health::Warn, "ip link set dev eth0 mtu 1500"));
        assert_eq!(expect(&large, None, &card(XDP_BASIC | XDP_IN_PIECES))[0].0, Health::Ok);
        large.known.mtu = LONGEST_WHOLE;
        assert_eq!(expect(&large, None, &card(XDP_BASIC))[0].0, Health::Ok);
    }

    #[test]
    fn card_problems_are_reported_with_commands() {
        let merging = Card { merges: vec!["rx-lro".into(), "rx-gro-hw".into()], ..card(XDP_BASIC) };
        assert_eq!(
            remedy(&expect(&device(None), None, &merging)),
            "ethtool -K eth0 rx-lro off rx-gro-hw off"
        );
        let virtual_card = Card { fixed: vec!["rx-gro-hw".into()], ..merging.clone() };
        let said = expect(&device(None), None, &virtual_card);
        assert_eq!(remedy(&said), "ethtool -K eth0 rx-lro off");
        assert!(said[0].1.ends_with("only its host can switch that off"), "{said:?}");
        let of_its_host = Card { fixed: merging.merges.clone(), ..merging };
        assert_eq!(expect(&device(None), None, &of_its_host)[0].2, None, "no command that fails");
        let busy = Card { channels: Some((8, 8)), ..card(XDP_BASIC) };
        let ena = Device { driver: Some("ena".into()), ..device(None) };
        assert_eq!(remedy(&expect(&ena, None, &busy)), "ethtool -L eth0 combined 4");
        assert_eq!(expect(&device(None), None, &busy)[0].0, Health::Ok, "others share their queues");
        let halved = Card { channels: Some((4, 8)), ..card(XDP_BASIC) };
        assert_eq!(expect(&ena, None, &halved)[0].0, Health::Ok);
    }
}
