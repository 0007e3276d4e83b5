//! Finds other programs that drop packets by source address. An address passes only if none of them lists it,
//! and `filterd test` knows only filterd's own lists.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};

use rtnetlink::packet_core::DefaultNla;
use rtnetlink::sys::protocols::NETLINK_NETFILTER;

use super::processes::running;
use super::{Findings, Subject};
use crate::netlink::{self, AttributeMessage, text, within};
use crate::text::printable;

const CHECK: &str = "blocklists";

/// Programs that ban, by the names of their processes.
const BANNERS: [(&str, &str, &str); 3] = [
    ("fail2ban-server", "fail2ban", "fail2ban-client status"),
    ("crowdsec-firewa", "the firewall bouncer of CrowdSec", "cscli decisions list"),
    ("sshguard", "sshguard", "systemctl status sshguard"),
];

/// nftables: its subsystem of netfilter, and the request for sets.
const NFTABLES: u16 = 10;
const GET_SET: u16 = 10;
const SET_TABLE: u16 = 1;
const SET_NAME: u16 = 2;
const SET_FLAGS: u16 = 3;
const SET_KEY: u16 = 4;
/// Flags of sets made for one rule, and of maps.
const ANONYMOUS_OR_MAP: u32 = 1 | 8;
/// The key types `ipv4_addr` and `ipv6_addr`.
const ADDRESSES: [u32; 2] = [7, 8];

/// ipset: its subsystem of netfilter, and the request for all sets without their elements.
const IPSET: u16 = 6;
const LIST: u16 = 7;
const PROTOCOL: u16 = 1;
const NAME: u16 = 2;
const TYPE: u16 = 3;
const FLAGS: u16 = 6;
const DATA: u16 = 7;
const ELEMENTS: u16 = 24;
const HEADS_ONLY: u32 = 1 << 2;
/// Version 6 of the protocol, which kernels understand both before and since Linux 4.19.
const SPOKEN: u8 = 6;
const IN_NETWORK_ORDER: u16 = 1 << 14;

/// Reports the programs that were found.
pub fn check(subject: &Subject, findings: &mut Findings) {
    let mut found = Vec::new();
    match nftables() {
        Ok(sets) => found.extend(told_of_nftables(&sets)),
        Err(error) => unseen("nftables", &error, findings),
    }
    match ipsets() {
        Ok(sets) => found.extend(told_of_ipset(&sets)),
        Err(error) => unseen("ipset", &error, findings),
    }
    found.extend(csf(subject));
    found.extend(BANNERS.iter().filter_map(|(process, name, look)| {
        let (_, number) = running(&subject.root, &[process])?;
        Some((
            format!("{name} runs (process {number}) and blocks addresses by its own means"),
            (*look).to_owned(),
        ))
    }));
    if found.is_empty() {
        findings.ok(CHECK, "no other program that blocks addresses was found");
    }
    for (message, remedy) in found {
        findings.warn(CHECK, format!("{message}; `filterd test` does not see it"), Some(remedy));
    }
}

type SetRemarks = (String, String);

/// A named set of addresses.
#[derive(Debug, PartialEq, Eq)]
struct NamedSet {
    family: &'static str,
    table: String,
    name: String,
}

fn nftables() -> io::Result<Vec<NamedSet>> {
    let asked = AttributeMessage { kind: NFTABLES << 8 | GET_SET, head: [0; 4], attributes: Vec::new() };
    Ok(netlink::list(NETLINK_NETFILTER, asked)?.iter().filter_map(named_set).collect())
}

fn named_set(message: &AttributeMessage) -> Option<NamedSet> {
    let number = |kind| Some(u32::from_be_bytes(message.attribute(kind)?.try_into().ok()?));
    if number(SET_FLAGS).unwrap_or(0) & ANONYMOUS_OR_MAP != 0 || !ADDRESSES.contains(&number(SET_KEY)?) {
        return None;
    }
    let word = |kind| message.attribute(kind).map(|bytes| text(&bytes));
    let family = match message.head[0] {
        1 => "inet",
        2 => "ip",
        5 => "netdev",
        7 => "bridge",
        10 => "ip6",
        _ => return None,
    };
    Some(NamedSet { family, table: word(SET_TABLE)?, name: word(SET_NAME)? })
}

fn told_of_nftables(sets: &[NamedSet]) -> Vec<SetRemarks> {
    let mut tables: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for set in sets {
        tables.entry((set.family, &set.table)).or_default().push(&set.name);
    }
    let said = |((family, table), names): (&(&str, &str), &Vec<&str>)| {
        let shown: Vec<_> = names.iter().take(5).map(|name| printable::excerpt(name)).collect();
        let more = if names.len() > shown.len() { " …" } else { "" };
        let (table, first) = (printable::excerpt(table), &shown[0]);
        (
            format!("nftables table {family} {table} has sets of addresses: {}{more}", shown.join(", ")),
            format!("nft -j list ruleset | filterd import - --only {first}"),
        )
    };
    tables.iter().map(said).collect()
}

/// The name, type and number of elements of each set.
fn ipsets() -> io::Result<Vec<(String, String, u32)>> {
    let flags = DefaultNla::new(FLAGS | IN_NETWORK_ORDER, HEADS_ONLY.to_be_bytes().to_vec());
    let attributes = vec![DefaultNla::new(PROTOCOL, vec![SPOKEN]), flags];
    let asked = AttributeMessage { kind: IPSET << 8 | LIST, head: [0; 4], attributes };
    let sets = netlink::list(NETLINK_NETFILTER, asked)?;
    Ok(sets.iter().filter_map(ipset).collect())
}

fn ipset(message: &AttributeMessage) -> Option<(String, String, u32)> {
    let kind = message
        .attribute(TYPE)
        .map(|bytes| text(&bytes))
        .filter(|kind| kind.contains("ip") || kind.contains("net"))?;
    let name = text(&message.attribute(NAME)?);
    let data = message.attribute(DATA).unwrap_or_default();
    let elements =
        within(&data, ELEMENTS).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes);
    Some((name, kind, elements))
}

fn told_of_ipset(sets: &[(String, String, u32)]) -> Option<SetRemarks> {
    let (first, _, _) = sets.first()?;
    let shown: Vec<_> = sets
        .iter()
        .take(5)
        .map(|(name, _, entries)| format!("{} ({entries})", printable::excerpt(name)))
        .collect();
    let more = if sets.len() > shown.len() { " …" } else { "" };
    Some((
        format!("ipset has sets of addresses: {}{more}", shown.join(", ")),
        format!("ipset save {} | filterd import -", printable::excerpt(first)),
    ))
}

/// Finds ConfigServer Firewall (CSF), unless it is disabled.
fn csf(subject: &Subject) -> Option<SetRemarks> {
    if !subject.file("etc/csf/csf.conf").exists() || subject.file("etc/csf/csf.disable").exists() {
        return None;
    }
    let denied = subject.text("etc/csf/csf.deny").unwrap_or_default();
    let lines =
        denied.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')).count();
    Some((
        format!("CSF is installed and denies {lines} addresses or ranges in csf.deny"),
        "filterd import /etc/csf/csf.deny".to_owned(),
    ))
}

/// Reports an error. If the kernel lacks the subsystem, there are no sets, and nothing is reported.
fn unseen(what: &str, error: &io::Error, findings: &mut Findings) {
    const NOT_THERE: [i32; 4] =
        [nix::libc::EINVAL, nix::libc::EOPNOTSUPP, nix::libc::EPROTONOSUPPORT, nix::libc::ENOENT];
    if error.kind() == ErrorKind::PermissionDenied {
        findings.could_not_see(what);
    } else if !error.raw_os_error().is_some_and(|number| NOT_THERE.contains(&number)) {
        findings.warn(CHECK, format!("cannot list the contents of {what}: {error}"), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(flags: u32, key: u32) -> AttributeMessage {
        let word = |kind, word: &str| DefaultNla::new(kind, word.bytes().chain([0]).collect());
        let number = |kind, number: u32| DefaultNla::new(kind, number.to_be_bytes().to_vec());
        let attributes = vec![
            word(SET_TABLE, "filter"),
            word(SET_NAME, "bad\x1b[2J"),
            number(SET_FLAGS, flags),
            number(SET_KEY, key),
        ];
        AttributeMessage { kind: NFTABLES << 8 | 9, head: [1, 0, 0, 0], attributes }
    }

    #[test]
    fn only_sets_of_addresses_are_reported() {
        let found = named_set(&set(0, 7)).unwrap();
        assert_eq!((found.family, found.table.as_str()), ("inet", "filter"));
        for other in [set(1, 7), set(8, 8), set(0, 13)] {
            assert_eq!(named_set(&other), None);
        }
        let (message, remedy) = &told_of_nftables(&[found])[0];
        assert!(message.ends_with("inet filter has sets of addresses: bad\\u{1b}[2J"), "{message}");
        assert!(remedy.starts_with("nft -j list ruleset | filterd import - --only bad"), "{remedy}");
    }

    #[test]
    fn ipset_set_is_reported_with_its_size() {
        let word = |kind, word: &str| DefaultNla::new(kind, word.bytes().chain([0]).collect());
        let elements =
            [8_u16.to_ne_bytes(), ELEMENTS.to_ne_bytes()].concat().into_iter().chain(7_u32.to_be_bytes());
        let attributes =
            vec![word(NAME, "bans"), word(TYPE, "hash:ip"), DefaultNla::new(DATA, elements.collect())];
        let message = AttributeMessage { kind: 0, head: [0; 4], attributes };
        let sets: Vec<_> = ipset(&message).into_iter().collect();
        assert_eq!(sets, [("bans".to_owned(), "hash:ip".to_owned(), 7)]);
        assert_eq!(told_of_ipset(&sets).unwrap().0, "ipset has sets of addresses: bans (7)");
        assert_eq!(told_of_ipset(&[]), None);
    }
}
