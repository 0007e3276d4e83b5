//! Keeps links apart when interfaces are renamed. A link is known by the name that its interface had when it
//! was attached.
//!
//! If another interface takes that name, both are filtered. The link goes by the present name of its
//! interface, and filterd attaches to the name again. The renamed interface stays filtered until a reload
//! decides. The pins store the name it was requested by, for a filterd that starts meanwhile. If an interface
//! is requested by its present name, its link takes that name, too.

use tracing::{error, warn};

use super::{KernelState, WatchedInterface};
use crate::kernel::{Filter, KernelError, Link};
use crate::text::Explain;

/// A link that must get another name, and why.
struct MisplacedLink {
    from: String,
    to: String,
    why: RenameReason,
}

/// The renaming, with the earlier name to remember.
pub struct RenamedLink {
    misplaced: MisplacedLink,
    formerly: Option<String>,
}

enum RenameReason {
    /// Another interface has the name of the link.
    Taken,
    /// The interface is requested by its present name.
    AskedFor,
}

impl RenamedLink {
    /// Renames the link in the broker, and logs it.
    pub fn tell(&self, filter: &mut Filter) -> Result<(), KernelError> {
        let MisplacedLink { from, to, why } = &self.misplaced;
        filter.rename(from, to, self.formerly.clone())?;
        match why {
            RenameReason::Taken => {
                warn!(
                    "{from} was renamed to {to} and is still filtered; another interface is now named {from}"
                );
            }
            RenameReason::AskedFor => {
                warn!("{from} was renamed to {to}, a configured name, and is still filtered")
            }
        }
        Ok(())
    }
}

/// Gives every link a name that no other interface has, preferably a requested one. Calls `rename` for each.
pub fn settle(
    watched: &mut Vec<WatchedInterface>,
    reality: &mut KernelState,
    mut rename: impl FnMut(&RenamedLink) -> Result<(), KernelError>,
) {
    // Each turn corrects one link, also when several have exchanged their names.
    for _ in 0..reality.links.len() {
        let found = reality.links.iter().find_map(|link| misplaced(link, reality, watched));
        let Some(misplaced) = found else { return };
        let formerly = match misplaced.why {
            RenameReason::Taken => asked_for_as(&misplaced.from, reality, watched),
            RenameReason::AskedFor => None,
        };
        let renamed = RenamedLink { misplaced, formerly };
        if let Err(error) = rename(&renamed) {
            return error!("{}", error.explain());
        }
        let RenamedLink { misplaced: MisplacedLink { from, to, .. }, formerly } = renamed;
        for link in &mut reality.links {
            if link.name == from {
                link.name.clone_from(&to);
                link.formerly.clone_from(&formerly);
            } else if link.name == to {
                link.name.clone_from(&from);
            }
        }
        let before = watched.iter().find(|one| one.name() == from);
        let lost = before.and_then(|one| one.without_its_name(&to));
        if watched.iter().all(|one| one.name() != to) {
            watched.extend(lost);
        }
        // Drops the entry of a name that is neither requested nor carried by a link.
        if reality.link(&from).is_none() {
            watched.retain(|one| one.name() != from || one.is_named());
        }
    }
}

/// The name by which this link was requested, before its interface was renamed.
fn asked_for_as(name: &str, reality: &KernelState, watched: &[WatchedInterface]) -> Option<String> {
    if watched.iter().any(|one| one.is_named() && one.name() == name) {
        return Some(name.to_owned());
    }
    reality.link(name)?.formerly.clone()
}

fn misplaced(link: &Link, reality: &KernelState, watched: &[WatchedInterface]) -> Option<MisplacedLink> {
    let to = |name: &str, why| Some(MisplacedLink { from: link.name.clone(), to: name.to_owned(), why });
    let under = reality.under(link);
    if let Some(under) = under
        && under.name != link.name
        && watched.iter().any(|one| one.is_named() && one.name() == under.name)
        && reality.link(&under.name).is_none_or(|other| other.index != under.index)
    {
        return to(&under.name, RenameReason::AskedFor);
    }
    let holder = reality.named(&link.name)?;
    let is_right = under.is_some_and(|under| under.name == link.name)
        // If the number is right, the name is, too: someone replaced the link's program, or changed something
        // else.
        || holder.index == link.index;
    if is_right {
        return None;
    }
    match under {
        Some(under) => to(&under.name, RenameReason::Taken),
        None => to(&format!("if{}", link.index), RenameReason::Taken),
    }
}

#[cfg(test)]
mod tests {
    use super::super::watched::MissedInterface;
    use super::*;
    use crate::clock;
    use crate::kernel::KernelInterface;
    use crate::kernel::interface::{Framing, Occupant};
    use crate::source::trouble::Phrasing;

    const OURS: u32 = 7;

    /// A link with filterd's program.
    fn link((name, index): &(&str, u32)) -> Link {
        Link {
            name: (*name).into(),
            index: *index,
            program: OURS,
            mode: None,
            is_found_here: false,
            framing: Framing::Ethernet,
            before: Vec::new(),
            formerly: None,
            egress: None,
            outbound: None,
        }
    }

    /// Links and interfaces by name and number, all with filterd's program, and the requested names.
    fn renamed(links: &[(&str, u32)], there: &[(&str, u32)], asked: &[&str]) -> Option<(String, String)> {
        let one = |(name, index): &(&str, u32)| KernelInterface {
            name: (*name).into(),
            index: *index,
            mtu: 1500,
            framing: Framing::Ethernet,
            is_veth: false,
            occupant: Some(Occupant { id: OURS, is_generic: false }),
        };
        let links: Vec<_> = links.iter().map(link).collect();
        let there = there.iter().map(one).collect();
        let reality = KernelState { there, links, before: clock::instant() };
        let watched: Vec<_> = asked.iter().map(|name| WatchedInterface::new((*name).to_owned())).collect();
        let misplaced = reality.links.iter().find_map(|link| misplaced(link, &reality, &watched))?;
        Some((misplaced.from, misplaced.to))
    }

    #[test]
    fn link_takes_only_requested_free_names() {
        let is = |from: &str, to: &str| Some((from.to_owned(), to.to_owned()));
        let cases = [
            (renamed(&[("eth0", 2)], &[("eth0", 2)], &["eth0"]), None, "nothing has happened"),
            (renamed(&[("eth0", 2)], &[("lan0", 2)], &["eth0"]), None, "known by its link"),
            (
                renamed(&[("eth0", 2)], &[("lan0", 2)], &["lan0"]),
                is("eth0", "lan0"),
                "asked for as it is now",
            ),
            (
                renamed(&[("eth0", 2)], &[("lan0", 2)], &["eth0", "lan0"]),
                is("eth0", "lan0"),
                "both asked for",
            ),
            (renamed(&[("eth0", 2)], &[("lan0", 2)], &["ehh0"]), None, "nobody asks for either"),
            (renamed(&[("eth0", 2)], &[], &["eth0"]), None, "moved"),
            (renamed(&[("eth0", 2)], &[("eth0", 3)], &["eth0"]), is("eth0", "if2"), "moved, its name taken"),
            (
                renamed(&[("eth0", 2)], &[("lan0", 2), ("eth0", 3)], &["eth0"]),
                is("eth0", "lan0"),
                "renamed, its name taken",
            ),
            (
                renamed(&[("eth1", 3), ("lan0", 3)], &[("lan0", 3)], &["eth1", "lan0"]),
                None,
                "moved, and another one has its number here",
            ),
        ];
        for (found, expected, why) in cases {
            assert_eq!(found, expected, "{why}");
        }
    }

    #[test]
    fn earlier_link_is_held_back() {
        let left = WatchedInterface::left(&link(&("eth0", 2)));
        assert!(left.is_held_back() && !left.is_named() && !left.is_missed() && !left.is_over());
        assert!(WatchedInterface::new("eth0".into()).is_missed());
        let told = |is_absent, protects| {
            let missed = MissedInterface { name: "ehh0", is_absent, is_alone: true, protects };
            left.held_back_for(missed, Phrasing::Is).expect("it is filtered").told.to_string()
        };
        let (without, accept) =
            ("remove ehh0 from the configuration, then run `filterd reload`", "filterd reload --accept ehh0");
        assert!(told(false, true).contains("eth0") && told(false, true).contains(without));
        assert!(told(true, true).contains(accept), "{}", told(true, true));
        let nothing = told(true, false);
        assert!(!nothing.contains(without), "a configuration that names nothing is refused");
        assert!(!nothing.contains(accept), "then nothing would be filtered");
    }
}
