//! On which ports a list blocks: all, one alone, or all but one. And what it is sent to.

use std::net::IpAddr;

use super::judge::away;
use crate::{Frame, Random};

/// The port of the usual frame, which no list ever names.
pub const USUAL: u16 = 53;

/// All ports that packets are sent to.
const SENT_TO: [u16; 4] = [USUAL, 22, 80, 443];

const TCP: u8 = 6;

/// On which ports a list blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ports {
    #[default]
    All,
    Only(u16),
    Except(u16),
}

impl Ports {
    /// What lists may say. No two of them make up all ports.
    pub const ANY: [Self; 4] = [Self::All, Self::Only(22), Self::Only(80), Self::Except(443)];

    /// Does the list want what is sent there dropped?
    pub fn want(self, port: u16) -> bool {
        match self {
            Self::All => true,
            Self::Only(own) => port == own,
            Self::Except(own) => port != own,
        }
    }

    /// As a list of the configuration says it.
    pub fn key(self) -> String {
        match self {
            Self::All => String::new(),
            Self::Only(port) => format!(", ports: [{port}]"),
            Self::Except(port) => format!(", except_ports: [{port}]"),
        }
    }
}

/// A packet to be judged: from whom, and to which port.
pub type Packet = (IpAddr, u16);

/// Each of these sends to some port.
pub fn to_some_port(sources: Vec<IpAddr>, random: &mut Random) -> Vec<Packet> {
    sources.into_iter().map(|source| (source, SENT_TO[random.below(SENT_TO.len())])).collect()
}

/// A packet for nobody here, to this port.
pub fn frame((source, port): Packet) -> Frame {
    if port == USUAL { away(source) } else { away(source).transport(TCP, segment(port)) }
}

/// One that belongs to no connection.
fn segment(port: u16) -> Vec<u8> {
    let mut segment = vec![0; 20];
    segment[..4].copy_from_slice(&[[0x9c, 0x40], port.to_be_bytes()].concat());
    (segment[12], segment[13]) = (5 << 4, Frame::ACK);
    segment
}
