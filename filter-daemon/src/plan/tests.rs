//! How long entries stay on a list after a reload.

use std::time::Duration;

use filter_common::target::{Prefix6, Target};

use crate::blocklist::{Blocklist, ListId, Reach, Timestamp};
use crate::clock;
use crate::daemon::reload::LoadedList;

/// How long the entries of a list stay.
#[derive(Clone, Copy, Debug)]
pub struct EntryLifetime {
    ttl: Option<Duration>,
    /// The list whose times continue. None if the `ttl` is new, because all entries then count anew.
    known: Option<ListId>,
    reach: Reach,
}

impl EntryLifetime {
    /// The entries never expire.
    pub const FOR_GOOD: Self = Self { ttl: None, known: None, reach: Reach::AS_GIVEN };

    /// The lifetime of entries on this list.
    pub fn on(list: &LoadedList) -> Self {
        Self { ttl: list.ttl, known: list.keeps_times_of(), reach: list.meaning.reach }
    }

    /// Whether times continue, so that expired entries do not return.
    pub const fn goes_on(self) -> bool {
        self.known.is_some()
    }

    /// The widened prefix, if it may stand for several named targets with times of their own.
    pub fn widened(self, target: Target) -> Option<Prefix6> {
        let is_widened =
            |prefix: &Prefix6| self.reach != Reach::AS_GIVEN && prefix.length() == self.reach.length();
        match target {
            Target::V4(_) => None,
            Target::V6(prefix) => self.ttl.and(Some(prefix)).filter(is_widened),
        }
    }

    /// When an entry that is added now expires.
    pub fn anew(self) -> Option<Timestamp> {
        self.ttl.map(clock::after)
    }

    /// When this entry expires. The inner option is none if it never does. The outer option is none if it has
    /// expired and does not return.
    pub fn until(&self, target: Target, blocklist: &Blocklist) -> Option<Option<Timestamp>> {
        let Some(id) = self.known else { return Some(self.anew()) };
        match blocklist.times_of(target, id) {
            Some((_, until)) => Some(until),
            None if blocklist.lists().get(id).spent.contains(target) => None,
            None => Some(self.anew()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::gather::{BlockedPackets, CoveringTarget};
    use super::*;
    use crate::blocklist::{Change, ListChange, Origin, Polarity, Targets, Want};

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
        ListChange::Spend(id, one("192.0.2.2")).apply_to(&mut blocklist, clock::now());
        (blocklist, id)
    }

    const HOUR: Duration = Duration::from_secs(3600);

    /// In minutes from now. The inner option is none if it never expires.
    fn left(lasting: EntryLifetime, word: &str, blocklist: &Blocklist) -> Option<Option<u64>> {
        let until = lasting.until(word.parse().unwrap(), blocklist)?;
        Some(until.map(|until| clock::until(until).as_secs().div_ceil(60)))
    }

    #[test]
    fn entries_keep_expire_or_begin_their_time() {
        let (blocklist, id) = partners();
        let same = EntryLifetime { ttl: Some(HOUR), known: Some(id), reach: Reach::AS_GIVEN };
        let all = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
        let of = |lasting| all.map(|word| left(lasting, word, &blocklist));
        assert_eq!(of(same), [Some(Some(1)), None, Some(Some(60))]);
        assert_eq!(
            of(EntryLifetime { known: None, ..same }),
            [Some(Some(60)); 3],
            "a new list, or another ttl"
        );
        assert_eq!(of(EntryLifetime::FOR_GOOD), [Some(None); 3]);
    }

    #[test]
    fn widened_entry_lasts_as_long_as_its_last() {
        let (blocklist, id) = partners();
        let lasting = EntryLifetime { ttl: Some(HOUR), known: Some(id), reach: Reach::to(64) };
        let wide: Target = "2001:db8::/64".parse().unwrap();
        assert_eq!(lasting.widened(wide).map(Target::V6), Some(wide));
        assert_eq!(EntryLifetime { ttl: None, ..lasting }.widened(wide), None);
        assert_eq!(
            ["192.0.2.1", "2001:db8::/48"].map(|word| lasting.widened(word.parse().unwrap())),
            [None; 2]
        );
        // The named targets have different times: one has a minute left, one has expired, one is new.
        let left = |named: &[&str], lasting| {
            let named = named.iter().map(|word| word.parse().unwrap()).collect();
            let until = CoveringTarget {
                list: "partners".into(),
                target: wide,
                packets: BlockedPackets::default(),
                lasting,
                named,
            };
            let until = until.until(&blocklist)?;
            Some(until.map(|until| clock::until(until).as_secs().div_ceil(60)))
        };
        let [soon, over, new] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
        assert_eq!(left(&[over], lasting), None, "nobody is cut for its sake");
        assert_eq!(left(&[over, soon], lasting), Some(Some(1)));
        assert_eq!(left(&[new, over, soon], lasting), Some(Some(60)));
        assert_eq!(left(&[over; 65], lasting), Some(Some(60)), "of so many nobody looks at each");
        assert_eq!(left(&[over, soon], EntryLifetime::FOR_GOOD), Some(None));
    }
}
