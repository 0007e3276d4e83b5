//! Checks each wanted interface: whether it exists, its kind, what it is part of, and whose program is
//! attached to it.

use nix::unistd::geteuid;

use super::card::Card;
use super::configuration::{Wanted, WantedInterfaces};
use super::device::Device;
use super::findings::{Findings, Health};
use super::xdp::XdpFinding;
use super::{Subject, card, xdp};
use crate::config::{Mode, pin};
use crate::kernel::{KernelError, UNNAMED, probe};
use crate::text::{Explain, Explanation, printable};

const CHECK: &str = "interface";
const XDP: &str = "xdp";

/// The program that libxdp attaches to run several others.
const DISPATCHER: &str = "xdp_dispatcher";

/// Checks the wanted interfaces. If none is named, checks those that could be filtered.
pub fn check(wanted: &Wanted, devices: &[Device], subject: &Subject, findings: &mut Findings) {
    let chosen = match &wanted.interfaces {
        WantedInterfaces::Named(names) => names.clone(),
        WantedInterfaces::Nothing => candidates(devices),
    };
    if chosen.is_empty() {
        findings.fail(CHECK, "there is no interface except the loopback", Some("ip link".to_owned()));
    }
    for name in &chosen {
        match devices.iter().find(|device| device.name() == name) {
            Some(device) => look_at(device, devices, wanted.mode, subject, findings),
            None if is_accepted(name, subject) => {
                let told = "there is no such interface, which was accepted (`filterd reload --accept`)";
                findings.of(name, CHECK, Health::Ok, told.to_owned(), None);
            }
            None => {
                let there: Vec<_> =
                    devices.iter().map(|device| printable::on_one_line(device.name())).collect();
                let told = format!("there is no such interface; there are {}", there.join(", "));
                findings.of(name, CHECK, Health::Fail, told, Some("ip link".to_owned()));
            }
        }
    }
}

/// Whether the daemon was told to accept that it is missing.
fn is_accepted(name: &str, subject: &Subject) -> bool {
    let known = subject.daemon.answer().into_iter().flat_map(|status| &status.interfaces);
    known.filter(|known| known.accepted).any(|known| known.name == name)
}

/// Interfaces that are up and seem to lead out of this machine. Links of containers are left out, and so are
/// bridges, which are filtered at their ports.
fn candidates(devices: &[Device]) -> Vec<String> {
    let is_within = |device: &Device| {
        device.is_loopback || device.is("bridge") || device.is("veth") && device.master.is_some()
    };
    let is_one = |device: &&Device| device.is_up && !is_within(device);
    devices.iter().filter(is_one).map(|device| device.name().to_owned()).collect()
}

fn look_at(device: &Device, devices: &[Device], mode: Mode, subject: &Subject, findings: &mut Findings) {
    let by_number = |index: Option<u32>| devices.iter().find(|other| Some(other.known.index) == index);
    let master = by_number(device.master);
    let lower = by_number(device.lower).filter(|_| !device.leads_elsewhere);
    let health = if device.is_up { Health::Ok } else { Health::Warn };
    let remedy = (!device.is_up).then(|| format!("ip link set dev {} up", device.name()));
    findings.of(device.name(), CHECK, health, described(device, master), remedy);
    if let Some(bond) = master.filter(|master| is_bond(master)) {
        let told = format!(
            "a part of {0}: filter {0} instead, or each of its parts",
            printable::on_one_line(bond.name())
        );
        findings.of(
            device.name(),
            CHECK,
            Health::Warn,
            told,
            Some(format!("filterd run --iface {}", bond.name())),
        );
    }
    if let Some(occupant) = &device.known.occupant {
        return whose(device, occupant, mode, subject, findings);
    }
    if let Some(told) = attached_by_tc(device, subject) {
        return findings.of(device.name(), XDP, Health::Ok, told, None);
    }
    if let Some(other) = probe::another_in_tc(&device.known, &subject.pin_dir) {
        let told = other.explain();
        return findings.of(device.name(), XDP, Health::Fail, told.message, told.remedy);
    }
    // The kernel refuses a program on an interface if one is attached to an interface above it.
    let above = |other: &&Device| {
        other.known.occupant.is_some()
            && (Some(other.known.index) == device.master
                || other.lower == Some(device.known.index) && !other.leads_elsewhere && !other.is("veth"))
    };
    if let Some(above) = devices.iter().find(above) {
        let (health, use_tc) = without_native(mode);
        let told = format!(
            "an XDP program is attached to {}, which is above it: the kernel allows none below{use_tc}",
            above.name()
        );
        let remedy = format!("ip link show dev {}", above.name());
        return findings.of(device.name(), XDP, health, told, Some(remedy));
    }
    let mut card = card::of(device.known.index);
    if is_bond(device) {
        // A bond always claims that it merges packets. Only its parts do that, or not.
        card.merges.clear();
    }
    for (health, told, remedy) in xdp::expect(device, lower, &card) {
        findings.of(device.name(), XDP, health, told, remedy);
    }
    if is_bond(device) {
        parts(device, devices, card::of, findings);
    }
}

/// Says that filterd is attached there by TC, according to the daemon, or else to the pins.
fn attached_by_tc(device: &Device, subject: &Subject) -> Option<String> {
    let known = subject.daemon.answer().into_iter().flat_map(|status| &status.interfaces);
    let mut modes = known.filter(|known| known.name == device.name()).map(|known| known.mode.as_str());
    let mode = modes.next().filter(|mode| matches!(*mode, "tcx" | "clsact"));
    let is_pinned = || subject.pin_dir.join("links").join(pin::of(device.name())).symlink_metadata().is_ok();
    let pins = printable::path(&subject.pin_dir);
    match mode {
        Some(mode) => Some(format!("filterd is attached here in {mode} mode (pins at {pins})")),
        None => is_pinned().then(|| format!("filterd is attached here by TC (pins at {pins})")),
    }
}

fn is_bond(device: &Device) -> bool {
    device.is("bond") || device.is("team")
}

/// Checks the parts of a bond. Its program runs in their drivers, each of which must accept it.
fn parts(bond: &Device, devices: &[Device], card_of: fn(u32) -> Card, findings: &mut Findings) {
    let parts: Vec<_> = devices.iter().filter(|part| part.master == Some(bond.known.index)).collect();
    if parts.is_empty() {
        let told = "it has no ports, so it receives nothing";
        findings.of(
            bond.name(),
            CHECK,
            Health::Warn,
            told.to_owned(),
            Some(format!("ip link show master {}", bond.name())),
        );
    }
    for part in parts {
        let expected = xdp::expect(part, None, &card_of(part.known.index));
        let matters = |(health, told, _): &XdpFinding| *health != Health::Ok || told.ends_with(xdp::USES_TC);
        for (health, told, remedy) in expected.into_iter().filter(matters) {
            let told = format!("{told} (it is a part of {})", printable::on_one_line(bond.name()));
            findings.of(part.name(), XDP, health, told, remedy);
        }
    }
}

/// One line with driver or kind, MTU, and the bridge that it is part of.
fn described(device: &Device, master: Option<&Device>) -> String {
    let made_of = match (&device.driver, &device.kind) {
        (Some(driver), _) => format!("driver {driver}"),
        (None, Some(kind)) => kind.clone(),
        (None, None) if device.is_loopback => "loopback".to_owned(),
        (None, None) => "no visible driver".to_owned(),
    };
    let off = if device.is_up { "" } else { ", switched off" };
    let elsewhere = if device.leads_elsewhere { ", its other end in another network namespace" } else { "" };
    let port = master.filter(|master| master.is("bridge")).map_or_else(String::new, |bridge| {
        format!(
            ", a port of bridge {}: all packets that arrive here are filtered",
            printable::on_one_line(bridge.name())
        )
    });
    format!("{made_of}, MTU {}{off}{elsewhere}{port}", device.known.mtu)
}

/// Reports whether the attached program is filterd's or another one.
fn whose(
    device: &Device,
    occupant: &crate::kernel::interface::Occupant,
    mode: Mode,
    subject: &Subject,
    findings: &mut Findings,
) {
    let name = device.name();
    if probe::pinned_root(&subject.pin_dir) == Some(occupant.id) {
        let pins = printable::path(&subject.pin_dir);
        let told = format!("filterd is attached here in native mode (pins at {pins})");
        return findings.of(name, XDP, Health::Ok, told, None);
    }
    let (program, refusal) = probe::refusal(occupant, name);
    // Beside another filterd there is no way.
    let mode = if matches!(refusal, KernelError::Occupied { .. }) { Mode::Native } else { mode };
    judge_other(name, &program, refusal.explain(), mode, geteuid().is_root(), findings);
}

/// How bad it is that XDP is not available, and what filterd does then.
fn without_native(mode: Mode) -> (Health, &'static str) {
    match mode {
        Mode::Native => (Health::Fail, ""),
        Mode::Auto => (Health::Ok, "; filterd uses TC, which costs more than native XDP"),
        Mode::Tc | Mode::Generic => (Health::Ok, "; filterd uses TC, as configured"),
    }
}

/// Reports a program that seems to be another one's. Without root no program has a name, so it may be
/// filterd's own.
fn judge_other(
    name: &str,
    program: &str,
    told: Explanation,
    mode: Mode,
    is_root: bool,
    findings: &mut Findings,
) {
    if program == UNNAMED && !is_root {
        return findings
            .could_not_see(format!("the owner of the XDP program on {}", printable::on_one_line(name)));
    }
    let (health, message) = match mode {
        Mode::Native => (Health::Fail, told.message),
        Mode::Auto | Mode::Tc | Mode::Generic => (
            Health::Warn,
            format!(
                "{}; filterd works by TC beside it, and never sees what it drops or redirects",
                told.message
            ),
        ),
    };
    findings.of(name, XDP, health, message, remedy(program, name, told.remedy));
}

/// libxdp's dispatcher may run several programs, which its own tool detaches.
fn remedy(program: &str, name: &str, otherwise: Option<String>) -> Option<String> {
    if program != DISPATCHER {
        return otherwise;
    }
    Some(format!(
        "`xdp-loader unload {name} --all` removes all programs that `xdp-loader status {name}` lists: filterd's is not among them"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::machine;
    use super::*;
    use crate::kernel::KernelInterface;
    use crate::kernel::interface::Framing;

    /// The kernel has no interface with such a number.
    fn device(name: &str, kind: Option<&str>, number: u32, master: Option<u32>) -> Device {
        Device {
            known: KernelInterface {
                name: name.into(),
                index: 2_000_000_000 + number,
                mtu: 1500,
                framing: Framing::Ethernet,
                is_veth: false,
                occupant: None,
            },
            kind: kind.map(str::to_owned),
            master: master.map(|master| 2_000_000_000 + master),
            lower: None,
            leads_elsewhere: false,
            driver: None,
            is_loopback: false,
            is_up: true,
        }
    }

    /// The findings: interface, message and remedy.
    fn told(wanted: &str, devices: &[Device]) -> Vec<(String, String, String)> {
        let (_root, subject) = machine(&[]);
        let mut findings = Findings::default();
        let interfaces = WantedInterfaces::Named(vec![wanted.to_owned()]);
        check(&Wanted { interfaces, mode: Mode::Auto }, devices, &subject, &mut findings);
        let all = findings.all().iter();
        let told = |it: &super::super::Finding| {
            let interface = it.interface.clone().unwrap_or_default();
            (interface, it.message.clone(), it.remedy.clone().unwrap_or_default())
        };
        all.filter(|it| it.health != Health::Ok).map(told).collect()
    }

    #[test]
    fn unknown_program_is_left_to_root() {
        let told = |program: &str, mode, is_root| {
            let mut findings = Findings::default();
            let explanation = Explanation::new("eth0 already has an XDP program", "remove it");
            judge_other("eth0", program, explanation, mode, is_root, &mut findings);
            findings.unseen();
            let found = &findings.all()[0];
            (found.health, found.message.clone(), found.remedy.clone().unwrap())
        };
        let unseen = "not checked without root: the owner of the XDP program on eth0";
        let unseen = (Health::Warn, unseen.to_owned(), "sudo filterd doctor".to_owned());
        assert_eq!(told(UNNAMED, Mode::Native, false), unseen);
        assert_eq!(told(UNNAMED, Mode::Native, true).0, Health::Fail);
        assert_eq!(told("other", Mode::Native, false).0, Health::Fail);
        let (health, message, _) = told("other", Mode::Auto, false);
        assert_eq!(health, Health::Warn);
        assert!(message.ends_with("never sees what it drops or redirects"), "{message}");
    }

    #[test]
    fn bond_member_is_told_to_name_the_bond() {
        let devices = [device("eth0", None, 1, Some(9)), device("bond0", Some("bond"), 9, None)];
        let said = told("eth0", &devices);
        let [(interface, message, remedy)] = &said[..] else { panic!("{said:?}") };
        assert_eq!(
            [interface, message, remedy],
            [
                "eth0",
                "a part of bond0: filter bond0 instead, or each of its parts",
                "filterd run --iface bond0"
            ]
        );
        let bridged = [device("eth0", None, 1, Some(9)), device("br0", Some("bridge"), 9, None)];
        assert_eq!(told("eth0", &bridged), [], "of a bridge each port is filtered by itself");
    }

    #[test]
    fn each_member_of_a_bond_is_checked() {
        let devices = [
            device("eth0", None, 1, Some(9)),
            device("eth1", None, 2, Some(9)),
            device("eth2", None, 3, None),
            device("bond0", Some("bond"), 9, None),
        ];
        let card_of = |number| match number - 2_000_000_000 {
            1 => Card::default(),
            _ => Card { merges: vec!["rx-lro".into()], ..Card::default() },
        };
        let mut findings = Findings::default();
        parts(&devices[3], &devices, card_of, &mut findings);
        let [one] = findings.all() else { panic!("{:?}", findings.all()) };
        assert_eq!(one.interface.as_deref(), Some("eth1"));
        assert_eq!(one.remedy.as_deref(), Some("ethtool -K eth1 rx-lro off"));
        assert!(one.message.ends_with("(it is a part of bond0)"), "{}", one.message);
        // A single part that cannot run programs prevents it for the bond.
        let mut findings = Findings::default();
        parts(&devices[3], &devices[..1], |_| Card { xdp: Some(0), ..Card::default() }, &mut findings);
        let [one] = findings.all() else { panic!("{:?}", findings.all()) };
        assert!(one.message.starts_with("its driver does not support XDP"), "{}", one.message);
        let said = told("bond0", &devices[3..]);
        let without = (
            "bond0".into(),
            "it has no ports, so it receives nothing".into(),
            "ip link show master bond0".into(),
        );
        assert_eq!(said, [without]);
    }

    #[test]
    fn dispatcher_programs_are_removed_by_their_tool() {
        let otherwise = || Some("ip link set dev eth0 xdp off".to_owned());
        assert_eq!(remedy("some_program", "eth0", otherwise()), otherwise());
        let told = remedy("xdp_dispatcher", "eth0", otherwise()).unwrap();
        assert!(told.starts_with("`xdp-loader unload eth0 --all`"), "{told}");
    }
}
