//! The claims on a target: which lists want it, since when and until when. Each distinct set of claims is
//! kept once.
//!
//! The million addresses of one list share one set here, and need four bytes each in addition to the
//! address.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use filter_common::sets::SetName;

use super::{ListId, Reach, Timestamp};

/// The statement of one list about a target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    pub list: ListId,
    /// When the entry was added, as far as is known.
    pub since: Timestamp,
    /// True if the entry may be older: it existed when this blocklist began to be used, and its start was
    /// not recorded.
    pub or_before: bool,
    /// When the entry expires; never if none.
    pub until: Option<Timestamp>,
    /// The reason, in the words of the user who added it.
    pub note: Option<Arc<str>>,
    /// The author. Older versions of filterd did not record it, and lists of the configuration have none.
    pub by: Option<Arc<str>>,
    /// How far the list widens the target.
    pub reach: Reach,
}

impl Claim {
    /// True if `known` already covers everything that `self` says.
    pub fn adds_nothing_to(&self, known: &Self) -> bool {
        let lasts = match (known.until, self.until) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(known), Some(new)) => known >= new,
        };
        lasts && self.reach == known.reach && (self.note.is_none() || self.note == known.note)
    }

    /// `self` with the additions of `newer`: a later expiry, another note, another reach. `since` and `by`
    /// stay.
    pub fn extended_by(&self, newer: Self) -> Self {
        let until = match (self.until, newer.until) {
            (Some(known), Some(new)) => Some(known.max(new)),
            (None, _) | (_, None) => None,
        };
        let note = newer.note.or_else(|| self.note.clone());
        Self { until, note, reach: newer.reach, ..self.clone() }
    }

    /// The claim after `self` is added to `known`, or none if `known` already covers it.
    pub fn extending(&self, known: Option<&Self>) -> Option<Self> {
        match known {
            Some(known) if self.adds_nothing_to(known) => None,
            Some(known) => Some(known.extended_by(self.clone())),
            None => Some(self.clone()),
        }
    }

    /// True if both are equal except for the reach. The reach belongs to the list, and changes with the
    /// configuration.
    pub fn says_what(&self, other: &Self) -> bool {
        *self == Self { reach: self.reach, ..other.clone() }
    }
}

/// The place of a set of claims: on its side, or in the separate store of lists that widen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClaimStore {
    /// On the side of this set, as packets meet it.
    Side(SetName),
    /// In the separate store of widening lists, as it was given.
    Apart,
}

/// Number of a set of claims in the [`ClaimRegistry`]. It is never zero, so an `Option` of it takes no more
/// room.
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

/// Above this number of authors, the registry starts a new collection and may keep an author twice.
const MOST_AUTHORS: usize = 1024;

/// Every distinct set of claims in use.
#[derive(Debug, Default)]
pub struct ClaimRegistry {
    sets: Vec<ClaimSet>,
    unused: Vec<ClaimsId>,
    known: HashMap<Arc<[Claim]>, ClaimsId>,
    /// The latest step of `with`: many targets in a row make the same step.
    last: Option<(Option<ClaimsId>, Claim, ClaimsId)>,
    /// The distinct authors. There are few, and nearly every claim names one.
    authors: HashSet<Arc<str>>,
    /// By list number: how many targets of this list other lists want as well.
    shared: Vec<u64>,
}

#[derive(Debug)]
struct ClaimSet {
    claims: Arc<[Claim]>,
    users: u32,
}

impl ClaimRegistry {
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    #[cfg(test)]
    pub fn two_sets() -> [ClaimsId; 2] {
        [ClaimsId::at(0), ClaimsId::at(1)]
    }

    /// The claims of this set, at most one for each list.
    pub fn claims(&self, id: ClaimsId) -> &[Claim] {
        &self.sets[id.index()].claims
    }

    /// The claim of `list` in this set.
    pub fn of(&self, id: ClaimsId, list: ListId) -> Option<&Claim> {
        self.claims(id).iter().find(|claim| claim.list == list)
    }

    /// Moves one user from the set `before` to the set in which `claim` replaces the claim of its list.
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

    /// Moves one user from the set `before` to the set without the claim of `list`; none if that is empty.
    pub fn without(&mut self, before: ClaimsId, list: ListId) -> Option<ClaimsId> {
        let claims: Vec<Claim> =
            self.claims(before).iter().filter(|claim| claim.list != list).cloned().collect();
        let after = (!claims.is_empty()).then(|| self.enter(claims.into()));
        self.leave(before);
        after
    }

    /// Returns the stored copy of an author, so that equal authors share memory.
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

    /// Adds `more` users to this set.
    pub fn share(&mut self, id: ClaimsId, more: u32) {
        let set = &mut self.sets[id.index()];
        set.users += more;
        count_shared(&mut self.shared, &set.claims, i64::from(more));
    }

    /// How many targets of this list other lists want as well.
    pub fn shared_by(&self, list: ListId) -> u64 {
        self.shared.get(list.index()).copied().unwrap_or(0)
    }

    fn enter(&mut self, claims: Arc<[Claim]>) -> ClaimsId {
        if let Some(&id) = self.known.get(&claims) {
            self.share(id, 1);
            return id;
        }
        count_shared(&mut self.shared, &claims, 1);
        let set = ClaimSet { claims: claims.clone(), users: 1 };
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
            // The number may be reused for another set.
            self.last = None;
        }
    }
}

/// Counts `more` targets (or fewer, if negative) that have all of these claims.
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
