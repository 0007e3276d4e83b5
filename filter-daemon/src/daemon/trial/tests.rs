use std::path::{Path, PathBuf};

use super::*;
use crate::state::{FoundFile, StartChoice};

const MINUTE: Duration = Duration::from_secs(60);

/// The checksum of the configuration's file.
const FILE: u32 = 7;

fn begun(state: &Path) -> Trial {
    let mut trial = Trial::none(&StateStore::of(state));
    begin(&mut trial, "alice (filterd reload)", FILE);
    trial
}

fn begin(trial: &mut Trial, by: &str, file: u32) {
    trial.begin(MINUTE, (by, file), vec!["drop".into()], Generation::default()).unwrap();
}

/// A trial whose record cannot be replaced: a directory that is not empty has the name.
fn unrecorded(state: &Path) -> (Trial, PathBuf) {
    let mut trial = begun(state);
    trial.begin_countdown(MINUTE).unwrap();
    let record = state.join("rejected");
    std::fs::create_dir_all(record.join("in the way")).unwrap();
    (trial, record)
}

/// What the next start does if the configuration's file is still the one on trial.
fn next_start(state: &Path) -> StartChoice {
    Trial::at_start(&StateStore::of(state), std::iter::empty(), || FoundFile::Valid(FILE)).1
}

fn goes_on(state: &Path) -> bool {
    matches!(next_start(state), StartChoice::GoOn(..))
}

fn stays_rolled_back(state: &Path) -> bool {
    matches!(next_start(state), StartChoice::StayRolledBack(_))
}

#[test]
fn next_start_knows_trial_until_confirmed() {
    let place = tempfile::tempdir().unwrap();
    assert_eq!(next_start(place.path()), StartChoice::TakeFile);
    let mut trial = begun(place.path());
    assert!(trial.is_on() && trial.reserves("drop") && !trial.reserves("ssh"));
    assert_eq!((trial.until_due(), trial.confirm()), (None, false), "it is not in force yet");
    assert!(goes_on(place.path()));
    trial.begin_countdown(MINUTE).unwrap();
    assert!(trial.until_due().is_some_and(|left| left > MINUTE / 2));
    assert!(trial.refusal().unwrap().message.starts_with("a reload of alice (filterd reload) is on trial"));
    assert!(trial.fault().unwrap().told.message.ends_with("UTC, then rolled back"));
    assert!(trial.confirm() && trial.is_confirmed() && !trial.is_on());
    assert!(goes_on(place.path()), "until it is stored");
    let stored = StateStore::of(place.path()).confirm();
    trial.end_confirmation(stored);
    assert_eq!((next_start(place.path()), trial.fault()), (StartChoice::TakeFile, None));
}

#[test]
fn start_within_trial_knows_its_beginning() {
    let place = tempfile::tempdir().unwrap();
    begun(place.path());
    let (mut trial, _) =
        Trial::at_start(&StateStore::of(place.path()), std::iter::empty(), || FoundFile::Valid(FILE));
    let told = |trial: &Trial| {
        let told = trial.fault().unwrap().told;
        (told.message, told.remedy.unwrap_or_default())
    };
    assert!(told(&trial).0.ends_with("so the configuration and lists of that start are on trial"));
    let remedy = "to keep the configuration and lists of that start: filterd confirm\nto roll back now: filterd rollback\nuntil then other reloads are refused";
    assert_eq!(told(&trial).1, remedy);
    trial.take_lists_only();
    assert!(told(&trial).0.contains("the one from before the trial is in force"));
    assert!(told(&trial).1.starts_with("to keep that and drop the trial: filterd confirm"));
}

#[test]
fn abandoned_trial_restores_earlier_state() {
    let place = tempfile::tempdir().unwrap();
    let mut trial = begun(place.path());
    trial.abandon();
    assert_eq!((trial.is_on(), next_start(place.path())), (false, StartChoice::TakeFile));
    let mut trial = begun(place.path());
    trial.begin_rollback(false);
    trial.end_rollback();
    begin(&mut trial, "bob", 9);
    assert!(goes_on(place.path()));
    trial.abandon();
    assert!(trial.rolled_back().is_some() && stays_rolled_back(place.path()));
    trial.abandon();
    assert!(trial.rolled_back().is_some(), "it had not begun");
}

/// A rollback that a user asked for happens even if filterd dies meanwhile.
#[test]
fn unwanted_trial_is_rolled_back_by_next_start() {
    let place = tempfile::tempdir().unwrap();
    let mut trial = begun(place.path());
    trial.begin_countdown(MINUTE).unwrap();
    assert!(goes_on(place.path()));
    trial.begin_rollback(true);
    assert!(stays_rolled_back(place.path()));
}

/// The file has changed while the trial was on, and a rollback does not end because of that.
#[test]
fn rollback_counts_for_the_file_as_it_is_then() {
    let place = tempfile::tempdir().unwrap();
    let mut trial = begun(place.path());
    trial.begin_countdown(MINUTE).unwrap();
    trial.begin_rollback(true);
    if let TrialState::Over { head, .. } = &mut trial.state {
        head.file = 8;
    }
    trial.end_rollback();
    assert_eq!(next_start(place.path()), StartChoice::TakeChangedFile);
    let (_, choice) =
        Trial::at_start(&StateStore::of(place.path()), std::iter::empty(), || FoundFile::Valid(8));
    assert!(matches!(choice, StartChoice::StayRolledBack(_)));
}

/// The trial can neither be renamed nor removed.
#[test]
fn unrecorded_rollback_is_reported() {
    let place = tempfile::tempdir().unwrap();
    let (mut trial, record) = unrecorded(place.path());
    trial.begin_rollback(true);
    assert_eq!(trial.unnoted(), None, "it is not rolled back yet");
    trial.end_rollback();
    let told = trial.unnoted().expect("it is told");
    assert!(told.message.starts_with("cannot store that a reload was rolled back: "), "{told}");
    assert!(told.remedy.unwrap().ends_with("and might restore something else"), "the trial is still there");
    assert!(trial.rolled_back().is_some() && !trial.is_due());
    // It is written as soon as that is possible.
    std::fs::remove_dir_all(&record).unwrap();
    trial.owed.as_mut().unwrap().retry = clock::instant();
    assert_eq!(trial.until_due(), Some(Duration::ZERO));
    trial.catch_up();
    assert_eq!((trial.unnoted(), trial.until_due()), (None, None));
    assert!(stays_rolled_back(place.path()));
}

/// The state directory still says that the trial is on, until it can be written again.
#[test]
fn unrecorded_confirmation_is_reported_until_recorded() {
    let place = tempfile::tempdir().unwrap();
    let mut trial = begun(place.path());
    trial.begin_countdown(MINUTE).unwrap();
    let current = place.path().join("current");
    std::fs::create_dir_all(current.join("in the way")).unwrap();
    assert!(trial.confirm());
    let stored = StateStore::of(place.path()).confirm();
    trial.end_confirmation(stored);
    let told = trial.unnoted().expect("it is told");
    assert!(told.message.starts_with("cannot store that nothing is on trial any more: "), "{told}");
    assert_eq!(trial.fault().unwrap().told, told);
    std::fs::remove_dir_all(&current).unwrap();
    trial.owed.as_mut().unwrap().retry = clock::instant();
    trial.catch_up();
    assert_eq!((trial.fault(), next_start(place.path())), (None, StartChoice::TakeFile));
}

#[test]
fn expired_trial_is_rolled_back_across_starts() {
    let place = tempfile::tempdir().unwrap();
    let mut trial = Trial::none(&StateStore::of(place.path()));
    trial.begin(Duration::ZERO, ("alice", FILE), Vec::new(), Generation::default()).unwrap();
    assert!(matches!(next_start(place.path()), StartChoice::RollBack(_)));
    let mut trial = begun(place.path());
    trial.begin_countdown(MINUTE).unwrap();
    trial.begin_rollback(false);
    assert!(trial.is_on() && !trial.confirm() && trial.until_due().is_none());
    trial.note_failed_rollback("no memory".into());
    assert!(trial.until_due().is_some_and(|left| left <= RETRY));
    assert!(trial.fault().unwrap().told.message.contains("the rollback failed: no memory"));
    trial.end_rollback();
    assert!(trial.rolled_back().is_some() && !trial.is_on() && trial.refusal().is_none());
    assert!(stays_rolled_back(place.path()));
    trial.forget();
    assert_eq!(next_start(place.path()), StartChoice::TakeFile);
}

/// Nobody can tell until when it was to last, so its time counts as over.
#[test]
fn damaged_trial_is_rolled_back_and_stays_so() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("trial"), "what is this?").unwrap();
    let store = StateStore::of(place.path());
    let (mut trial, choice) = Trial::at_start(&store, std::iter::empty(), || FoundFile::Valid(FILE));
    assert!(matches!(choice, StartChoice::RollBack(_)));
    if let TrialState::Over { head, .. } = &mut trial.state {
        head.file = FILE;
    }
    trial.end_rollback();
    assert!(stays_rolled_back(place.path()));
}
