use std::path::PathBuf;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn begun(state: &Path) -> Trial {
    let mut trial = Trial::none(state);
    trial.begin(MINUTE, "alice (filterd reload)", 7, vec!["drop".into()], PartedLists::default()).unwrap();
    trial
}

/// A trial whose note cannot be written: a directory that is not empty has its name.
fn unnoted(state: &Path) -> (Trial, PathBuf) {
    let mut trial = begun(state);
    trial.begin_countdown(MINUTE, Vec::new()).unwrap();
    let note = state.join("trial");
    std::fs::remove_file(&note).unwrap();
    std::fs::create_dir_all(note.join("in the way")).unwrap();
    (trial, note)
}

fn next_start(state: &Path) -> AtStart {
    Trial::at_start(state, std::iter::empty()).1
}

#[test]
fn next_start_knows_trial_until_confirmed() {
    let place = tempfile::tempdir().unwrap();
    assert_eq!(next_start(place.path()), AtStart::Nothing);
    let mut trial = begun(place.path());
    assert!(trial.is_on() && trial.reserves("drop") && !trial.reserves("ssh"));
    assert_eq!((trial.until_due(), trial.confirm().is_some()), (None, false), "it is not in force yet");
    assert_eq!(next_start(place.path()), AtStart::GoesOn);
    trial.begin_countdown(MINUTE, Vec::new()).unwrap();
    assert!(trial.until_due().is_some_and(|left| left > MINUTE / 2));
    assert!(trial.refusal().unwrap().message.starts_with("a reload of alice (filterd reload) is on trial"));
    assert!(trial.fault().unwrap().told.message.ends_with("UTC, then rolled back"));
    assert!(trial.confirm().is_some() && trial.is_confirmed() && !trial.is_on());
    assert!(Trial::was_confirmed(place.path()), "until its copies have their places");
    assert_eq!(next_start(place.path()), AtStart::Nothing);
    trial.forget();
    assert!(!Trial::was_confirmed(place.path()));
    assert_eq!((next_start(place.path()), trial.fault()), (AtStart::Nothing, None));
}

#[test]
fn start_within_trial_knows_its_beginning() {
    let place = tempfile::tempdir().unwrap();
    begun(place.path());
    let (mut trial, _) = Trial::at_start(place.path(), std::iter::empty());
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
    assert_eq!((trial.is_on(), next_start(place.path())), (false, AtStart::Nothing));
    let mut trial = begun(place.path());
    trial.begin_rollback(false);
    trial.end_rollback();
    trial.begin(MINUTE, "bob", 9, Vec::new(), PartedLists::default()).unwrap();
    trial.abandon();
    assert!(trial.rolled_back().is_some());
    assert_eq!(next_start(place.path()), AtStart::StayRolledBack { checksum: 9 });
    trial.abandon();
    assert!(trial.rolled_back().is_some(), "it had not begun");
}

/// A rollback that a user asked for happens even if filterd dies meanwhile.
#[test]
fn unwanted_trial_is_rolled_back_by_next_start() {
    let place = tempfile::tempdir().unwrap();
    let mut trial = begun(place.path());
    trial.begin_countdown(MINUTE, Vec::new()).unwrap();
    assert_eq!(next_start(place.path()), AtStart::GoesOn);
    trial.begin_rollback(true);
    assert_eq!(next_start(place.path()), AtStart::RollBack);
}

/// The note can neither be replaced nor overwritten.
#[test]
fn unrecorded_rollback_is_reported() {
    let place = tempfile::tempdir().unwrap();
    let (mut trial, note) = unnoted(place.path());
    trial.begin_rollback(true);
    assert_eq!(trial.unnoted(), None, "it is not rolled back yet");
    trial.end_rollback();
    let told = trial.unnoted().expect("it is told");
    assert!(told.message.starts_with("cannot store that a reload was rolled back: "), "{told}");
    assert!(
        told.remedy.unwrap().ends_with("and might restore something else"),
        "there is something that is no note"
    );
    assert!(trial.rolled_back().is_some() && !trial.is_due());
    // It is written as soon as that is possible.
    std::fs::remove_dir_all(&note).unwrap();
    let told = trial.unnoted().expect("it is told still");
    assert!(told.remedy.unwrap().ends_with("would use the configuration's file as it is: fix it before"));
    trial.owed.as_mut().unwrap().retry = clock::instant();
    assert_eq!(trial.until_due(), Some(Duration::ZERO));
    trial.catch_up();
    assert_eq!((trial.unnoted(), trial.until_due()), (None, None));
    assert_eq!(next_start(place.path()), AtStart::StayRolledBack { checksum: 7 });
}

/// The note still says that the trial is on, until it can be written again.
#[test]
fn unrecorded_confirmation_is_reported_until_recorded() {
    let place = tempfile::tempdir().unwrap();
    let (mut trial, note) = unnoted(place.path());
    assert!(trial.confirm().is_some());
    trial.forget();
    let told = trial.unnoted().expect("it is told");
    assert!(told.message.starts_with("cannot store that nothing is on trial any more: "), "{told}");
    assert_eq!(trial.fault().unwrap().told, told);
    std::fs::remove_dir_all(&note).unwrap();
    trial.owed.as_mut().unwrap().retry = clock::instant();
    trial.catch_up();
    assert_eq!((trial.fault(), next_start(place.path())), (None, AtStart::Nothing));
}

#[test]
fn expired_trial_is_rolled_back_across_starts() {
    let place = tempfile::tempdir().unwrap();
    let mut trial = begun(place.path());
    trial.begin_countdown(Duration::ZERO, Vec::new()).unwrap();
    assert_eq!(next_start(place.path()), AtStart::RollBack);
    let mut trial = begun(place.path());
    trial.begin_countdown(MINUTE, Vec::new()).unwrap();
    trial.begin_rollback(false);
    assert!(trial.is_on() && trial.confirm().is_none() && trial.until_due().is_none());
    trial.note_failed_rollback("no memory".into());
    assert!(trial.until_due().is_some_and(|left| left <= RETRY));
    assert!(trial.fault().unwrap().told.message.contains("the rollback failed: no memory"));
    trial.end_rollback();
    assert!(trial.rolled_back().is_some() && !trial.is_on() && trial.refusal().is_none());
    assert_eq!(next_start(place.path()), AtStart::StayRolledBack { checksum: 7 });
    trial.forget();
    assert_eq!(next_start(place.path()), AtStart::Nothing);
}
