//! What `nft -j list` writes: one JSON document, in which sets and their elements are found.

use filter_common::target::Span;
use serde::Deserialize;
use serde_json::Value;

use super::list_of::Begun;
use super::nft::unprefixed;
use super::{Fault, Item};
use crate::control::wire::words;
use crate::text::printable;

#[derive(Deserialize)]
struct Document {
    nftables: Vec<Object>,
}

/// Anything of a ruleset; sets are what matters.
#[derive(Deserialize)]
struct Object {
    set: Option<Set>,
}

#[derive(Deserialize)]
struct Set {
    name: String,
    #[serde(rename = "type", default)]
    kind: Value,
    #[serde(default)]
    timeout: Option<u64>,
    #[serde(default)]
    elem: Vec<Value>,
}

#[derive(Deserialize)]
struct Element {
    val: Value,
    #[serde(default)]
    timeout: Option<u64>,
    #[serde(default)]
    expires: Option<u64>,
    #[serde(default)]
    comment: Option<String>,
}

/// Every element of every set of addresses, or what is wrong with it.
pub fn read(text: &[u8]) -> Result<Vec<Result<Item, Fault>>, Fault> {
    let document: Document = serde_json::from_slice(text).map_err(|error| {
        format!("it is not what `nft -j list` writes: {}", printable::sentence(&error.to_string()))
    })?;
    let begun = Begun::now();
    let sets = document.nftables.into_iter().filter_map(|object| object.set);
    // Sets of ports, interfaces and the like are nothing that a list has.
    let sets = sets.filter(|set| set.kind == "ipv4_addr" || set.kind == "ipv6_addr");
    Ok(sets
        .flat_map(|Set { name, timeout, elem, .. }| {
            elem.into_iter().map(move |one| element(begun, &name, timeout, one))
        })
        .collect())
}

fn element(begun: Begun, set: &str, usual: Option<u64>, one: Value) -> Result<Item, Fault> {
    let element = match one {
        Value::Object(mut object) if object.contains_key("elem") => {
            let element = object.remove("elem").unwrap_or_default();
            serde_json::from_value(element).map_err(|error| format!("it is no element: {error}"))?
        }
        val => Element { val, timeout: None, expires: None, comment: None },
    };
    let Element { val, timeout, expires, comment } = element;
    let left = expires.or(timeout).or(usual);
    begun.item(span(&val)?, unprefixed(set), left, comment.as_deref())
}

fn span(val: &Value) -> Result<Span, Fault> {
    let (prefix, range) = (&val["prefix"], &val["range"]);
    let word = match (
        val.as_str(),
        prefix["addr"].as_str(),
        prefix["len"].as_u64(),
        range.as_array().map(|ends| &ends[..]),
    ) {
        (Some(address), ..) => address.to_owned(),
        (_, Some(address), Some(length), _) => format!("{address}/{length}"),
        (_, _, _, Some([Value::String(first), Value::String(last)])) => format!("{first}-{last}"),
        _ => return Err(format!("{} is no address, prefix or range", printable::word(&val.to_string()))),
    };
    words::span(&word)
}
