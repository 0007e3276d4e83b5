//! Asks the kernel about interfaces: index, MTU and attached XDP program. Also watches for changes.

use std::io;

use futures_util::{StreamExt, TryStreamExt};
use rtnetlink::MulticastGroup;
use rtnetlink::packet_route::link::{
    InfoKind, LinkAttribute, LinkInfo, LinkLayerType, LinkMessage, LinkXdp, XdpAttached,
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::KernelError;

/// The current state of an interface.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KernelInterface {
    pub name: String,
    pub index: u32,
    pub mtu: u32,
    pub framing: Framing,
    /// Whether its driver is veth.
    pub is_veth: bool,
    /// The XDP program that is attached.
    pub occupant: Option<Occupant>,
}

/// What the frames of an interface begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Framing {
    /// They begin with an Ethernet header.
    #[default]
    Ethernet,
    /// The packet itself, as on tun, WireGuard, PPP and tunnels.
    Bare,
    /// A header that filterd does not know.
    Unknown,
}

impl Framing {
    /// The framing of interfaces with this hardware type.
    fn of(kind: LinkLayerType) -> Self {
        const ETHERNET: [LinkLayerType; 2] = [LinkLayerType::Ether, LinkLayerType::Loopback];
        const BARE: [LinkLayerType; 8] = [
            LinkLayerType::None,
            LinkLayerType::Ppp,
            LinkLayerType::Tunnel,
            LinkLayerType::Tunnel6,
            LinkLayerType::Sit,
            LinkLayerType::Ipgre,
            LinkLayerType::Ip6gre,
            LinkLayerType::Rawip,
        ];
        if ETHERNET.contains(&kind) {
            Self::Ethernet
        } else if BARE.contains(&kind) {
            Self::Bare
        } else {
            Self::Unknown
        }
    }
}

/// An XDP program on an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupant {
    /// The kernel's number of the program.
    pub id: u32,
    /// Whether it runs in the stack (generic XDP), and not in the driver.
    pub is_generic: bool,
}

/// All interfaces of this network namespace.
pub async fn all() -> Result<Vec<KernelInterface>, KernelError> {
    let failed = |reason: String| KernelError::Netlink { reason };
    let (connection, handle, _) = rtnetlink::new_connection().map_err(|error| failed(error.to_string()))?;
    let talking = tokio::spawn(connection);
    let found = handle.link().get().execute().map_ok(|message| read(&message)).try_collect().await;
    talking.abort();
    found.map_err(|error| failed(error.to_string()))
}

pub async fn named(name: &str) -> Result<Option<KernelInterface>, KernelError> {
    Ok(all().await?.into_iter().find(|interface| interface.name == name))
}

/// Sends a message whenever an interface appears, disappears or changes, or when its filters do. Several changes may result in one
/// message.
pub fn changes() -> io::Result<mpsc::Receiver<()>> {
    let (connection, _, mut messages) =
        rtnetlink::new_multicast_connection(&[MulticastGroup::Link, MulticastGroup::Tc])?;
    let (tell, told) = mpsc::channel(1);
    tokio::spawn(connection);
    tokio::spawn(async move {
        // Any message, even about lost messages, means that interfaces must be read again.
        while messages.next().await.is_some() {
            // If an unread message is waiting already, another one adds nothing.
            _ = tell.try_send(());
        }
    });
    Ok(told)
}

/// Parses a message about one interface.
pub fn read(message: &LinkMessage) -> KernelInterface {
    let mut interface = KernelInterface {
        name: String::new(),
        index: message.header.index,
        mtu: 0,
        framing: Framing::of(message.header.link_layer_type),
        is_veth: false,
        occupant: None,
    };
    for attribute in &message.attributes {
        if let LinkAttribute::IfName(name) = attribute {
            interface.name.clone_from(name);
        }
        if let LinkAttribute::Mtu(mtu) = attribute {
            interface.mtu = *mtu;
        }
        if let LinkAttribute::LinkInfo(about) = attribute {
            interface.is_veth = about.iter().any(|about| matches!(about, LinkInfo::Kind(InfoKind::Veth)));
        }
        if let LinkAttribute::Xdp(details) = attribute {
            interface.occupant = occupant(details);
        }
    }
    interface
}

fn occupant(details: &[LinkXdp]) -> Option<Occupant> {
    let id =
        details.iter().find_map(|detail| if let LinkXdp::ProgId(id) = detail { Some(*id) } else { None })?;
    let is_generic =
        details.iter().any(|detail| matches!(detail, LinkXdp::Attached(XdpAttached::SocketBuffer)));
    Some(Occupant { id, is_generic })
}
