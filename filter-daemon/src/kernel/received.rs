//! Reads the kernel's own counters of received packets, and the driver of each interface.

use std::fs;
use std::path::Path;

use futures_util::TryStreamExt;
use rtnetlink::packet_route::link::{InfoKind, LinkAttribute, LinkInfo, LinkMessage, Stats64};

use super::KernelError;

/// The kernel's counters of one interface since it was created, and its driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiveCounters {
    pub index: u32,
    /// The driver, or the kind of a virtual interface.
    pub driver: Option<String>,
    pub packets: u64,
    pub bytes: u64,
    /// Packets that the kernel dropped on arrival: no receiver wanted them, or there was no room.
    pub dropped: u64,
    /// Packets that arrived damaged.
    pub errors: u64,
}

/// Asks for the interfaces of these numbers and names. Missing interfaces are left out.
pub async fn received(interfaces: &[(u32, String)]) -> Result<Vec<ReceiveCounters>, KernelError> {
    let failed = |error: std::io::Error| KernelError::Netlink { reason: error.to_string() };
    let (connection, handle, _) = rtnetlink::new_connection().map_err(failed)?;
    let talking = tokio::spawn(connection);
    let mut all = Vec::new();
    for (index, name) in interfaces {
        let mut asked = handle.link().get().match_index(*index).execute();
        // An interface that causes any error is left out.
        if let Ok(Some(message)) = asked.try_next().await
            && let Some(received) = read(&message, name)
        {
            all.push(received);
        }
    }
    talking.abort();
    Ok(all)
}

/// An interface of another namespace may have the same number, so the name is compared.
fn read(message: &LinkMessage, expected: &str) -> Option<ReceiveCounters> {
    let mut received = ReceiveCounters { index: message.header.index, ..ReceiveCounters::default() };
    let mut is_the_one = false;
    for attribute in &message.attributes {
        if let LinkAttribute::IfName(name) = attribute {
            is_the_one = name == expected;
        }
        if let LinkAttribute::Stats64(Stats64 { rx_packets, rx_bytes, rx_dropped, rx_errors, .. }) = attribute
        {
            received.packets = *rx_packets;
            received.bytes = *rx_bytes;
            received.dropped = *rx_dropped;
            received.errors = *rx_errors;
        }
        if let LinkAttribute::LinkInfo(details) = attribute {
            received.driver = kind(details);
        }
    }
    received.driver = received.driver.take().or_else(|| driver(expected));
    is_the_one.then_some(received)
}

fn kind(details: &[LinkInfo]) -> Option<String> {
    let kind = details
        .iter()
        .find_map(|detail| if let LinkInfo::Kind(kind) = detail { Some(kind) } else { None })?;
    Some(if let InfoKind::Other(name) = kind { name.clone() } else { kind.to_string() })
}

/// The driver of a hardware device, as sysfs names it.
fn driver(interface: &str) -> Option<String> {
    let link = fs::read_link(Path::new("/sys/class/net").join(interface).join("device/driver")).ok()?;
    Some(link.file_name()?.to_str()?.to_owned())
}
