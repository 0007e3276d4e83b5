//! When what lists with an end name has come, and ends: what their copies tell a start of it, and what these are to tell the next
//! one. The file may be another one by then.

use std::collections::HashMap;
use std::sync::Arc;

use super::ends::Ends;
use crate::blocklist::{Blocklist, Gathering, ListId, Run, Targets, Times, Timestamp};

/// Of lists with an end.
#[derive(Debug, Default)]
pub struct Timed {
    /// What their copies tell, under the names that they have now.
    copied: HashMap<ListId, (Arc<str>, Times)>,
    /// What their copies are to tell.
    noted: HashMap<ListId, Noted>,
}

#[derive(Debug)]
enum Noted {
    /// It is being looked up.
    Gathering(Gathering),
    /// It is known.
    Times(Times),
}

impl Timed {
    /// The copy of this list tells that.
    pub fn tells(&mut self, id: ListId, name: Arc<str>, times: Times) {
        self.copied.insert(id, (name, times));
    }

    /// When what this list, which has an end, names at a start came, and ends; what no copy knows has come `new`. Of what is
    /// over by `now` nothing is on it. It is noted, unless the copy that `stays` tells it already.
    pub fn begin(
        &mut self,
        id: ListId,
        targets: Targets,
        new: (Timestamp, Option<Timestamp>),
        (stays, now): (bool, Timestamp),
    ) -> Times {
        let (since, until) = new;
        let Some((_, copied)) = self.copied.remove(&id) else {
            let times = Times { runs: vec![Run { since, until, targets }], ..Times::default() };
            self.note(id, &times);
            return spending(times, now);
        };
        let named = copied.of(&targets);
        drop(copied);
        let is_told = named.new.is_empty() && !named.has_gone;
        let mut times = named.known;
        if !named.new.is_empty() {
            times.runs.push(Run { since, until, targets: named.new });
        }
        if !(is_told && stays) {
            self.note(id, &times);
        }
        spending(times, now)
    }

    fn note(&mut self, id: ListId, times: &Times) {
        self.noted.insert(id, Noted::Times(times.clone()));
    }

    /// Looks up a page of what this list names.
    pub fn look_up(&mut self, id: ListId, page: &Targets, blocklist: &Blocklist) {
        let noted = self.noted.entry(id).or_insert_with(|| Noted::Gathering(Gathering::default()));
        if let Noted::Gathering(gathering) = noted {
            gathering.look_up(page, id, blocklist);
        }
    }

    /// What the copy of this list is to tell, if that is another thing than it tells.
    pub fn take_noted(&mut self, id: ListId) -> Option<Times> {
        match self.noted.remove(&id)? {
            Noted::Gathering(gathering) => Some(gathering.into_times()),
            Noted::Times(times) => Some(times),
        }
    }

    /// When what is put back was to end, as far as copies know it of all that is in these `contents`.
    pub fn take_ends(&mut self, contents: &[(ListId, Targets)]) -> Ends {
        let known = contents.iter().filter_map(|(id, targets)| {
            let (name, times) = self.copied.remove(id)?;
            times.of(targets).new.is_empty().then_some((name, times))
        });
        Ends::copied(known.collect::<Vec<_>>())
    }
}

/// The same where what is over by `now` is none of what is there.
fn spending(mut times: Times, now: Timestamp) -> Times {
    let is_over = |run: &mut Run| run.until.is_some_and(|until| until <= now);
    for over in times.runs.extract_if(.., is_over) {
        times.spent.extend(&over.targets);
    }
    times
}
