//! Replaces a running filterd by another one without a gap: `filterd run --take-over`.
//!
//! A process of its own rehearses the start beside the running filterd (`rehearsal`). If that succeeds, the
//! running filterd is asked to end and to leave its filter (`predecessor`). The new one then starts as after a
//! crash. From the request on, clients wait for it.

mod predecessor;
mod rehearsal;

use super::not_succeeded::SuccessionError;
use super::reload::{ListFinding, Loaded};
use crate::control::wire::status;

pub use predecessor::Predecessor;
pub use rehearsal::{rehearse, rehearse_apart};

/// Refuses a list with neither a readable file nor a copy, because the running filterd may well enforce it.
pub fn must_protect_as_well(loaded: &Loaded) -> Result<(), SuccessionError> {
    let nothing = loaded.lists.iter().find_map(|list| match &list.found {
        ListFinding::Doubted { told, targets: None, .. } => Some((list, told)),
        ListFinding::Doubted { .. }
        | ListFinding::Accepted { .. }
        | ListFinding::Unchanged
        | ListFinding::Awaited => None,
    });
    match nothing {
        Some((list, told)) => {
            Err(SuccessionError::NoList { name: list.name.to_string(), told: told.clone() })
        }
        None => Ok(()),
    }
}

/// Refuses interface names that may be mistakes. `there` are all interfaces, and `before` those of the
/// running filterd.
///
/// A missing interface is accepted if the running filterd waits for it, too. It is refused if a filtered
/// interface is no longer named at the same time. That one stays filtered, and is better left to the filterd
/// that was told to filter it.
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
    fn unknown_name_is_fine_when_nothing_detaches() {
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
        assert!(!is_taken(&["eth0", "ehh1"], &["eth0", "eth1"], &[("eth0", "native"), ("eth1", "tcx")]));
    }
}
