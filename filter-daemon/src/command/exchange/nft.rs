//! Writes input for `nft -f`: a table of filterd's own, with two sets for each list, one for each family.
//! Rules in any chain of that table can name the sets. Loading it again replaces the elements of the sets
//! in one transaction, and does not touch rules and chains.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use filter_common::target::Target;

use super::ending::{BoundaryLines, END};
use super::ipset::{comment, without_comment};
use super::list_of::CountdownStart;
use super::lost::LostDetails;
use super::{EntryReader, EntryWriter, Fault, ImportedEntry, set_name};
use crate::control::wire::lists::ListDetails;
use crate::control::wire::{Entry, words};
use crate::text::lines::Line;
use crate::text::{printable, quantity};

/// The table of the sets.
const TABLE: &str = "inet filterd_export";

/// Far below the limit of nft.
const LONGEST_NAME: usize = 64;

/// The longest comment, in bytes.
const LONGEST_COMMENT: usize = 128;

/// The maximum number of elements in one statement.
const TOGETHER: usize = 1024;

/// The writer of this format.
pub struct NftWriter {
    now: u64,
    /// Elements that are not yet written, by set.
    gathered: BTreeMap<String, Vec<String>>,
    /// The last written prefix that no other covers, with its end, by set. No element of a set may lie
    /// within another one.
    widest: BTreeMap<String, (Target, Option<u64>)>,
    sets: BTreeSet<String>,
    lost: LostDetails,
}

impl NftWriter {
    /// Starts an export whose ends are counted from `now`.
    pub fn from(now: u64) -> Self {
        Self {
            now,
            gathered: BTreeMap::new(),
            widest: BTreeMap::new(),
            sets: BTreeSet::new(),
            lost: LostDetails::default(),
        }
    }

    fn begin_set(&mut self, name: &str, kind: &str, out: &mut dyn Write) -> io::Result<()> {
        if !self.sets.insert(name.to_owned()) {
            return Ok(());
        }
        writeln!(out, "add set {TABLE} {name} {{ type {kind}; flags interval, timeout; }}")?;
        writeln!(out, "flush set {TABLE} {name}")
    }

    /// Returns whether the set already contains a prefix that covers the target. Otherwise remembers the
    /// target.
    fn leave_out_overlapped(&mut self, name: &str, target: Target, until: Option<u64>) -> bool {
        match self.widest.get(name) {
            Some((wide, wide_until)) if wide.covers(&target) => {
                let lasts = wide_until.is_none_or(|end| until.is_some_and(|until| until <= end));
                const WHY: &str = "no element of nft overlaps another";
                if lasts {
                    self.lost
                        .note(format!("left out, because a wider one that lasts as long contains it: {WHY}"));
                } else {
                    self.lost.leave_out(format!(
                        "left out, because a wider one contains it, although that one ends sooner: {WHY}"
                    ));
                }
                true
            }
            _ => {
                self.widest.insert(name.to_owned(), (target, until));
                false
            }
        }
    }

    fn write(name: &str, elements: &mut Vec<String>, out: &mut dyn Write) -> io::Result<()> {
        if elements.is_empty() {
            return Ok(());
        }
        writeln!(out, "add element {TABLE} {name} {{")?;
        elements.drain(..).try_for_each(|element| writeln!(out, "\t{element},"))?;
        writeln!(out, "}}")
    }
}

impl EntryWriter for NftWriter {
    fn begin(&mut self, lists: &[ListDetails], out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "# filterd export: `nft -f FILE` makes or refills these sets; rules are yours to write"
        )?;
        writeln!(out, "add table {TABLE}")?;
        for list in lists {
            for (family, kind) in [(4, "ipv4_addr"), (6, "ipv6_addr")] {
                self.begin_set(&name(&list.name, list.allows, family), kind, out)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, entry: &Entry, allow: bool, out: &mut dyn Write) -> io::Result<()> {
        let Some(target) = self.lost.element(entry) else { return Ok(()) };
        let (family, kind) = match target {
            Target::V4(_) => (4, "ipv4_addr"),
            Target::V6(_) => (6, "ipv6_addr"),
        };
        let left = entry.until.map(|until| until.saturating_sub(self.now));
        let name = name(&entry.list, allow, family);
        if left == Some(0) || self.leave_out_overlapped(&name, target, entry.until) {
            return Ok(());
        }
        // The list may have been created since the export began.
        self.begin_set(&name, kind, out)?;
        let timeout = left.map(|left| format!(" timeout {}", time(left))).unwrap_or_default();
        let comment = comment(entry.note.as_deref(), LONGEST_COMMENT, &mut self.lost);
        let elements = self.gathered.entry(name.clone()).or_default();
        elements.push(format!("{target}{timeout}{comment}"));
        if elements.len() < TOGETHER { Ok(()) } else { Self::write(&name, elements, out) }
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.gathered.iter_mut().try_for_each(|(name, elements)| Self::write(name, elements, out))?;
        writeln!(out, "{END}")
    }

    fn lost(&self) -> &LostDetails {
        &self.lost
    }
}

/// The name of a set, which must not begin with a digit or a dash.
fn name(list: &str, allow: bool, family: u8) -> String {
    let name = set_name::of(list, allow, family, LONGEST_NAME - 1);
    if name.starts_with(|first: char| first.is_ascii_lowercase()) { name } else { format!("_{name}") }
}

/// The list's part of a set's name.
pub fn unprefixed(set: &str) -> &str {
    set.strip_prefix('_').unwrap_or(set)
}

/// Formats a time for nft, which accepts no number of more than eight digits.
fn time(seconds: u64) -> String {
    let (days, seconds) = (seconds / 86_400, seconds % 86_400);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{days}d{hours}h{minutes}m{seconds}s")
}

/// Reads the output of [`NftWriter`].
pub struct NftReader {
    begun: CountdownStart,
    /// The set of the elements that follow.
    set: Option<String>,
    ending: BoundaryLines,
}

impl Default for NftReader {
    fn default() -> Self {
        Self { begun: CountdownStart::now(), set: None, ending: BoundaryLines::default() }
    }
}

/// The beginning of files that [`NftReader`] reads.
pub const MARK: &str = "# filterd export: `nft -f";

impl EntryReader for NftReader {
    fn fault(&self) -> Option<String> {
        self.ending.fault()
    }

    fn read(&mut self, line: &Line<'_>) -> Option<Result<ImportedEntry, Fault>> {
        self.ending.note(line);
        let Ok(text) = str::from_utf8(line.bytes) else { return Some(Err("it is no text".to_owned())) };
        let text = text.trim_ascii();
        if text.is_empty() || text.starts_with('#') {
            return None;
        }
        if let Some(rest) = text.strip_prefix("add element ") {
            self.set = rest.strip_suffix(" {").and_then(|rest| rest.rsplit(' ').next()).map(str::to_owned);
            return None;
        }
        if ["}", "add table", "add set", "flush set"].iter().any(|word| text.starts_with(word)) {
            self.set = None;
            return None;
        }
        let Some(set) = &self.set else {
            return Some(Err(format!("{} is not in an nft export of filterd", printable::word(text))));
        };
        Some(element(self.begun, set, text.strip_suffix(',').unwrap_or(text)))
    }
}

fn element(begun: CountdownStart, set: &str, text: &str) -> Result<ImportedEntry, Fault> {
    let (text, comment) = without_comment(text);
    let (target, left) = match text.split_once(" timeout ") {
        Some((target, time)) => {
            let time =
                quantity::duration(time).map_err(|_| format!("{} is no time", printable::word(time)))?;
            (target, Some(time.as_secs()))
        }
        None => (text, None),
    };
    Ok(ImportedEntry { is_ours: true, ..begun.item(words::span(target)?, unprefixed(set), left, comment)? })
}
