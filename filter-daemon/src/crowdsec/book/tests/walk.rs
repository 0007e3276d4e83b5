//! Random steps on a book and on a naive reference, which computes all entries from scratch.

use std::collections::BTreeMap;

use super::*;

use crate::kernel::tests::random::Random;

const SYSTEM: &str = "AS64500";
const MAX_SHRINK: u8 = 30;

/// A target on a list.
type Place = (Arc<str>, Target);

/// What the rules say of one decision.
#[derive(Clone, Debug)]
struct NaiveDecision {
    list: Arc<str>,
    scope: Scope,
    until: Timestamp,
    note: Arc<str>,
    absent_since: Option<Timestamp>,
}

impl NaiveDecision {
    /// Whether it names a target itself, and that of one of these places.
    fn is_at(&self, places: &[Place]) -> bool {
        let Scope::Target(target) = self.scope else { return false };
        places.contains(&(Arc::clone(&self.list), target))
    }
}

/// The rules of the book, without any index.
#[derive(Default)]
struct NaiveBook {
    decisions: BTreeMap<DecisionId, NaiveDecision>,
    /// The networks of the autonomous system; the outer one is none until they are asked for.
    networks: Option<Option<Vec<Target>>>,
    /// The number of entries that were restored, or kept although their ID means another one now.
    restored: u64,
}

impl NaiveBook {
    fn targets(&self, scope: Scope) -> Vec<Target> {
        match scope {
            Scope::Target(target) => vec![target],
            Scope::Autonomous(_) | Scope::Country(_) => self.networks.clone().flatten().unwrap_or_default(),
        }
    }

    fn places(&self, decision: &NaiveDecision) -> Vec<Place> {
        self.targets(decision.scope).into_iter().map(|target| (Arc::clone(&decision.list), target)).collect()
    }

    /// Each entry with its end and note.
    fn union(&self) -> BTreeMap<Place, (Timestamp, Arc<str>)> {
        let mut union = BTreeMap::<Place, (Timestamp, DecisionId, Arc<str>)>::new();
        for (id, decision) in &self.decisions {
            for place in self.places(decision) {
                let terms = (decision.until, *id, Arc::clone(&decision.note));
                let known = union.entry(place).or_insert_with(|| terms.clone());
                *known = terms.max(known.clone());
            }
        }
        union.into_iter().map(|(place, (until, _, note))| (place, (until, note))).collect()
    }

    fn expire(&mut self, now: Timestamp) {
        self.decisions.retain(|_, decision| decision.until > now);
        if !self.decisions.values().any(|decision| matches!(decision.scope, Scope::Autonomous(_))) {
            self.networks = None;
        }
    }

    fn apply(&mut self, answer: &StreamAnswer, now: Timestamp) {
        for id in &answer.deleted {
            self.decisions.remove(&DecisionId::Lapi(*id));
        }
        for decision in &answer.new {
            let before = self.decisions.remove(&DecisionId::Lapi(decision.id));
            if decision.until > now {
                let list = crate::crowdsec::list_name::list_of("main", &decision.origin);
                let is_other = |one: &NaiveDecision| (&one.list, one.scope) != (&list, decision.scope);
                let is_target = |one: &NaiveDecision| matches!(one.scope, Scope::Target(_));
                if let Some(other) = before.filter(is_other).filter(is_target) {
                    let kept = NaiveDecision { absent_since: None, ..other };
                    self.decisions.insert(DecisionId::Restored(self.restored), kept);
                    self.restored += 1;
                }
                let new = NaiveDecision {
                    list,
                    scope: decision.scope,
                    until: decision.until,
                    note: note(decision).into(),
                    absent_since: None,
                };
                let places = self.places(&new);
                let restored = self.decisions.iter_mut().filter(|(id, _)| id.is_restored());
                for (_, known) in restored.filter(|(_, known)| known.is_at(&places)) {
                    known.absent_since = None;
                }
                self.decisions.insert(DecisionId::Lapi(decision.id), new);
            }
        }
    }

    fn take_full(&mut self, answer: &StreamAnswer, now: Timestamp) -> FullReport {
        self.apply(answer, now);
        let is_present = |id: &DecisionId| answer.new.iter().any(|one| DecisionId::Lapi(one.id) == *id);
        let present: Vec<_> = self.decisions.iter().filter(|(id, _)| is_present(id)).collect();
        let places: Vec<_> = present.iter().flat_map(|(_, decision)| self.places(decision)).collect();
        let is_pending =
            |one: &NaiveDecision| matches!(one.scope, Scope::Autonomous(_)) && self.networks.is_none();
        let pending: Vec<_> =
            self.decisions.values().filter(|one| is_pending(one)).map(|one| Arc::clone(&one.list)).collect();
        self.decisions.retain(|id, one| !id.is_restored() || !one.is_at(&places));
        let (mut absent, mut confirmed) = (0, Vec::new());
        for (id, decision) in &mut self.decisions {
            if is_present(id) || id.is_restored() && pending.contains(&decision.list) {
                continue;
            }
            absent += 1;
            match decision.absent_since {
                Some(since) if now.after(since) >= 60 => confirmed.push(*id),
                _ => decision.absent_since = decision.absent_since.or(Some(now)),
            }
        }
        let count = confirmed.len() as u64;
        let is_allowed = count * 100 <= self.decisions.len() as u64 * u64::from(MAX_SHRINK);
        self.decisions.retain(|id, _| !is_allowed || !confirmed.contains(id));
        let (removed, held_back) = if is_allowed { (count, 0) } else { (0, count) };
        FullReport { missed: 0, absent, removed, held_back }
    }

    /// The earliest mark, if no full answer at `last_full` could confirm it.
    fn next_confirmation(&self, last_full: Timestamp) -> Option<Timestamp> {
        let ends = self.decisions.values().filter_map(|one| Some(one.absent_since?.later_by(60)));
        ends.filter(|end| *end > last_full).min()
    }
}

/// The blocklist as the changes leave it.
#[derive(Default)]
struct NaiveBlocklist(BTreeMap<Place, (Timestamp, Arc<str>)>);

impl NaiveBlocklist {
    fn expire(&mut self, now: Timestamp) {
        self.0.retain(|_, (until, _)| *until > now);
    }

    fn apply(&mut self, change: &EntryChange) {
        match change.clone() {
            EntryChange::Want { list, target, until, note } => {
                let before = self.0.insert((list, target), (until, Arc::clone(&note)));
                assert_ne!(before, Some((until, note)), "{change:?} changes nothing");
            }
            EntryChange::Release { list, target } => {
                assert!(self.0.remove(&(list, target)).is_some(), "{change:?} has no entry");
            }
        }
    }
}

/// LAPI, the book, and what is compared with it.
struct RandomWalk {
    random: Random,
    now: Timestamp,
    /// The decisions that LAPI has.
    lapi: BTreeMap<u64, Decision>,
    /// The answer that the next delta gives.
    delta: StreamAnswer,
    book: DecisionBook,
    naive: NaiveBook,
    blocklist: NaiveBlocklist,
    last_full: Timestamp,
    /// How many decisions full answers have at most.
    kept: usize,
    /// What the full answers did so far.
    total: FullReport,
}

impl RandomWalk {
    fn new(seed: u64) -> Self {
        let mut walk = Self {
            random: Random(seed),
            now: at(0),
            lapi: BTreeMap::new(),
            delta: StreamAnswer::default(),
            book: DecisionBook::new("main", None),
            naive: NaiveBook::default(),
            blocklist: NaiveBlocklist::default(),
            last_full: at(0),
            kept: usize::MAX,
            total: FullReport::default(),
        };
        for number in 0..walk.random.below(6) as u64 {
            walk.restore(number);
        }
        walk
    }

    fn restore(&mut self, number: u64) {
        let (list, target): (Arc<str>, _) = ("crowdsec-cscli".into(), target(number as usize));
        let (until, note) = (self.end(), Arc::from("restored"));
        self.book.restore(Arc::clone(&list), target, until, Some(Arc::clone(&note)));
        self.blocklist.0.insert((Arc::clone(&list), target), (until, Arc::clone(&note)));
        let scope = Scope::Target(target);
        let decision = NaiveDecision { list, scope, until, note, absent_since: None };
        self.naive.decisions.insert(DecisionId::Restored(number), decision);
        self.naive.restored += 1;
    }

    /// An end in the future. All ends differ by nothing or by more than the book takes for equal.
    fn end(&mut self) -> Timestamp {
        let multiple = self.now.secs().div_ceil(5) * 5;
        at(0).later_by(multiple as i64 - at(0).secs() as i64 + 5 * self.random.below(200) as i64)
    }

    fn step(&mut self) {
        match self.random.below(14) {
            0..=3 => self.decide(),
            4 | 5 => self.delete(),
            6 => self.now = self.now.later_by(self.random.below(40) as i64),
            7 | 8 => self.poll(),
            9..=11 => self.read_all(),
            12 => self.ask_database(),
            _ => self.commit(),
        }
    }

    fn decide(&mut self) {
        let id = self.random.below(30) as u64;
        let scope = match self.random.below(8) {
            0 => autonomous(SYSTEM),
            number => Scope::Target(target(number)),
        };
        let origin = if self.random.below(3) == 0 { "CAPI" } else { "cscli" };
        let until = self.end();
        let decision = Decision { origin: origin.into(), until, ..on_scope(id, scope, 0) };
        self.lapi.insert(id, decision.clone());
        self.delta.new.push(decision);
    }

    fn delete(&mut self) {
        let id = self.random.below(30) as u64;
        if self.lapi.remove(&id).is_some() {
            self.delta.new.retain(|decision| decision.id != id);
        }
        self.delta.deleted.push(id);
    }

    /// Takes a delta, which sometimes another program stole.
    fn poll(&mut self) {
        let delta = std::mem::take(&mut self.delta);
        if self.random.below(6) > 0 {
            self.naive.decisions.retain(|_, decision| decision.until > self.now);
            self.naive.apply(&delta, self.now);
            self.book.take_delta(delta, self.now);
        }
    }

    /// Takes a full answer. For some time in a row, answers lack the last decisions.
    fn read_all(&mut self) {
        self.delta = StreamAnswer::default();
        let mut decisions: Vec<_> = self.lapi.values().cloned().collect();
        if self.random.below(6) == 0 {
            self.kept = if self.random.below(2) == 0 { usize::MAX } else { self.random.below(30) };
        }
        decisions.truncate(self.kept);
        let full = new(&decisions);
        self.naive.decisions.retain(|_, decision| decision.until > self.now);
        let expected = self.naive.take_full(&full, self.now);
        let report = self.book.take_full(full, self.now, MAX_SHRINK);
        assert_eq!(FullReport { missed: 0, ..report }, expected);
        self.total.missed += report.missed;
        self.total.absent += report.absent;
        self.total.removed += report.removed;
        self.total.held_back += report.held_back;
        self.last_full = self.now;
    }

    fn ask_database(&mut self) {
        for scope in self.book.scopes() {
            let count = self.random.below(4);
            let networks =
                (count > 0).then(|| (1..=count).map(|number| target(2 * number)).collect::<Vec<_>>());
            self.book
                .set_networks(&scope, networks.as_ref().map(|networks| networks.iter().copied().collect()));
            self.naive.networks = Some(networks);
        }
    }

    /// Commits the changes, some of which are refused, and compares what is enforced.
    fn commit(&mut self) {
        self.naive.expire(self.now);
        let refuses = self.random.below(3) == 0;
        self.blocklist.expire(self.now);
        for change in self.book.take_changes(self.now) {
            if refuses && self.random.below(3) == 0 {
                self.book.refuse(&change);
            } else {
                self.blocklist.apply(&change);
            }
        }
        if !refuses {
            self.compare();
        }
    }

    fn compare(&mut self) {
        let naive = &self.naive;
        assert_eq!(self.blocklist.0, naive.union());
        let lapi = naive.decisions.iter().filter(|(id, _)| !id.is_restored()).map(|(_, decision)| decision);
        let is_unresolved = |one: &&NaiveDecision| {
            matches!(one.scope, Scope::Autonomous(_)) && naive.networks.clone().flatten().is_none()
        };
        let (decided, unresolved) = (lapi.clone().count(), lapi.filter(is_unresolved).count());
        assert_eq!((self.book.decided(), self.book.unresolved()), (decided as u64, unresolved as u64));
        assert_eq!(self.book.enforced(), (decided - unresolved) as u64);
        assert_eq!(self.book.entries(), self.blocklist.0.len());
        assert_eq!(self.book.next_confirmation(), naive.next_confirmation(self.last_full));
        assert_eq!(self.book.take_changes(self.now), []);
    }
}

fn target(number: usize) -> Target {
    [
        "192.0.2.1",
        "192.0.2.2",
        "192.0.2.0/24",
        "2001:db8::1",
        "2001:db8::/64",
        "192.0.2.3",
        "10.0.0.0/8",
        "192.0.2.4",
    ][number % 8]
        .parse()
        .unwrap()
}

#[test]
fn enforced_entries_equal_a_naive_union() {
    let mut totals = Vec::new();
    for seed in 0..30 {
        let mut walk = RandomWalk::new(seed);
        for _ in 0..400 {
            walk.step();
        }
        walk.ask_database();
        walk.naive.expire(walk.now);
        walk.blocklist.expire(walk.now);
        let changes = walk.book.take_changes(walk.now);
        changes.iter().for_each(|change| walk.blocklist.apply(change));
        walk.compare();
        totals.push(walk.total);
    }
    let counts: [fn(&FullReport) -> u64; 4] =
        [|total| total.missed, |total| total.absent, |total| total.removed, |total| total.held_back];
    for count in counts {
        assert!(totals.iter().filter(|total| count(total) > 0).count() > 5, "{totals:?}");
    }
}
