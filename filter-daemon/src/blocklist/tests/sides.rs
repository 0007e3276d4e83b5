//! Tests that blocked and allowed targets do not affect each other, and that overlaps are found.

use super::*;

const LISTS: [(&str, Polarity); 4] = [
    ("one", Polarity::Block),
    ("two", Polarity::Block),
    ("office", Polarity::Allow),
    ("partner", Polarity::Allow),
];

fn change(list: usize, words: &[&str], until: Option<u32>) -> Change {
    let (name, polarity) = LISTS[list];
    Change::Want(Want { until: until.map(at), ..Want::live(name, polarity, targets(words)) })
}

fn release(list: usize, words: &[&str]) -> Change {
    Change::Release { from: ReleaseFrom::List(LISTS[list].0.into()), targets: targets(words) }
}

fn apply(blocklist: &mut Blocklist, change: &Change, now: u32) -> Applied {
    blocklist.apply(change, at(now)).unwrap()
}

#[test]
fn allow_leaves_the_blocked_set_unchanged() {
    let mut blocklist = Blocklist::default();
    let applied = apply(&mut blocklist, &change(0, &["10.0.0.0/8"], None), 1);
    assert_eq!(applied.effects, Effects::blocking(targets(&["10.0.0.0/8"])));
    let applied = apply(&mut blocklist, &change(2, &["10.1.0.0/16"], Some(100)), 1);
    assert_eq!(applied.effects.sets.allow.entered, targets(&["10.1.0.0/16"]));
    assert_eq!(applied.effects.overlaps, Some(true));
    assert!(applied.effects.sets.block.is_empty());
    let expire = |polarity| Change::Expire { polarity, most: usize::MAX };
    assert_eq!(apply(&mut blocklist, &expire(Polarity::Block), 100).changed, 0);
    let applied = apply(&mut blocklist, &expire(Polarity::Allow), 100);
    assert_eq!(applied.effects.sets.allow.left, targets(&["10.1.0.0/16"]));
    assert!(blocklist.block().contains(target("10.0.0.0/8")));
    assert_eq!(apply(&mut blocklist, &Change::LookForOverlap, 100).effects.overlaps, Some(false));
}

#[test]
fn list_keeps_its_polarity() {
    let mut blocklist = Blocklist::default();
    apply(&mut blocklist, &change(0, &["192.0.2.1"], None), 1);
    let turned = Change::Want(Want::live("one", Polarity::Allow, targets(&["192.0.2.2"])));
    let refused = blocklist.apply(&turned, at(1));
    assert!(matches!(refused, Err(Refusal::OtherPolarity { is: Polarity::Block, .. })), "{refused:?}");
    assert!(blocklist.allow().is_empty());
    let emptied = apply(&mut blocklist, &release(0, &["192.0.2.1"]), 2);
    blocklist.forget_empty_lists(&emptied);
    apply(&mut blocklist, &turned, 3);
    assert!(blocklist.allow().contains(target("192.0.2.2")) && blocklist.block().is_empty());
}

#[test]
fn release_everywhere_keeps_to_one_polarity() {
    let mut blocklist = Blocklist::default();
    apply(&mut blocklist, &change(0, &["192.0.2.1"], None), 1);
    apply(&mut blocklist, &change(2, &["192.0.2.1"], None), 1);
    let every = |polarity| Change::Release {
        from: ReleaseFrom::EveryLiveList(polarity),
        targets: targets(&["192.0.2.1"]),
    };
    let applied = apply(&mut blocklist, &every(Polarity::Block), 2);
    assert!(applied.effects.sets.allow.is_empty() && !applied.effects.sets.block.is_empty());
    let applied = apply(&mut blocklist, &every(Polarity::Allow), 2);
    assert!(!applied.effects.sets.allow.is_empty() && applied.effects.sets.block.is_empty());
}

#[test]
fn records_restore_both_sides() {
    let mut blocklist = Blocklist::default();
    apply(&mut blocklist, &change(0, &["10.0.0.0/8", "192.0.2.1"], None), 1);
    apply(&mut blocklist, &change(2, &["10.1.0.0/16", "192.0.2.1", "2001:db8::/64"], Some(100)), 1);
    let (mut again, mut from) = (Blocklist::default(), Some(Bookmark::default()));
    while let Some(begin) = from {
        let (records, next) = blocklist.as_records(begin, 1, |_| true);
        records.into_iter().for_each(|record| again.replay(&record, at(2)).unwrap());
        from = next;
    }
    assert_eq!(again.everything(), blocklist.everything());
    assert_eq!(again.next_deadline(), Some(at(100)));
}

/// The list was empty in between. Only a clock that was set back makes its old entries look alive.
#[test]
fn replay_takes_the_later_polarity() {
    let want = |polarity, since, word: &str| Record::Want {
        list: "office".into(),
        polarity,
        since: at(since),
        until: Some(at(since + 100)),
        note: None,
        by: None,
        targets: targets(&[word]),
    };
    let mut blocklist = Blocklist::default();
    blocklist.replay(&want(Polarity::Block, 1000, "192.0.2.1"), at(50)).unwrap();
    blocklist.replay(&want(Polarity::Allow, 1200, "192.0.2.2"), at(50)).unwrap();
    assert!(blocklist.block().is_empty());
    assert!(blocklist.allow().contains(target("192.0.2.2")));
}

#[test]
fn conflicting_lists_move_to_their_default_list() {
    let mut blocklist = Blocklist::default();
    let want = |list: &str, polarity, word: &str| Change::Want(Want::live(list, polarity, targets(&[word])));
    // A user named this list before `allow` existed.
    apply(&mut blocklist, &want("manual-allow", Polarity::Block, "192.0.2.1"), 1);
    apply(&mut blocklist, &want("drop", Polarity::Allow, "192.0.2.2"), 1);
    apply(&mut blocklist, &want("bad", Polarity::Block, "192.0.2.3"), 1);
    let default_list = |polarity| match polarity {
        Polarity::Block => "manual",
        Polarity::Allow => "manual-allow",
    };
    let lists = blocklist.lists().iter();
    let moves = lists.map(|(id, list)| (id, default_list(list.polarity).into())).collect::<Vec<_>>();
    let records = blocklist.move_entries(&moves).unwrap();
    let names = |blocklist: &Blocklist| -> Vec<_> {
        let lists = blocklist.lists().iter();
        lists.map(|(_, list)| (list.name.to_string(), list.polarity, list.entries)).collect()
    };
    let expected =
        [("manual".to_owned(), Polarity::Block, 2), ("manual-allow".to_owned(), Polarity::Allow, 1)];
    let mut told = names(&blocklist);
    told.sort_by_key(|(name, ..)| name.clone());
    assert_eq!(told, expected);
    // A replay of the journal gives the same result.
    let mut again = Blocklist::default();
    for (list, polarity, word) in [
        ("manual-allow", Polarity::Block, "192.0.2.1"),
        ("drop", Polarity::Allow, "192.0.2.2"),
        ("bad", Polarity::Block, "192.0.2.3"),
    ] {
        apply(&mut again, &want(list, polarity, word), 1);
    }
    records.into_iter().for_each(|record| again.replay(&record, at(2)).unwrap());
    assert_eq!(again.everything(), blocklist.everything());
}

#[test]
fn paged_overlap_search_is_exact() {
    let mut blocklist = Blocklist::default();
    let many = |first: u32| Targets { addresses: (first..first + 70_000).collect(), ..Targets::default() };
    for (list, first) in [(0, 0), (2, 1 << 20)] {
        let (name, polarity) = LISTS[list];
        let applied = apply(&mut blocklist, &Change::Want(Want::live(name, polarity, many(first))), 1);
        assert_eq!(
            applied.effects.overlaps,
            (list == 2).then_some(true),
            "of so large a change nobody knows"
        );
    }
    assert!(!blocklist.overlaps());
    let page = |blocklist: &mut Blocklist| apply(blocklist, &Change::LookForOverlap, 1).effects.overlaps;
    assert_eq!([page(&mut blocklist), page(&mut blocklist)], [None, None]);
    // A target behind the page that overlaps nothing does not end the search.
    apply(&mut blocklist, &change(2, &["255.0.0.1"], None), 1);
    assert!(blocklist.is_looking_for_overlap());
    let pages = (0..).find_map(|pages| Some((pages, page(&mut blocklist)?))).unwrap();
    assert!(pages.0 > 3 && !pages.1, "{pages:?}");
    page(&mut blocklist);
    let applied = apply(&mut blocklist, &change(2, &["0.0.0.0/24"], None), 1);
    assert_eq!((applied.effects.overlaps, blocklist.is_looking_for_overlap()), (Some(true), false));
    assert_eq!(page(&mut blocklist), Some(true));
}

/// To measure: `cargo test -p filter-daemon --lib --release -- --ignored --nocapture overlap_search_duration`.
#[test]
#[ignore = "a measurement"]
fn overlap_search_duration() {
    let mut blocklist = Blocklist::default();
    // Like real lists: one in ten is a prefix of /18 to /32.
    let targets = |odd: u32| -> Targets {
        let all = (0..100_000_u32).map(|number| {
            let place = (number * 2 + odd) << 14;
            let length = if number % 10 == 0 { 18 + (number / 10 % 15) as u8 } else { 32 };
            Target::V4(Prefix::covering(place, length))
        });
        all.collect()
    };
    for (list, odd) in [(0, 0), (2, 1)] {
        let (name, polarity) = LISTS[list];
        apply(&mut blocklist, &Change::Want(Want::live(name, polarity, targets(odd))), 1);
    }
    let begun = std::time::Instant::now();
    assert!(!blocklist.overlaps());
    let whole = begun.elapsed();
    let (mut longest, mut pages) = (std::time::Duration::ZERO, 0);
    loop {
        let begun = std::time::Instant::now();
        let overlaps = apply(&mut blocklist, &Change::LookForOverlap, 1).effects.overlaps;
        (longest, pages) = (longest.max(begun.elapsed()), pages + 1);
        if overlaps.is_some() {
            break;
        }
    }
    println!("all at once {whole:?}; {pages} pages, the longest {longest:?}");
}

#[derive(Clone, Debug)]
enum Step {
    Want(usize, Vec<usize>, Option<u32>),
    Release(usize, Vec<usize>),
    Expire(Polarity, u32),
    UndoLast,
}

/// Few enough targets that they overlap in every way: equal, wider, narrower, adjacent.
const WORDS: [&str; 18] = [
    "0.0.0.0/0",
    "10.0.0.0/8",
    "10.1.0.0/16",
    "10.1.1.0/24",
    "10.1.1.128/25",
    "10.1.1.200",
    "10.1.2.3",
    "10.2.0.0/16",
    "11.0.0.1",
    "::/0",
    "2001:db8::/32",
    "2001:db8:1::/48",
    "2001:db8:1:1::/64",
    "2001:db8:1:1::/80",
    "2001:db8:1:1::7",
    "2001:db8:2::/48",
    "2001:db9::/64",
    "2001:db9::9",
];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let words = || prop::collection::vec(0..WORDS.len(), 1..4);
    let polarity = || prop_oneof![Just(Polarity::Block), Just(Polarity::Allow)];
    let step = prop_oneof![
        5 => (0..LISTS.len(), words(), prop::option::of(1..50_u32)).prop_map(|(l, w, u)| Step::Want(l, w, u)),
        4 => (0..LISTS.len(), words()).prop_map(|(l, w)| Step::Release(l, w)),
        1 => (polarity(), 0..50_u32).prop_map(|(p, now)| Step::Expire(p, now)),
        1 => Just(Step::UndoLast),
    ];
    prop::collection::vec(step, 0..60)
}

/// The wants by plain rules: target and list, with the expiry.
type Oracle = BTreeMap<(usize, usize), Option<u32>>;

fn named(words: &[usize]) -> Vec<&'static str> {
    words.iter().map(|word| WORDS[*word]).collect()
}

fn on(oracle: &Oracle, polarity: Polarity) -> BTreeSet<Target> {
    let meant = oracle.keys().filter(|(_, list)| LISTS[*list].1 == polarity);
    meant.map(|(word, _)| target(WORDS[*word])).collect()
}

fn covers(set: &BTreeSet<Target>, address: Target) -> bool {
    set.iter().any(|target| target.covers(&address))
}

proptest! {
    /// The kernel has the two sets that result from the effects, and a flag that says whether it reads the
    /// allowed set. It must drop exactly the blocked targets that are not allowed, and the flag must never
    /// be wrongly off.
    #[test]
    fn dropped_is_what_is_blocked_and_not_allowed(steps in steps()) {
        let (mut blocklist, mut oracle) = (Blocklist::default(), Oracle::new());
        let (mut sets, mut asks) = ([BTreeSet::new(), BTreeSet::new()], false);
        let mut last: Option<(Undo, Oracle)> = None;
        for step in steps {
            let before = oracle.clone();
            let (change, now) = match step {
                Step::Want(list, words, until) => {
                    for word in &words {
                        let known = oracle.entry((*word, list)).or_insert(until);
                        *known = known.zip(until).map(|(known, until)| known.max(until));
                    }
                    (change(list, &named(&words), until), 0)
                }
                Step::Release(list, words) => {
                    words.iter().for_each(|word| _ = oracle.remove(&(*word, list)));
                    (release(list, &named(&words)), 0)
                }
                Step::Expire(polarity, now) => {
                    oracle.retain(|(_, list), until| {
                        LISTS[*list].1 != polarity || until.is_none_or(|until| until > now)
                    });
                    (Change::Expire { polarity, most: usize::MAX }, now)
                }
                Step::UndoLast => {
                    let Some((undo, as_it_was)) = last.take() else { continue };
                    oracle = as_it_was;
                    (Change::Undo(undo), 0)
                }
            };
            let Ok(applied) = blocklist.apply(&change, at(now)) else { continue };
            last = (!matches!(change, Change::Undo(_))).then(|| (applied.undo.clone(), before));
            for (polarity, set) in Polarity::ALL.into_iter().zip(&mut sets) {
                let effects = &applied.effects.sets[polarity.whole()];
                for target in effects.left.iter() {
                    prop_assert!(set.remove(&target), "{} left without having been there", target);
                }
                for target in effects.entered.iter() {
                    prop_assert!(set.insert(target), "{} entered twice", target);
                }
                prop_assert_eq!(&*set, &on(&oracle, polarity));
            }
            asks = applied.effects.overlaps.unwrap_or(asks);
            if matches!(change, Change::Expire { .. }) {
                let looked = blocklist.apply(&Change::LookForOverlap, at(0)).unwrap();
                asks = looked.effects.overlaps.unwrap_or(asks);
                prop_assert_eq!(asks, blocklist.overlaps(), "a look is exact where there are few");
            }
            let [block, allow] = &sets;
            let overlaps = block.iter().any(|one| allow.iter().any(|other| one.covers(other) || other.covers(one)));
            for most in [1, 2, usize::MAX] {
                let mut look = overlap::OverlapSearch::default();
                let walked = std::iter::repeat_with(|| blocklist.walk_all(&mut look, most)).find_map(|page| page);
                prop_assert_eq!(walked, Some(overlaps), "side by side, {} a page", most);
            }
            for word in WORDS {
                let address = match target(word) {
                    Target::V4(prefix) => Target::V4(Prefix::host(prefix.last())),
                    Target::V6(prefix) => Target::V6(Prefix::host(prefix.last())),
                };
                let [block, allow] = &sets;
                let dropped = covers(block, address) && !(asks && covers(allow, address));
                let expected = covers(&on(&oracle, Polarity::Block), address)
                    && !covers(&on(&oracle, Polarity::Allow), address);
                prop_assert_eq!(dropped, expected, "{}", address);
                prop_assert_eq!(!blocklist.covering(Polarity::Block, address).is_empty(), covers(block, address));
            }
        }
    }
}
