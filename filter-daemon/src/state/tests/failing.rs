//! Every operation of the file system fails once, and the process dies once at every operation. After each,
//! a start finds one of the generations that there were, whole.

use super::faults::Faults;
use super::*;

/// What a start finds: the choice, and the texts of the current generation and of the one on trial.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AfterDeath {
    choice: &'static str,
    current: BTreeMap<String, String>,
    trial: BTreeMap<String, String>,
}

/// The contents of a generation by name. A list that is damaged has none.
fn contents(store: &StateStore, name: GenerationName) -> BTreeMap<String, String> {
    let Some(generation) = store.read(name).generation() else { return BTreeMap::new() };
    let config = generation.config.map(|config| {
        let text = store.text_of(&config).map_or_else(|why| why, |text| text.text);
        ("configuration".to_owned(), text)
    });
    let lists = generation.lists.iter().map(|list| {
        let text = store.blobs.text(list.digest, u64::MAX).unwrap_or_else(|error| error.to_string());
        let times = store.times(list).map_or_else(|error| error.to_string(), |times| format!("{times:?}"));
        (list.name.to_string(), format!("{text} {times}"))
    });
    lists.chain(config).collect()
}

fn found(state: &Path) -> AfterDeath {
    let store = StateStore::of(state);
    store.clean();
    let [trial, rejected] =
        [GenerationName::Trial, GenerationName::Rejected].map(|name| (&store.read(name)).into());
    let choice = at_start(trial, rejected, PresentBoot { id: "this", now: 0 }, || FoundFile::Valid(9));
    let choice = match choice {
        StartChoice::TakeFile => "file",
        StartChoice::TakeChangedFile => "changed file",
        StartChoice::GoOn(..) => "trial",
        StartChoice::RollBack(_) => "roll back",
        StartChoice::StayRolledBack(_) => "stay",
    };
    AfterDeath {
        choice,
        current: contents(&store, GenerationName::Current),
        trial: contents(&store, GenerationName::Trial),
    }
}

/// A generation with one list that changes, one that stays, and one whose entries end.
fn first(place: &Place) -> (SaveTarget, Vec<ListToSave>) {
    let mut lists = vec![place.list("changes", "203.0.113.1\n"), place.list("stays", "203.0.113.2\n")];
    let timed = place.list("ends", "203.0.113.7\n198.51.100.7\n192.0.2.9\n");
    lists.push(ListToSave { times: Some(times::times()), ..timed });
    (SaveTarget { config: Some(text("block: [192.0.2.1]")), ..SaveTarget::default() }, lists)
}

fn second(place: &Place, trial: Option<TrialHead>) -> (SaveTarget, Vec<ListToSave>) {
    let before = place.current();
    let earlier = |name: &str| before.iter().find(|list| *list.name == *name).cloned();
    let mut lists = vec![place.list("changes", "203.0.113.9\n"), place.list("new", "203.0.113.4\n")];
    lists.iter_mut().for_each(|list| list.before = earlier(&list.accepted.name));
    lists.extend(earlier("stays").as_ref().map(ListToSave::again));
    let spent = EntryTimes { runs: Vec::new(), ..times::times() };
    lists.extend(
        earlier("ends").as_ref().map(|list| ListToSave { times: Some(spent), ..ListToSave::again(list) }),
    );
    (SaveTarget { trial, confirms: false, config: Some(text("block: [192.0.2.2]")) }, lists)
}

/// Runs `step` after `before` on a disk that fails at each operation in turn. `check` gets what a start found
/// before, what it finds without a fault, and what it finds now.
fn fail_everywhere(
    what: &str,
    before: fn(&Place),
    step: fn(&Place),
    check: fn(&AfterDeath, &AfterDeath, &AfterDeath) -> bool,
) {
    let begin = || {
        let place = Place::new();
        before(&place);
        let found = found(place.state.path());
        (place, found)
    };
    let run = |at, is_the_end| {
        let (mut place, was) = begin();
        let faults = Arc::new(Faults::at(at, is_the_end));
        place.store.blobs.disk.faults = Some(faults.clone());
        step(&place);
        place.store.blobs.disk.faults = None;
        (was, found(place.state.path()), faults.done(), place)
    };
    let (_, after, operations, _) = run(usize::MAX, false);
    assert!(operations > 0, "{what}");
    for at in 0..operations {
        for is_the_end in [false, true] {
            let (was, now, _, place) = run(at, is_the_end);
            assert!(
                check(&was, &after, &now),
                "{what}, operation {at}, dies: {is_the_end}\nwas {was:#?}\nnow {now:#?}"
            );
            // The disk works again.
            step(&place);
            assert_eq!(found(place.state.path()), after, "{what} again, operation {at}, dies: {is_the_end}");
        }
    }
}

/// Each list is whole, as it was or as it is to be.
fn each_is_old_or_new(was: &AfterDeath, after: &AfterDeath, now: &AfterDeath) -> bool {
    let is_one = |(name, text): (&String, &String)| {
        was.current.get(name) == Some(text) || after.current.get(name) == Some(text)
    };
    now.choice == "file" && was.current.len() <= now.current.len() && now.current.iter().all(is_one)
}

fn save_first(place: &Place) {
    let (target, lists) = first(place);
    place.store.save(target, lists);
}

fn save_second(place: &Place) {
    let (target, lists) = second(place, None);
    place.store.save(target, lists);
}

fn try_second(place: &Place) {
    let (target, lists) = second(place, Some(head()));
    place.store.save(target, lists);
}

#[test]
fn first_save_survives_every_fault() {
    fail_everywhere(
        "first save",
        |_| {},
        save_first,
        |_, after, now| {
            let is_whole = |(name, text): (&String, &String)| after.current.get(name) == Some(text);
            now.choice == "file" && now.current.iter().all(is_whole)
        },
    );
}

#[test]
fn save_survives_every_fault() {
    fail_everywhere("save", save_first, save_second, each_is_old_or_new);
}

#[test]
fn beginning_a_trial_survives_every_fault() {
    let begin = |place: &Place| {
        let config = place.store.save_text(&text("block: [192.0.2.2]")).ok();
        let lists = place.current();
        let generation = Generation { config, lists, trial: Some(head()), written: None };
        if generation.config.is_some() {
            _ = place.store.write(GenerationName::Trial, &generation);
        }
    };
    fail_everywhere("trial", save_first, begin, |was, after, now| {
        now.current == was.current && (now.choice == "file" || now == after)
    });
}

#[test]
fn saving_a_trial_survives_every_fault() {
    let begun = |place: &Place| {
        save_first(place);
        let generation = Generation { trial: Some(head()), ..Generation::default() };
        place.store.write(GenerationName::Trial, &generation).unwrap();
    };
    fail_everywhere("saved trial", begun, try_second, |was, after, now| {
        let is_whole = |(name, text): (&String, &String)| {
            after.trial.get(name) == Some(text) || was.current.get(name) == Some(text)
        };
        now.choice == "trial" && now.current == was.current && now.trial.iter().all(is_whole)
    });
}

#[test]
fn confirmation_survives_every_fault() {
    let confirm = |place: &Place| {
        let config = Some(text("block: [192.0.2.2]"));
        let name = if place.store.has(GenerationName::Trial) {
            GenerationName::Trial
        } else {
            GenerationName::Current
        };
        let lists = place.lists(name).iter().map(ListToSave::again).collect();
        place.store.save(SaveTarget { trial: None, confirms: true, config }, lists);
    };
    let begun = |place: &Place| {
        save_first(place);
        try_second(place);
    };
    fail_everywhere("confirmation", begun, confirm, |was, after, now| {
        now == was || (now.choice, &now.current) == ("file", &after.current) || {
            // It could not be renamed, but saved: a start goes on with the same generation.
            (now.choice, &now.trial, &now.current) == ("trial", &was.trial, &after.current)
        }
    });
}

#[test]
fn rollback_survives_every_fault() {
    let begun = |place: &Place| {
        save_first(place);
        try_second(place);
    };
    let reject = |place: &Place| _ = place.store.reject(&TrialHead { file: 9, ..head() });
    fail_everywhere("rollback", begun, reject, |was, after, now| now == was || now == after);
}

#[test]
fn carrying_over_survives_every_fault() {
    for carried in [carried::PLAIN, carried::ON_TRIAL, carried::ROLLED_BACK, carried::CONFIRMED] {
        let begin = || {
            let place = Place::new();
            carried.copy_to(place.state.path());
            place
        };
        let place = begin();
        let faults = Arc::new(Faults::at(usize::MAX, false));
        let disk = super::super::disk::Disk { faults: Some(faults.clone()) };
        StateStore { blobs: blobs::Blobs { disk, ..place.store.blobs.clone() }, ..place.store.clone() }
            .carry_over()
            .unwrap();
        place.store.end_carry_over();
        let after = found(place.state.path());
        for at in 0..faults.done() {
            for is_the_end in [false, true] {
                let mut place = begin();
                place.store.blobs.disk.faults = Some(Arc::new(Faults::at(at, is_the_end)));
                _ = place.store.carry_over();
                place.store.blobs.disk.faults = None;
                place.store.carry_over().unwrap();
                place.store.end_carry_over();
                assert_eq!(
                    found(place.state.path()),
                    after,
                    "{carried:?}, operation {at}, dies: {is_the_end}"
                );
            }
        }
    }
}
