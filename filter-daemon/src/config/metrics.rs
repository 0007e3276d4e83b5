//! `metrics`: where filterd may be looked at with a browser, and by which names.

use std::net::SocketAddr;

use super::raw::{Node, Value};
use super::shape::{Faults, Key, Word, kind};
use super::{Config, Metrics};
use crate::text::printable::excerpt;

const KEYS: [Key<Metrics>; 2] = [Key { name: "listen", take: listen }, Key { name: "hosts", take: hosts }];

/// The names of these.
#[cfg(test)]
pub fn keys() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.name)
}

const EXAMPLE: &str = "write it as in 127.0.0.1:9477 or \"[::1]:9477\"";

/// The longest name that DNS has.
const LONGEST: usize = 253;

/// The whole section; without a value it is off.
pub fn metrics(faults: &mut Faults, node: Node, config: &mut Config) {
    match node.value {
        Value::Map(map) => _ = faults.fields(map, &KEYS, &mut config.metrics),
        Value::Nothing => {}
        other @ (Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Tagged) => {
            let message = format!("`metrics` must be a map of keys, not {}", kind(&other));
            faults.tell(node.number, message, "write {listen: 127.0.0.1:9477}");
        }
    }
}

fn listen(faults: &mut Faults, node: Node, metrics: &mut Metrics) {
    let Some(Word { node, text }) = faults.text(node, "`listen`") else { return };
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() == 0 => {
            faults.tell(
                node,
                "there is no port 0",
                "write a port from 1 to 65535: 9477, if nothing speaks against it",
            );
        }
        Ok(address) => metrics.listen = Some(address),
        Err(_) => faults.tell(node, format!("`{}` is no address with a port", excerpt(&text)), EXAMPLE),
    }
}

fn hosts(faults: &mut Faults, node: Node, metrics: &mut Metrics) {
    for item in faults.items(node, "`hosts`") {
        let Some(Word { node, text }) = faults.text(item, "the name of a host") else { continue };
        let name = text.to_ascii_lowercase();
        if is_name(&name) {
            metrics.hosts.push(name);
        } else {
            let help = "write it as browsers are told it, without a port: filter.example.net";
            faults.tell(node, format!("`{}` is no name of a host", excerpt(&text)), help);
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        !part.is_empty() && part.bytes().all(is_known)
    };
    name.len() <= LONGEST && name.split('.').all(is_part)
}
