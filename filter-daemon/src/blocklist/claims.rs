//! Who wants a target, since when and until when: kept once for all targets of which the same is true.
//!
//! The million addresses of one list share one entry here, and cost four bytes each beside the address.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use filter_common::sets::SetName;

use super::{ListId, Reach, Timestamp};

/// What one list says of a target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The list.
    pub list: ListId,
    /// Since when.
    pub since: Timestamp,
    /// Perhaps for longer: it was there when this blocklist began to be judged by, and nobody here knows since when.
    pub or_before: bool,
    /// Until when; permanent if none.
    pub until: Option<Timestamp>,
    /// Why, in the words of whoever added it.
    pub note: Option<Arc<str>>,
    /// Who put it on the list; not known of what older filterds wrote, and the configuration's for its own lists.
    pub by: Option<Arc<str>>,
    /// What is blocked for its sake.
    pub reach: Reach,
}

impl Claim {
    /// Does `known` say all this already?
    pub fn adds_nothing_to(&self, known: &Self) -> bool {
        let lasts = match (known.until, self.until) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(known), Some(new)) => known >= new,
        };
        lasts && self.reach == known.reach && (self.note.is_none() || self.note == known.note)
    }

    /// `self`, with what `newer` adds: a later end, another note, another reach. Since when it is there, and by whom, stays.
    pub fn extended_by(&self, newer: Self) -> Self {
        let until = match (self.until, newer.until) {
            (Some(known), Some(new)) => Some(known.max(new)),
            (None, _) | (_, None) => None,
        };
        let note = newer.note.or_else(|| self.note.clone());
        Self { until, note, reach: newer.reach, ..self.clone() }
    }

    /// What is said once `self` has been added to what is `known`; nothing if that says it already.
    pub fn extending(&self, known: Option<&Self>) -> Option<Self> {
        match known {
            Some(known) if self.adds_nothing_to(known) => None,
            Some(known) => Some(known.extended_by(self.clone())),
            None => Some(self.clone()),
        }
    }

    /// Does `other` say the same, however far it reaches? That is the list's, and changes with the configuration.
    pub fn says_what(&self, other: &Self) -> bool {
        *self == Self { reach: self.reach, ..other.clone() }
    }
}

/// Where a set of claims is kept: on its side, or apart, as those of a list that widens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// On the side of this set, as packets meet it.
    Side(SetName),
    /// Apart, as it was given.
    Apart,
}

/// Number of a set of claims in the [`Registry`]; never zero, so that none at all takes no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimsId(NonZeroU32);

impl ClaimsId {
    fn at(at: usize) -> Self {
        let number = u32::try_from(at + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("there are fewer sets than targets"))
    }

    const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Beyond these, it is no longer seen to that each is kept once.
const MOST_AUTHORS: usize = 1024;

/// Every set of claims in use, each once.
#[derive(Debug, Default)]
pub struct Registry {
    sets: Vec<Set>,
    unused: Vec<ClaimsId>,
    known: HashMap<Arc<[Claim]>, ClaimsId>,
    /// What `with` did last: many targets in a row make the same step.
    last: Option<(Option<ClaimsId>, Claim, ClaimsId)>,
    /// Who adds, each kept once: a few, of whom nearly every claim names one.
    authors: HashSet<Arc<str>>,
    /// How many targets of each list other lists want, too, by the list's number.
    shared: Vec<u64>,
}

#[derive(Debug)]
struct Set {
    claims: Arc<[Claim]>,
    users: u32,
}

impl Registry {
    /// How many sets are in use.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Two different numbers.
    #[cfg(test)]
    pub fn two_sets() -> [ClaimsId; 2] {
        [ClaimsId::at(0), ClaimsId::at(1)]
    }

    /// The claims of this set, one a list.
    pub fn claims(&self, id: ClaimsId) -> &[Claim] {
        &self.sets[id.index()].claims
    }

    /// The claim of `list` in this set.
    pub fn of(&self, id: ClaimsId, list: ListId) -> Option<&Claim> {
        self.claims(id).iter().find(|claim| claim.list == list)
    }

    /// One user moves from the set `before` to the same with `claim` in place of its list's old one.
    pub fn with(&mut self, before: Option<ClaimsId>, claim: Claim) -> ClaimsId {
        let after = match &self.last {
            Some((from, last, after)) if *from == before && *last == claim => {
                let after = *after;
                self.share(after, 1);
                after
            }
            _ => self.with_anew(before, claim),
        };
        before.into_iter().for_each(|id| self.leave(id));
        after
    }

    fn with_anew(&mut self, before: Option<ClaimsId>, claim: Claim) -> ClaimsId {
        let others = before.map(|id| self.claims(id)).unwrap_or_default();
        let mut claims: Vec<Claim> =
            others.iter().filter(|other| other.list != claim.list).cloned().collect();
        let at = claims.partition_point(|other| other.list < claim.list);
        claims.insert(at, claim.clone());
        let after = self.enter(claims.into());
        self.last = Some((before, claim, after));
        after
    }

    /// One user moves from the set `before` to the same without the claim of `list`; none if nothing is left.
    pub fn without(&mut self, before: ClaimsId, list: ListId) -> Option<ClaimsId> {
        let claims: Vec<Claim> =
            self.claims(before).iter().filter(|claim| claim.list != list).cloned().collect();
        let after = (!claims.is_empty()).then(|| self.enter(claims.into()));
        self.leave(before);
        after
    }

    /// The same words, kept once as long as not everybody has others.
    pub fn shared(&mut self, by: Arc<str>) -> Arc<str> {
        if let Some(known) = self.authors.get(&by) {
            return known.clone();
        }
        if self.authors.len() >= MOST_AUTHORS {
            self.authors.clear();
        }
        self.authors.insert(by.clone());
        by
    }

    /// So many more use this set.
    pub fn share(&mut self, id: ClaimsId, more: u32) {
        let set = &mut self.sets[id.index()];
        set.users += more;
        count_shared(&mut self.shared, &set.claims, i64::from(more));
    }

    /// How many targets of this list other lists want, too.
    pub fn shared_by(&self, list: ListId) -> u64 {
        self.shared.get(list.index()).copied().unwrap_or(0)
    }

    fn enter(&mut self, claims: Arc<[Claim]>) -> ClaimsId {
        if let Some(&id) = self.known.get(&claims) {
            self.share(id, 1);
            return id;
        }
        count_shared(&mut self.shared, &claims, 1);
        let set = Set { claims: claims.clone(), users: 1 };
        let id = match self.unused.pop() {
            Some(id) => {
                self.sets[id.index()] = set;
                id
            }
            None => {
                self.sets.push(set);
                ClaimsId::at(self.sets.len() - 1)
            }
        };
        self.known.insert(claims, id);
        id
    }

    fn leave(&mut self, id: ClaimsId) {
        let set = &mut self.sets[id.index()];
        set.users -= 1;
        count_shared(&mut self.shared, &set.claims, -1);
        if set.users == 0 {
            let claims = std::mem::take(&mut set.claims);
            self.known.remove(&claims);
            self.unused.push(id);
            // The number may come to mean another set.
            self.last = None;
        }
    }
}

/// So many targets more have all of these claims, or fewer.
fn count_shared(shared: &mut Vec<u64>, claims: &[Claim], more: i64) {
    if claims.len() < 2 {
        return;
    }
    for index in claims.iter().map(|claim| claim.list.index()) {
        if shared.len() <= index {
            shared.resize(index + 1, 0);
        }
        shared[index] = shared[index].saturating_add_signed(more);
    }
}
