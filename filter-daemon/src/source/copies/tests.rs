//! Tests of copies: kept, replaced, renamed, damaged, and too large.

mod times;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::blocklist::Timestamp;
use crate::clock::{Boot, Moment};
use crate::source::peaks::Peaks;
use crate::source::reading::{EntryTerm, SourceStamp};

/// The first moment in the writer's time.
const BEGUN: u32 = 1_795_296_480;

fn at(seconds: u32) -> Timestamp {
    Timestamp::from_secs(BEGUN + seconds)
}

struct Place {
    copies: Copies,
    state: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let state = tempfile::tempdir().unwrap();
        Self { copies: Copies::of(state.path()), state }
    }

    fn draft(&self, name: &str, text: &str) -> CopyToKeep {
        let mut draft = self.copies.draft();
        text.as_bytes().chunks(7).for_each(|bytes| draft.write_all(bytes).unwrap());
        let (bytes, checksum) = draft.summary();
        let accepted = AcceptedSource {
            name: Arc::from(name),
            path: format!("/lists/{name}.txt\n").into(),
            stamp: Some(SourceStamp([1, 2, 3, 4, 5, 6, u64::MAX])),
            at: Timestamp::from_secs(1_795_296_480),
            entries: text.lines().count() as u64,
            rejected: 0,
            term: None,
            is_missing: false,
            bytes,
            checksum,
            meaning: None,
            peaks: Peaks::default(),
        };
        CopyToKeep { accepted, bytes: CopySource::Draft(draft), times: None, before: None }
    }

    /// Keeps this copy and no other.
    fn keep(&self, name: &str, text: &str) -> AcceptedSource {
        let draft = self.draft(name, text);
        let accepted = draft.accepted.clone();
        self.copies.keep(vec![draft], Vec::new()).remove(0).unwrap();
        accepted
    }

    fn names(&self) -> Vec<String> {
        self.copies.find().copies.iter().map(|copy| copy.name.to_string()).collect()
    }

    fn files(&self) -> usize {
        self.copies.files().len()
    }
}

#[test]
fn copy_has_list_content_and_private_mode() {
    let place = Place::new();
    let accepted = place.keep("drop", "203.0.113.7\n198.51.100.0/24\n");
    assert_eq!(place.copies.find().copies, std::slice::from_ref(&accepted));
    let list = place.copies.read(&accepted, &ReadOptions::default()).unwrap();
    assert_eq!((list.targets.len(), list.rejected_count), (2, 0));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.state.path().join("lists")), 0o700);
    assert_eq!(mode(&place.copies.path(&accepted)), 0o600);
}

#[test]
fn new_copy_replaces_only_the_old_one() {
    let place = Place::new();
    let other = place.keep("other", "192.0.2.1\n");
    let (old, new) = (place.draft("drop", "203.0.113.7\n"), place.draft("drop", "203.0.113.8\n"));
    let before = old.accepted.clone();
    place.copies.keep(vec![old], vec![other.clone()]).remove(0).unwrap();
    assert!(place.copies.has(&before));
    place.copies.keep(vec![new], vec![other]).remove(0).unwrap();
    assert!(!place.copies.has(&before));
    assert_eq!((place.names().len(), place.files()), (2, 2));
}

/// An earlier version removed, without any message, a list that an operator had put there.
#[test]
fn files_of_others_stay_beside_copies() {
    let place = Place::new();
    place.keep("drop", "203.0.113.7\n");
    let own = place.state.path().join("lists/own.txt");
    std::fs::write(&own, "203.0.113.8\n").unwrap();
    place.keep("drop", "203.0.113.9\n");
    place.copies.clean();
    assert!(own.exists());
    assert_eq!((place.names().len(), place.files()), (1, 2));
}

#[test]
fn a_list_that_is_renamed_keeps_its_copy() {
    let place = Place::new();
    let before = place.keep("drop", "203.0.113.7\n");
    let accepted = AcceptedSource { name: Arc::from("spamhaus"), ..before.clone() };
    let renamed = CopyToKeep {
        accepted: accepted.clone(),
        bytes: CopySource::before(before),
        times: None,
        before: None,
    };
    place.copies.keep(vec![renamed], Vec::new()).remove(0).unwrap();
    assert_eq!((place.names(), place.files()), (vec!["spamhaus".to_owned()], 1));
    assert_eq!(place.copies.read(&accepted, &ReadOptions::default()).unwrap().targets.len(), 1);
}

/// Earlier versions of filterd, which know neither field, read the rest of the header.
#[test]
fn copy_keeps_meaning_and_term() {
    let term = Some(EntryTerm { ttl: Duration::from_secs(3600), from: Timestamp::from_secs(1_795_300_000) });
    let meaning = "block /64 only 22,8000-8100".parse().ok();
    for (term, meaning) in [(term, None), (None, meaning), (term, meaning)] {
        let place = Place::new();
        let before = place.keep("drop", "203.0.113.7\n");
        let accepted = AcceptedSource { term, meaning, ..before.clone() };
        let told = CopyToKeep {
            accepted: accepted.clone(),
            bytes: CopySource::before(before),
            times: None,
            before: None,
        };
        place.copies.keep(vec![told], Vec::new()).remove(0).unwrap();
        assert_eq!((place.copies.find().copies, place.files()), (vec![accepted.clone()], 1));
        assert_eq!(place.copies.read(&accepted, &ReadOptions::default()).unwrap().targets.len(), 1);
    }
}

/// Within one boot the time since boot continues. From one boot to the next only the wall clock does.
#[test]
fn copy_times_are_converted_for_the_reader() {
    let term = Some(EntryTerm { ttl: Duration::from_secs(3600), from: at(7) });
    let peaks = Peaks::default().replaced(4000, 2001, at(3));
    let accepted = AcceptedSource { at: at(5), term, peaks, ..Place::new().draft("drop", "").accepted };
    // The machine has run for 100 s, and the clock was set forward by 60 s meanwhile.
    let ms = i64::from(BEGUN) * 1000;
    let written = Moment { boot: Boot([1; 16]), offset: ms, begun: at(0), own: at(100), wall: at(160) };
    let header = header::of(&accepted, &written, None).unwrap();
    let shift = |here: Moment| {
        let found = header::read(&mut &header[..], &here).unwrap();
        let term = found.term.unwrap();
        assert_eq!(term.ttl, Duration::from_secs(3600));
        let shift = found.at.after(accepted.at);
        assert_eq!(shift, term.from.after(at(7)), "all of it is shifted");
        assert_eq!(found.peaks, accepted.peaks.later_by(shift));
        found.at.after(accepted.at)
    };
    let begun =
        |boot, after: u32| Moment { boot: Boot([boot; 16]), begun: at(after), own: at(after + 1), ..written };
    assert_eq!(shift(written), 0, "whoever wrote it");
    assert_eq!(
        shift(Moment { offset: ms - 3_600_000, ..begun(1, 200) }),
        -3600,
        "the clock was set back by an hour"
    );
    assert_eq!(shift(begun(2, 200)), 60, "in another boot the wall counts, as it was right at the end");
    assert_eq!(
        shift(begun(2, 30)),
        -70,
        "a clock from before it was written: what was left then is left still"
    );
    let unsaid: Vec<u8> = header.iter().copied().take_while(|byte| *byte != 0).collect();
    let unsaid = String::from_utf8(unsaid).unwrap();
    let (said, _) = unsaid.split_once("written ").unwrap();
    let said = said.splitn(3, '\n').nth(2).unwrap();
    let first = format!("{}\nsum {:08x} {}\n", header::MAGIC, crc32fast::hash(said.as_bytes()), said.len());
    let mut old = [first.as_bytes(), said.as_bytes()].concat();
    old.resize(header::LENGTH, 0);
    assert_eq!(
        header::read(&mut &old[..], &begun(2, 200)).unwrap(),
        AcceptedSource { peaks: Peaks::default(), ..accepted },
        "an earlier filterd said nothing"
    );
}

/// The copy on trial has the same content as the earlier one, but another meaning.
#[test]
fn trial_copy_leaves_earlier_copy_until_decided() {
    let (place, how) = (Place::new(), ReadOptions::default());
    let before = place.keep("drop", "203.0.113.7\n");
    let tried = AcceptedSource { meaning: "allow".parse().ok(), ..before.clone() };
    let read = |accepted: &AcceptedSource| place.copies.read(accepted, &how).is_ok();
    let try_out = || {
        let bytes = CopySource::before(before.clone());
        let wanted = CopyToKeep { accepted: tried.clone(), bytes, times: None, before: Some(before.clone()) };
        place.copies.try_out(vec![wanted], Vec::new()).remove(0).unwrap();
        assert_eq!(place.copies.find().copies, std::slice::from_ref(&before));
        assert_eq!(place.copies.find_tried().copies, std::slice::from_ref(&tried));
        assert!(place.copies.is_tried(&tried));
        assert!(read(&before) && read(&tried));
    };
    try_out();
    place.copies.keep(Vec::new(), vec![before.clone()]);
    assert!(read(&before) && !read(&tried) && place.files() == 1, "it has not stood it");
    try_out();
    let wanted = CopyToKeep {
        accepted: tried.clone(),
        bytes: CopySource::Tried,
        times: None,
        before: Some(before.clone()),
    };
    place.copies.keep(vec![wanted], Vec::new()).remove(0).unwrap();
    assert!(read(&tried) && !read(&before) && place.files() == 1);
    assert_eq!(place.copies.find().copies, std::slice::from_ref(&tried));
}

#[test]
fn missing_trial_copy_is_reported_on_confirmation() {
    let place = Place::new();
    let before = place.keep("drop", "203.0.113.7\n");
    let tried = AcceptedSource { meaning: "allow".parse().ok(), ..before.clone() };
    let wanted =
        CopyToKeep { accepted: tried, bytes: CopySource::Tried, times: None, before: Some(before.clone()) };
    let outcome = place.copies.keep(vec![wanted], Vec::new()).remove(0);
    assert!(matches!(outcome, Err(CopyError::Gone)), "{outcome:?}");
    assert_eq!(place.copies.find().copies, [before]);
}

/// Only the copy of the second of two consecutive trials stays.
#[test]
fn copies_of_earlier_trials_are_removed() {
    let place = Place::new();
    let (first, second) = (place.draft("first", "203.0.113.7\n"), place.draft("second", "203.0.113.8\n"));
    let known = [&first, &second].map(|one| one.accepted.clone());
    assert!(place.copies.try_out(vec![first], Vec::new()).remove(0).is_ok());
    assert!(place.copies.try_out(vec![second], vec![known[0].clone()]).remove(0).is_ok());
    assert_eq!(place.copies.find_tried().copies.len(), 2);
    place.copies.try_out(Vec::new(), vec![known[1].clone()]);
    assert_eq!(place.copies.find_tried().copies, &known[1..]);
    assert!(place.copies.find().copies.is_empty());
}

/// They are made together, and each one has its own result.
#[test]
fn failed_copies_keep_their_earlier_versions() {
    let place = Place::new();
    let old: Vec<_> = (0..300).map(|number| place.draft(&format!("list{number}"), "203.0.113.7\n")).collect();
    let before: Vec<_> = old.iter().map(|one| one.accepted.clone()).collect();
    assert!(place.copies.keep(old, Vec::new()).iter().all(Result::is_ok));
    let fails = |number: usize| number % 70 == 3;
    let new = before.iter().enumerate().map(|(number, before)| {
        let one = place.draft(&before.name, &format!("203.0.113.7\n192.0.2.{}\n", number % 250));
        let bytes = if fails(number) { CopySource::Draft(Draft::gone()) } else { one.bytes };
        CopyToKeep { bytes, before: Some(before.clone()), ..one }
    });
    let new: Vec<_> = new.collect();
    let after: Vec<_> = new.iter().map(|one| one.accepted.clone()).collect();
    let outcomes = place.copies.keep(new, Vec::new());
    for (number, (before, after)) in before.iter().zip(&after).enumerate() {
        assert_eq!(outcomes[number].is_err(), fails(number), "{number}");
        assert_eq!(
            (place.copies.has(before), place.copies.has(after)),
            (fails(number), !fails(number)),
            "{number}"
        );
    }
    assert_eq!(place.files(), 300);
}

#[test]
fn copies_of_removed_lists_are_deleted() {
    let place = Place::new();
    place.keep("drop", "203.0.113.7\n");
    place.copies.keep(Vec::new(), Vec::new());
    assert_eq!(place.files(), 0);
}

#[test]
fn any_damaged_byte_invalidates_the_copy() {
    let place = Place::new();
    let accepted = place.keep("drop", "203.0.113.7\n198.51.100.7\n");
    let path = place.copies.path(&accepted);
    let whole = fs::read(&path).unwrap();
    let damaged = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let found = place.copies.find();
        found.copies.is_empty() && found.damaged == [path.clone()]
            || matches!(place.copies.read(&accepted, &ReadOptions::default()), Err(CopyError::Damaged))
    };
    // The zeros that fill the header are not checked.
    let said = whole.iter().position(|byte| *byte == 0).unwrap();
    for at in (0..said).chain(whole.len() - 24..whole.len()) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        assert!(damaged(&bytes), "byte {at}");
    }
    for length in [0, 1, said, header::LENGTH, whole.len() - 1] {
        assert!(damaged(&whole[..length]), "{length} bytes");
    }
    assert!(damaged(&[&whole[..], b"9"].concat()));
    assert!(!damaged(&whole));
}

#[test]
fn copy_beyond_limit_keeps_the_old_one() {
    let mut place = Place::new();
    place.copies.most = 3 * header::LENGTH as u64;
    let before = place.keep("drop", "203.0.113.7\n");
    let mut long = place.draft("drop", &"203.0.113.8\n".repeat(3000));
    long.before = Some(before.clone());
    let outcome = place.copies.keep(vec![long], Vec::new()).remove(0);
    assert!(matches!(outcome, Err(CopyError::Full { .. })), "{outcome:?}");
    assert!(place.copies.has(&before));
    assert_eq!(place.files(), 1);
}

/// Each of them is too short to have checked the size of the others.
#[test]
fn many_small_copies_respect_the_limit() {
    const ROOM: usize = 1024;
    let mut place = Place::new();
    let text = "203.0.113.7\n";
    place.copies.most = (ROOM * (header::LENGTH + text.len())) as u64;
    let drafts = (0..ROOM + 3).map(|number| place.draft(&number.to_string(), text));
    let outcomes = place.copies.keep(drafts.collect(), Vec::new());
    let full = outcomes.iter().filter(|outcome| matches!(outcome, Err(CopyError::Full { .. }))).count();
    assert_eq!((full, place.files()), (3, ROOM));
    assert_eq!(taken_in(&place.copies.directory), place.copies.most);
}

#[test]
fn unfinished_copies_are_deleted() {
    let place = Place::new();
    let accepted = place.keep("drop", "203.0.113.7\n");
    let draft = place.draft("drop", "203.0.113.8\n");
    assert_eq!(place.names(), ["drop"]);
    std::mem::forget(draft);
    place.copies.clean();
    assert_eq!(place.files(), 1);
    assert!(place.copies.has(&accepted));
}

#[test]
fn unwritable_directory_is_reported_while_reading_continues() {
    let copies = Copies::of(Path::new("/proc/self"));
    let mut draft = copies.draft();
    draft.write_all(b"203.0.113.7\n").unwrap();
    assert_eq!(draft.summary().0, 12);
    let place = Place::new();
    let CopyToKeep { accepted, .. } = place.draft("drop", "203.0.113.7\n");
    let outcome = copies
        .keep(
            vec![CopyToKeep { accepted, bytes: CopySource::Draft(draft), times: None, before: None }],
            Vec::new(),
        )
        .remove(0);
    assert!(matches!(outcome, Err(CopyError::System { .. })), "{outcome:?}");
}

#[test]
fn open_copy_survives_directory_removal() {
    let place = Place::new();
    let accepted = place.keep("drop", "203.0.113.7\n198.51.100.0/24\n");
    // The stamp may have changed since the copy was written.
    let held = place.copies.hold(&AcceptedSource { stamp: None, ..accepted.clone() }).unwrap();
    std::fs::remove_dir_all(place.state.path().join("lists")).unwrap();
    assert!(place.copies.read(&accepted, &ReadOptions::default()).is_err());
    for _ in 0..2 {
        assert_eq!(held.accepted(), &accepted);
        assert_eq!(held.read(&ReadOptions::default()).unwrap().targets.len(), 2);
    }
    assert!(place.copies.hold(&accepted).is_err());
}

/// A machine without a hardware clock: it is 1970 until the time is set, and 1970 again after each boot.
#[test]
fn copy_is_renewed_only_after_clock_changes() {
    let place = Place::new();
    let term = Some(EntryTerm { ttl: Duration::from_secs(3600), from: at(7) });
    let before = place.keep("drop", "203.0.113.7\n");
    let limited = AcceptedSource { term, ..before.clone() };
    let again = CopyToKeep {
        accepted: limited.clone(),
        bytes: CopySource::before(before),
        times: None,
        before: None,
    };
    let draft = place.draft("for good", "203.0.113.8\n");
    let for_good = draft.accepted.clone();
    let made = place.copies.keep(vec![again, draft], Vec::new());
    made.into_iter().for_each(|outcome| outcome.unwrap());
    let written = |accepted: &AcceptedSource| {
        let mut file = open(&place.copies.path(accepted)).unwrap();
        let header = header::read_all(&mut file, &clock::moment()).unwrap();
        (header.accepted, header.written)
    };
    let here = clock::moment();
    // The clock has been set forward by an hour since. The daemon has not, so its facts are unchanged.
    let old = Moment { wall: here.wall.later_by(-3600), ..here };
    for accepted in [&limited, &for_good] {
        let file = OpenOptions::new().write(true).open(place.copies.path(accepted)).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &header::of(accepted, &old, None).unwrap(), 0)
            .unwrap();
    }
    assert!(place.copies.renew().is_empty());
    let (found, moment) = written(&limited);
    assert_eq!(found, limited);
    assert!(moment.unwrap().says_the_same_as(&here), "{moment:?}");
    assert_eq!(written(&for_good), (for_good, Some(old)), "what has no end need not know");
    assert_eq!(place.copies.read(&limited, &ReadOptions::default()).unwrap().targets.len(), 1);
    let is_same = || std::fs::metadata(place.copies.path(&limited)).unwrap().modified().unwrap();
    let before = is_same();
    assert!(place.copies.renew().is_empty());
    assert_eq!(is_same(), before, "it is not written again");
    assert_eq!(place.files(), 2);
}

#[test]
fn a_copy_tells_how_its_list_ends() {
    let place = Place::new();
    for (text, has_open_end) in
        [("192.0.2.1\n", false), ("192.0.2.1\n192.0.2.", true), ("", false), ("{}", false)]
    {
        let accepted = place.keep("drop", text);
        assert_eq!(place.copies.has_open_end(&accepted), Some(has_open_end), "{text:?}");
    }
    let gone = place.draft("other", "192.0.2.").accepted;
    assert_eq!(place.copies.has_open_end(&gone), None);
}
