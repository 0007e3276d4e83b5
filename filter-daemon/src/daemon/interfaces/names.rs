//! Interfaces whose names were taken by others. A link is known by the name that its interface had; where another
//! interface has that name now, both are filtered: the link goes by what its interface is called now, and the name is
//! attached to anew. What lost its name stays filtered until a reload says what is meant.

use tracing::{error, warn};

use super::{Reality, Watched};
use crate::kernel::{Filter, Link};
use crate::text::Explain;

/// Makes every link known by a name that no other interface has.
pub fn settle(watched: &mut Vec<Watched>, reality: &mut Reality, filter: &mut Filter) {
    // Each turn puts one link right, also where several have exchanged their names.
    for _ in 0..reality.links.len() {
        let Some((from, to)) = reality.links.iter().find_map(|link| misplaced(link, reality)) else { return };
        if let Err(error) = filter.rename(&from, &to) {
            return error!("{}", error.explain());
        }
        warn!("{from} is called {to} now, and stays filtered; another interface is called {from} now");
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
    }
}

/// A link whose name another interface has, and the name to know it by.
fn misplaced(link: &Link, reality: &Reality) -> Option<(String, String)> {
    let holder = reality.named(&link.name)?;
    let under = reality.under(link);
    let is_right = under.is_some_and(|under| under.name == link.name)
        // Somebody has given the link another program, or has just done something else: that is no question of names.
        || holder.index == link.index;
    let elsewhere = || format!("if{}", link.index);
    (!is_right).then(|| (link.name.clone(), under.map_or_else(elsewhere, |under| under.name.clone())))
}
