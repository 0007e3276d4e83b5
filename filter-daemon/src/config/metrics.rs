//! The `metrics` section: the addresses where browsers can reach filterd, the allowed host names, and whether
//! dropped sources are shown.

use std::collections::HashMap;
use std::net::SocketAddr;

use super::raw::{Node, YamlValue};
use super::shape::{MapKey, TextValue, ValueFaults, kind};
use super::{Config, Metrics};
use crate::text::Explanation;
use crate::text::printable::excerpt;

const KEYS: [MapKey<Metrics>; 3] = [
    MapKey { name: "listen", take: listen },
    MapKey { name: "hosts", take: hosts },
    MapKey { name: "sources", take: sources },
];

/// A host is reached at a few addresses, not at a whole network of them.
const MOST_ADDRESSES: usize = 16;

/// Each source becomes a separate series in the monitoring system.
pub const MOST_SOURCES: u64 = 100;

/// The number of sources for `sources: true`: as many as fit on a screen with everything else.
const SOME_SOURCES: usize = 10;

/// The names of these keys.
#[cfg(test)]
pub fn keys() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.name)
}

const EXAMPLE: &str = "write it as in 127.0.0.1:9477 or \"[::1]:9477\"";

/// The longest name that DNS allows.
const LONGEST: usize = 253;

/// Parses the whole section. Without a value it is off.
pub fn metrics(faults: &mut ValueFaults, node: Node, config: &mut Config) {
    match node.value {
        YamlValue::Map(map) => _ = faults.fields(map, &KEYS, &mut config.metrics),
        YamlValue::Nothing => {}
        other @ (YamlValue::Bool(_)
        | YamlValue::Number(_)
        | YamlValue::Text(_)
        | YamlValue::List(_)
        | YamlValue::Tagged) => {
            let message = format!("`metrics` must be a map of keys, not {}", kind(&other));
            faults.tell(node.number, message, "write {listen: 127.0.0.1:9477}");
        }
    }
}

/// Parses one address or a list of addresses.
fn listen(faults: &mut ValueFaults, node: Node, metrics: &mut Metrics) {
    let number = node.number;
    let items = node.one_or_several();
    if items.len() > MOST_ADDRESSES {
        let help = "0.0.0.0:9477 and \"[::]:9477\" mean all addresses of this host";
        faults.tell(number, format!("`listen` takes at most {MOST_ADDRESSES} addresses"), help);
        return;
    }
    let mut said = HashMap::new();
    for item in items {
        let Some(TextValue { node, text }) = faults.text(item, "`listen`") else { continue };
        match text.parse::<SocketAddr>() {
            Ok(address) if address.port() == 0 => {
                faults.tell(node, "there is no port 0", "write a port from 1 to 65535, such as 9477");
            }
            Ok(address) => {
                if faults.first(&mut said, &address.to_string(), node) {
                    metrics.listen.push(address);
                }
            }
            Err(_) => {
                faults.tell(node, format!("`{}` is not an address with a port", excerpt(&text)), EXAMPLE)
            }
        }
    }
}

fn hosts(faults: &mut ValueFaults, node: Node, metrics: &mut Metrics) {
    for item in faults.items(node, "`hosts`") {
        let Some(TextValue { node, text }) = faults.text(item, "the name of a host") else { continue };
        let name = text.to_ascii_lowercase();
        if is_name(&name) {
            metrics.hosts.push(name);
        } else {
            let help = "write it as in a browser, without a port: filter.example.net";
            faults.tell(node, format!("`{}` is not a host name", excerpt(&text)), help);
        }
    }
}

/// Parses whether sources are shown, or how many.
fn sources(faults: &mut ValueFaults, node: Node, metrics: &mut Metrics) {
    let message = match node.value {
        YamlValue::Bool(are_told) => {
            metrics.sources = if are_told { SOME_SOURCES } else { 0 };
            return;
        }
        YamlValue::Number(Some(most @ 0..=MOST_SOURCES)) => {
            metrics.sources = most as usize;
            return;
        }
        YamlValue::Number(_) => "`sources` cannot be that many".to_owned(),
        other @ (YamlValue::Nothing
        | YamlValue::Text(_)
        | YamlValue::List(_)
        | YamlValue::Map(_)
        | YamlValue::Tagged) => {
            format!("`sources` must be true, false or a number, not {}", kind(&other))
        }
    };
    let help = format!("write true ({SOME_SOURCES}), false, or 0 (none) to {MOST_SOURCES}");
    faults.tell(node.number, message, help);
}

impl Metrics {
    /// The number of sources to show. Zero if there is no address to listen at.
    pub fn sources_told(&self) -> usize {
        if self.listen.is_empty() { 0 } else { self.sources }
    }

    /// Warnings for the operator about these settings.
    pub fn warnings(&self) -> Vec<Explanation> {
        let open = self.listen.iter().filter(|address| !address.ip().is_loopback());
        let what = if self.sources > 0 {
            "names, counters, troubles and sources"
        } else {
            "names, counters and troubles"
        };
        let told = |address: &SocketAddr| {
            Explanation::new(
                format!(
                    "http://{address}/ shows {what} to every client that reaches it, without authentication"
                ),
                "restrict access with a firewall, or listen only at 127.0.0.1 and connect by SSH: ssh -L 9477:127.0.0.1:9477 HOST",
            )
        };
        open.map(told).collect()
    }
}

fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        !part.is_empty() && part.bytes().all(is_known)
    };
    name.len() <= LONGEST && name.split('.').all(is_part)
}
