//! What the kernel says of an interface: its number, its MTU, and whose XDP program sits there.

use aya::programs::loaded_programs;
use futures_util::TryStreamExt;
use rtnetlink::packet_route::link::{LinkAttribute, LinkMessage, LinkXdp, XdpAttached};

use super::KernelError;
use super::link::AttachedMode;

/// An interface as it is now.
#[derive(Debug)]
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
#[derive(Debug, PartialEq, Eq)]
pub struct Occupant {
    /// The kernel's number for it.
    pub id: u32,
    /// How it is attached.
    pub mode: AttachedMode,
}

impl Occupant {
    /// Its name, or a question mark if it has none that we may read.
    pub fn name(&self) -> String {
        let info = loaded_programs().flatten().find(|info| info.id() == self.id);
        let name = info.and_then(|info| info.name_as_str().map(ToOwned::to_owned));
        name.filter(|name| !name.is_empty()).unwrap_or_else(|| "?".to_owned())
    }
}

/// Asks the kernel about the interface `name`.
pub async fn find(name: &str) -> Result<Interface, KernelError> {
    let failed = |reason: String| KernelError::Netlink { name: name.to_owned(), reason };
    let (connection, handle, _) = rtnetlink::new_connection().map_err(|error| failed(error.to_string()))?;
    let talking = tokio::spawn(connection);
    let answer = handle.link().get().match_name(name.to_owned()).execute().try_next().await;
    talking.abort();
    match answer {
        Ok(Some(message)) => Ok(read(name, &message)),
        Ok(None) => Err(KernelError::NoInterface { name: name.to_owned() }),
        Err(rtnetlink::Error::NetlinkError(error)) if error.raw_code() == -nix::libc::ENODEV => {
            Err(KernelError::NoInterface { name: name.to_owned() })
        }
        Err(error) => Err(failed(error.to_string())),
    }
}

fn read(name: &str, message: &LinkMessage) -> Interface {
    let mut interface =
        Interface { name: name.to_owned(), index: message.header.index, mtu: 0, occupant: None };
    for attribute in &message.attributes {
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
