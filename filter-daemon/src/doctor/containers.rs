//! Looks for containers. The other ends of their links are in other network namespaces. Packets to them from
//! outside arrive on interfaces of this one.

use std::collections::BTreeMap;

use super::Findings;
use super::device::Device;
use crate::text::printable;

const CHECK: &str = "containers";

/// Reports where containers are connected, and how their packets are filtered.
pub fn check(devices: &[Device], findings: &mut Findings) {
    let mut behind: BTreeMap<String, usize> = BTreeMap::new();
    for wire in devices.iter().filter(|device| leads_to_a_container(device)) {
        let master = devices.iter().find(|other| Some(other.known.index) == wire.master);
        let place = master.map_or("no bridge", Device::name);
        *behind.entry(printable::on_one_line(place)).or_default() += 1;
    }
    if behind.is_empty() {
        return findings.ok(CHECK, "no virtual links into other network namespaces");
    }
    let each: Vec<_> = behind.iter().map(|(place, count)| format!("{count} behind {place}")).collect();
    findings.ok(
        CHECK,
        format!(
            "virtual links into other network namespaces: {}; traffic to them from outside is filtered where it arrives, traffic between them is not",
            each.join(", ")
        ),
    );
}

fn leads_to_a_container(device: &Device) -> bool {
    (device.is("veth") || device.is("netkit")) && device.leads_elsewhere
}
