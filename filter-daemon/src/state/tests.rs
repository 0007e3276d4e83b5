//! Tests of saved generations: kept, replaced, renamed, damaged, too large, and on a disk that fails.

mod carried;
mod failing;
pub mod faults;
mod times;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::generation::without_stamp;
use super::*;
use crate::blocklist::{EntryTimes, Timestamp};
use crate::clock::{self, Boot as BootId, Moment};
use crate::source::ReadOptions;
use crate::source::digest::Digest;
use crate::source::peaks::Peaks;
use crate::source::reading::{AcceptedSource, EntryTerm, SourceStamp};

/// The first moment in the writer's time.
const BEGUN: u32 = 1_795_296_480;

fn at(seconds: u32) -> Timestamp {
    Timestamp::from_secs(BEGUN + seconds)
}

struct Place {
    store: StateStore,
    state: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let state = tempfile::tempdir().unwrap();
        Self { store: StateStore::of(state.path()), state }
    }

    fn list(&self, name: &str, text: &str) -> ListToSave {
        let mut draft = self.store.draft();
        text.as_bytes().chunks(7).for_each(|bytes| draft.write_all(bytes).unwrap());
        let (bytes, digest) = draft.summary();
        let accepted = AcceptedSource {
            name: Arc::from(name),
            path: format!("/lists/{name}.txt\n").into(),
            stamp: Some(SourceStamp([1, 2, 3, 4, 5, 6, u64::MAX])),
            at: at(0),
            entries: text.lines().count() as u64,
            rejected: 0,
            term: None,
            is_missing: false,
            bytes,
            digest,
            meaning: None,
            peaks: Peaks::default(),
            times: None,
        };
        ListToSave { accepted, draft: Some(draft), times: None, before: None }
    }

    fn save(&self, lists: Vec<ListToSave>) -> SaveOutcome {
        self.store.save(SaveTarget::default(), lists)
    }

    /// Saves this list and no other.
    fn keep(&self, name: &str, text: &str) -> AcceptedSource {
        let list = self.list(name, text);
        let accepted = list.accepted.clone();
        self.save(vec![list]).lists.remove(0).unwrap();
        accepted
    }

    fn lists(&self, name: GenerationName) -> Vec<AcceptedSource> {
        self.store.read(name).generation().map(|found| found.lists).unwrap_or_default()
    }

    fn current(&self) -> Vec<AcceptedSource> {
        self.lists(GenerationName::Current)
    }

    fn blobs(&self) -> usize {
        self.store.blobs.files().count()
    }

    fn targets(&self, accepted: &AcceptedSource) -> Result<usize, CopyError> {
        self.store.read_list(accepted, &ReadOptions::default()).map(|list| list.targets.len())
    }
}

fn head() -> TrialHead {
    TrialHead { boot: "this".to_owned(), end: 7, by: "alice".to_owned(), file: 9 }
}

fn text(words: &str) -> Arc<ConfigText> {
    Arc::new(ConfigText::new(Path::new("/etc/filterd/with a blank\nand more.yaml"), words.to_owned()))
}

#[test]
fn saved_list_has_its_content_and_a_private_mode() {
    let place = Place::new();
    let accepted = place.keep("drop", "203.0.113.7\n198.51.100.0/24\n");
    assert_eq!(place.current(), std::slice::from_ref(&accepted));
    assert_eq!(place.targets(&accepted).unwrap(), 2);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.state.path().join("blobs")), 0o700);
    assert_eq!(mode(&place.store.path(&accepted)), 0o600);
    assert_eq!(mode(&place.store.path_of(GenerationName::Current)), 0o600);
}

#[test]
fn saved_configuration_is_read_unchanged() {
    let place = Place::new();
    let config = text("interfaces: [eth0] # ä\n\nblock: []");
    let save =
        || place.store.save(SaveTarget { config: Some(config.clone()), ..SaveTarget::default() }, Vec::new());
    save().config.unwrap().unwrap();
    let found = place.store.read(GenerationName::Current).generation().unwrap();
    assert!(found.is_of(Path::new("/etc/filterd/with a blank\nand more.yaml")));
    assert!(!found.is_of(Path::new("/etc/filterd/other.yaml")));
    assert_eq!(place.store.text_of(found.config.as_ref().unwrap()).unwrap(), *config);
    let path = place.store.blobs.path(found.config.as_ref().unwrap().digest);
    fs::write(&path, "interfaces: [eth1]").unwrap();
    let damaged = place.store.text_of(found.config.as_ref().unwrap()).unwrap_err();
    assert!(damaged.ends_with("it is damaged"), "{damaged}");
}

/// Others could have written it, or it is a link.
#[test]
fn untrusted_files_are_not_read() {
    let place = Place::new();
    place.keep("drop", "203.0.113.7\n");
    let path = place.store.path_of(GenerationName::Current);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
    let FoundGeneration::Damaged(why) = place.store.read(GenerationName::Current) else { panic!() };
    assert!(why.contains("others than root"), "{why}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let moved = place.state.path().join("elsewhere");
    fs::rename(&path, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &path).unwrap();
    let FoundGeneration::Damaged(why) = place.store.read(GenerationName::Current) else { panic!() };
    assert!(why.contains("symbolic links"), "{why}");
}

#[test]
fn new_version_replaces_only_the_old_one() {
    let place = Place::new();
    let other = place.keep("other", "192.0.2.1\n");
    let (old, new) = (place.list("drop", "203.0.113.7\n"), place.list("drop", "203.0.113.8\n"));
    let before = old.accepted.clone();
    place.save(vec![old, ListToSave::again(&other)]);
    assert!(place.store.has_copy(&before));
    place.save(vec![new, ListToSave::again(&other)]);
    assert!(!place.store.has_copy(&before));
    assert_eq!((place.current().len(), place.blobs()), (2, 2));
}

/// An earlier version removed, without any message, a list that an operator had put there.
#[test]
fn files_of_others_stay_beside_blobs() {
    let place = Place::new();
    place.keep("drop", "203.0.113.7\n");
    let own = place.state.path().join("blobs/own.txt");
    fs::write(&own, "203.0.113.8\n").unwrap();
    place.keep("drop", "203.0.113.9\n");
    place.store.clean();
    assert!(own.exists());
    assert_eq!((place.current().len(), place.blobs()), (1, 2));
}

#[test]
fn two_lists_with_the_same_bytes_share_a_blob() {
    let place = Place::new();
    let lists = ["one", "two"].map(|name| place.list(name, "203.0.113.7\n"));
    let known = [0, 1].map(|at| lists[at].accepted.clone());
    place.save(lists.into());
    assert_eq!((place.current().len(), place.blobs()), (2, 1));
    place.save(vec![ListToSave::again(&known[1])]);
    assert_eq!(place.targets(&known[1]).unwrap(), 1);
}

#[test]
fn a_record_keeps_all_that_it_says() {
    let place = Place::new();
    let before = place.keep("drop", "203.0.113.7\n");
    let accepted = AcceptedSource {
        name: "spamhaus".into(),
        path: std::ffi::OsString::from_vec(b"/not utf-8 \xff".to_vec()).into(),
        stamp: None,
        rejected: 3,
        is_missing: true,
        term: Some(EntryTerm { ttl: Duration::from_secs(3600), from: at(7) }),
        meaning: "block /64 only 22,8000-8100".parse().ok(),
        peaks: Peaks::default().replaced(4000, 2001, at(3)),
        ..before
    };
    place.save(vec![ListToSave::again(&accepted)]);
    assert_eq!((place.current(), place.blobs()), (vec![accepted], 1));
}

/// Within one boot the time since boot continues. From one boot to the next only the wall clock does.
#[test]
fn times_in_a_manifest_are_converted_for_the_reader() {
    let term = Some(EntryTerm { ttl: Duration::from_secs(3600), from: at(7) });
    let peaks = Peaks::default().replaced(4000, 2001, at(3));
    let accepted = AcceptedSource { at: at(5), term, peaks, ..Place::new().list("drop", "").accepted };
    let generation = Generation { lists: vec![accepted.clone()], ..Generation::default() };
    // The machine has run for 100 s, and the clock was set forward by 60 s meanwhile.
    let ms = i64::from(BEGUN) * 1000;
    let written = Moment { boot: BootId([1; 16]), offset: ms, begun: at(0), own: at(100), wall: at(160) };
    let written_text = manifest::text(&generation, &written);
    let shift = |here: Moment| {
        let found = manifest::read(written_text.as_bytes(), &here).generation().unwrap().lists.remove(0);
        let shift = found.at.after(accepted.at);
        assert_eq!(shift, found.term.unwrap().from.after(at(7)), "all of it is shifted");
        assert_eq!(found.peaks, accepted.peaks.later_by(shift));
        shift
    };
    let begun = |boot, after: u32| Moment {
        boot: BootId([boot; 16]),
        begun: at(after),
        own: at(after + 1),
        ..written
    };
    let rows = [
        (written, 0, "whoever wrote it"),
        (Moment { offset: ms - 3_600_000, ..begun(1, 200) }, -3600, "the clock was set back by an hour"),
        (begun(2, 200), 60, "in another boot the wall counts, as it was right at the end"),
        (begun(2, 30), -70, "a clock from before it was written: what was left then is left still"),
    ];
    for (here, seconds, why) in rows {
        assert_eq!(shift(here), seconds, "{why}");
    }
}

/// The list on trial has the same content as the earlier one, but another meaning.
#[test]
fn trial_leaves_current_until_confirmed() {
    let place = Place::new();
    let before = place.keep("drop", "203.0.113.7\n");
    let tried = AcceptedSource { meaning: "allow".parse().ok(), ..before.clone() };
    let try_out = || {
        let new = place.list("new", "203.0.113.8\n");
        let trial = SaveTarget { trial: Some(head()), ..SaveTarget::default() };
        place.store.save(trial, vec![ListToSave::again(&tried), new]);
        assert_eq!(place.current(), std::slice::from_ref(&before));
        assert_eq!((place.lists(GenerationName::Trial).len(), place.blobs()), (2, 2));
    };
    try_out();
    place.store.reject(&head()).unwrap();
    assert!(!place.store.has(GenerationName::Trial));
    place.save(vec![ListToSave::again(&before)]);
    assert_eq!(place.blobs(), 1, "it has not stood it");
    try_out();
    place.store.confirm().unwrap();
    assert!(!place.store.has(GenerationName::Trial) && !place.store.has(GenerationName::Rejected));
    assert_eq!(place.current()[0], tried);
    place.save(place.current().iter().map(ListToSave::again).collect());
    assert_eq!(place.store.read(GenerationName::Current).generation().unwrap().trial, None);
    assert_eq!((place.current().len(), place.blobs()), (2, 2));
}

/// On a full disk, too: the checksum is replaced in place.
#[test]
fn rejected_checksum_is_replaced_in_place() {
    let place = Place::new();
    let generation = Generation { trial: Some(head()), ..Generation::default() };
    place.store.write(GenerationName::Trial, &generation).unwrap();
    for file in [9, 0xfedc_ba98] {
        place.store.reject(&TrialHead { file, ..head() }).unwrap();
        let found = place.store.read(GenerationName::Rejected).generation().unwrap();
        assert_eq!(found.trial, Some(TrialHead { file, ..head() }));
    }
    let files: Vec<_> =
        fs::read_dir(place.state.path()).unwrap().flatten().map(|file| file.file_name()).collect();
    assert_eq!(files, ["rejected"]);
}

/// They are made together, and each one has its own result.
#[test]
fn lists_that_fail_keep_their_earlier_versions() {
    let place = Place::new();
    let old: Vec<_> = (0..300)
        .map(|number| place.list(&format!("list{number}"), &format!("10.0.0.{}\n", number % 250)))
        .collect();
    let before: Vec<_> = old.iter().map(|one| one.accepted.clone()).collect();
    assert!(place.save(old).lists.iter().all(Result::is_ok));
    let fails = |number: usize| number % 70 == 3;
    let new = before.iter().enumerate().map(|(number, before)| {
        let one = place.list(&before.name, &format!("203.0.113.7\n192.0.2.{}\n", number % 250));
        let draft = if fails(number) { Some(Draft::gone()) } else { one.draft };
        ListToSave { draft, before: Some(before.clone()), ..one }
    });
    let new: Vec<_> = new.collect();
    let after: Vec<_> = new.iter().map(|one| one.accepted.clone()).collect();
    let outcomes = place.save(new).lists;
    let current = place.current();
    for (number, (before, after)) in before.iter().zip(&after).enumerate() {
        assert_eq!(outcomes[number].is_err(), fails(number), "{number}");
        assert_eq!(current[number], if fails(number) { before.clone() } else { after.clone() }, "{number}");
        assert!(place.targets(&current[number]).is_ok());
    }
}

#[test]
fn blobs_of_removed_lists_are_deleted() {
    let place = Place::new();
    place.keep("drop", "203.0.113.7\n");
    place.save(Vec::new());
    assert_eq!((place.blobs(), place.current().len()), (0, 0));
}

#[test]
fn damaged_line_loses_one_list_only() {
    let place = Place::new();
    let lists = ["one", "two"].map(|name| place.list(name, "203.0.113.7\n"));
    let known = [0, 1].map(|at| lists[at].accepted.clone());
    place.save(lists.into());
    let path = place.store.path_of(GenerationName::Current);
    let whole = fs::read(&path).unwrap();
    let head = manifest::FILE_AT as usize + 9;
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        match place.store.read(GenerationName::Current) {
            FoundGeneration::Read { generation, is_cut } if at >= head => {
                assert!(is_cut, "byte {at}");
                assert!(
                    generation.lists.iter().all(|list| known.contains(list)) || generation.written.is_none()
                );
                assert!(
                    !generation.lists.is_empty() || bytes[at] == b'\n' || whole[at] == b'\n',
                    "byte {at}"
                );
            }
            // The checksum of the configuration's file is not protected: it is replaced in place.
            FoundGeneration::Read { generation, .. } => assert_eq!(generation.lists, known, "byte {at}"),
            found @ (FoundGeneration::Missing | FoundGeneration::Damaged(_) | FoundGeneration::Newer) => {
                assert!(at < head, "byte {at}: {found:?}");
            }
        }
    }
    for length in head..whole.len() - 1 {
        fs::write(&path, &whole[..length]).unwrap();
        let found = place.store.read(GenerationName::Current);
        assert!(matches!(found, FoundGeneration::Read { is_cut: true, .. }), "{length} bytes");
    }
}

#[test]
fn manifest_of_a_newer_filterd_is_known_as_such() {
    let place = Place::new();
    place.keep("drop", "203.0.113.7\n");
    let path = place.store.path_of(GenerationName::Current);
    let newer = fs::read_to_string(&path).unwrap().replacen("generation 1", "generation 2", 1);
    fs::write(&path, newer).unwrap();
    assert!(matches!(place.store.read(GenerationName::Current), FoundGeneration::Newer));
}

#[test]
fn any_damaged_byte_invalidates_the_list() {
    let place = Place::new();
    let accepted = place.keep("drop", "203.0.113.7\n198.51.100.7\n");
    let path = place.store.path(&accepted);
    let whole = fs::read(&path).unwrap();
    let is_damaged = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        matches!(place.targets(&accepted), Err(CopyError::Damaged))
    };
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        assert!(is_damaged(&bytes) && is_damaged(&whole[..at]), "byte {at}");
    }
    assert!(is_damaged(&[&whole[..], b"9"].concat()));
    assert!(!is_damaged(&whole));
    // A list that is read again repairs its blob.
    fs::write(&path, "damaged").unwrap();
    place.keep("drop", "203.0.113.7\n198.51.100.7\n");
    assert_eq!(place.targets(&accepted).unwrap(), 2);
}

#[test]
fn version_beyond_limit_keeps_the_old_one() {
    let mut place = Place::new();
    place.store.blobs.most = 1000;
    let before = place.keep("drop", "203.0.113.7\n");
    let mut long = place.list("drop", &"203.0.113.8\n".repeat(3000));
    long.before = Some(before.clone());
    let outcome = place.save(vec![long]).lists.remove(0);
    assert!(matches!(outcome, Err(CopyError::Full { .. })), "{outcome:?}");
    assert_eq!((place.current(), place.blobs()), (vec![before], 1));
}

/// Each of them is too short to have checked the size of the others.
#[test]
fn many_small_lists_respect_the_limit() {
    const ROOM: usize = 1024;
    let mut place = Place::new();
    let line = |number: usize| format!("10.0.{:03}.{:03}\n", number / 250, number % 250);
    place.store.blobs.most = (ROOM * line(0).len()) as u64;
    let lists = (0..ROOM + 3).map(|number| place.list(&number.to_string(), &line(number)));
    let outcomes = place.save(lists.collect()).lists;
    let full = outcomes.iter().filter(|outcome| matches!(outcome, Err(CopyError::Full { .. }))).count();
    assert_eq!((full, place.blobs()), (3, ROOM));
    assert_eq!(place.store.blobs.taken(), place.store.blobs.most);
}

#[test]
fn unfinished_blobs_are_deleted() {
    let place = Place::new();
    let accepted = place.keep("drop", "203.0.113.7\n");
    std::mem::forget(place.list("drop", "203.0.113.8\n"));
    assert_eq!(place.blobs(), 2);
    place.store.clean();
    assert!(place.blobs() == 1 && place.store.has_copy(&accepted));
}

#[test]
fn unwritable_directory_is_reported_while_reading_continues() {
    let store = StateStore::of(Path::new("/proc/self"));
    let mut draft = store.draft();
    draft.write_all(b"203.0.113.7\n").unwrap();
    assert_eq!(draft.summary(), (12, Digest::of(b"203.0.113.7\n")));
    let ListToSave { accepted, .. } = Place::new().list("drop", "203.0.113.7\n");
    let list = ListToSave { accepted, draft: Some(draft), times: None, before: None };
    let target = SaveTarget { config: Some(text("block: []")), ..SaveTarget::default() };
    let SaveOutcome { config, mut lists, .. } = store.save(target, vec![list]);
    assert!(matches!(lists.remove(0), Err(CopyError::System { .. })));
    assert!(matches!(config, Some(Err(CopyError::System { .. }))));
}

#[test]
fn open_copy_survives_directory_removal() {
    let place = Place::new();
    let accepted = place.keep("drop", "203.0.113.7\n198.51.100.0/24\n");
    let held = place.store.hold(&accepted).unwrap();
    let current = place.store.read(GenerationName::Current).generation().unwrap();
    fs::remove_dir_all(place.state.path()).unwrap();
    assert!(place.targets(&accepted).is_err() && place.store.hold(&accepted).is_err());
    for _ in 0..2 {
        assert_eq!(held.read(&ReadOptions::default()).unwrap().targets.len(), 2);
    }
    place.store.put_back(&held).unwrap();
    place.store.put_back_current(&current, None).unwrap();
    assert_eq!((place.current(), place.targets(&accepted).unwrap()), (vec![accepted], 2));
}

/// A feed that is fetched every minute, and has not changed, costs no writing. The same holds for a restart.
#[test]
fn unchanged_generation_is_not_written_again() {
    let place = Place::new();
    let accepted = place.keep("drop", "203.0.113.7\n");
    let path = place.store.path_of(GenerationName::Current);
    let inode = || std::os::unix::fs::MetadataExt::ino(&fs::metadata(&path).unwrap());
    let before = inode();
    place.save(vec![ListToSave { accepted: without_stamp(&accepted), ..ListToSave::again(&accepted) }]);
    assert_eq!(inode(), before);
    place.save(vec![ListToSave::again(&AcceptedSource { entries: 7, ..accepted })]);
    assert_ne!(inode(), before);
}

/// A machine without a hardware clock: it is 1970 until the time is set, and 1970 again after each boot.
#[test]
fn manifest_is_renewed_only_after_clock_changes() {
    let place = Place::new();
    let term = Some(EntryTerm { ttl: Duration::from_secs(3600), from: at(7) });
    let here = clock::moment();
    // The clock has been set forward by an hour since. The daemon has not, so its facts are unchanged.
    let old = Moment { wall: here.wall.later_by(-3600), ..here };
    for (term, is_renewed) in [(term, true), (None, false)] {
        let list = AcceptedSource { term, ..place.keep("drop", "203.0.113.7\n") };
        let generation = Generation { lists: vec![list], ..Generation::default() };
        fs::write(place.store.path_of(GenerationName::Current), manifest::text(&generation, &old)).unwrap();
        for _ in 0..2 {
            place.store.renew().unwrap();
            let found = place.store.read(GenerationName::Current).generation().unwrap();
            assert_eq!(found.written.unwrap().says_the_same_as(&here), is_renewed, "{term:?}");
            assert_eq!(found.lists, generation.lists);
        }
    }
}

#[test]
fn a_copy_tells_how_its_list_ends() {
    let place = Place::new();
    for (text, has_open_end) in
        [("192.0.2.1\n", false), ("192.0.2.1\n192.0.2.", true), ("", false), ("{}", false)]
    {
        let accepted = place.keep("drop", text);
        assert_eq!(place.store.open_end(&accepted), Some(has_open_end), "{text:?}");
    }
    let gone = place.list("other", "192.0.2.").accepted;
    assert_eq!(place.store.open_end(&gone), None);
}
