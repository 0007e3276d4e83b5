//! Tests what the next start learns about the end of the last run.

use std::fs;

use tempfile::TempDir;

use super::*;

const THEN: Timestamp = Timestamp::from_secs(1_800_000_000);
const LATER: Timestamp = Timestamp::from_secs(1_800_003_600);

fn place() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn told(place: &TempDir) -> Option<Timestamp> {
    LossNote::find(place.path()).1
}

#[test]
fn note_gives_the_first_loss() {
    let place = place();
    let (mut sign, since) = LossNote::find(place.path());
    assert_eq!(since, None);
    assert_eq!(told(&place), None);
    sign.begin(THEN);
    sign.begin(LATER);
    assert_eq!(told(&place), Some(THEN));
    sign.end();
    assert_eq!(told(&place), None);
    sign.begin(LATER);
    assert_eq!(told(&place), Some(LATER));
}

#[test]
fn unwritable_directory_uses_the_second_place() {
    let place = place();
    let file = place.path().join(FILE);
    let (mut sign, _) = LossNote::find(place.path());
    fs::remove_file(&file).unwrap();
    // A directory in its place refuses writes even by root.
    fs::create_dir(&file).unwrap();
    // A loss from before the second place was known is noted there once it is.
    sign.begin(THEN);
    let (say, said) = std::sync::mpsc::channel();
    let beside = |say: &std::sync::mpsc::Sender<_>| -> SecondPlace {
        let say = say.clone();
        Box::new(move |since| say.send(since).map_err(io::Error::other))
    };
    sign.set_second_place(beside(&say), Some(THEN));
    sign.begin(LATER);
    sign.end();
    sign.end();
    sign.begin(LATER);
    assert_eq!(said.try_iter().collect::<Vec<_>>(), [Some(THEN), None, Some(LATER)]);
}

#[test]
fn no_word_needs_more_room_than_another() {
    let place = place();
    let file = place.path().join(FILE);
    let (mut sign, _) = LossNote::find(place.path());
    let length = || fs::read(&file).unwrap().len();
    assert_eq!(length(), LENGTH);
    for now in [Timestamp::from_secs(0), Timestamp::from_secs(u32::MAX)] {
        sign.begin(now);
        assert_eq!((length(), told(&place)), (LENGTH, Some(now)));
        sign.end();
        assert_eq!((length(), told(&place)), (LENGTH, None));
    }
}

#[test]
fn note_stays_until_noted_elsewhere() {
    let place = place();
    LossNote::find(place.path()).0.begin(THEN);
    let (mut sign, _) = LossNote::find(place.path());
    sign.end();
    assert_eq!(told(&place), Some(THEN));
    sign.begin(LATER);
    assert_eq!(told(&place), Some(THEN), "the older one counts");
    sign.forget_before(true);
    assert_eq!(told(&place), Some(THEN), "something else is still missing");
    sign.forget_before(false);
    assert_eq!(told(&place), None);
}

#[test]
fn damaged_note_is_replaced() {
    let place = place();
    let file = place.path().join(FILE);
    let (mut sign, _) = LossNote::find(place.path());
    fs::remove_file(&file).unwrap();
    sign.begin(THEN);
    assert_eq!(told(&place), Some(THEN));
    for spoilt in ["", "behind since a while", "all is on disk", "\u{0}"] {
        fs::write(&file, spoilt).unwrap();
        assert_eq!(told(&place), None, "{spoilt:?}");
        assert_eq!(fs::read(&file).unwrap().len(), LENGTH, "{spoilt:?}");
    }
}

#[test]
fn unwritable_note_is_no_error() {
    let (mut sign, since) = LossNote::find(Path::new("/nonexistent/state"));
    assert_eq!(since, None);
    sign.begin(THEN);
    sign.end();
}
