//! Reads the interfaces of this network namespace, with their kinds and drivers.

use std::fs;
use std::io;

use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::link::{
    InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkLayerType, LinkMessage,
};
use rtnetlink::sys::protocols::NETLINK_ROUTE;

use crate::kernel::KernelInterface;
use crate::kernel::interface;
use crate::netlink;

#[derive(Clone, Debug)]
pub struct Device {
    /// The facts that filterd reads when it runs.
    pub known: KernelInterface,
    /// The kind of a virtual interface: `veth`, `bridge`, `vlan`.
    pub kind: Option<String>,
    /// The number of the bridge or bond that it is part of.
    pub master: Option<u32>,
    /// The number of the interface below it, or of its peer.
    pub lower: Option<u32>,
    /// The interface in `lower` is in another network namespace.
    pub leads_elsewhere: bool,
    /// The driver of the hardware, if there is any.
    pub driver: Option<String>,
    pub is_loopback: bool,
    pub is_up: bool,
}

impl Device {
    pub fn name(&self) -> &str {
        &self.known.name
    }

    pub fn is(&self, kind: &str) -> bool {
        self.kind.as_deref() == Some(kind)
    }
}

/// Reads all interfaces of this namespace.
pub fn all() -> io::Result<Vec<Device>> {
    let question = RouteNetlinkMessage::GetLink(LinkMessage::default());
    let answers = netlink::list(NETLINK_ROUTE, question)?;
    let links = answers.iter().filter_map(|answer| {
        if let RouteNetlinkMessage::NewLink(link) = answer { Some(read(link)) } else { None }
    });
    Ok(links.collect())
}

fn read(link: &LinkMessage) -> Device {
    let mut device = Device {
        known: interface::read(link),
        kind: None,
        master: None,
        lower: None,
        leads_elsewhere: false,
        driver: None,
        is_loopback: link.header.link_layer_type == LinkLayerType::Loopback,
        is_up: link.header.flags.contains(LinkFlags::Up),
    };
    let (mut bus, mut parent) = (None, None);
    for attribute in &link.attributes {
        if let LinkAttribute::LinkInfo(details) = attribute {
            device.kind = details.iter().find_map(kind);
        }
        if let LinkAttribute::Controller(index) = attribute {
            device.master = Some(*index);
        }
        if let LinkAttribute::Link(index) = attribute {
            device.lower = Some(*index);
        }
        if let LinkAttribute::LinkNetNsId(_) = attribute {
            device.leads_elsewhere = true;
        }
        if let LinkAttribute::ParentDevBusName(name) = attribute {
            bus = Some(name);
        }
        if let LinkAttribute::ParentDevName(name) = attribute {
            parent = Some(name);
        }
    }
    // The driver is found by the position on the bus, which is the same in every network namespace.
    device.driver = bus.zip(parent).and_then(|(bus, parent)| {
        let driver = fs::read_link(format!("/sys/bus/{bus}/devices/{parent}/driver")).ok()?;
        Some(driver.file_name()?.to_string_lossy().into_owned())
    });
    device
}

fn kind(detail: &LinkInfo) -> Option<String> {
    if let LinkInfo::Kind(kind) = detail { Some(spelled(kind)) } else { None }
}

/// The spelling of `ip link`.
fn spelled(kind: &InfoKind) -> String {
    kind.to_string()
}
