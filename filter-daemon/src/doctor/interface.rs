//! Each interface that filterd is to filter: is it there, what is it made of, what is it a part of, whose program sits on it?

use super::configuration::Wanted;
use super::device::Device;
use super::findings::{Findings, Health};
use super::{Subject, card, xdp};
use crate::kernel::{AttachedMode, probe};
use crate::text::{Explain, printable};

const CHECK: &str = "interface";
const XDP: &str = "xdp";

/// What libxdp calls the program under which it runs several.
const DISPATCHER: &str = "xdp_dispatcher";

/// Looks at those that are wanted; where none is named, at those that could be.
pub fn check(wanted: &Wanted, devices: &[Device], subject: &Subject, findings: &mut Findings) {
    let chosen = match wanted {
        Wanted::Named(names) => names.clone(),
        Wanted::Nothing => candidates(devices),
    };
    if chosen.is_empty() {
        findings.fail(CHECK, "there is no interface to filter but the loopback", Some("ip link".to_owned()));
    }
    for name in &chosen {
        match devices.iter().find(|device| device.name() == name) {
            Some(device) => look_at(device, devices, subject, findings),
            None => {
                let there: Vec<_> =
                    devices.iter().map(|device| printable::on_one_line(device.name())).collect();
                let told = format!("there is no such interface; there are {}", there.join(", "));
                findings.of(name, CHECK, Health::Fail, told, Some("ip link".to_owned()));
            }
        }
    }
}

/// Those that are on, and lead out of this machine as far as can be seen: no ends of containers' wires, and no bridges, which
/// are filtered at their ports.
fn candidates(devices: &[Device]) -> Vec<String> {
    let is_within = |device: &Device| {
        device.is_loopback || device.is("bridge") || device.is("veth") && device.master.is_some()
    };
    let is_one = |device: &&Device| device.is_up && !is_within(device);
    devices.iter().filter(is_one).map(|device| device.name().to_owned()).collect()
}

fn look_at(device: &Device, devices: &[Device], subject: &Subject, findings: &mut Findings) {
    let by_number = |index: Option<u32>| devices.iter().find(|other| Some(other.known.index) == index);
    let master = by_number(device.master);
    let lower = by_number(device.lower).filter(|_| !device.leads_elsewhere);
    let health = if device.is_up { Health::Ok } else { Health::Warn };
    let remedy = (!device.is_up).then(|| format!("ip link set dev {} up", device.name()));
    findings.of(device.name(), CHECK, health, described(device, master), remedy);
    if let Some(bond) = master.filter(|master| master.is("bond") || master.is("team")) {
        let told = format!(
            "a part of {0}: name {0} instead, or each of its parts",
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
        return whose(device, occupant, subject, findings);
    }
    // The kernel lets nobody below where somebody is above.
    let above = |other: &&Device| {
        other.known.occupant.is_some()
            && (Some(other.known.index) == device.master
                || other.lower == Some(device.known.index) && !other.leads_elsewhere && !other.is("veth"))
    };
    if let Some(above) = devices.iter().find(above) {
        let told = format!(
            "an XDP program sits on {}, which stands on it: the kernel allows none below",
            above.name()
        );
        return findings.of(
            device.name(),
            XDP,
            Health::Fail,
            told,
            Some(format!("ip link show dev {}", above.name())),
        );
    }
    for (health, told, remedy) in xdp::expect(device, lower, &card::of(device.known.index)) {
        findings.of(device.name(), XDP, health, told, remedy);
    }
}

/// In one line: driver or kind, MTU, and where it belongs.
fn described(device: &Device, master: Option<&Device>) -> String {
    let made_of = match (&device.driver, &device.kind) {
        (Some(driver), _) => format!("driver {driver}"),
        (None, Some(kind)) => kind.clone(),
        (None, None) if device.is_loopback => "loopback".to_owned(),
        (None, None) => "no driver that can be seen".to_owned(),
    };
    let off = if device.is_up { "" } else { ", switched off" };
    let elsewhere = if device.leads_elsewhere { ", its other end in another network namespace" } else { "" };
    let port = master.filter(|master| master.is("bridge")).map_or_else(String::new, |bridge| {
        format!(
            ", a port of bridge {}: what comes in here is filtered, whomever it is for",
            printable::on_one_line(bridge.name())
        )
    });
    format!("{made_of}, MTU {}{off}{elsewhere}{port}", device.known.mtu)
}

/// Ours, or somebody else's.
fn whose(
    device: &Device,
    occupant: &crate::kernel::interface::Occupant,
    subject: &Subject,
    findings: &mut Findings,
) {
    let name = device.name();
    if probe::pinned_root(&subject.pin_dir) == Some(occupant.id) {
        let pins = printable::path(&subject.pin_dir);
        return match occupant.mode {
            AttachedMode::Native => findings.of(
                name,
                XDP,
                Health::Ok,
                format!("filterd's filter sits here in native mode (pins at {pins})"),
                None,
            ),
            AttachedMode::Generic => {
                let told = format!(
                    "filterd's filter sits here in generic mode (pins at {pins}): as exact, and several times slower"
                );
                findings.of(name, XDP, Health::Warn, told, Some(format!("ip -details link show dev {name}")));
            }
        };
    }
    let (program, refusal) = probe::refusal(occupant, name);
    let told = refusal.explain();
    let remedy = if program == DISPATCHER {
        Some(format!(
            "xdp-loader status {name}; xdp-loader unload {name} --all (libxdp's programs, of which filterd is none)"
        ))
    } else {
        told.remedy
    };
    findings.of(name, XDP, Health::Fail, told.message, remedy);
}
