//! Tests that exported entries are restored by an import, and that a second import changes nothing. This
//! holds for any blocklist in every complete format, and for the content that each other format supports.

use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::prelude::*;

use super::super::question::entry;
use super::*;
use crate::blocklist::{Blocklist, Polarity};
use crate::command::exchange::ImportedEntry;
use crate::command::exchange::format::ExchangeFormat;
use crate::command::exchange::reading::ImportReader;
use crate::command::exchange::sets::SetChoice;
use crate::control::wire::lists::ListDetails;
use crate::control::wire::{Entry, Import, Method};

/// A wanted entry: target, list, whether it allows, end and note.
type WantedEntry = (String, usize, bool, Option<u64>, Option<String>);

const LISTS: [&str; 4] = ["manual", "ssh", "9-digits", "a_list_whose_name_is_32_long_4_6"];

fn target() -> impl Strategy<Value = String> {
    let length = |least| prop_oneof![Just(0_u8), Just(least), least..=least + 24];
    let four = (any::<u32>(), length(8)).prop_map(|(address, length)| {
        Target::V4(filter_common::target::Prefix::covering(address, length)).to_string()
    });
    let six = (any::<u128>(), length(16)).prop_map(|(address, length)| {
        Target::V6(filter_common::target::Prefix::covering(address, length)).to_string()
    });
    // Few addresses, so that some overlap.
    let near = (0_u8..4).prop_map(|last| format!("192.0.2.{last}"));
    prop_oneof![near, four, six]
}

fn wish() -> impl Strategy<Value = WantedEntry> {
    let end = proptest::option::of(1_u64..10 * 365 * 86_400);
    let note = proptest::option::of("[ -~äß€]{0,60}");
    (target(), 0..LISTS.len(), any::<bool>(), end, note)
}

fn name(list: usize, allow: bool) -> String {
    if allow { format!("{}-a", &LISTS[list][..LISTS[list].len().min(30)]) } else { LISTS[list].to_owned() }
}

fn blocklist(wishes: &[WantedEntry], now: u64) -> Blocklist {
    let mut blocklist = Blocklist::default();
    for (target, list, allow, end, note) in wishes {
        let polarity = if *allow { Polarity::Allow } else { Polarity::Block };
        let targets = [target.parse().unwrap()].into_iter().collect();
        let until = end.map(|end| clock::from_the_wall(now + end));
        let note = note.clone().map(Arc::from);
        let want = Want { until, note, ..Want::live(name(*list, *allow), polarity, targets) };
        blocklist.apply(&Change::Want(want), clock::now()).unwrap();
    }
    blocklist
}

/// All entries, blocking ones first, and those of a target in the order of their lists.
fn entries(blocklist: &Blocklist) -> Vec<(Entry, bool)> {
    let all =
        [(Polarity::Block, false), (Polarity::Allow, true)].into_iter().flat_map(|(polarity, allow)| {
            let (page, _) = blocklist.page(polarity, None, usize::MAX, |_, _| true);
            page.into_iter().map(move |claim| (claim, allow))
        });
    let mut all: Vec<_> = all.map(|(claim, allow)| (entry(blocklist, claim), allow)).collect();
    let same = all.chunk_by_mut(|one, next| (&one.0.target, one.1) == (&next.0.target, next.1));
    same.for_each(|same| same.sort_by(|one, other| one.0.list.cmp(&other.0.list)));
    all
}

fn exported(blocklist: &Blocklist, format: ExchangeFormat, now: u64) -> Vec<u8> {
    let mut text = Vec::new();
    let mut writer = format.writer(now);
    let list = |id| {
        let list = blocklist.lists().get(id);
        ListDetails {
            name: list.name.to_string(),
            allows: list.polarity == Polarity::Allow,
            ..ListDetails::default()
        }
    };
    let lists = Polarity::ALL.into_iter().flat_map(|polarity| blocklist.lists().live(polarity));
    writer.begin(&lists.map(list).collect::<Vec<_>>(), &mut text).unwrap();
    entries(blocklist).iter().for_each(|(entry, allow)| writer.entry(entry, *allow, &mut text).unwrap());
    writer.end(&mut text).unwrap();
    text
}

fn read(text: &[u8]) -> Vec<ImportedEntry> {
    let mut reading = ImportReader::begin(text, None).expect("it is recognised");
    reading.choose(&SetChoice::default()).expect("nothing is asked for");
    let mut items = Vec::new();
    while let Some(row) = reading.row().unwrap() {
        items.push(row.expect("every line is read").1);
    }
    assert_eq!(reading.fault(), None);
    items
}

/// Imports like the command, on the level of protocol and blocklist. Returns the number of changed entries.
fn import(into: &mut Blocklist, items: Vec<ImportedEntry>) -> u64 {
    let mut messages: BTreeMap<(String, bool), Import> = BTreeMap::new();
    for ImportedEntry { span, list, own, allow, .. } in items {
        let list = list.expect("every entry says its list").to_string();
        let message = messages.entry((list.clone(), allow)).or_default();
        (message.list, message.allow) = (Some(list), allow);
        span.into_iter().for_each(|target| {
            message.targets.push(target);
            message.own.push(own.clone());
        });
    }
    let mut changed = 0;
    for message in messages.into_values() {
        let request = message.check().expect("what was exported is valid");
        let polarity = if request.allow { Polarity::Allow } else { Polarity::Block };
        let list: Arc<str> = request.add.list.unwrap().as_str().into();
        let parted = parted(&request.add.targets, request.add.own).expect("each says something");
        let of = Want::live(list, polarity, Targets::default());
        let targets = request.add.targets.into_iter().collect();
        for page in pages(parted, &targets, &of) {
            changed += into.apply(&page, clock::now()).unwrap().changed;
        }
    }
    changed
}

fn said(blocklist: &Blocklist) -> Vec<impl PartialEq + Debug> {
    let all = entries(blocklist).into_iter();
    all.map(|(entry, allow)| (entry.target, entry.list, entry.until, entry.note, allow)).collect()
}

proptest! {
    #[test]
    fn export_and_import_are_idempotent(wishes in proptest::collection::vec(wish(), 1..40)) {
        let now = clock::on_the_wall(clock::now());
        let before = blocklist(&wishes, now);
        for format in [ExchangeFormat::Json, ExchangeFormat::Plain] {
            let text = exported(&before, format, now);
            let mut after = Blocklist::default();
            import(&mut after, read(&text));
            prop_assert_eq!(said(&after), said(&before));
            prop_assert_eq!(import(&mut after, read(&text)), 0, "again");
            let mut same = blocklist(&wishes, now);
            prop_assert_eq!(import(&mut same, read(&text)), 0, "where it came from");
            if format == ExchangeFormat::Plain {
                prop_assert_eq!(exported(&after, format, now), text);
            }
        }
    }

    #[test]
    fn ipset_carries_targets_expiries_and_plain_notes(wishes in proptest::collection::vec(wish(), 1..40)) {
        let now = clock::on_the_wall(clock::now());
        let before = blocklist(&wishes, now);
        let mut read = read(&exported(&before, ExchangeFormat::Ipset, now)).into_iter().peekable();
        for (entry, allow) in entries(&before) {
            let mut covered = Vec::new();
            let whole: Target = entry.target.parse().unwrap();
            // A prefix of length zero is written as two halves.
            for _ in 0..if entry.target.ends_with("/0") { 2 } else { 1 } {
                let item = read.next().expect("it is there");
                prop_assert!(item.span.into_iter().all(|part| whole.covers(&part)));
                prop_assert_eq!(item.allow, allow);
                let left = |until: Option<u64>| until.map(|until| until.saturating_sub(now).min(2_147_483));
                // The file is read a moment later, so that ends differ slightly.
                let (read, written) = (left(item.own.until), left(entry.until));
                prop_assert_eq!(read.is_some(), written.is_some());
                prop_assert!(read.unwrap_or(0).abs_diff(written.unwrap_or(0)) <= 30);
                let note = entry.note.clone().filter(|note| !note.is_empty()).map(|note| note.replace('"', "'"));
                prop_assert_eq!(&item.own.note, &note);
                covered.push(item);
            }
        }
        prop_assert!(read.peek().is_none());
    }

    #[test]
    fn nft_carries_targets_without_wider_ones(wishes in proptest::collection::vec(wish(), 1..40)) {
        let now = clock::on_the_wall(clock::now());
        let before = blocklist(&wishes, now);
        let read = read(&exported(&before, ExchangeFormat::Nft, now));
        for (entry, allow) in entries(&before) {
            let target: Target = entry.target.parse().unwrap();
            let holds = |item: &&ImportedEntry| item.allow == allow
                && item.list.as_ref().is_some_and(|list| list.as_str() == entry.list)
                && item.span.into_iter().any(|wide| wide.covers(&target));
            let found: Vec<_> = read.iter().filter(holds).collect();
            prop_assert_eq!(found.len(), 1, "{:?} in {:?}", entry, found);
        }
    }
}

#[test]
fn truncated_import_is_reported() {
    let wishes =
        [("192.0.2.1".to_owned(), 0, false, None, None), ("192.0.2.2".to_owned(), 0, false, None, None)];
    let text = exported(&blocklist(&wishes, 0), ExchangeFormat::Json, 0);
    let text = str::from_utf8(&text).unwrap();
    let cut: String = text.lines().take(2).map(|line| format!("{line}\n")).collect();
    let mut reading = ImportReader::begin(cut.as_bytes(), None).unwrap();
    while reading.row().unwrap().is_some() {}
    assert!(reading.fault().unwrap().contains("it ended after 1 entry"));
}

#[test]
fn plain_export_as_list_blocks_nothing_allowed() {
    let wishes =
        [("192.0.2.1".to_owned(), 0, false, None, None), ("192.0.2.2".to_owned(), 0, true, None, None)];
    let text = exported(&blocklist(&wishes, 0), ExchangeFormat::Plain, 0);
    let how = crate::source::ReadOptions::plain(crate::source::SpecialRanges::EXCLUDED);
    let list = crate::source::list::parse(std::path::Path::new("x"), &text[..], 10, &how);
    let targets: Vec<_> = list.unwrap().targets.iter().map(|target| target.to_string()).collect();
    assert_eq!(targets, ["192.0.2.1"]);
}
