//! Tests which losses are reported, and for how long.

use super::*;

const THEN: Timestamp = Timestamp::from_secs(1_800_000_000);
const LATER: Timestamp = Timestamp::from_secs(1_800_003_600);

fn damaged(instead: Replacement) -> JournalFindings {
    let set_aside = Some(PathBuf::from("/var/lib/filterd/live.redb.damaged-1800000000"));
    JournalFindings {
        damage: Some(JournalDamage { reason: "its pages".into(), set_aside, instead }),
        ..JournalFindings::default()
    }
}

fn messages(losses: &Losses) -> Vec<String> {
    losses.faults().map(|fault| fault.told.message).collect()
}

#[test]
fn loss_is_reported_until_its_note_is_removed() {
    let place = tempfile::tempdir().unwrap();
    let first = Losses::of(place.path(), &damaged(Replacement::Nothing), false, THEN);
    let told = messages(&first);
    assert!(told[0].contains("live.redb.damaged-1800000000") && told[0].contains("no copy"), "{told:?}");
    let again = Losses::of(place.path(), &JournalFindings::default(), true, LATER);
    assert_eq!(messages(&again), told);
    let fault = again.faults().next().unwrap();
    assert_eq!((fault.about, fault.since), (About::Durability, THEN.secs()));
    let (id, remedy) = (fault.id.unwrap(), fault.told.remedy.unwrap());
    assert!(remedy.contains(&format!("filterd ack {id}")), "{remedy}");
    fs::remove_file(place.path().join(FILE)).unwrap();
    assert!(messages(&again).is_empty(), "by the one that runs, too");
    assert!(messages(&Losses::of(place.path(), &JournalFindings::default(), true, LATER)).is_empty());
}

#[test]
fn start_reports_only_known_losses() {
    let new = || JournalFindings { is_new: true, ..JournalFindings::default() };
    let rows = JournalFindings { damaged_rows: 2, ..JournalFindings::default() };
    let behind = JournalFindings { behind: Some(THEN), ..JournalFindings::default() };
    let copy = damaged(Replacement::Copy { made: THEN });
    for (found, left_at_work, words) in [
        (JournalFindings::default(), false, None),
        (JournalFindings::default(), true, None),
        (new(), false, None),
        (new(), true, Some("had no journal")),
        (rows, false, Some("2 rows of the journal are damaged")),
        (behind, true, Some("live changes made after 2027-01-15 08:00:00 UTC were not all on disk")),
        (copy, true, Some("an older copy is in force")),
        (damaged(Replacement::DamagedCopy { reason: "x".into() }), false, Some("its copy was damaged too")),
    ] {
        let place = tempfile::tempdir().unwrap();
        let told = messages(&Losses::of(place.path(), &found, left_at_work, THEN));
        assert_eq!(told.len(), usize::from(words.is_some()), "{told:?}");
        assert!(told.iter().all(|told| told.contains(words.unwrap_or_default())), "{told:?}");
    }
}

#[test]
fn equal_losses_are_noted_once() {
    let place = tempfile::tempdir().unwrap();
    let rows = || JournalFindings { damaged_rows: 2, ..JournalFindings::default() };
    for now in [THEN, LATER] {
        assert_eq!(messages(&Losses::of(place.path(), &rows(), false, now)).len(), 1);
    }
    let both = Losses::of(place.path(), &damaged(Replacement::Nothing), false, LATER);
    assert_eq!(both.faults().map(|fault| fault.since).collect::<Vec<_>>(), [THEN.secs(), LATER.secs()]);
}

/// On a read-only disk, the mark of the loss may stay.
#[test]
fn unsaved_entries_are_noted_once() {
    let place = tempfile::tempdir().unwrap();
    let behind = JournalFindings { behind: Some(THEN), ..JournalFindings::default() };
    for now in [THEN, LATER] {
        let losses = Losses::of(place.path(), &behind, false, now);
        assert_eq!(messages(&losses).len(), 1);
        assert!(losses.are_noted());
    }
}

#[test]
fn loss_without_note_is_reported_this_run() {
    let nowhere = Path::new("/nonexistent/state");
    let losses = Losses::of(nowhere, &damaged(Replacement::Nothing), false, THEN);
    assert!(!losses.are_noted());
    let fault = losses.faults().next().unwrap();
    assert!(fault.told.remedy.unwrap().contains("it is not stored in /nonexistent/state"));
}

#[test]
fn acknowledged_loss_is_forgotten_and_others_stay() {
    let place = tempfile::tempdir().unwrap();
    let rows = JournalFindings { damaged_rows: 2, ..JournalFindings::default() };
    Losses::of(place.path(), &rows, false, THEN);
    let mut losses = Losses::of(place.path(), &damaged(Replacement::Nothing), false, LATER);
    let ids: Vec<_> = losses.notices().map(|fault| fault.id.unwrap()).collect();
    assert_eq!(ids.len(), 2);
    losses.acknowledge(|fault| fault.id.as_ref() == Some(&ids[0])).unwrap();
    let left: Vec<_> = losses.notices().map(|fault| fault.id.unwrap()).collect();
    assert_eq!(left, ids[1..], "the id of the other is what it was");
    let next = Losses::of(place.path(), &JournalFindings::default(), false, LATER);
    assert_eq!(messages(&next), messages(&losses));
    losses.acknowledge(|_| true).unwrap();
    assert!(messages(&losses).is_empty() && !place.path().join(FILE).exists());
}

#[test]
fn loss_is_noted_as_soon_as_possible() {
    let place = tempfile::tempdir().unwrap();
    let state = place.path().join("state");
    let mut losses = Losses::of(&state, &damaged(Replacement::Nothing), false, THEN);
    assert!(!losses.note_again() && !losses.are_noted());
    fs::create_dir(&state).unwrap();
    assert!(losses.note_again() && losses.are_noted());
    assert!(!losses.note_again(), "once");
    assert_eq!(messages(&Losses::of(&state, &JournalFindings::default(), false, LATER)), messages(&losses));
}

#[test]
fn foreign_text_in_note_is_shown_safely() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join(FILE), "no number\x1b[2J\n\n7 a loss\n").unwrap();
    let losses = Losses::of(place.path(), &JournalFindings::default(), false, THEN);
    let told: Vec<_> = losses.faults().map(|fault| (fault.since, fault.told.message)).collect();
    assert_eq!(told[1], (7, "a loss".to_owned()));
    assert!(!told[0].1.contains('\x1b'), "{told:?}");
}
