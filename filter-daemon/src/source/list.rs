//! A list file: what it names, in any of the forms that lists come in.

mod gathering;

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use self::gathering::Gathering;
pub use self::gathering::is_open_end;
use super::ahead::ahead;
use super::file::FileError;
use super::format::{self, ErrorPage, Format, How, Lack, Rows, allowing, head, nft};
use super::input::Input;
use super::limits::{Doubt, Limits, LinesSeen, Seen};
use super::line;
use super::own_addresses::own_addresses;
use super::parts::{self, Parts};
use super::patience::Progress;
use super::rejected::{Reason, Rejected};
use super::remarks::Remarks;
use super::{Targets, net64, quad};
use crate::text::lines::Lines;

/// What a list file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFile {
    /// The targets it names.
    pub targets: Targets,
    /// How many lines are neither blank nor comments.
    pub lines: u64,
    /// The first hundred of the lines that were not understood.
    pub rejected: Vec<Rejected>,
    /// How many there are in all.
    pub rejected_count: u64,
    /// How many of these are well understood, and nothing that a list can have, or not yet: no sign that it is spoilt.
    pub unfit: u64,
    /// How many of the targets that it names are special ranges, or in part, and were taken out.
    pub special: u64,
    /// There are more targets than the list may have, and what follows was not read.
    pub is_cut: bool,
    /// What it was read as; of a folder, its last file.
    pub format: Format,
    /// What is missing of it.
    pub lack: Option<Lack>,
    /// What is to be told of the database that it was chosen out of.
    pub remarks: Remarks,
    /// What it seems to be, if it has lines and not one target; to follow the rest of a sentence.
    pub looks: Cow<'static, str>,
    /// What of a folder was not read: hidden files, editors' backups.
    pub left_out: Vec<String>,
    /// What it is, if it is no list.
    pub page: Option<ErrorPage>,
    /// How it begins, fit to be shown.
    pub beginning: String,
    /// Does it end without the end of a line?
    pub has_open_end: bool,
}

impl ListFile {
    /// One line more that was not taken.
    fn reject(&mut self, line: Rejected) {
        self.lines += 1;
        self.rejected_count += 1;
        self.unfit += u64::from(line.reason.is_unfit());
        if self.rejected.len() < gathering::KEPT {
            self.rejected.push(line);
        }
    }

    /// The same in counts.
    #[must_use]
    pub fn seen(&self) -> Seen {
        Seen::Lines(LinesSeen {
            lines: self.lines,
            rejected: self.rejected_count,
            unfit: self.unfit,
            targets: self.targets.len() as u64,
            is_cut: self.is_cut,
            lack: self.lack,
            page: self.page,
            has_open_end: self.has_open_end,
        })
    }

    /// The same, which a server sent to this host, by its own word as something of this type.
    #[must_use]
    pub fn fetched(self, content_type: Option<&str>) -> Self {
        let page = self.page.or_else(|| ErrorPage::of_fetched(&self.targets, content_type, own_addresses));
        Self { page, ..self }
    }

    /// What it seems to be, as far as `doubt` does not say that; of what was fetched also how it begins. Files may be secret, and
    /// others are told this.
    #[must_use]
    pub fn described(&self, doubt: Doubt, is_fetched: bool) -> Cow<'_, str> {
        let looks = if matches!(doubt, Doubt::NoList(_)) { "" } else { &*self.looks };
        let is_quoted = is_fetched && matches!(doubt, Doubt::NoList(_) | Doubt::Rejected { .. });
        if is_quoted { format!("{looks}; it begins with {}", self.beginning).into() } else { looks.into() }
    }
}

/// Reads a list file, or a folder of them: at most as many bytes and targets as it may have.
///
/// A line that is no target is skipped and remembered: one slip must not unblock all the others.
///
/// # Errors
/// When the file cannot be read, or is too large.
pub fn read(path: &Path, limits: &Limits, how: &How, progress: Progress) -> Result<ListFile, FileError> {
    read_opened(path, Input::open(path, limits.most_bytes(), progress)?, limits, how)
}

/// The same of one that is open already, and called `path`.
///
/// # Errors
/// When the input fails.
pub fn read_opened(path: &Path, input: Input, limits: &Limits, how: &How) -> Result<ListFile, FileError> {
    let (left_out, unfinished) = (input.left_out(), input.unfinished());
    let list = ahead(input, |input| parse(path, input, limits.max_entries, how))?;
    let mut list = ListFile { left_out, ..list };
    unfinished.take().into_iter().for_each(|line| list.reject(line));
    Ok(list)
}

/// Reads a list of at most so many targets out of `input`, which is called `path`. What is beyond them is not read.
///
/// # Errors
/// When the input fails.
pub fn parse(path: &Path, input: impl Read, most: u64, how: &How) -> Result<ListFile, FileError> {
    let mut list = Reading { gathering: Gathering::new(path, most, how.special), how };
    list.read(path, input).map_err(|error| FileError::new(path, error))?;
    Ok(list.gathering.finish())
}

struct Reading<'a> {
    gathering: Gathering,
    how: &'a How,
}

impl Reading<'_> {
    fn read(&mut self, path: &Path, input: impl Read) -> io::Result<()> {
        let mut input = LastByte { input, last: b'\n' };
        let head = head::read(&mut input)?;
        if !parts::begins(&head) {
            self.gathering.note_beginning(&head);
            self.one(path.into(), &head, (&head[..]).chain(&mut input))?;
            self.gathering.note_end(input.last);
            return Ok(());
        }
        let mut parts = Parts::new((&head[..]).chain(input));
        while let Some(name) = parts.begin_next()? {
            let head = head::read(&mut parts)?;
            self.one(path.join(name).into(), &head, (&head[..]).chain(&mut parts))?;
            if self.gathering.is_full() {
                break;
            }
        }
        Ok(())
    }

    fn one(&mut self, path: Arc<Path>, head: &[u8], input: impl Read) -> io::Result<()> {
        let format = format::of(head, self.how);
        self.gathering.begin(path, format);
        match format {
            Format::Plain | Format::Firehol | Format::Spamhaus | Format::Ranges | Format::Csf => {
                self.plain(Lines::new(input))
            }
            Format::Nft => self.document(input),
            Format::Ipset => self.sets(input),
            Format::Ipsum => rows(input, &mut format::Ipsum::new(self.how), &mut self.gathering),
            Format::Csv => rows(input, &mut format::Csv::new(head, self.how), &mut self.gathering),
            Format::Dshield => rows(input, &mut format::Dshield, &mut self.gathering),
            Format::Json => rows(input, &mut format::Json::new(self.how), &mut self.gathering),
        }
    }

    /// Nearly every line of nearly every list is an address, and goes no further than its shape.
    fn plain(&mut self, mut lines: Lines<impl Read>) -> io::Result<()> {
        let list = &mut self.gathering;
        while let Some(line) = lines.read()? {
            if let Some(address) = quad::parse(line.bytes) {
                list.address(address);
            } else if let Some(net) = net64::parse(line.bytes) {
                list.net64(net);
            } else if let Some((content, said)) = line::read(&line) {
                list.take(line.number, content, said);
            }
            if list.is_full() {
                break;
            }
        }
        Ok(())
    }

    /// A set's exceptions are none of what other files name.
    fn sets(&mut self, input: impl Read) -> io::Result<()> {
        let (mut sets, mut part) = (format::Ipset::new(self.how), self.gathering.part());
        rows(input, &mut sets, &mut part)?;
        self.gathering.join(part, sets.exceptions());
        Ok(())
    }

    /// Rules come behind the sets that they use, so each set is gathered apart until the end.
    fn document(&mut self, input: impl Read) -> io::Result<()> {
        let (mut sets, mut accepted) = (Sets { sets: Vec::new(), held: 0 }, Vec::new());
        let list = &mut self.gathering;
        let lack = nft::read(input, |part| {
            match part {
                // The keys of a map are no list.
                nft::Part::Element(element) if element.set.holds != nft::Holds::Mappings => {
                    return sets.take(element, list);
                }
                nft::Part::Rule(rule) if rule.verdict == Some(nft::Verdict::Accept) && !rule.is_negated => {
                    accepted.extend(rule.sets.iter().map(|set| (rule.table.clone(), set.clone())));
                }
                nft::Part::Element(_) | nft::Part::Set(_) | nft::Part::Rule(_) => {}
            }
            false
        })?;
        // One set alone is what `nft -j list set` writes, which has no rules.
        let is_unruled = lack.is_some() && sets.sets.len() > 1;
        for (set, mut part) in sets.sets {
            let reason = if is_unruled { Reason::Cut } else { Reason::Allows };
            let is_allow = accepted.contains(&set) || allowing::is_exported_set(set.1.as_bytes());
            if !self.how.allows && (is_unruled || is_allow) {
                part.reject_all(set.1.as_bytes(), reason);
            }
            list.join(part, &[]);
        }
        list.lacks(lack);
        Ok(())
    }
}

/// The sets of a document of nftables.
struct Sets {
    sets: Vec<((nft::Table, String), Gathering)>,
    /// The number of targets, repetitions included.
    held: usize,
}

impl Sets {
    /// Puts an element to its set. Returns true if the list is full.
    fn take(&mut self, element: nft::Element<'_>, list: &mut Gathering) -> bool {
        let nft::Element { line, shown, span, set, .. } = element;
        // Nearly always it is the last one.
        let is_it = |(of, _): &((nft::Table, String), Gathering)| of.1 == set.name && of.0 == set.table;
        let at = self.sets.iter().rposition(is_it).unwrap_or_else(|| {
            self.sets.push(((set.table.clone(), set.name.clone()), list.part()));
            self.sets.len() - 1
        });
        self.sets[at].1.take(line, shown.as_bytes(), span);
        self.held += 1;
        if self.held > list.room() {
            self.held = self.sets.iter_mut().map(|(_, part)| part.sorted()).sum();
            list.cut_if(self.held > list.room());
        }
        self.held > list.room()
    }
}

/// Remembers the last byte that was read.
struct LastByte<R> {
    input: R,
    last: u8,
}

impl<R: Read> Read for LastByte<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.last = buffer[..read].last().copied().unwrap_or(self.last);
        Ok(read)
    }
}

fn rows(input: impl Read, rows: &mut impl Rows, list: &mut Gathering) -> io::Result<()> {
    let mut lines = Lines::new(input);
    while let Some(line) = lines.read()? {
        if let Some((content, said)) = rows.read(&line) {
            list.take(line.number, content, said);
        }
        if list.is_full() {
            return Ok(());
        }
    }
    list.lacks(rows.lack());
    list.looks(rows.looks());
    Ok(())
}

#[cfg(test)]
mod tests;
