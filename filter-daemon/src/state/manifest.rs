//! The text of a manifest. Each line has a checksum of its own, so that a damaged line loses one list only.
//!
//! The first two lines have a fixed length. The second one has the checksum of the configuration's file, which
//! a rollback overwrites in place, even on a full disk.

use std::fmt::Write;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::generation::{Generation, SavedConfig, TrialHead};
use super::path_text::PathText;
use crate::blocklist::Timestamp;
use crate::clock::Moment;
use crate::source::digest::Digest;
use crate::source::reading::{AcceptedSource, EntryTerm, SavedTimes, SourceStamp};

/// The first line. A newer format has another number.
const HEAD: &str = "filterd generation 1\n";

/// The beginning of the first line in all formats.
const ANY_HEAD: &str = "filterd generation ";

/// Where the checksum of the configuration's file lies.
pub const FILE_AT: u64 = (HEAD.len() + "file ".len()) as u64;

/// What reading a manifest found.
#[derive(Debug)]
pub enum FoundGeneration {
    Missing,
    /// It cannot be read, or its first lines are damaged.
    Damaged(String),
    /// A newer filterd wrote it.
    Newer,
    Read {
        generation: Generation,
        /// Some lines are damaged, so lists may be missing.
        is_cut: bool,
    },
}

impl FoundGeneration {
    /// The generation, if it can be read.
    pub fn generation(self) -> Option<Generation> {
        if let Self::Read { generation, .. } = self { Some(generation) } else { None }
    }
}

/// A line of the manifest.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ManifestLine {
    /// The moment that all times refer to.
    Written(String),
    Trial {
        boot: String,
        end: i64,
        by: String,
    },
    Config {
        of: String,
        sha256: String,
        at: u64,
    },
    List(Box<ListLine>),
    /// The number of lines before.
    End(usize),
}

#[derive(Serialize, Deserialize)]
struct ListLine {
    name: String,
    path: PathText,
    stamp: Option<[u64; 7]>,
    at: u64,
    entries: u64,
    rejected: u64,
    missing: bool,
    bytes: u64,
    sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ttl: Option<(u64, u64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    means: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    peaks: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times: Option<TimesLine>,
}

#[derive(Serialize, Deserialize)]
struct TimesLine {
    sha256: String,
    bytes: u64,
    shift: i64,
}

/// The text for a generation at this moment.
pub fn text(generation: &Generation, here: &Moment) -> String {
    let Generation { config, lists, trial, .. } = generation;
    let mut text = format!("{HEAD}file {:08x}\n", trial.as_ref().map_or(0, |trial| trial.file));
    let trial = trial.clone().map(|TrialHead { boot, end, by, .. }| ManifestLine::Trial { boot, end, by });
    let config = config.clone().map(|SavedConfig { of, digest, at }| {
        let sha256 = digest.to_string();
        ManifestLine::Config { of, sha256, at }
    });
    let head = [Some(ManifestLine::Written(here.to_string())), trial, config].into_iter().flatten();
    let lists = lists.iter().map(|list| ManifestLine::List(Box::new(ListLine::of(list))));
    let lines: Vec<_> = head.chain(lists).collect();
    let end = ManifestLine::End(lines.len());
    for line in lines.iter().chain([&end]) {
        let json = serde_json::to_string(line).expect("strings and numbers can be written");
        // Writing into a string cannot fail.
        _ = writeln!(text, "{:08x} {json}", crc32fast::hash(json.as_bytes()));
    }
    text
}

/// Reads a manifest, and converts its times for a reader at the moment `here`.
pub fn read(bytes: &[u8], here: &Moment) -> FoundGeneration {
    let damaged = |why: &str| FoundGeneration::Damaged(why.to_owned());
    let text = String::from_utf8_lossy(bytes);
    let Some(rest) = text.strip_prefix(HEAD) else {
        let is_newer = text.starts_with(ANY_HEAD) && text.contains('\n');
        return if is_newer { FoundGeneration::Newer } else { damaged("it is damaged") };
    };
    let mut lines = rest.lines();
    let file = lines.next().and_then(|line| u32::from_str_radix(line.strip_prefix("file ")?, 16).ok());
    let Some(file) = file else { return damaged("it is damaged") };
    let mut generation = Generation::default();
    let (mut seen, mut is_cut, mut is_ended) = (0, false, false);
    for line in lines {
        match ManifestLine::read(line) {
            None => is_cut = true,
            Some(ManifestLine::End(count)) => (is_ended, is_cut) = (true, is_cut || count != seen),
            Some(ManifestLine::Written(words)) => generation.written = words.parse().ok(),
            Some(ManifestLine::Trial { boot, end, by }) => {
                generation.trial = Some(TrialHead { boot, end, by, file });
            }
            Some(ManifestLine::Config { of, sha256, at }) => {
                generation.config = sha256.parse().ok().map(|digest| SavedConfig { of, digest, at });
            }
            Some(ManifestLine::List(list)) => match list.accepted() {
                Some(list) => generation.lists.push(list),
                None => is_cut = true,
            },
        }
        seen += 1;
    }
    // Without the moment of writing, times count as wall-clock times.
    let shift = generation.written.map_or(0, |written| written.shift_to(here).seconds);
    generation.lists.iter_mut().for_each(|list| shift_by(list, shift));
    FoundGeneration::Read { generation, is_cut: is_cut || !is_ended }
}

/// Moves all times of a record.
pub fn shift_by(list: &mut AcceptedSource, seconds: i64) {
    list.at = list.at.later_by(seconds);
    list.term = list.term.map(|term| EntryTerm { from: term.from.later_by(seconds), ..term });
    list.peaks = list.peaks.later_by(seconds);
    list.times = list.times.map(|times| SavedTimes { shift: times.shift.saturating_add(seconds), ..times });
}

impl ManifestLine {
    fn read(line: &str) -> Option<Self> {
        let (sum, json) = line.split_once(' ')?;
        let is_whole = u32::from_str_radix(sum, 16) == Ok(crc32fast::hash(json.as_bytes()));
        serde_json::from_str(json).ok().filter(|_| is_whole)
    }
}

impl ListLine {
    fn of(list: &AcceptedSource) -> Self {
        Self {
            name: list.name.to_string(),
            path: list.path.as_path().into(),
            stamp: list.stamp.map(|stamp| stamp.0),
            at: list.at.secs(),
            entries: list.entries,
            rejected: list.rejected,
            missing: list.is_missing,
            bytes: list.bytes,
            sha256: list.digest.to_string(),
            ttl: list.term.map(|term| (term.ttl.as_secs(), term.from.secs())),
            means: list.meaning.map(|meaning| meaning.to_string()),
            peaks: Some(&list.peaks).filter(|peaks| !peaks.is_empty()).map(ToString::to_string),
            times: list.times.map(|SavedTimes { digest, bytes, shift }| {
                let sha256 = digest.to_string();
                TimesLine { sha256, bytes, shift }
            }),
        }
    }

    fn accepted(self) -> Option<AcceptedSource> {
        let term = |(ttl, from): (u64, u64)| {
            Some(EntryTerm { ttl: Duration::from_secs(ttl), from: timestamp(from)? })
        };
        let times = |TimesLine { sha256, bytes, shift }: TimesLine| {
            Some(SavedTimes { digest: sha256.parse().ok()?, bytes, shift })
        };
        Some(AcceptedSource {
            name: self.name.into(),
            path: self.path.into(),
            stamp: self.stamp.map(SourceStamp),
            at: timestamp(self.at)?,
            entries: self.entries,
            rejected: self.rejected,
            is_missing: self.missing,
            bytes: self.bytes,
            digest: self.sha256.parse::<Digest>().ok()?,
            term: self.ttl.and_then(term),
            meaning: self.means.and_then(|words| words.parse().ok()),
            peaks: self.peaks.and_then(|words| words.parse().ok()).unwrap_or_default(),
            times: self.times.and_then(times),
        })
    }
}

fn timestamp(secs: u64) -> Option<Timestamp> {
    secs.try_into().ok().map(Timestamp::from_secs)
}
