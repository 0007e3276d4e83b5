//! The sockets of this host that are in touch with somebody, as the kernel tells them to anybody in its network namespace:
//! `opened` is about which end of a connection began it, `ports` about the UDP ports from which this host begins.

mod opened;
mod ports;

use std::collections::HashSet;
use std::io;
use std::net::IpAddr;

use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags};
use nix::libc::{AF_INET, AF_INET6, IPPROTO_TCP, IPPROTO_UDP};
use rtnetlink::packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage};
use rtnetlink::sys::protocols::NETLINK_SOCK_DIAG;

use opened::Opened;
pub use ports::{Ports, Range};

use crate::netlink;

/// What is spoken between two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    Tcp,
    Udp,
}

/// A socket in touch with somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    pub protocol: Protocol,
    /// Our port.
    pub ours: u16,
    /// The other end,
    pub peer: IpAddr,
    /// and its port.
    pub theirs: u16,
    /// Did this host begin it?
    pub is_own: bool,
}

/// One socket, as the kernel tells of it.
#[derive(Clone, Copy, Debug)]
struct Told {
    ours: u16,
    /// None if it hears everybody.
    other: Option<(IpAddr, u16)>,
    opened: Opened,
}

/// What is asked for.
struct Asked {
    protocol: Protocol,
    states: StateFlags,
    /// The kernel runs it for each socket, and tells only those that it says yes to; all, if there is none.
    filter: &'static [Step],
}

/// A step of such a filter: what is asked, and how far it goes on after a yes, and after a no. Whoever comes to its end exactly
/// is told (`inet_diag_bc_op`).
#[derive(Clone, Copy)]
struct Step {
    question: u8,
    yes: u8,
    no: u16,
}

/// Goes on as after a no.
const JUMP: u8 = 1;

/// Did the kernel choose its port?
const IS_GIVEN: u8 = 6;

const STEP: u16 = 4;

/// Those that asked for their port by its number.
const BY_NUMBER: [Step; 2] = [
    Step { question: IS_GIVEN, yes: STEP as u8, no: 2 * STEP },
    Step { question: JUMP, yes: STEP as u8, no: 2 * STEP },
];

/// All that are in touch with somebody.
pub fn connections(protocol: Protocol) -> io::Result<Vec<Connection>> {
    let closed = match protocol {
        Protocol::Tcp => StateFlags::TIME_WAIT | StateFlags::CLOSE,
        // It is what those are in that hear everybody.
        Protocol::Udp => StateFlags::CLOSE,
    };
    let told = ask(&Asked { protocol, states: StateFlags::all().difference(closed), filter: &[] })?;
    Ok(of(protocol, &told, &Ports::look()?))
}

/// The UDP ports of sockets that hear everybody, and that somebody has asked for by number: services. Whoever lets the kernel
/// choose cannot be found by others, unless it has written to them before.
fn services() -> io::Result<Vec<u16>> {
    let told = ask(&Asked { protocol: Protocol::Udp, states: StateFlags::CLOSE, filter: &BY_NUMBER })?;
    Ok(told.iter().filter(|told| told.other.is_none()).map(|told| told.ours).collect())
}

/// Which of these are connections, and who began them. A TCP connection of which the kernel does not say it (one that is
/// nearly over) is this host's if nobody listens there, and only its port is one that the kernel chooses: rather one
/// of its own is dropped than one of somebody banned is spared.
fn of(protocol: Protocol, told: &[Told], ports: &Ports) -> Vec<Connection> {
    let listened: HashSet<u16> =
        told.iter().filter(|told| told.other.is_none()).map(|told| told.ours).collect();
    let connection = |&Told { ours, other, opened }: &Told| {
        let (peer, theirs) = other?;
        let is_own = match (protocol, opened) {
            (Protocol::Tcp, Opened::Here) => true,
            (Protocol::Tcp, Opened::There) => false,
            (Protocol::Tcp, Opened::Untold) => {
                let range = ports.range();
                range.has(ours) && !range.has(theirs) && !listened.contains(&ours)
            }
            (Protocol::Udp, _) => ports.begins(ours),
        };
        Some(Connection { protocol, ours, peer, theirs, is_own })
    };
    told.iter().filter_map(connection).collect()
}

fn ask(asked: &Asked) -> io::Result<Vec<Told>> {
    let mut found = Vec::new();
    for family in [AF_INET, AF_INET6] {
        exchange(&asked.request(family), &mut found).map_err(|error| asked.explained(error))?;
    }
    Ok(found)
}

/// Asks, and takes all that is told.
fn exchange(request: &[u8], found: &mut Vec<Told>) -> io::Result<()> {
    netlink::exchange(NETLINK_SOCK_DIAG, request, |message| {
        if let SockDiagMessage::InetResponse(told) = message {
            found.push(Told::of(&told));
        }
        true
    })
}

impl Asked {
    fn request(&self, family: i32) -> Vec<u8> {
        let number = if self.protocol == Protocol::Tcp { IPPROTO_TCP } else { IPPROTO_UDP };
        let asked = InetRequest {
            family: family as u8,
            protocol: number as u8,
            extensions: ExtensionFlags::INFO,
            states: self.states.clone(),
            socket_id: if family == AF_INET { SocketId::new_v4() } else { SocketId::new_v6() },
        };
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_DUMP;
        let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(asked).into());
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        bytes.extend(self.attribute());
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        bytes
    }

    /// A kernel tells of sockets by modules, which it loads when it is asked, if it finds them.
    fn explained(&self, error: io::Error) -> io::Error {
        if error.kind() != io::ErrorKind::NotFound {
            return error;
        }
        let module = if self.protocol == Protocol::Tcp { "tcp_diag" } else { "udp_diag" };
        let told = format!("the kernel module {module} is not loaded: modprobe {module}");
        io::Error::new(error.kind(), told)
    }

    /// The filter, as it follows the request.
    fn attribute(&self) -> Vec<u8> {
        const KIND: u16 = 1;
        const HEAD: u16 = 4;
        if self.filter.is_empty() {
            return Vec::new();
        }
        let length = HEAD + STEP * self.filter.len() as u16;
        let mut bytes = [length.to_ne_bytes(), KIND.to_ne_bytes()].concat();
        for Step { question, yes, no } in self.filter {
            bytes.extend([*question, *yes]);
            bytes.extend(no.to_ne_bytes());
        }
        bytes
    }
}

impl Told {
    fn of(response: &InetResponse) -> Self {
        let SocketId { source_port, destination_port, destination_address, .. } = response.header.socket_id;
        let other = (destination_port != 0).then_some((destination_address, destination_port));
        Self { ours: source_port, other, opened: Opened::of(response) }
    }
}

#[cfg(test)]
mod tests;
