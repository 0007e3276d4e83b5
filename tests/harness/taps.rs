//! Packet sockets that stand behind every filter of received frames: XDP, TC, and what nftables has at ingress.
//!
//! A socket for all protocols, such as tcpdump's, stands before TC. One for a single protocol stands behind it, so there is
//! one for each protocol that frames of the tests have.

use std::num::NonZeroU32;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, setsockopt, sockopt};
use nix::sys::time::TimeVal;
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with};

use crate::Namespace;

/// IPv4, ARP, IPv6, the three tags, LLDP, MPLS, both of PPPoE, 802.1X, Wake-on-LAN, and the kernel's numbers for frames with a
/// length instead of a type.
const PROTOCOLS: [u16; 14] = [
    0x0800, 0x0806, 0x86dd, 0x8100, 0x88a8, 0x9100, 0x88cc, 0x8847, 0x8863, 0x8864, 0x888e, 0x0842, 0x0001,
    0x0004,
];

/// The sockets of one namespace.
#[derive(Debug)]
pub struct Taps {
    fence: OwnedFd,
    others: Vec<OwnedFd>,
}

impl Taps {
    /// Opens them. `fence` is the protocol of frames that are waited for.
    pub fn open(host: &Namespace, fence: u16) -> Self {
        host.inside(|| {
            let fence = packet_socket(Some(fence));
            setsockopt(&fence, sockopt::ReceiveTimeout, &TimeVal::new(1, 0)).expect("a timeout can be set");
            Self { fence, others: PROTOCOLS.map(|protocol| packet_socket(Some(protocol))).into() }
        })
    }

    /// Waits for a fence, and hands its first bytes over. None if none comes for a second.
    pub fn fence(&self) -> Option<[u8; 12]> {
        read(&self.fence, MsgFlags::empty())
    }

    /// The first bytes of all other frames that have come since.
    pub fn others(&self) -> impl Iterator<Item = [u8; 12]> + '_ {
        let drained = |socket| std::iter::from_fn(move || read(socket, MsgFlags::MSG_DONTWAIT));
        self.others.iter().flat_map(drained)
    }
}

/// A socket that receives frames of this protocol, or that only sends.
pub fn packet_socket(protocol: Option<u16>) -> OwnedFd {
    let protocol = protocol.and_then(|protocol| NonZeroU32::new(protocol.to_be().into()));
    let protocol = protocol.map(Protocol::from_raw);
    let made = socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, protocol);
    let made = made.expect("root may open packet sockets");
    setsockopt(&made, sockopt::RcvBufForce, &(64 << 20)).expect("root may have large buffers");
    made
}

fn read(socket: &OwnedFd, flags: MsgFlags) -> Option<[u8; 12]> {
    let mut start = [0; 12];
    loop {
        match recv(socket.as_raw_fd(), &mut start, flags) {
            Ok(12) => return Some(start),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => return None,
            Err(error) => panic!("the tap is broken: {error}"),
        }
    }
}
