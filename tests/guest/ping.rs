//! An echo request of ours, and whether it was answered. The kernel keeps the conversations apart.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage, bind, recv, sendto, socket,
};

/// An echo reply, of IPv4 and of IPv6.
const REPLIES: [u8; 2] = [0, 129];

/// One that was sent.
pub struct Ping {
    socket: OwnedFd,
    message: Vec<u8>,
    to: SockaddrStorage,
}

impl Ping {
    /// Lets this namespace's root open such sockets, for any address.
    pub fn allow() {
        for (setting, value) in [("ipv4/ping_group_range", "0 0"), ("ipv6/ip_nonlocal_bind", "1")] {
            let path = format!("/proc/sys/net/{setting}");
            fs::write(path, value).expect("root may set sysctls of its own namespace");
        }
    }

    /// Sends one with so many bytes in it, from the namespace that we are in.
    pub fn send(from: &str, to: &str, bytes: usize) -> Self {
        let [from, to] = [from, to].map(|address| address.parse::<IpAddr>().expect("an address"));
        let (family, protocol, request) = match to {
            IpAddr::V4(_) => (AddressFamily::Inet, SockProtocol::Icmp, 8),
            IpAddr::V6(_) => (AddressFamily::Inet6, SockProtocol::IcmpV6, 128),
        };
        let socket =
            socket(family, SockType::Datagram, SockFlag::SOCK_NONBLOCK, protocol).expect("it is allowed");
        bind(socket.as_raw_fd(), &place(from)).unwrap_or_else(|error| panic!("{from} is not here: {error}"));
        let mut message = vec![request, 0, 0, 0, 0, 0, 0, 1];
        message.resize(message.len() + bytes, b'.');
        let ping = Self { socket, message, to: place(to) };
        ping.send_again();
        ping
    }

    /// Sends the same once more.
    pub fn send_again(&self) {
        let sent = sendto(self.socket.as_raw_fd(), &self.message, &self.to, MsgFlags::empty());
        sent.unwrap_or_else(|error| panic!("{} cannot be pinged: {error}", self.to));
    }

    /// Has its answer come?
    pub fn is_answered(&self) -> bool {
        let mut kind = [0];
        let peeked = recv(self.socket.as_raw_fd(), &mut kind, MsgFlags::MSG_PEEK);
        peeked.is_ok() && REPLIES.contains(&kind[0])
    }
}

fn place(address: IpAddr) -> SockaddrStorage {
    SocketAddr::new(address, 0).into()
}
