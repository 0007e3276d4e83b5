//! What the kernel says of interfaces: their numbers and MTUs, whose XDP program sits there, and that one has changed.

use std::io;

use futures_util::{StreamExt, TryStreamExt};
use rtnetlink::MulticastGroup;
use rtnetlink::packet_route::link::{LinkAttribute, LinkMessage, LinkXdp, XdpAttached};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::{AttachedMode, KernelError};

/// An interface as it is now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// Its MTU.
    pub mtu: u32,
    /// The XDP program that sits there.
    pub occupant: Option<Occupant>,
}

/// An XDP program on an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupant {
    /// The kernel's number for it.
    pub id: u32,
    /// How it is attached.
    pub mode: AttachedMode,
}

/// The interfaces of this namespace, as they are now.
pub async fn all() -> Result<Vec<Interface>, KernelError> {
    let failed = |reason: String| KernelError::Netlink { reason };
    let (connection, handle, _) = rtnetlink::new_connection().map_err(|error| failed(error.to_string()))?;
    let talking = tokio::spawn(connection);
    let found = handle.link().get().execute().map_ok(|message| read(&message)).try_collect().await;
    talking.abort();
    found.map_err(|error| failed(error.to_string()))
}

/// The interface of this name, as it is now.
pub async fn named(name: &str) -> Result<Option<Interface>, KernelError> {
    Ok(all().await?.into_iter().find(|interface| interface.name == name))
}

/// Tells whenever an interface came, went or changed; many changes in a row may be told as one.
pub fn changes() -> io::Result<mpsc::Receiver<()>> {
    let (connection, _, mut messages) = rtnetlink::new_multicast_connection(&[MulticastGroup::Link])?;
    let (tell, told) = mpsc::channel(1);
    tokio::spawn(connection);
    tokio::spawn(async move {
        // Whatever it says, even that messages were lost: look again.
        while messages.next().await.is_some() {
            // One that waits to be heard says it all.
            _ = tell.try_send(());
        }
    });
    Ok(told)
}

/// What a message says of one.
pub fn read(message: &LinkMessage) -> Interface {
    let mut interface =
        Interface { name: String::new(), index: message.header.index, mtu: 0, occupant: None };
    for attribute in &message.attributes {
        if let LinkAttribute::IfName(name) = attribute {
            interface.name.clone_from(name);
        }
        if let LinkAttribute::Mtu(mtu) = attribute {
            interface.mtu = *mtu;
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
    let generic = details.iter().any(|detail| matches!(detail, LinkXdp::Attached(XdpAttached::SocketBuffer)));
    Some(Occupant { id, mode: if generic { AttachedMode::Generic } else { AttachedMode::Native } })
}
