//! Tests widening lists against a plain reference: packets meet the widened prefixes, and queries show the
//! given targets.

use super::*;

/// The claims of two lists, each with its expiry and reach.
#[derive(Clone, Default)]
struct Reference {
    reaches: [Reach; 2],
    claims: BTreeMap<(usize, Target), (Option<u32>, Reach)>,
}

impl Reference {
    fn blocked(&self) -> BTreeSet<Target> {
        self.claims.iter().flat_map(|((_, target), (_, reach))| reach.of(*target)).collect()
    }

    /// A new claim has only the final length.
    fn reach_of(&self, list: usize, target: Target) -> Reach {
        let reach = self.reaches[list];
        if self.claims.contains_key(&(list, target)) { reach } else { reach.settled() }
    }

    fn want(&mut self, list: usize, target: Target, until: Option<u32>) {
        let reach = self.reach_of(list, target);
        let known = self.claims.get(&(list, target)).map(|(until, _)| *until);
        let later = match (known, until) {
            (None, until) => until,
            (Some(known), until) => known.zip(until).map(|(known, until)| known.max(until)),
        };
        self.claims.insert((list, target), (later, reach));
    }
}

#[derive(Clone, Debug)]
enum Step {
    Want(usize, Vec<usize>, Option<u32>, bool),
    Release(usize, Vec<usize>),
    Expire(u32),
    /// The configuration gives another length. Pages then extend the existing claims to it.
    Begin(usize, u8),
    Page(usize, Vec<usize>),
    /// The earlier length no longer applies.
    Settle(usize),
    Undo,
}

const WORDS: [&str; 12] = [
    "2001:db8::1",
    "2001:db8::2",
    "2001:db8::/64",
    "2001:db8::/80",
    "2001:db8:0:1::1",
    "2001:db8:0:1::/64",
    "2001:db8::/56",
    "2001:db8::/48",
    "2001:db8:1::1",
    "::/0",
    "203.0.113.7",
    "203.0.113.0/24",
];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let some = || prop::collection::vec(0..WORDS.len(), 1..6);
    let step = prop_oneof![
        4 => (0..2usize, some(), prop::option::of(1..20u32), any::<bool>())
            .prop_map(|(list, words, until, shorten)| Step::Want(list, words, until, shorten)),
        3 => (0..2usize, some()).prop_map(|(list, words)| Step::Release(list, words)),
        1 => (1..20u32).prop_map(Step::Expire),
        2 => (0..2usize, prop::sample::select(vec![56, 64, 80, 128])).prop_map(|(list, to)| Step::Begin(list, to)),
        2 => (0..2usize, some()).prop_map(|(list, words)| Step::Page(list, words)),
        2 => (0..2usize).prop_map(Step::Settle),
        1 => Just(Step::Undo),
    ];
    prop::collection::vec(step, 1..40)
}

fn of(words: &[usize]) -> Targets {
    words.iter().map(|word| target(WORDS[*word])).collect()
}

fn id(story: &Scenario, list: usize) -> ListId {
    story.blocklist.lists.find(story.lists[list]).expect("it is kept by an entry of its own")
}

/// Applies the step to both, and returns its effects.
fn take(
    story: &mut Scenario,
    reference: &mut Reference,
    step: &Step,
    before: &mut Vec<(Undo, Reference)>,
) -> Effects {
    let earlier = reference.clone();
    let applied = match step {
        Step::Want(list, words, until, shorten) => {
            for target in of(words).iter() {
                if *shorten {
                    let reach = reference.reach_of(*list, target);
                    reference.claims.insert((*list, target), (*until, reach));
                } else {
                    reference.want(*list, target, *until);
                }
            }
            let until = until.map(at);
            let want = Want::live(story.lists[*list], Polarity::Block, of(words));
            story.apply(&Change::Want(Want { until, shorten: *shorten, ..want }), 0)
        }
        Step::Release(list, words) => {
            of(words).iter().for_each(|target| _ = reference.claims.remove(&(*list, target)));
            let words: Vec<_> = words.iter().map(|word| WORDS[*word]).collect();
            story.release(*list, &words)
        }
        Step::Expire(now) => {
            reference.claims.retain(|_, (until, _)| until.is_none_or(|until| until > *now));
            story.apply(&Change::Expire { polarity: Polarity::Block, most: usize::MAX }, *now)
        }
        Step::Begin(list, to) => {
            let reach = reference.reaches[*list].settled().becoming(*to);
            // A change that is under way is finished first.
            let applied =
                reach_all(story, reference, *list, reach.settled().becoming(reach.settled().length()));
            reference.reaches[*list] = reach;
            story.blocklist.lists.set_reach(id(story, *list), reach);
            before.clear();
            return applied;
        }
        Step::Page(list, words) => {
            let reach = reference.reaches[*list];
            for target in of(words).iter() {
                reference.claims.entry((*list, target)).and_modify(|(_, known)| *known = reach);
            }
            story.apply(&Change::Reach { list: story.lists[*list].into(), targets: of(words) }, 0)
        }
        Step::Settle(list) => {
            let settled = reference.reaches[*list].settled();
            before.clear();
            return reach_all(story, reference, *list, settled);
        }
        Step::Undo => {
            let Some((undo, earlier)) = before.pop() else { return Effects::default() };
            *reference = Reference { reaches: reference.reaches, ..earlier };
            return story.apply(&Change::Undo(undo), 0).effects;
        }
    };
    before.push((applied.undo.clone(), earlier));
    applied.effects
}

fn reach_all(story: &mut Scenario, reference: &mut Reference, list: usize, reach: Reach) -> Effects {
    reference.reaches[list] = reach;
    story.blocklist.lists.set_reach(id(story, list), reach);
    for ((_, target), (_, known)) in reference.claims.iter_mut().filter(|((of, _), _)| *of == list) {
        if matches!(target, Target::V6(_)) {
            *known = reach;
        }
    }
    let (targets, next) = story.blocklist.to_reach_anew(id(story, list), None, |_| true);
    assert_eq!(next, None, "so few are one page");
    story.apply(&Change::Reach { list: story.lists[list].into(), targets }, 0).effects
}

proptest! {
    #[test]
    fn sets_are_widened_and_queries_are_not(steps in steps()) {
        let (mut story, mut reference, mut before) = (Scenario::new(), Reference::default(), Vec::new());
        // An empty list is forgotten, together with its reach.
        for list in 0..2 {
            story.add(list, "192.0.2.1", None);
            reference.want(list, target("192.0.2.1"), None);
        }
        for step in steps {
            let blocked = reference.blocked();
            let effects = take(&mut story, &mut reference, &step, &mut before);
            let after = reference.blocked();
            let side = story.blocklist.block();
            let set = |targets: &Targets| targets.iter().collect::<BTreeSet<_>>();
            prop_assert_eq!(&set(&side.targets()), &after, "{:?}", step);
            prop_assert_eq!(&set(&effects.sets.block.entered), &(&after - &blocked), "{:?} entered", step);
            prop_assert_eq!(&set(&effects.sets.block.left), &(&blocked - &after), "{:?} left", step);
            is_told_as_given(&story, &reference)?;
        }
        outlives_the_journal(&story, &reference)?;
    }
}

fn is_told_as_given(story: &Scenario, reference: &Reference) -> Result<(), TestCaseError> {
    let blocklist = &story.blocklist;
    let (page, next) = blocklist.page(Polarity::Block, None, usize::MAX, |_, _| true);
    let told = |claims: Vec<NamedClaim>| -> BTreeMap<(usize, Target), Option<u64>> {
        let list = |name: &str| usize::from(name == story.lists[1]);
        let one = |claim: NamedClaim| ((list(&claim.list), claim.target), claim.until.map(Timestamp::secs));
        claims.into_iter().map(one).collect()
    };
    let expected = |is_meant: &dyn Fn(Target, Reach) -> bool| -> BTreeMap<(usize, Target), Option<u64>> {
        let meant = reference.claims.iter().filter(|((_, target), (_, reach))| is_meant(*target, *reach));
        meant.map(|(key, (until, _))| (*key, until.map(u64::from))).collect()
    };
    prop_assert_eq!(next, None);
    prop_assert_eq!(told(page), expected(&|_, _| true));
    for word in ["2001:db8::1", "2001:db8::9", "2001:db8:0:1::9", "2001:db8:0:1::/64", "203.0.113.7"] {
        let asked = target(word);
        let covers = |one: Target, reach: Reach| reach.of(one).any(|wide| wide.covers(&asked));
        prop_assert_eq!(told(blocklist.covering(Polarity::Block, asked)), expected(&covers), "{}", word);
    }
    for list in 0..2 {
        let row = blocklist.lists.get(id(story, list));
        let claims = reference.claims.keys().filter(|(of, _)| *of == list);
        prop_assert_eq!(row.entries, claims.count() as u64);
        let entries: BTreeSet<_> = blocklist.entries_of(id(story, list)).collect();
        let wanted = reference.claims.keys().filter(|(of, _)| *of == list).map(|(_, target)| *target);
        prop_assert_eq!(entries, wanted.collect::<BTreeSet<_>>());
    }
    let ends = reference.claims.values().filter_map(|(until, _)| *until).min();
    prop_assert_eq!(blocklist.next_deadline().map(Timestamp::secs), ends.map(u64::from));
    let (soon, _) = blocklist.expiring(Polarity::Block, None, at(9), usize::MAX, |_, _| true);
    let soon: Vec<_> = soon.iter().map(|claim| claim.until.map(Timestamp::secs)).collect();
    prop_assert!(soon.is_sorted());
    let up_to_9 = reference.claims.values().filter(|(until, _)| until.is_some_and(|until| until <= 9));
    prop_assert_eq!(soon.len(), up_to_9.count());
    Ok(())
}

/// Records contain the given targets, and a replay widens them by the configuration of that time.
fn outlives_the_journal(story: &Scenario, reference: &Reference) -> Result<(), TestCaseError> {
    let mut other = Scenario::new();
    let reaches = story.lists.iter().zip(reference.reaches);
    let reaches = reaches.map(|(name, reach)| ((*name).into(), reach.settled())).collect();
    other.blocklist.lists.set_live_reaches(reaches);
    let mut from = Some(Bookmark::default());
    while let Some(begin) = from {
        let (records, next) = story.blocklist.as_records(begin, 2, |_| true);
        records.into_iter().try_for_each(|record| other.blocklist.replay(&record, at(0))).unwrap();
        from = next;
    }
    let claims = |story: &Scenario| {
        let (mut page, _) = story.blocklist.page(Polarity::Block, None, usize::MAX, |_, _| true);
        page.sort_by(|one, other| (one.target, &one.list).cmp(&(other.target, &other.list)));
        page.into_iter().map(|claim| (claim.target, claim.list, claim.until)).collect::<Vec<_>>()
    };
    prop_assert_eq!(claims(&other), claims(story));
    let settled = |((_, target), _): (&(usize, Target), _)| *target;
    let lists = reference
        .claims
        .iter()
        .map(|(key, value)| (reference.reaches[key.0].settled(), settled((key, value))));
    let blocked: BTreeSet<_> = lists.flat_map(|(reach, target)| reach.of(target)).collect();
    prop_assert_eq!(other.blocklist.block().targets().iter().collect::<BTreeSet<_>>(), blocked);
    Ok(())
}

#[test]
fn widened_64_leaves_with_its_last_address() {
    let mut story = Scenario::new();
    story.blocklist.lists.set_live_reaches([("one".into(), Reach::to(64))].into());
    let net = targets(&["2001:db8::/64"]);
    assert_eq!(story.add(0, "2001:db8::1", Some(10)).sets.block.entered, net);
    assert!(story.add(0, "2001:db8::2", None).is_empty());
    assert!(story.expire(10).is_empty());
    let covering = story.blocklist.covering(Polarity::Block, target("2001:db8::7"));
    assert_eq!(
        (covering.len(), covering[0].target, covering[0].blocks),
        (1, target("2001:db8::2"), target("2001:db8::/64"))
    );
    assert_eq!(story.remove(0, "2001:db8::2").sets.block.left, net);
    assert!(story.blocklist.block().is_empty());
}

#[test]
fn widening_is_separate_for_each_list() {
    let mut story = Scenario::new();
    story.blocklist.lists.set_live_reaches([("one".into(), Reach::to(64))].into());
    story.add(1, "2001:db8::1", None);
    assert_eq!(story.add(0, "2001:db8::1", None).sets.block.entered, targets(&["2001:db8::/64"]));
    assert_eq!(story.remove(0, "2001:db8::1").sets.block.left, targets(&["2001:db8::/64"]));
    assert_eq!(story.remove(1, "2001:db8::1").sets.block.left, targets(&["2001:db8::1"]));
}
