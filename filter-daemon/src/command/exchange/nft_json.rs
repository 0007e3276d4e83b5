//! What `nft -j list` writes: one JSON document, in which sets and their elements are found.

use std::io::{self, Read};

use super::list_of::Begun;
use super::nft::unprefixed;
use super::plain::fault;
use super::{Fault, Item};
use crate::source::format::Lack;
use crate::source::format::nft::{self, Element};

/// What was found in one.
pub struct Found {
    /// Every element of every set of addresses, or what is wrong with it.
    pub items: Vec<Result<Item, Fault>>,
    /// What is missing of the whole.
    pub lack: Option<Lack>,
}

/// Reads it to its end. Sets of ports, interfaces and the like are nothing that a list has.
pub fn read(input: impl Read) -> io::Result<Found> {
    let begun = Begun::now();
    let mut items = Vec::new();
    let lack = nft::read(input, |element| {
        if !element.set.holds_more {
            items.push(item(begun, element));
        }
        false
    })?;
    Ok(Found { items, lack })
}

fn item(begun: Begun, element: Element<'_>) -> Result<Item, Fault> {
    let Element { shown, span, set, left, comment, .. } = element;
    let span = span.map_err(|reason| fault(shown.as_bytes(), reason))?;
    begun.item(span, unprefixed(&set.name), left, comment)
}
