//! The SSH connection that a caller names as its own, and whether the kernel has it.
//!
//! A program's statement about itself proves nothing. But a caller who may give orders to filterd may allow
//! any address anyway, so a lie gains nothing. The connection must be open at this moment. This excludes
//! connections that have ended, such as that of a shell left behind in a terminal multiplexer.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use nix::libc::{AF_INET, AF_INET6, IPPROTO_TCP};
use rtnetlink::packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use rtnetlink::sys::protocols::NETLINK_SOCK_DIAG;
use rtnetlink::sys::{Socket, SocketAddr as NetlinkAddress};

use super::plain;

/// The kernel's number for an established connection.
const ESTABLISHED: u8 = 1;

/// The cookie that matches any socket.
const ANY_COOKIE: [u8; 8] = [0xFF; 8];

/// The size of the receive buffer, which exceeds one answer about one socket.
const LONGEST: usize = 16 * 1024;

/// Both ends of a TCP connection of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SshConnection {
    /// The remote end of the connection.
    pub peer: SocketAddr,
    pub own: SocketAddr,
}

impl SshConnection {
    /// Parses `SSH_CONNECTION`, which sshd sets: address and port of the remote end, then of this host.
    #[must_use]
    pub fn parse(words: &str) -> Option<Self> {
        let mut words = words.split_ascii_whitespace();
        let mut end = || {
            // A link-local address is followed by its interface.
            let address: IpAddr = words.next()?.split('%').next()?.parse().ok()?;
            Some(SocketAddr::new(plain(address), words.next()?.parse().ok()?))
        };
        let (peer, own) = (end()?, end()?);
        (words.next().is_none() && peer.is_ipv4() == own.is_ipv4()).then_some(Self { peer, own })
    }

    /// True if the connection is established in the network namespace of this process.
    pub fn is_open(&self) -> io::Result<bool> {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
        socket.bind_auto()?;
        socket.connect(&NetlinkAddress::new(0, 0))?;
        socket.send(&self.request(), 0)?;
        let mut answer = vec![0; LONGEST];
        let length = socket.recv(&mut &mut answer[..], 0)?;
        is_open(&answer[..length])
    }

    fn request(&self) -> Vec<u8> {
        let family = if self.peer.is_ipv4() { AF_INET } else { AF_INET6 };
        let socket_id = SocketId {
            source_port: self.own.port(),
            destination_port: self.peer.port(),
            source_address: self.own.ip(),
            destination_address: self.peer.ip(),
            interface_id: 0,
            cookie: ANY_COOKIE,
        };
        let asked = InetRequest {
            family: family as u8,
            protocol: IPPROTO_TCP as u8,
            extensions: ExtensionFlags::empty(),
            states: StateFlags::all(),
            socket_id,
        };
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST;
        let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(asked).into());
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        bytes
    }
}

/// The format of `SSH_CONNECTION`.
impl fmt::Display for SshConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { peer, own } = self;
        write!(f, "{} {} {} {}", peer.ip(), peer.port(), own.ip(), own.port())
    }
}

/// If there is no such connection, the kernel describes a listening socket, or reports that there is none.
fn is_open(answer: &[u8]) -> io::Result<bool> {
    let message = NetlinkMessage::<SockDiagMessage>::deserialize(answer).map_err(io::Error::other)?;
    if let NetlinkPayload::Error(error) = message.payload {
        let error = error.to_io();
        return if error.kind() == io::ErrorKind::NotFound { Ok(false) } else { Err(error) };
    }
    let NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) = message.payload else {
        return Ok(false);
    };
    Ok(response.header.state == ESTABLISHED)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn ssh_connection_is_parsed_strictly() {
        let both = |words| {
            let one = SshConnection::parse(words)?;
            assert_eq!(SshConnection::parse(&one.to_string()), Some(one), "what is written is read");
            Some(format!("{} {}", one.peer, one.own))
        };
        assert_eq!(
            both("192.0.2.7 51000 198.51.100.1 22").as_deref(),
            Some("192.0.2.7:51000 198.51.100.1:22")
        );
        assert_eq!(
            both("fe80::7%eth0 51000 fe80::1%eth0 22").as_deref(),
            Some("[fe80::7]:51000 [fe80::1]:22")
        );
        assert_eq!(both("::ffff:192.0.2.7 1 ::ffff:192.0.2.1 2").as_deref(), Some("192.0.2.7:1 192.0.2.1:2"));
        for words in [
            "",
            "192.0.2.7",
            "192.0.2.7 51000 198.51.100.1",
            "192.0.2.7 1 ::1 2",
            "a b c d",
            "192.0.2.7 1 192.0.2.1 2 3",
        ] {
            assert_eq!(both(words), None, "{words}");
        }
    }

    #[test]
    fn only_a_connection_that_stands_is_open() {
        for (listens, comes) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "::1"), ("[::]:0", "127.0.0.1")] {
            let listener = TcpListener::bind(listens).unwrap();
            let port = listener.local_addr().unwrap().port();
            let client = TcpStream::connect((comes, port)).unwrap();
            let (served, _) = listener.accept().unwrap();
            let (peer, own) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
            let connection = SshConnection { peer, own };
            assert!(connection.is_open().unwrap(), "{connection:?}");
            let other = SshConnection { peer: SocketAddr::new(peer.ip(), 1), own };
            assert!(!other.is_open().unwrap(), "somebody listens, and nobody came by it");
            drop((client, served, listener));
            assert!(!connection.is_open().unwrap(), "{connection:?} is over");
        }
    }
}
