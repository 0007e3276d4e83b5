//! A guest's network card as its neighbour knows it, and which pings it answers.

use std::net::IpAddr;

use harness::{HOST, HOST6};

use crate::guest::Guest;
use crate::lan::{NEIGHBOUR, until};
use crate::ping::Ping;

/// What the guest calls it, and its addresses.
pub struct Card {
    pub name: &'static str,
    pub mac: &'static str,
    pub v4: &'static str,
    pub v6: &'static str,
}

/// That of the guest which filterd protects.
pub const CARD: Card = Card { name: "eth0", mac: "02:00:00:00:00:01", v4: HOST, v6: HOST6 };

impl Card {
    /// Which of those who ping it with so many bytes are answered?
    ///
    /// Nobody waits for silence: a card counts every frame that it takes in, whatever becomes of it. When all have been
    /// taken in, one more ping that must be answered follows them.
    #[track_caller]
    pub fn answers<'a>(&self, guest: &mut Guest<'_>, from: &[&'a str], bytes: usize) -> Vec<&'a str> {
        let lan = guest.lan();
        let before = guest.taken_in(self);
        let pings: Vec<Ping> = from.iter().map(|from| lan.ping(from, self.address(from), bytes)).collect();
        until("the guest takes in all pings", || guest.taken_in(self) >= before + pings.len() as u64);
        let fence = lan.ping(NEIGHBOUR, self.v4, 0);
        until("the guest answers its neighbour", || fence.is_answered());
        from.iter().zip(pings).filter(|(_, ping)| ping.is_answered()).map(|(from, _)| *from).collect()
    }

    /// The one that somebody with this address talks to.
    pub fn address(&self, from: &str) -> &'static str {
        let from: IpAddr = from.parse().expect("an address");
        if from.is_ipv4() { self.v4 } else { self.v6 }
    }
}
