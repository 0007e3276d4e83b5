//! Finds the sockets of this host that have a peer, as the kernel reports them to any process in the network
//! namespace. `opened` finds which end began a TCP connection, and `ports` the UDP ports that begin flows.

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

use opened::OpenedBy;
pub use ports::{PortRange, UdpPorts};

use crate::netlink;

/// The protocol of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    Tcp,
    Udp,
}

/// A socket with a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerConnection {
    pub protocol: Protocol,
    /// The port of this host.
    pub ours: u16,
    /// The address of the peer.
    pub peer: IpAddr,
    /// The port of the peer.
    pub theirs: u16,
    /// Whether this host began it.
    pub is_own: bool,
}

/// One socket, as the kernel reports it.
#[derive(Clone, Copy, Debug)]
struct ReportedSocket {
    ours: u16,
    /// None for a socket without a peer.
    other: Option<(IpAddr, u16)>,
    opened: OpenedBy,
}

/// A request for sockets.
struct SocketQuery {
    protocol: Protocol,
    states: StateFlags,
    /// The kernel runs this filter for each socket and reports the accepted ones. An empty filter accepts
    /// all.
    filter: &'static [FilterStep],
}

/// A step of a filter: a test, and how many bytes to jump if it is true or false. A socket is reported if the
/// program ends exactly at its end (`inet_diag_bc_op`).
#[derive(Clone, Copy)]
struct FilterStep {
    question: u8,
    yes: u8,
    no: u16,
}

/// The test that is always false.
const JUMP: u8 = 1;

/// The test whether the kernel chose the port.
const IS_GIVEN: u8 = 6;

const STEP: u16 = 4;

/// Accepts sockets that requested their port by number.
const BY_NUMBER: [FilterStep; 2] = [
    FilterStep { question: IS_GIVEN, yes: STEP as u8, no: 2 * STEP },
    FilterStep { question: JUMP, yes: STEP as u8, no: 2 * STEP },
];

/// All sockets with a peer.
pub fn connections(protocol: Protocol) -> io::Result<Vec<PeerConnection>> {
    let closed = match protocol {
        Protocol::Tcp => StateFlags::TIME_WAIT | StateFlags::CLOSE,
        // UDP sockets without a peer have this state.
        Protocol::Udp => StateFlags::CLOSE,
    };
    let told = ask(&SocketQuery { protocol, states: StateFlags::all().difference(closed), filter: &[] })?;
    Ok(of(protocol, &told, &UdpPorts::look()?))
}

/// The UDP ports of services: sockets without a peer that requested their port by number. If the kernel chose
/// the port, others can find the socket only after it has written to them.
fn services() -> io::Result<Vec<u16>> {
    let told = ask(&SocketQuery { protocol: Protocol::Udp, states: StateFlags::CLOSE, filter: &BY_NUMBER })?;
    Ok(told.iter().filter(|told| told.other.is_none()).map(|told| told.ours).collect())
}

/// The connections among these sockets, and which end began them.
///
/// For a TCP connection that is nearly over, the kernel does not reveal this. It counts as begun by this host
/// if nothing listens on its port, and only its own port is one that the kernel assigns. In doubt a
/// connection of this host is dropped rather than one of a banned source accepted.
fn of(protocol: Protocol, told: &[ReportedSocket], ports: &UdpPorts) -> Vec<PeerConnection> {
    let listened: HashSet<u16> =
        told.iter().filter(|told| told.other.is_none()).map(|told| told.ours).collect();
    let connection = |&ReportedSocket { ours, other, opened }: &ReportedSocket| {
        let (peer, theirs) = other?;
        let is_own = match (protocol, opened) {
            (Protocol::Tcp, OpenedBy::Here) => true,
            (Protocol::Tcp, OpenedBy::There) => false,
            (Protocol::Tcp, OpenedBy::Untold) => {
                let range = ports.range();
                range.has(ours) && !range.has(theirs) && !listened.contains(&ours)
            }
            (Protocol::Udp, _) => ports.begins(ours),
        };
        Some(PeerConnection { protocol, ours, peer, theirs, is_own })
    };
    told.iter().filter_map(connection).collect()
}

fn ask(asked: &SocketQuery) -> io::Result<Vec<ReportedSocket>> {
    let mut found = Vec::new();
    for family in [AF_INET, AF_INET6] {
        exchange(&asked.request(family), &mut found).map_err(|error| asked.explained(error))?;
    }
    Ok(found)
}

/// Sends the request, and collects all answers.
fn exchange(request: &[u8], found: &mut Vec<ReportedSocket>) -> io::Result<()> {
    netlink::exchange(NETLINK_SOCK_DIAG, request, |message| {
        if let SockDiagMessage::InetResponse(told) = message {
            found.push(ReportedSocket::of(&told));
        }
        true
    })
}

impl SocketQuery {
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

    /// Explains a missing module. The kernel reports sockets through modules, which it loads on request if it
    /// finds them.
    fn explained(&self, error: io::Error) -> io::Error {
        if error.kind() != io::ErrorKind::NotFound {
            return error;
        }
        let module = if self.protocol == Protocol::Tcp { "tcp_diag" } else { "udp_diag" };
        let told = format!("the kernel module {module} is not loaded: modprobe {module}");
        io::Error::new(error.kind(), told)
    }

    /// The filter as an attribute, which follows the request.
    fn attribute(&self) -> Vec<u8> {
        const KIND: u16 = 1;
        const HEAD: u16 = 4;
        if self.filter.is_empty() {
            return Vec::new();
        }
        let length = HEAD + STEP * self.filter.len() as u16;
        let mut bytes = [length.to_ne_bytes(), KIND.to_ne_bytes()].concat();
        for FilterStep { question, yes, no } in self.filter {
            bytes.extend([*question, *yes]);
            bytes.extend(no.to_ne_bytes());
        }
        bytes
    }
}

impl ReportedSocket {
    fn of(response: &InetResponse) -> Self {
        let SocketId { source_port, destination_port, destination_address, .. } = response.header.socket_id;
        let other = (destination_port != 0).then_some((destination_address, destination_port));
        Self { ours: source_port, other, opened: OpenedBy::of(response) }
    }
}

#[cfg(test)]
mod tests;
