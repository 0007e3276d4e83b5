//! Collects targets and rejected lines while a list is read, within a memory limit.

use std::path::Path;
use std::sync::Arc;

use filter_common::target::{Span, Target};

use super::ListFile;
use crate::source::Targets;
use crate::source::format::{ErrorPage, Format, Lack};
use crate::source::rejected::{RejectReason, RejectedLine};
use crate::source::special::{self, SpecialRanges};
use crate::text::printable;

/// The number of rejected lines that are kept to be shown.
pub const KEPT: usize = 100;

/// The most bytes of a file's beginning that are shown.
const MOST_QUOTED: usize = 400;

/// The last byte of a list that was not truncated within a line, an object or a document.
const ENDS: [u8; 4] = *b"\n\r}]";

/// True if a list with this last byte was truncated within a line or lacks its last line end.
#[must_use]
pub fn is_open_end(last: u8) -> bool {
    !ENDS.contains(&last)
}

/// A list that is being read.
pub struct ListBuilder {
    path: Arc<Path>,
    list: ListFile,
    understood: u64,
    /// The most targets of the list.
    most: usize,
    /// The most targets in memory, including repetitions.
    room: usize,
    special: SpecialRanges,
    // The beginning of the first rejected line, from which the kind of file is guessed.
    beginning: Vec<u8>,
    // True if reading stopped before the end.
    is_stopped: bool,
    // True if the line contains a carriage return, which ends lines on other systems.
    has_return: bool,
}

impl ListBuilder {
    /// Prepares for a list called `path` with at most `most` targets.
    pub fn new(path: &Path, most: u64, special: SpecialRanges) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Self {
            path: path.into(),
            list: ListFile::default(),
            understood: 0,
            most,
            room: most.saturating_add(most / 4),
            special,
            beginning: Vec::new(),
            is_stopped: false,
            has_return: false,
        }
    }

    /// The number of targets, including repetitions, that may be in memory.
    pub const fn room(&self) -> usize {
        self.room
    }

    /// Removes repetitions. Returns the number of targets.
    pub fn sorted(&mut self) -> usize {
        self.list.targets.sort();
        self.list.targets.len()
    }

    /// Records whether reading stopped before the end.
    pub fn cut_if(&mut self, is_stopped: bool) {
        self.is_stopped |= is_stopped;
    }

    /// Rejects all targets of this part. `content` is shown for each of the first ones.
    pub fn reject_all(&mut self, content: &[u8], reason: RejectReason) {
        let count = self.understood;
        (self.understood, self.list.targets) = (0, Targets::default());
        // The output of `nft -j` has only one line.
        (0..count).for_each(|_| self.reject(1, content, reason));
    }

    /// Begins a file with this name and format.
    pub fn begin(&mut self, path: Arc<Path>, format: Format) {
        self.path = path;
        self.list.format = format;
    }

    /// Records the beginning of the file.
    pub fn note_beginning(&mut self, head: &[u8]) {
        let text = String::from_utf8_lossy(&head[..head.len().min(MOST_QUOTED)]);
        let words: Vec<_> = text.split_whitespace().collect();
        self.list.beginning =
            if words.is_empty() { String::new() } else { printable::word(&words.join(" ")) };
        self.list.page = ErrorPage::recognise(head);
    }

    /// Records the last byte of the file.
    pub fn note_end(&mut self, last: u8) {
        self.list.has_open_end = is_open_end(last);
    }

    /// Adds a single IPv4 address, which needs no further checks.
    #[inline]
    pub fn address(&mut self, address: u32) {
        self.list.targets.addresses.push(address);
        self.understood += 1;
    }

    /// Adds a /64, which needs no further checks.
    #[inline]
    pub fn net64(&mut self, net: u64) {
        self.list.targets.nets64.push(net);
        self.understood += 1;
    }

    /// Adds the addresses that a line names, or rejects the line. `content` is shown for a rejected line.
    pub fn take(&mut self, line: u64, content: &[u8], said: Result<Span, RejectReason>) {
        match said {
            Ok(span) if span.into_iter().any(|target| self.special.doubts(target)) => {
                self.reject(line, content, RejectReason::Wide);
            }
            Ok(span) => {
                self.understood += 1;
                span.into_iter().for_each(|target| self.list.targets.push(target));
            }
            Err(reason) => self.reject(line, content, reason),
        }
    }

    fn reject(&mut self, line: u64, content: &[u8], reason: RejectReason) {
        if self.list.rejected_count == 0 {
            self.beginning = content.iter().copied().take(16).collect();
            self.has_return = content.trim_ascii().contains(&b'\r');
        }
        self.list.rejected_count += 1;
        self.list.unfit += u64::from(reason.is_unfit());
        if self.list.rejected.len() < KEPT {
            self.list.rejected.push(RejectedLine::new(&self.path, line, content, reason));
        }
    }

    /// Records a missing part. The first of several counts.
    pub fn lacks(&mut self, lack: Option<Lack>) {
        self.list.lack = self.list.lack.or(lack);
    }

    /// Records why the list cannot be read as configured.
    pub fn looks(&mut self, why: Option<&str>) {
        if let Some(why) = why {
            self.list.looks = why.to_owned().into();
        }
    }

    /// True if there are more targets than allowed. Repetitions count once, so the targets are sorted, but at
    /// most each time a quarter of the limit was added.
    pub fn sort_if_full(&mut self) -> bool {
        if self.list.targets.len() <= self.room {
            return false;
        }
        self.list.targets.sort();
        self.list.targets.len() > self.most
    }

    /// An empty part, which is filled separately and joined later.
    pub fn part(&self) -> Self {
        let (path, list) = (self.path.clone(), ListFile { format: self.list.format, ..ListFile::default() });
        Self {
            path,
            list,
            understood: 0,
            beginning: Vec::new(),
            is_stopped: false,
            has_return: false,
            ..*self
        }
    }

    /// Adds a part, without these exceptions.
    pub fn join(&mut self, mut part: Self, exceptions: &[Target]) {
        part.list.targets.sort();
        special::except(&mut part.list.targets, exceptions);
        self.list.targets.extend(&part.list.targets);
        self.understood += part.understood;
        if self.list.rejected_count == 0 {
            (self.beginning, self.has_return) = (part.beginning, part.has_return);
        }
        self.list.rejected_count += part.list.rejected_count;
        self.list.unfit += part.list.unfit;
        let room = KEPT - self.list.rejected.len();
        self.list.rejected.extend(part.list.rejected.into_iter().take(room));
        self.lacks(part.list.lack);
    }

    /// Sorts the targets and completes the list.
    pub fn finish(self) -> ListFile {
        let mut list = self.list;
        list.lines = self.understood + list.rejected_count;
        list.targets.sort();
        list.is_cut = self.is_stopped || list.targets.len() > self.most;
        list.targets.truncate(self.most);
        if !self.special.included {
            list.special = special::take_out(&mut list.targets);
        }
        let is_json = self.beginning.starts_with(b"{") && !list.format.is_plain();
        if self.understood == 0 && list.rejected_count > 0 && !is_json {
            let looks = match looks(&self.beginning) {
                "" if self.has_return => RETURNS,
                looks => looks,
            };
            list.looks = if looks.is_empty() { list.looks } else { looks.into() };
        }
        if list.looks.is_empty() {
            list.looks = list.format.taken_for().into();
        }
        list
    }
}

/// The message for a file whose line ends only its writer recognises.
const RETURNS: &str = ": its lines seem to end with CR only, so save it with LF";

/// A guess at the kind of a file that begins like this and has no target.
fn looks(beginning: &[u8]) -> &'static str {
    match beginning {
        [b'<', ..] => ": it looks like HTML, so the download probably failed",
        [b'{' | b'[', ..] => ": it looks like JSON, of which only JSON lines and nft output are supported",
        [0x1f, 0x8b, ..] | [b'P', b'K', ..] => ": it looks compressed, so unpack it first",
        [0, ..] => ": it looks binary",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [_, 0, ..] => ": it looks like UTF-16, so save it as UTF-8",
        _ => "",
    }
}
