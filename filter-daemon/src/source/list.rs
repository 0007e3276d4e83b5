//! Reads a list file in any of the supported formats.

mod gathering;

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use self::gathering::ListBuilder;
pub use self::gathering::is_open_end;
use super::ahead::ahead;
use super::file::FileError;
use super::format::{self, ErrorPage, Format, Lack, ReadOptions, RowReader, allowing, head, nft};
use super::input::ListInput;
use super::limits::{Doubt, Limits, LineCounts, SourceFinding};
use super::line;
use super::own_addresses::own_addresses;
use super::parts::{self, FolderParts};
use super::patience::ReadProgress;
use super::rejected::{RejectReason, RejectedLine};
use super::remarks::Remarks;
use super::{Targets, net64, quad};
use crate::text::lines::Lines;

/// The content of a list file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFile {
    /// The targets that the list names.
    pub targets: Targets,
    /// The number of lines that are neither blank nor comments.
    pub lines: u64,
    /// The first hundred lines that were rejected.
    pub rejected: Vec<RejectedLine>,
    /// The number of rejected lines.
    pub rejected_count: u64,
    /// The number of rejected lines that are understood but not supported, or incomplete. They are no sign of
    /// damage.
    pub unfit: u64,
    /// The number of targets that were removed, or reduced, because they contain special ranges.
    pub special: u64,
    /// True if there are more targets than allowed. The others were not read.
    pub is_cut: bool,
    /// The format of the list, or of the last file in a folder.
    pub format: Format,
    /// The missing part of an incomplete list.
    pub lack: Option<Lack>,
    /// Remarks about the database that the list was selected from.
    pub remarks: Remarks,
    /// A guess at the kind of file, if no line is a target. Written to follow the beginning of a sentence.
    pub looks: Cow<'static, str>,
    /// Files of a folder that were not read, such as hidden files and editors' backups.
    pub left_out: Vec<String>,
    /// The kind of page, if the file is not a list.
    pub page: Option<ErrorPage>,
    /// The beginning of the file, in printable form.
    pub beginning: String,
    /// True if the last line has no line end.
    pub has_open_end: bool,
}

impl ListFile {
    /// Counts another rejected line.
    fn reject(&mut self, line: RejectedLine) {
        self.lines += 1;
        self.rejected_count += 1;
        self.unfit += u64::from(line.reason.is_unfit());
        if self.rejected.len() < gathering::KEPT {
            self.rejected.push(line);
        }
    }

    /// The counts of this list, for the limits.
    #[must_use]
    pub fn seen(&self) -> SourceFinding {
        SourceFinding::Lines(LineCounts {
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

    /// Marks the list as sent by a server to this host with this content type.
    #[must_use]
    pub fn fetched(self, content_type: Option<&str>) -> Self {
        let page = self.page.or_else(|| ErrorPage::of_fetched(&self.targets, content_type, own_addresses));
        Self { page, ..self }
    }

    /// Describes the file as far as `doubt` does not. For fetched lists the beginning is quoted. Files are
    /// not quoted, because they may be secret and other users read this message.
    #[must_use]
    pub fn described(&self, doubt: Doubt, is_fetched: bool) -> Cow<'_, str> {
        if let (Doubt::NothingChosen { .. }, Some(absent)) = (doubt, &self.remarks.absent) {
            return format!("; {absent}").into();
        }
        let looks = if matches!(doubt, Doubt::NoList(_)) { "" } else { &*self.looks };
        let is_quoted = is_fetched && matches!(doubt, Doubt::NoList(_) | Doubt::Rejected { .. });
        if is_quoted { format!("{looks}; it begins with {}", self.beginning).into() } else { looks.into() }
    }
}

/// Reads a list file or a folder of them, up to the limits of bytes and targets.
///
/// A line that is not a target is skipped and recorded: one mistake must not unblock all other entries.
///
/// # Errors
/// If a file cannot be read or is too large.
pub fn read(
    path: &Path,
    limits: &Limits,
    how: &ReadOptions,
    progress: ReadProgress,
) -> Result<ListFile, FileError> {
    read_opened(path, ListInput::open(path, limits.most_bytes(), progress)?, limits, how)
}

/// Reads a list from an open input that is called `path`.
///
/// # Errors
/// If the input cannot be read.
pub fn read_opened(
    path: &Path,
    input: ListInput,
    limits: &Limits,
    how: &ReadOptions,
) -> Result<ListFile, FileError> {
    let (left_out, unfinished) = (input.left_out(), input.unfinished());
    let list = ahead(input, |input| parse(path, input, limits.max_entries, how))?;
    let mut list = ListFile { left_out, ..list };
    for line in unfinished.take() {
        list.has_open_end = true;
        list.reject(line);
    }
    Ok(list)
}

/// Reads a list of at most `most` targets from `input`, which is called `path`. Anything after them is not
/// read.
///
/// # Errors
/// If the input cannot be read.
pub fn parse(path: &Path, input: impl Read, most: u64, how: &ReadOptions) -> Result<ListFile, FileError> {
    let mut list = ListReader { gathering: ListBuilder::new(path, most, how.special), how };
    list.read(path, input).map_err(|error| FileError::new(path, error))?;
    Ok(list.gathering.finish())
}

struct ListReader<'a> {
    gathering: ListBuilder,
    how: &'a ReadOptions,
}

impl ListReader<'_> {
    fn read(&mut self, path: &Path, input: impl Read) -> io::Result<()> {
        let mut input = LastByte { input, last: b'\n' };
        let head = head::read(&mut input)?;
        if !parts::begins(&head) {
            self.gathering.note_beginning(&head);
            self.one(path.into(), &head, (&head[..]).chain(&mut input))?;
            self.gathering.note_end(input.last);
            return Ok(());
        }
        let mut parts = FolderParts::new((&head[..]).chain(input));
        while let Some(name) = parts.begin_next()? {
            let head = head::read(&mut parts)?;
            self.one(path.join(name).into(), &head, (&head[..]).chain(&mut parts))?;
            if self.gathering.sort_if_full() {
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

    /// Nearly every line of nearly every list is a plain address, so the fast parsers are tried first.
    fn plain(&mut self, mut lines: Lines<impl Read>) -> io::Result<()> {
        let (list, allows) = (&mut self.gathering, self.how.allows);
        while let Some(line) = lines.read()? {
            if let Some(address) = quad::parse(line.bytes) {
                list.address(address);
            } else if let Some(net) = net64::parse(line.bytes) {
                list.net64(net);
            } else if let Some((content, said)) = line::read(&line) {
                let said = said.map_err(|reason| if allows { reason.to_allow() } else { reason });
                list.take(line.number, content, said);
            }
            if list.sort_if_full() {
                break;
            }
        }
        Ok(())
    }

    /// Reads sets of ipset. The exceptions of a set do not apply to entries of other files.
    fn sets(&mut self, input: impl Read) -> io::Result<()> {
        let (mut sets, mut part) = (format::Ipset::new(self.how), self.gathering.part());
        rows(input, &mut sets, &mut part)?;
        self.gathering.join(part, sets.exceptions());
        Ok(())
    }

    /// Reads an nftables document. Rules follow the sets that they use, so each set is kept separate until
    /// the end.
    fn document(&mut self, input: impl Read) -> io::Result<()> {
        let (mut sets, mut accepted) = (NftSets { sets: Vec::new(), held: 0 }, Vec::new());
        let list = &mut self.gathering;
        let lack = nft::read(input, |part| {
            match part {
                // The keys of a map are not a list.
                nft::NftPart::Element(element) if element.set.holds != nft::NftContents::Mappings => {
                    return sets.take(element, list);
                }
                nft::NftPart::Rule(rule)
                    if rule.verdict == Some(nft::NftVerdict::Accept) && !rule.is_negated =>
                {
                    accepted.extend(rule.sets.iter().map(|set| (rule.table.clone(), set.clone())));
                }
                nft::NftPart::Element(_) | nft::NftPart::Set(_) | nft::NftPart::Rule(_) => {}
            }
            false
        })?;
        // The output of `nft -j list set` is one set without rules.
        let is_unruled = lack.is_some() && sets.sets.len() > 1;
        for (set, mut part) in sets.sets {
            let reason = if is_unruled { RejectReason::Cut } else { RejectReason::Allows };
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

/// The sets of an nftables document.
struct NftSets {
    sets: Vec<((nft::NftTable, String), ListBuilder)>,
    /// The number of targets, including repetitions.
    held: usize,
}

impl NftSets {
    /// Adds an element to its set. Returns true if the list is full.
    fn take(&mut self, element: nft::Element<'_>, list: &mut ListBuilder) -> bool {
        let nft::Element { line, shown, span, set, .. } = element;
        // Nearly always it belongs to the last set.
        let is_it = |(of, _): &((nft::NftTable, String), ListBuilder)| of.1 == set.name && of.0 == set.table;
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

fn rows(input: impl Read, rows: &mut impl RowReader, list: &mut ListBuilder) -> io::Result<()> {
    let mut lines = Lines::new(input);
    while let Some(line) = lines.read()? {
        if let Some((content, said)) = rows.read(&line) {
            list.take(line.number, content, said);
        }
        if list.sort_if_full() {
            return Ok(());
        }
    }
    list.lacks(rows.lack());
    list.looks(rows.looks());
    Ok(())
}

#[cfg(test)]
mod tests;
