//! One filterd in the place of another, without a gap, and without an end of the old one before the new one is there.
//!
//! The newcomer reads, loads and fills everything beside the old one (`predecessor`), and then asks it to make way: from
//! there until it has published, requests wait. The old one (`successor`) lets go of its journal, hands over its socket
//! and its locks, which are never free meanwhile, and waits for a word. If the line breaks, or nothing is heard for five
//! seconds, it goes on as if nothing had been; the newcomer's broker is told the moment
//! from which it would be too late. What goes over the line after `GiveWay`: descriptors, then `done`, then
//! `bye`, which is where the place changes hands.

mod predecessor;
mod successor;

use std::time::Duration;

use super::not_succeeded::SuccessionError;
use super::reload::{Found, Loaded};

pub use predecessor::Predecessor;
pub use successor::hand_over;

/// The newcomer has published, and attached.
const DONE: u8 = b'd';

/// The old one ends, and touches nothing any more.
const BYE: u8 = b'b';

/// The old one keeps its place, and tells why.
const REFUSED: u64 = 0;

/// How long the old one waits for the new one.
const PATIENCE: Duration = Duration::from_secs(5);

/// From so long before on the new one may touch nothing any more: the old one may have gone on by then.
const MARGIN: Duration = Duration::from_millis(500);

/// A list of which there is nothing, neither its file nor a copy, may well be in force in the filterd that runs.
pub fn must_protect_as_well(loaded: &Loaded) -> Result<(), SuccessionError> {
    let nothing = loaded.lists.iter().find_map(|list| match &list.found {
        Found::Doubted { told, targets: None, .. } => Some((list, told)),
        Found::Doubted { .. } | Found::Accepted { .. } | Found::Unchanged => None,
    });
    match nothing {
        Some((list, told)) => {
            Err(SuccessionError::NoList { name: list.name.to_string(), told: told.clone() })
        }
        None => Ok(()),
    }
}
