//! Interfaces that have other names than their links. A link is known by the name that its interface had; where another
//! interface has that name now, both are filtered: the link goes by what its interface is called now, and the name is
//! attached to anew. What lost its name stays filtered until a reload says what is meant. Where somebody asks for an
//! interface by the name it has now, its link goes by that, too.

use tracing::{error, warn};

use super::{Reality, Watched};
use crate::kernel::{Filter, Link};
use crate::text::Explain;

/// A link that is to be known by another name, and why.
struct Misplaced {
    from: String,
    to: String,
    why: Why,
}

enum Why {
    /// Another interface has its name.
    Taken,
    /// Its interface is asked for by the name it has now.
    AskedFor,
}

/// Makes every link known by a name that no other interface has, and that is asked for if one is.
pub fn settle(watched: &mut Vec<Watched>, reality: &mut Reality, filter: &mut Filter) {
    // Each turn puts one link right, also where several have exchanged their names.
    for _ in 0..reality.links.len() {
        let found = reality.links.iter().find_map(|link| misplaced(link, reality, watched));
        let Some(Misplaced { from, to, why }) = found else { return };
        if let Err(error) = filter.rename(&from, &to) {
            return error!("{}", error.explain());
        }
        match why {
            Why::Taken => warn!(
                "{from} is called {to} now, and stays filtered; another interface is called {from} now"
            ),
            Why::AskedFor => warn!("{from} is called {to} now, as it is asked for, and stays filtered"),
        }
        for link in &mut reality.links {
            if link.name == from {
                link.name.clone_from(&to);
            } else if link.name == to {
                link.name.clone_from(&from);
            }
        }
        let before = watched.iter().find(|one| one.name() == from);
        let lost = before.and_then(|one| one.without_its_name(&to));
        if watched.iter().all(|one| one.name() != to) {
            watched.extend(lost);
        }
        // Nothing is left under a name that nobody asks for any more.
        if reality.link(&from).is_none() {
            watched.retain(|one| one.name() != from || one.is_named());
        }
    }
}

fn misplaced(link: &Link, reality: &Reality, watched: &[Watched]) -> Option<Misplaced> {
    let to = |name: &str, why| Some(Misplaced { from: link.name.clone(), to: name.to_owned(), why });
    let under = reality.under(link);
    if let Some(under) = under
        && under.name != link.name
        && watched.iter().any(|one| one.is_named() && one.name() == under.name)
        && reality.link(&under.name).is_none_or(|other| other.index != under.index)
    {
        return to(&under.name, Why::AskedFor);
    }
    let holder = reality.named(&link.name)?;
    let is_right = under.is_some_and(|under| under.name == link.name)
        // Somebody has given the link another program, or has just done something else: that is no question of names.
        || holder.index == link.index;
    if is_right {
        return None;
    }
    match under {
        Some(under) => to(&under.name, Why::Taken),
        None => to(&format!("if{}", link.index), Why::Taken),
    }
}
