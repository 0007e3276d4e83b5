//! What was in force before a trial, in the hands of the filterd that tries: the text of its configuration, and the copies of
//! its lists as open files. So it can be put back whatever becomes of the state directory meanwhile. The next start finds only
//! what lies there.

use std::collections::HashSet;
use std::sync::Arc;

use super::matching::Known;
use super::sources::Sources;
use crate::blocklist::{Accepted, Reading, Times};
use crate::source::copies::{CopyError, Held};
use crate::source::{Copies, How, ListFile};

/// Copies that are held open: half of the files that a process may have open where nobody has said more. Others are read
/// where they lie.
const MOST: usize = 512;

/// What is to be put back.
#[derive(Debug)]
pub struct WayBack {
    text: Option<String>,
    held: Vec<Held>,
    /// Lists of which nothing was in force.
    nothing: HashSet<Arc<str>>,
}

impl WayBack {
    /// Takes this configuration, and the copies of these lists, in hand. Of those without one nothing is in force.
    pub fn hold<'a>(
        text: Option<String>,
        lists: impl Iterator<Item = (&'a Arc<str>, Option<&'a Accepted>)>,
        copies: &Copies,
    ) -> Self {
        let (mut known, mut nothing) = (Vec::new(), HashSet::new());
        for (name, accepted) in lists {
            match accepted {
                Some(accepted) => known.push(accepted),
                None => _ = nothing.insert(name.clone()),
            }
        }
        let held = known.into_iter().take(MOST).filter_map(|accepted| copies.hold(accepted).ok()).collect();
        Self { text, held, nothing }
    }

    /// Was nothing of this list in force?
    pub fn has_nothing_of(&self, list: &str) -> bool {
        self.nothing.contains(list)
    }

    /// Makes copies anew that are gone, for whoever starts next.
    pub fn put_back(&self, copies: &Copies) {
        for held in &self.held {
            if let Err(error) = copies.put_back(held) {
                tracing::error!(
                    "list {}: its copy is gone, and cannot be made anew: {error}",
                    held.accepted().name
                );
            }
        }
    }

    /// The configuration's text.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The lists of which there is a copy: those in hand, and then what lies in the state directory.
    pub fn known(&self, sources: &mut Sources) -> Vec<Known> {
        let held = self.held.iter().map(|held| Known {
            meaning: held.accepted().meaning,
            id: None,
            turned: None,
            name: held.accepted().name.clone(),
            entries: held.accepted().entries,
            reading: Reading {
                path: held.accepted().path.clone(),
                accepted: Some(held.accepted().clone()),
                ..Reading::default()
            },
        });
        let mut known: Vec<_> = held.collect();
        known.extend(sources.known());
        known
    }

    /// What the copy of this says, if it is in hand.
    pub fn read(&self, accepted: &Accepted, how: &How) -> Option<Result<ListFile, CopyError>> {
        Some(self.held(accepted)?.read(how))
    }

    /// What the copy of this says of when its entries came, and end, if it is in hand.
    pub fn times(&self, accepted: &Accepted) -> Option<Result<Option<Times>, CopyError>> {
        Some(self.held(accepted)?.times())
    }

    fn held(&self, accepted: &Accepted) -> Option<&Held> {
        self.held.iter().find(|held| held.accepted() == accepted)
    }
}
