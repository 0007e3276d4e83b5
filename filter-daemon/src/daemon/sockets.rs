//! The sockets of this host that are in touch with somebody, as the kernel tells them to anybody in its network namespace.

use std::io;
use std::net::IpAddr;

use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use nix::libc::{AF_INET, AF_INET6, IPPROTO_TCP, IPPROTO_UDP};
use rtnetlink::packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use rtnetlink::sys::protocols::NETLINK_SOCK_DIAG;
use rtnetlink::sys::{Socket, SocketAddr};

/// The most that the kernel sends in one piece.
const PIECE: usize = 64 * 1024;

/// What is spoken between two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    Tcp,
    Udp,
}

/// One socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    pub protocol: Protocol,
    /// Our port.
    pub ours: u16,
    /// The other end; none if it hears everybody.
    pub other: Option<(IpAddr, u16)>,
}

/// All that listen for, or are in touch with, somebody.
pub fn all(protocol: Protocol) -> io::Result<Vec<Pair>> {
    let mut found = of(protocol, AF_INET)?;
    found.extend(of(protocol, AF_INET6)?);
    Ok(found)
}

fn of(protocol: Protocol, family: i32) -> io::Result<Vec<Pair>> {
    let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&request(protocol, family), 0)?;
    let mut found = Vec::new();
    let mut piece = vec![0; PIECE];
    loop {
        let length = socket.recv(&mut &mut piece[..], 0)?;
        if take(protocol, &piece[..length], &mut found)? {
            return Ok(found);
        }
    }
}

fn request(protocol: Protocol, family: i32) -> Vec<u8> {
    let number = if protocol == Protocol::Tcp { IPPROTO_TCP } else { IPPROTO_UDP };
    // An UDP socket that hears everybody counts as closed.
    let over = match protocol {
        Protocol::Tcp => StateFlags::TIME_WAIT | StateFlags::CLOSE,
        Protocol::Udp => StateFlags::TIME_WAIT,
    };
    let asked = InetRequest {
        family: family as u8,
        protocol: number as u8,
        extensions: ExtensionFlags::empty(),
        states: StateFlags::all().difference(over),
        socket_id: if family == AF_INET { SocketId::new_v4() } else { SocketId::new_v6() },
    };
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(asked).into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// Takes what a piece tells. True if that was the last.
fn take(protocol: Protocol, mut piece: &[u8], found: &mut Vec<Pair>) -> io::Result<bool> {
    while !piece.is_empty() {
        let message = NetlinkMessage::<SockDiagMessage>::deserialize(piece).map_err(io::Error::other)?;
        let length = (message.header.length as usize).next_multiple_of(4).max(4);
        if let NetlinkPayload::Done(_) = message.payload {
            return Ok(true);
        }
        if let NetlinkPayload::Error(error) = message.payload {
            return Err(error.to_io());
        }
        if let NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) = message.payload {
            let SocketId { source_port, destination_port, destination_address, .. } =
                response.header.socket_id;
            let other = (destination_port != 0).then_some((destination_address, destination_port));
            found.push(Pair { protocol, ours: source_port, other });
        }
        piece = piece.get(length..).unwrap_or_default();
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    #[test]
    fn connections_of_this_host_are_found_in_both_families() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let there = listener.local_addr().unwrap();
            let stream = TcpStream::connect(there).unwrap();
            let ours = stream.local_addr().unwrap().port();
            let found = all(Protocol::Tcp).unwrap();
            let connected = Pair { protocol: Protocol::Tcp, ours, other: Some((there.ip(), there.port())) };
            assert!(found.contains(&connected), "{found:?}");
            let listens = Pair { protocol: Protocol::Tcp, ours: there.port(), other: None };
            assert!(found.contains(&listens), "{found:?}");
        }
    }

    #[test]
    fn so_are_connected_udp_sockets_and_those_that_hear_everybody() {
        let (one, other) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        one.connect(other.local_addr().unwrap()).unwrap();
        let port = |socket: &UdpSocket| socket.local_addr().unwrap().port();
        let found = all(Protocol::Udp).unwrap();
        let from = |ours| found.iter().filter(move |pair| pair.ours == ours && pair.other.is_some());
        assert_eq!(from(port(&one)).count(), 1, "{found:?}");
        assert_eq!(from(port(&other)).count(), 0, "{found:?}");
        let hears = Pair { protocol: Protocol::Udp, ours: port(&other), other: None };
        assert!(found.contains(&hears), "{found:?}");
    }

    #[test]
    fn what_is_no_answer_is_an_error_or_nothing() {
        let mut found = Vec::new();
        assert!(take(Protocol::Tcp, &[1, 2, 3], &mut found).is_err());
        assert!(!take(Protocol::Tcp, &[], &mut found).unwrap());
        assert!(found.is_empty());
    }
}
