//! The plain reference: every list as a table of targets, each with the time at which it ends. No cleverness.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use super::prefix::{Prefix, number};
use crate::{GATEWAY, GATEWAY6, HOST, HOST6};

/// What the host of every story needs: its addresses and gateways.
const NEEDED: [&str; 6] = [HOST, HOST6, GATEWAY, GATEWAY6, "127.0.0.1", "::1"];

/// An end may be told so much later than it is due: filterd may be busy with something else.
const LATE: f64 = 5.0;

/// Seconds since the life began.
pub type Time = f64;

/// The time from which something is asked to the time at which it is answered.
#[derive(Clone, Copy, Debug)]
pub struct During(pub Time, pub Time);

/// How long a target is wanted: surely until one time, perhaps until another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lease {
    surely: Time,
    perhaps: Time,
}

impl Lease {
    /// It ends when somebody says so.
    pub const PERMANENT: Self = Self { surely: f64::INFINITY, perhaps: f64::INFINITY };
    /// Nobody knows whether it is wanted at all.
    pub const UNKNOWN: Self = Self { surely: f64::NEG_INFINITY, perhaps: f64::INFINITY };

    /// What was asked for in this time and lives so long. Ends are full seconds, rounded up.
    pub fn of(asked: During, ttl: Option<Duration>) -> Self {
        ttl.map_or(Self::PERMANENT, |ttl| Self {
            surely: asked.0 + ttl.as_secs_f64(),
            perhaps: asked.1 + ttl.as_secs_f64() + 1.0,
        })
    }

    fn extended_by(self, other: Self) -> Self {
        Self { surely: self.surely.max(other.surely), perhaps: self.perhaps.max(other.perhaps) }
    }

    /// Is it held all that time? Nobody knows around its end.
    pub fn holds(self, during: During) -> Option<bool> {
        if during.1 < self.surely {
            return Some(true);
        }
        (during.0 > self.perhaps + LATE).then_some(false)
    }

    /// What is known of a change from one to the other: did it change anything at all?
    pub fn is_changed_by(self, newer: Self, during: During) -> Option<bool> {
        match self.holds(during) {
            Some(false) => Some(true),
            None => None,
            Some(true) if newer.surely > self.perhaps => Some(true),
            Some(true) if self.surely >= newer.perhaps => Some(false),
            Some(true) => None,
        }
    }
}

/// What one list wants.
#[derive(Clone, Debug, Default)]
pub struct Wanted(BTreeMap<(bool, u8), HashMap<u128, Lease>>);

impl Wanted {
    /// All these, until somebody says otherwise.
    pub fn all(targets: &[Prefix]) -> Self {
        let mut wanted = Self::default();
        targets.iter().for_each(|target| _ = wanted.add(*target, Lease::PERMANENT));
        wanted
    }

    /// One more, or one for longer. Tells what was there before.
    pub fn add(&mut self, target: Prefix, lease: Lease) -> Option<Lease> {
        let those = self.0.entry((target.is_six, target.length)).or_default();
        let before = those.get(&target.first).copied();
        those.insert(target.first, before.map_or(lease, |before| before.extended_by(lease)));
        before
    }

    /// One less.
    pub fn remove(&mut self, target: Prefix) -> Option<Lease> {
        self.0.get_mut(&(target.is_six, target.length))?.remove(&target.first)
    }

    /// How long this one is wanted.
    pub fn lease(&self, target: Prefix) -> Option<Lease> {
        self.0.get(&(target.is_six, target.length))?.get(&target.first).copied()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (Prefix, Lease)> + '_ {
        self.0.iter().flat_map(|((is_six, length), those)| {
            let target = |first: &u128| Prefix { is_six: *is_six, first: *first, length: *length };
            those.iter().map(move |(first, lease)| (target(first), *lease))
        })
    }

    /// How many there are: at least, and at most.
    pub fn count(&self, during: During) -> (usize, usize) {
        self.iter().fold((0, 0), |(least, most), (_, lease)| match lease.holds(during) {
            Some(true) => (least + 1, most + 1),
            Some(false) => (least, most),
            None => (least, most + 1),
        })
    }

    fn covering(&self, address: IpAddr) -> impl Iterator<Item = (Prefix, Lease)> + '_ {
        let (six, address) = number(address);
        self.0.iter().filter(move |((is_six, _), _)| *is_six == six).filter_map(
            move |((_, length), those)| {
                let around = Prefix::around(six, address, *length);
                those.get(&around.first).map(|lease| (around, *lease))
            },
        )
    }
}

/// All lists, and what becomes of what they want.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The lists of the configuration, its own `block` among them.
    pub configured: BTreeMap<String, Wanted>,
    /// What was added live.
    pub live: BTreeMap<String, Wanted>,
    /// What is allowed, list by list: live, and by the configuration.
    pub allowed: BTreeMap<String, Wanted>,
    /// Is anybody dropped, or only counted?
    pub enforce: bool,
    /// Is that paused?
    pub is_paused: bool,
}

impl Reference {
    /// Nothing is wanted.
    pub fn new() -> Self {
        let (configured, live, allowed) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { configured, live, allowed, enforce: true, is_paused: false }
    }

    /// Are packets from there dropped all that time? None if nobody can know.
    pub fn drops(&self, source: IpAddr, during: During) -> Option<bool> {
        // What the host needs is guarded, whatever wants it dropped.
        let is_needed = NEEDED.iter().any(|needed| needed.parse() == Ok(source));
        if !self.enforce || self.is_paused || is_needed {
            return Some(false);
        }
        let of = |(_, lease)| lease;
        let blocked = any(self.lists().flat_map(|(_, wanted)| wanted.covering(source)).map(of), during);
        let allowed = any(self.allowed.values().flat_map(|wanted| wanted.covering(source)).map(of), during);
        match (blocked, allowed) {
            (Some(false), _) | (_, Some(true)) => Some(false),
            (Some(true), Some(false)) => Some(true),
            (None, _) | (_, None) => None,
        }
    }

    /// Is this very target allowed by any list all that time?
    pub fn allows(&self, target: Prefix, during: During) -> Option<bool> {
        any(self.allowed.values().filter_map(|wanted| wanted.lease(target)), during)
    }

    /// Is all of this target allowed, as itself or as part of a wider one?
    pub fn allows_all_of(&self, target: Prefix, during: During) -> Option<bool> {
        let first = super::prefix::ip(target.is_six, target.first);
        let wide = self.allowed.values().flat_map(|wanted| wanted.covering(first));
        any(wide.filter(|(found, _)| found.covers(target)).map(|(_, lease)| lease), during)
    }

    /// A live list that allows, as it is or empty.
    pub fn allowed_mut(&mut self, name: &str) -> &mut Wanted {
        self.allowed.entry(name.to_owned()).or_default()
    }

    /// Is this very target wanted by any list all that time?
    pub fn wants(&self, target: Prefix, during: During) -> Option<bool> {
        any(self.lists().filter_map(|(_, wanted)| wanted.lease(target)), during)
    }

    /// Is all of this target wanted, as itself or as part of a wider one?
    pub fn covers(&self, target: Prefix, during: During) -> Option<bool> {
        let first = super::prefix::ip(target.is_six, target.first);
        let wide = self.lists().flat_map(|(_, wanted)| wanted.covering(first));
        any(wide.filter(|(found, _)| found.covers(target)).map(|(_, lease)| lease), during)
    }

    /// The same that allow.
    pub fn lists_that_allow(&self) -> impl Iterator<Item = (&String, &Wanted)> + '_ {
        self.allowed.iter()
    }

    /// Who wants packets from there dropped, and who allows them, in words.
    pub fn reasons(&self, source: IpAddr) -> String {
        let those = self.lists().chain(self.lists_that_allow()).flat_map(|(name, wanted)| {
            let does = if self.allowed.contains_key(name) { "allowed by " } else { "" };
            wanted.covering(source).map(move |(target, lease)| {
                format!("{does}{target} of list {name} ({:.1} to {:.1} s)", lease.surely, lease.perhaps)
            })
        });
        let those: Vec<_> = those.collect();
        if those.is_empty() { "nobody".to_owned() } else { those.join(", ") }
    }

    /// Every list, with its name. A live one on which nothing is any more is forgotten, and the configuration may have taken
    /// its name.
    pub fn lists(&self) -> impl Iterator<Item = (&String, &Wanted)> + '_ {
        let live = self.live.iter().filter(|(name, _)| !self.configured.contains_key(*name));
        self.configured.iter().chain(live)
    }

    /// A live list, as it is or empty.
    pub fn live_mut(&mut self, name: &str) -> &mut Wanted {
        self.live.entry(name.to_owned()).or_default()
    }

    /// Live lists whose names the configuration has taken go on in `manual`, when filterd starts.
    pub fn make_way(&mut self) {
        let taken: Vec<_> =
            self.live.keys().filter(|name| self.configured.contains_key(*name)).cloned().collect();
        for name in taken {
            let moved = self.live.remove(&name).unwrap_or_default();
            moved.iter().for_each(|(target, lease)| _ = self.live_mut("manual").add(target, lease));
        }
    }
}

impl Default for Reference {
    fn default() -> Self {
        Self::new()
    }
}

/// True if one of them holds, false if none does, nothing if it depends on one of which nobody knows.
fn any(leases: impl Iterator<Item = Lease>, during: During) -> Option<bool> {
    let mut unknown = false;
    for lease in leases {
        match lease.holds(during) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => unknown = true,
        }
    }
    if unknown { None } else { Some(false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: Prefix = Prefix { is_six: false, first: 0xcb00_7107, length: 32 };

    #[test]
    fn a_target_is_dropped_while_any_list_wants_it() {
        let mut reference = Reference::new();
        let (source, now) = (super::super::prefix::ip(false, SOURCE.first), During(1.0, 2.0));
        assert_eq!(reference.drops(source, now), Some(false));
        reference.live_mut("ssh").add(Prefix::around(false, SOURCE.first, 24), Lease::PERMANENT);
        reference.configured.insert("drop".to_owned(), Wanted::all(&[SOURCE]));
        assert_eq!((reference.drops(source, now), reference.covers(SOURCE, now)), (Some(true), Some(true)));
        reference.configured.clear();
        assert_eq!((reference.drops(source, now), reference.wants(SOURCE, now)), (Some(true), Some(false)));
        reference.enforce = false;
        assert_eq!(reference.drops(source, now), Some(false));
    }

    #[test]
    fn whoever_is_allowed_is_not_dropped() {
        let mut reference = Reference::new();
        let (source, now) = (super::super::prefix::ip(false, SOURCE.first), During(1.0, 2.0));
        reference.live_mut("ssh").add(Prefix::around(false, SOURCE.first, 8), Lease::PERMANENT);
        reference
            .allowed_mut("office")
            .add(SOURCE, Lease::of(During(1.0, 1.0), Some(Duration::from_secs(60))));
        assert_eq!(
            (reference.drops(source, now), reference.allows_all_of(SOURCE, now)),
            (Some(false), Some(true))
        );
        assert_eq!(reference.drops(source, During(60.0, 62.0)), None, "around the end nobody is sure");
        assert_eq!(reference.drops(source, During(100.0, 101.0)), Some(true));
    }

    #[test]
    fn a_ban_is_extended_and_never_shortened_and_nobody_is_sure_around_its_end() {
        let mut wanted = Wanted::default();
        let lease = |seconds| Lease::of(During(0.0, 0.5), Some(Duration::from_secs(seconds)));
        wanted.add(SOURCE, lease(10));
        wanted.add(SOURCE, lease(2));
        let held = |during| wanted.lease(SOURCE).expect("it is there").holds(during);
        assert_eq!(held(During(9.0, 9.9)), Some(true));
        assert_eq!(held(During(9.9, 10.1)), None);
        assert_eq!(held(During(11.6 + LATE, 20.0)), Some(false));
        assert_eq!(lease(10).is_changed_by(lease(2), During(1.0, 1.0)), Some(false));
        assert_eq!(lease(2).is_changed_by(lease(10), During(1.0, 1.0)), Some(true));
        assert_eq!(lease(2).is_changed_by(lease(2), During(1.0, 1.0)), None);
        assert_eq!(Lease::UNKNOWN.holds(During(1.0, 1.0)), None);
    }

    #[test]
    fn entries_of_a_name_that_is_taken_go_on_as_manual() {
        let mut reference = Reference::new();
        reference.live_mut("drop").add(SOURCE, Lease::PERMANENT);
        reference.configured.insert("drop".to_owned(), Wanted::default());
        reference.make_way();
        assert!(!reference.live.contains_key("drop"));
        assert_eq!(reference.live_mut("manual").count(During(0.0, 0.0)), (1, 1));
    }
}
