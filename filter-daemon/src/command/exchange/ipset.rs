//! Writes input for `ipset restore`: two sets for each list, one for each family. Elements have an end and
//! a comment.

use std::collections::BTreeSet;
use std::io::{self, Write};

use filter_common::target::{Prefix, Target};

use super::ending::{END, HEAD};
use super::lost::LostDetails;
use super::{EntryWriter, set_name};
use crate::control::wire;
use crate::control::wire::lists::ListDetails;

/// The longest name of a set, in bytes.
const LONGEST_NAME: usize = 31;

/// The longest timeout, in seconds: 24 days.
const LONGEST_TIMEOUT: u64 = 2_147_483;

/// The longest comment, in bytes.
const LONGEST_COMMENT: usize = 255;

/// The minimum size of a set. A set has room for a quarter more entries than it has now.
const LEAST_ROOM: u64 = 65_536;

/// The writer of this format.
pub struct IpsetWriter {
    now: u64,
    renamed: BTreeSet<String>,
    lost: LostDetails,
}

impl IpsetWriter {
    /// Starts an export whose ends are counted from `now`.
    pub fn from(now: u64) -> Self {
        Self { now, renamed: BTreeSet::new(), lost: LostDetails::default() }
    }
}

impl EntryWriter for IpsetWriter {
    fn begin(&mut self, lists: &[ListDetails], out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{HEAD}: `ipset restore -exist` makes or fills these sets")?;
        for list in lists {
            let room = (list.entries + list.entries / 4).max(LEAST_ROOM);
            for (family, inet) in [(4, "inet"), (6, "inet6")] {
                let name = set_name::of(&list.name, list.allows, family, LONGEST_NAME);
                writeln!(out, "create {name} hash:net family {inet} maxelem {room} timeout 0 comment")?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, entry: &wire::Entry, allow: bool, out: &mut dyn Write) -> io::Result<()> {
        let Some(target) = self.lost.element(entry) else { return Ok(()) };
        let family = if matches!(target, Target::V4(_)) { 4 } else { 6 };
        let name = set_name::of(&entry.list, allow, family, LONGEST_NAME);
        if !name.starts_with(&entry.list) && self.renamed.insert(name.clone()) {
            self.lost.say(format!(
                "list `{}`: its set is called {name}, since ipset's names are short",
                entry.list
            ));
        }
        let Some(timeout) = self.timeout(entry) else { return Ok(()) };
        let comment = comment(entry.note.as_deref(), LONGEST_COMMENT, &mut self.lost);
        halves(target)
            .into_iter()
            .try_for_each(|target| writeln!(out, "add {name} {target}{timeout}{comment}"))
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{END}")
    }

    fn lost(&self) -> &LostDetails {
        &self.lost
    }
}

impl IpsetWriter {
    /// The timeout of an entry, or None if it has expired.
    fn timeout(&mut self, entry: &wire::Entry) -> Option<String> {
        let Some(until) = entry.until else { return Some(String::new()) };
        let left = until.saturating_sub(self.now);
        if left > LONGEST_TIMEOUT {
            self.lost.note("lasts longer than ipset can count, so it will end in 24 days");
        }
        (left > 0).then(|| format!(" timeout {}", left.min(LONGEST_TIMEOUT)))
    }
}

/// Splits a prefix of length 0, which no set of ipset accepts, into halves.
fn halves(target: Target) -> Vec<Target> {
    match target {
        Target::V4(all) if all.length() == 0 => {
            [all.first(), all.last()].map(|end| Target::V4(Prefix::covering(end, 1))).to_vec()
        }
        Target::V6(all) if all.length() == 0 => {
            [all.first(), all.last()].map(|end| Target::V6(Prefix::covering(end, 1))).to_vec()
        }
        Target::V4(_) | Target::V6(_) => vec![target],
    }
}

/// Formats a note as a comment of at most `most` bytes, and notes any loss.
pub fn comment(note: Option<&str>, most: usize, lost: &mut LostDetails) -> String {
    let Some(note) = note else { return String::new() };
    let mut text = note.replace('"', "'");
    if text != note {
        lost.note("has a note with \", which became '");
    }
    if text.len() > most {
        let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        lost.note(format!("has a note of more than {most} bytes, which was cut"));
    }
    if text.is_empty() { String::new() } else { format!(" comment \"{text}\"") }
}

/// Splits an element into the part before its comment, and the comment.
pub fn without_comment(element: &str) -> (&str, Option<&str>) {
    match element.split_once(" comment \"") {
        Some((rest, comment)) => {
            (rest, Some(comment.rsplit_once('"').map_or(comment, |(comment, _)| comment)))
        }
        None => (element, None),
    }
}
