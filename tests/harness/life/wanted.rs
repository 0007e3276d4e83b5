//! What one list wants: targets, each with the time at which it ends, and how far it reaches. No cleverness.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::time::Duration;

use super::ports::Ports;
use super::prefix::{Prefix, number};

/// An end may be told so much later than it is due: filterd may be busy with something else.
pub const LATE: f64 = 5.0;

/// As it is given.
pub const AS_GIVEN: u8 = 128;

/// Seconds since the life began.
pub type Time = f64;

/// The time from which something is asked to the time at which it is answered.
#[derive(Clone, Copy, Debug)]
pub struct During(pub Time, pub Time);

/// How long a target is wanted: surely until one time, perhaps until another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lease {
    pub surely: Time,
    pub perhaps: Time,
}

impl Lease {
    /// It ends when somebody says so.
    pub const PERMANENT: Self = Self { surely: f64::INFINITY, perhaps: f64::INFINITY };
    /// Nobody knows whether it is wanted at all.
    pub const UNKNOWN: Self = Self { surely: f64::NEG_INFINITY, perhaps: f64::INFINITY };
    /// It has never begun.
    pub const NEVER: Self = Self { surely: f64::NEG_INFINITY, perhaps: f64::NEG_INFINITY };

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

    /// Another one in its place, be it shorter or longer: did it change anything at all?
    pub fn is_replaced_by(self, newer: Self, during: During) -> Option<bool> {
        let ends_otherwise = newer.perhaps < self.surely || self.perhaps < newer.surely;
        (self.holds(during) == Some(false) || ends_otherwise).then_some(true)
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

/// What was on a list before its file was read once more.
#[derive(Clone, Copy, Debug)]
pub enum Before<'a> {
    /// This, of the same file and for the same time.
    This(&'a Wanted),
    /// This, but it may be another list now.
    Perhaps(&'a Wanted),
    Nobody,
}

/// What one list wants.
#[derive(Clone, Debug)]
pub struct Wanted {
    targets: BTreeMap<(bool, u8), HashMap<u128, Lease>>,
    /// Longer IPv6 targets block the prefix of this length around them.
    reach: u8,
    /// Those, each under the first address of that prefix.
    longer: HashMap<u128, HashSet<Prefix>>,
    /// Where it blocks.
    pub ports: Ports,
    /// How long what its file names stays on it.
    pub ttl: Option<Duration>,
}

impl Wanted {
    /// All these, until somebody says otherwise.
    pub fn all(targets: &[Prefix]) -> Self {
        let mut wanted = Self::default();
        targets.iter().for_each(|target| _ = wanted.add(*target, Lease::PERMANENT));
        wanted
    }

    /// What a file is found to name in this time, each of it for so long. What this list had before goes on, be it over or not;
    /// what another one had, or with another length of time, may go on or begin anew.
    pub fn found(targets: &[Prefix], ttl: Option<Duration>, before: Before, during: During) -> Self {
        let mut wanted = Self { ttl, ..Self::default() };
        let new = Lease::of(during, ttl);
        for target in targets {
            let lease = match before {
                Before::This(before) => before.lease(*target).unwrap_or(new),
                Before::Perhaps(before) => before.lease(*target).map_or(new, |old| Lease {
                    surely: old.surely.min(new.surely),
                    perhaps: old.perhaps.max(new.perhaps),
                }),
                Before::Nobody => new,
            };
            wanted.add(*target, lease);
        }
        wanted
    }

    /// A filterd that knows less has begun: time that is limited may have begun anew.
    pub fn may_begin_anew(&mut self, during: During) {
        let Some(ttl) = self.ttl else { return };
        let anew = Lease::of(during, Some(ttl)).perhaps;
        self.targets
            .values_mut()
            .flat_map(HashMap::values_mut)
            .for_each(|lease| lease.perhaps = lease.perhaps.max(anew));
    }

    /// From here on it reaches so far.
    pub fn reaching(mut self, reach: u8) -> Self {
        self.reach = reach;
        self.longer.clear();
        let targets: Vec<_> = self.iter().map(|(target, _)| target).collect();
        targets.into_iter().for_each(|target| self.note_if_longer(target));
        self
    }

    /// From here on it blocks on these.
    pub fn on(self, ports: Ports) -> Self {
        Self { ports, ..self }
    }

    /// What its longer IPv6 targets are widened to.
    pub fn reach(&self) -> u8 {
        self.reach
    }

    /// What is blocked for the sake of `target`.
    pub fn effect(&self, target: Prefix) -> Prefix {
        let is_longer = target.is_six && target.length > self.reach;
        if is_longer { Prefix::around(true, target.first, self.reach) } else { target }
    }

    /// One more, or one for longer. Tells what was there before.
    pub fn add(&mut self, target: Prefix, lease: Lease) -> Option<Lease> {
        let those = self.targets.entry((target.is_six, target.length)).or_default();
        let before = those.get(&target.first).copied();
        those.insert(target.first, before.map_or(lease, |before| before.extended_by(lease)));
        self.note_if_longer(target);
        before
    }

    /// One less.
    pub fn remove(&mut self, target: Prefix) -> Option<Lease> {
        let effect = self.effect(target);
        if effect != target
            && let Some(those) = self.longer.get_mut(&effect.first)
        {
            those.remove(&target);
        }
        self.targets.get_mut(&(target.is_six, target.length))?.remove(&target.first)
    }

    /// How long this one is wanted.
    pub fn lease(&self, target: Prefix) -> Option<Lease> {
        self.targets.get(&(target.is_six, target.length))?.get(&target.first).copied()
    }

    /// How long this is blocked, for the sake of itself or of what is longer.
    pub fn leases_of_effect(&self, effect: Prefix) -> impl Iterator<Item = Lease> + '_ {
        let own = self.lease(effect).filter(|_| self.effect(effect) == effect);
        let reaches = effect.is_six && effect.length == self.reach;
        let longer = self.longer.get(&effect.first).filter(|_| reaches).into_iter().flatten();
        own.into_iter().chain(longer.filter_map(|target| self.lease(*target)))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (Prefix, Lease)> + '_ {
        self.targets.iter().flat_map(|((is_six, length), those)| {
            let target = |first: &u128| Prefix { is_six: *is_six, first: *first, length: *length };
            those.iter().map(move |(first, lease)| (target(first), *lease))
        })
    }

    /// What is blocked for the sake of all of them, some of it more than once.
    pub fn effects(&self) -> impl Iterator<Item = (Prefix, Lease)> + '_ {
        self.iter().map(|(target, lease)| (self.effect(target), lease))
    }

    /// How many there are: at least, and at most.
    pub fn count(&self, during: During) -> (usize, usize) {
        self.iter().fold((0, 0), |(least, most), (_, lease)| match lease.holds(during) {
            Some(true) => (least + 1, most + 1),
            Some(false) => (least, most),
            None => (least, most + 1),
        })
    }

    /// What of it blocks this address: each as it is looked up.
    pub fn covering(&self, address: IpAddr) -> impl Iterator<Item = (Prefix, Lease)> + '_ {
        let (six, address) = number(address);
        let lengths = self.targets.keys().filter(move |(is_six, length)| {
            *is_six == six && !(six && *length > self.reach && *length != self.reach)
        });
        let mut around: Vec<_> = lengths.map(|(_, length)| Prefix::around(six, address, *length)).collect();
        let reached = Prefix::around(six, address, self.reach.min(super::prefix::width(six)));
        if six && !around.contains(&reached) {
            around.push(reached);
        }
        around
            .into_iter()
            .flat_map(move |effect| self.leases_of_effect(effect).map(move |lease| (effect, lease)))
    }

    /// So much of the time that its members have is over at once.
    pub fn lose(&mut self, seconds: f64) {
        for lease in self.targets.values_mut().flat_map(HashMap::values_mut) {
            (lease.surely, lease.perhaps) = (lease.surely - seconds, lease.perhaps - seconds);
        }
    }

    fn note_if_longer(&mut self, target: Prefix) {
        let effect = self.effect(target);
        if effect != target {
            self.longer.entry(effect.first).or_default().insert(target);
        }
    }
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            targets: BTreeMap::new(),
            reach: AS_GIVEN,
            longer: HashMap::new(),
            ports: Ports::All,
            ttl: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: Prefix = Prefix { is_six: false, first: 0xcb00_7107, length: 32 };

    #[test]
    fn ban_extends_only_and_expiry_is_fuzzy() {
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
        assert_eq!(Lease::NEVER.holds(During(0.0, 0.0)), Some(false));
        wanted.lose(9.0);
        assert_eq!(wanted.lease(SOURCE).expect("it is there").holds(During(1.0, 1.2)), None);
    }

    #[test]
    fn widening_list_blocks_around_its_addresses() {
        let address = |low: u128| Prefix::host(true, 0x2001_0db8 << 96 | low);
        let ip = |low: u128| super::super::prefix::ip(true, 0x2001_0db8 << 96 | low);
        let mut wanted = Wanted::all(&[address(1), address(2), SOURCE]).reaching(64);
        let blocks = |wanted: &Wanted, low| wanted.covering(ip(low)).count();
        assert_eq!((blocks(&wanted, 7), blocks(&wanted, 1 << 64)), (2, 0));
        wanted.remove(address(1));
        assert_eq!(blocks(&wanted, 1), 1);
        wanted.remove(address(2));
        assert_eq!(blocks(&wanted, 1), 0);
        wanted.add(Prefix::around(true, address(0).first, 48), Lease::PERMANENT);
        wanted.add(address(3), Lease::PERMANENT);
        let wanted = wanted.reaching(AS_GIVEN);
        assert_eq!((blocks(&wanted, 3), blocks(&wanted, 7)), (2, 1));
    }
}
