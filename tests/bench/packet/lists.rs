//! The same list in everybody's language. 0.0.0.0, the crowd's first, is in none: not all of them take it.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::crowd;

/// What filterd's configuration says of it: in this file, however long it is, and whatever becomes of it.
pub const CROWD: &str = "lists: [{name: crowd, path: $HOME/crowd.txt, include_special: true, max_shrink: 100%, max_entries: 10000000}]";

/// One address a line: filterd's.
pub fn lines(entries: u32) -> String {
    joined(entries, "", "\n")
}

/// One IPv6 /64 a line.
pub fn networks(entries: u32) -> String {
    networks_from(1, entries)
}

/// So many of them from this number on.
pub fn networks_from(first: u32, count: u32) -> String {
    let line = |number| format!("{}/64\n", Ipv6Addr::from(u128::from(crowd::network(number)) << 64));
    (first..first + count).map(line).collect()
}

/// A table with a set in it, and a chain at this hook that drops whom the set holds.
pub fn nft(family: &str, hook: &str, entries: u32) -> String {
    let elements = joined(entries, "", ",");
    format!(
        "table {family} bench {{\n set crowd {{ type ipv4_addr; size {}; elements = {{ {elements} }} }}\n chain guard \
         {{ type filter hook {hook}; ip saddr @crowd drop; }}\n}}\n",
        entries + SPARE
    )
}

/// What `ipset restore` reads.
pub fn ipset(entries: u32) -> String {
    let head = format!("create crowd hash:ip maxelem {}\n", entries + SPARE);
    head + &joined(entries, "add crowd ", "\n")
}

/// The address of this number, as people write it.
pub fn address(number: u32) -> String {
    Ipv4Addr::from(crowd::address(number)).to_string()
}

/// Room for single additions.
const SPARE: u32 = 1_000;

fn joined(entries: u32, before: &str, after: &str) -> String {
    let mut text = String::with_capacity(entries as usize * (before.len() + 16));
    for number in 1..=entries {
        _ = write!(text, "{before}{}{after}", Ipv4Addr::from(crowd::address(number)));
    }
    text
}
