//! What comes together while a list is read: targets, and what was not understood, in no more room than it may take.

use std::path::Path;
use std::sync::Arc;

use filter_common::target::{Span, Target};

use super::ListFile;
use crate::source::Targets;
use crate::source::format::{ErrorPage, Format, Lack};
use crate::source::rejected::{Reason, Rejected};
use crate::source::special::{self, Special};
use crate::text::printable;

/// How many of the lines that were not understood are kept, to be shown to somebody.
pub const KEPT: usize = 100;

/// More bytes of its beginning than these are not shown.
const MOST_QUOTED: usize = 400;

/// What a list ends with that was not cut within a line; an object or a document, too.
const ENDS: [u8; 4] = *b"\n\r}]";

/// Was a list that ends with this byte cut within a line, or does its last line lack an end?
#[must_use]
pub fn is_open_end(last: u8) -> bool {
    !ENDS.contains(&last)
}

/// A list that is being read.
pub struct Gathering {
    path: Arc<Path>,
    list: ListFile,
    understood: u64,
    /// As many targets as it may have.
    most: usize,
    /// So many may be in memory, repetitions among them.
    room: usize,
    special: Special,
    // The first line that was not understood, to guess what the file is.
    beginning: Vec<u8>,
    // Was reading stopped before the end?
    is_stopped: bool,
    // Is there something in the middle of it that ends lines elsewhere?
    has_return: bool,
}

impl Gathering {
    /// Of what is called `path`, of at most so many targets.
    pub fn new(path: &Path, most: u64, special: Special) -> Self {
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

    /// The number of targets, repetitions included, that may be in memory.
    pub const fn room(&self) -> usize {
        self.room
    }

    /// Removes repetitions. Returns the number of targets.
    pub fn sorted(&mut self) -> usize {
        self.list.targets.sort();
        self.list.targets.len()
    }

    /// Notes that reading stops before the end, if it does.
    pub fn cut_if(&mut self, is_stopped: bool) {
        self.is_stopped |= is_stopped;
    }

    /// Rejects all targets of this part. `content` is shown of each of the first ones.
    pub fn reject_all(&mut self, content: &[u8], reason: Reason) {
        let count = self.understood;
        (self.understood, self.list.targets) = (0, Targets::default());
        // `nft -j` writes one line.
        (0..count).for_each(|_| self.reject(1, content, reason));
    }

    /// What follows is called so, and has this form.
    pub fn begin(&mut self, path: Arc<Path>, format: Format) {
        self.path = path;
        self.list.format = format;
    }

    /// Notes how the file begins.
    pub fn note_beginning(&mut self, head: &[u8]) {
        let text = String::from_utf8_lossy(&head[..head.len().min(MOST_QUOTED)]);
        let words: Vec<_> = text.split_whitespace().collect();
        self.list.beginning =
            if words.is_empty() { String::new() } else { printable::word(&words.join(" ")) };
        self.list.page = ErrorPage::recognise(head);
    }

    /// Notes its last byte.
    pub fn note_end(&mut self, last: u8) {
        self.list.has_open_end = is_open_end(last);
    }

    /// It names this address, which needs no more thought.
    #[inline]
    pub fn address(&mut self, address: u32) {
        self.list.targets.addresses.push(address);
        self.understood += 1;
    }

    /// It names this /64.
    #[inline]
    pub fn net64(&mut self, net: u64) {
        self.list.targets.nets64.push(net);
        self.understood += 1;
    }

    /// This line names this, or was not understood. `content` is shown of it.
    pub fn take(&mut self, line: u64, content: &[u8], said: Result<Span, Reason>) {
        match said {
            Ok(span) if span.into_iter().any(|target| self.special.doubts(target)) => {
                self.reject(line, content, Reason::Wide);
            }
            Ok(span) => {
                self.understood += 1;
                span.into_iter().for_each(|target| self.list.targets.push(target));
            }
            Err(reason) => self.reject(line, content, reason),
        }
    }

    fn reject(&mut self, line: u64, content: &[u8], reason: Reason) {
        if self.list.rejected_count == 0 {
            self.beginning = content.iter().copied().take(16).collect();
            self.has_return = content.trim_ascii().contains(&b'\r');
        }
        self.list.rejected_count += 1;
        self.list.unfit += u64::from(reason.is_unfit());
        if self.list.rejected.len() < KEPT {
            self.list.rejected.push(Rejected::new(&self.path, line, content, reason));
        }
    }

    /// This is missing of it; the first of several counts.
    pub fn lacks(&mut self, lack: Option<Lack>) {
        self.list.lack = self.list.lack.or(lack);
    }

    /// It cannot be read as it is meant to be, and why.
    pub fn looks(&mut self, why: Option<&str>) {
        if let Some(why) = why {
            self.list.looks = why.to_owned().into();
        }
    }

    /// Are there more targets than there may be? What is said twice counts once, so it is looked at closely, and that not
    /// more often than every time a quarter of all has come.
    pub fn is_full(&mut self) -> bool {
        if self.list.targets.len() <= self.room {
            return false;
        }
        self.list.targets.sort();
        self.list.targets.len() > self.most
    }

    /// A part of it, to be gathered beside and joined.
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

    /// A part, without these.
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

    /// All of it.
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

/// Of a file that is one line to everybody but whoever wrote it.
const RETURNS: &str = ": its lines seem to end with CR only, so save it with LF";

/// What a file is that begins like this and holds no target.
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
