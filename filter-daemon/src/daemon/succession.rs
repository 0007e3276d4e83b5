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
use crate::control::wire::status;

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
        Found::Doubted { .. } | Found::Accepted { .. } | Found::Unchanged | Found::Awaited => None,
    });
    match nothing {
        Some((list, told)) => {
            Err(SuccessionError::NoList { name: list.name.to_string(), told: told.clone() })
        }
        None => Ok(()),
    }
}

/// An interface that is not there may be a slip, unless the filterd that runs waits for it, too; and even then, if another one
/// that is filtered is no longer named: that one goes on being filtered, and better by the filterd that was told to. `there` are
/// all interfaces, `before` those of that filterd.
pub fn must_find_interfaces(
    names: &[String],
    there: &[String],
    before: &[status::Interface],
) -> Result<(), SuccessionError> {
    let is_filtered = |one: &&status::Interface| one.mode != status::NOT_FILTERED;
    let filtered: Vec<_> = before.iter().filter(is_filtered).map(|one| &one.name).collect();
    let accepted: Vec<_> = before.iter().filter(|one| one.accepted).map(|one| &one.name).collect();
    let is_missing =
        |name: &&String| !there.contains(name) && !filtered.contains(name) && !accepted.contains(name);
    let missing = names.iter().find(is_missing);
    let unnamed = filtered.iter().find(|name| !names.contains(name));
    if let (Some(missing), Some(unnamed)) = (missing, unnamed) {
        let (missing, unnamed) = (missing.clone(), (*unnamed).clone());
        return Err(SuccessionError::NoInterface { missing, unnamed });
    }
    let is_waited_for = |name: &String| before.iter().any(|one| one.name == *name);
    match names.iter().filter(is_missing).find(|name| !is_waited_for(name)) {
        Some(missing) => Err(SuccessionError::NotThere { missing: missing.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_there_is_no_slip_where_nothing_is_let_go() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let is_taken = |named: &[&str], there: &[&str], filtered: &[(&str, &str)]| {
            let one = |(name, mode): &(&str, &str)| status::Interface {
                name: (*name).into(),
                mode: if *mode == "accepted" { status::NOT_FILTERED } else { mode }.into(),
                accepted: *mode == "accepted",
                ..status::Interface::default()
            };
            let before: Vec<_> = filtered.iter().map(one).collect();
            must_find_interfaces(&names(named), &names(there), &before).is_ok()
        };
        let eth0 = &[("eth0", "native")];
        assert!(is_taken(&["eth0"], &["eth0"], eth0));
        let waiting = &[("eth0", "native"), ("usb0", "none")];
        assert!(is_taken(&["eth0", "usb0"], &["eth0"], waiting), "that one waits for it, too");
        assert!(!is_taken(&["eth0", "ehh1"], &["eth0"], eth0), "beside a good one, too");
        assert!(!is_taken(&["usb0"], &["eth0"], &[("eth0", "none")]), "whatever is let go for it");
        assert!(is_taken(&["eth1"], &["eth0", "eth1"], eth0), "another one is meant");
        assert!(is_taken(&["eth0"], &["lan0"], eth0), "it was renamed, and is filtered");
        assert!(is_taken(&["lan0"], &["lan0"], eth0), "it was renamed, and so it is named");
        assert!(!is_taken(&["ehh0"], &["eth0"], eth0));
        let accepted = &[("eth0", "native"), ("eth1", "native"), ("usb0", "accepted")];
        assert!(is_taken(&["eth0", "usb0"], &["eth0", "eth1"], accepted), "somebody has said so");
        assert!(!is_taken(&["eth0", "ehh1"], &["eth0", "eth1"], &[("eth0", "native"), ("eth1", "generic")]));
    }
}
