//! Addresses that look random and are the same in every run.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};

/// A small generator: splitmix64 (Steele, Lea, Flood 2014).
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below this one.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.number() % limit as u64) as usize
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.number().to_be_bytes()[0]
    }

    /// So many different IPv4 addresses that a host on the internet can have.
    pub fn addresses(&mut self, count: usize) -> Vec<IpAddr> {
        let mut taken = HashSet::with_capacity(count);
        let stream = std::iter::repeat_with(|| Ipv4Addr::from((self.number() >> 32) as u32));
        let fresh = stream.filter(|address| is_ordinary(*address) && taken.insert(*address));
        fresh.take(count).map(IpAddr::V4).collect()
    }
}

fn is_ordinary(address: Ipv4Addr) -> bool {
    !matches!(address.octets()[0], 0 | 127 | 224..)
}
