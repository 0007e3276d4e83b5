//! How long what was read stays on its list once a reload has made it true.

use std::time::Duration;

use filter_common::target::Target;

use crate::blocklist::{Blocklist, ListId, Reach, Timestamp};
use crate::clock;
use crate::daemon::reload::LoadedList;

/// How long what a list names stays on it.
#[derive(Clone, Copy, Debug)]
pub struct Lasting {
    ttl: Option<Duration>,
    before: Option<ListId>,
    is_widened: bool,
}

impl Lasting {
    /// It has no end.
    pub const FOR_GOOD: Self = Self { ttl: None, before: None, is_widened: false };

    /// As this list has it.
    pub fn on(list: &LoadedList) -> Self {
        Self { ttl: list.ttl, before: list.before, is_widened: list.meaning.reach != Reach::AS_GIVEN }
    }

    /// Until when this is on the list, where that has an end; nothing at all where it does not come onto it any more, because
    /// its time is over. With a time to live that is new everything counts anew, else only what comes does.
    pub fn until(&self, target: Target, blocklist: &Blocklist) -> Option<Option<Timestamp>> {
        let Some(ttl) = self.ttl else { return Some(None) };
        let anew = Some(Some(clock::after(ttl)));
        let before = self.before.map(|id| (id, blocklist.lists().get(id)));
        let known =
            before.filter(|(_, list)| list.reading.as_ref().and_then(|reading| reading.ttl) == Some(ttl));
        // Of what stands for several, none stays longer than what comes now: nobody is cut later who was not named.
        let Some((id, list)) = known.filter(|_| !self.is_widened) else { return anew };
        match blocklist.until_of(target, id) {
            Some(until) => Some(until),
            None if list.spent.contains(target) => None,
            None => anew,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocklist::{Change, Origin, Polarity, Targets, Want};

    fn one(word: &str) -> Targets {
        [word.parse::<Target>().unwrap()].into_iter().collect()
    }

    /// A list whose ttl is an hour, with an entry that has a minute left and one whose time is over.
    fn partners() -> (Blocklist, ListId) {
        let mut blocklist = Blocklist::default();
        let soon = clock::after(Duration::from_secs(60));
        let want = |word, until| {
            Change::Want(Want {
                origin: Origin::File,
                until: Some(until),
                ..Want::live("partners", Polarity::Allow, one(word))
            })
        };
        blocklist.apply(&want("192.0.2.1", soon), clock::now()).unwrap();
        let id = blocklist.lists().find("partners").unwrap();
        let lists = blocklist.lists_mut();
        lists.reading_mut(id).ttl = Some(HOUR);
        lists.spend_all(id, &one("192.0.2.2"));
        (blocklist, id)
    }

    const HOUR: Duration = Duration::from_secs(3600);

    /// In minutes from now; none has no end.
    fn left(lasting: Lasting, word: &str, blocklist: &Blocklist) -> Option<Option<u64>> {
        let until = lasting.until(word.parse().unwrap(), blocklist)?;
        Some(until.map(|until| clock::until(until).as_secs().div_ceil(60)))
    }

    #[test]
    fn what_is_there_keeps_its_time_what_is_over_does_not_come_and_what_is_new_begins() {
        let (blocklist, id) = partners();
        let same = Lasting { ttl: Some(HOUR), before: Some(id), is_widened: false };
        let all = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
        let of = |lasting| all.map(|word| left(lasting, word, &blocklist));
        assert_eq!(of(same), [Some(Some(1)), None, Some(Some(60))]);
        let longer = Lasting { ttl: Some(2 * HOUR), ..same };
        assert_eq!(of(longer), [Some(Some(120)); 3], "with another ttl all count anew");
        assert_eq!(of(Lasting { before: None, ..same }), [Some(Some(60)); 3], "a list that is new");
        assert_eq!(of(Lasting { ttl: None, ..same }), [Some(None); 3]);
        assert_eq!(of(Lasting::FOR_GOOD), [Some(None); 3]);
        assert_eq!(
            of(Lasting { is_widened: true, ..same }),
            [Some(Some(60)); 3],
            "the latest that it can be"
        );
    }
}
