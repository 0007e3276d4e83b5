//! A host with a LAPI, which a program protects, and packets to it.

use std::collections::HashSet;
use std::net::{IpAddr, UdpSocket};

use harness::lapi::{Lapi, LapiDecision};
use harness::{HOST, Net};

use crate::program::{Bouncer, Setup};

/// The port to which frames of the harness go.
const PORT: u16 = 53;

/// So many packets fit into the buffer of a socket.
pub const VOLLEY: usize = 64;

/// The host. What it stands on is dropped after what stands on it.
#[derive(Debug)]
pub struct Host {
    bouncer: Option<Bouncer>,
    lapi: Lapi,
    socket: UdpSocket,
    net: Net,
}

impl Host {
    /// One with a LAPI without decisions. Nothing protects it yet.
    pub fn new() -> Self {
        let net = Net::new();
        let lapi = Lapi::begin(&net);
        // A packet socket would see what nftables drops later.
        let socket = net.host().inside(|| UdpSocket::bind((HOST, PORT))).expect("the port is free");
        socket.set_nonblocking(true).expect("a socket can be so");
        Self { bouncer: None, lapi, socket, net }
    }

    /// Starts the program that protects it.
    pub fn start(&mut self, setup: Setup) {
        self.bouncer = setup.start(&mut self.net, &self.lapi);
    }

    /// Its LAPI.
    pub fn lapi(&self) -> &Lapi {
        &self.lapi
    }

    /// Decides to ban these addresses. Returns when LAPI has answered.
    pub fn ban(&self, addresses: &[IpAddr]) {
        let decision = |address: &IpAddr| LapiDecision::new(0, &address.to_string());
        self.lapi.import(&addresses.iter().map(decision).collect::<Vec<_>>());
    }

    /// Sends a packet from each of these sources. Returns the sources whose packets reach a program on the host.
    pub fn arrivals(&self, sources: &[IpAddr]) -> Vec<IpAddr> {
        let mut arrived = HashSet::new();
        for volley in sources.chunks(VOLLEY) {
            // Returns when the kernel is done with all of them.
            self.net.send_from(volley);
            while let Ok((_, from)) = self.socket.recv_from(&mut [0; 8]) {
                arrived.insert(from.ip());
            }
        }
        sources.iter().copied().filter(|source| arrived.contains(source)).collect()
    }
}
