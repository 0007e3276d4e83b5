//! Files that are not accepted: much of them is no target, or they are much shorter than they were.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::plan::Reader;
use super::prefix::Prefix;
use super::wanted::Time;

/// The largest decrease and the largest share of rubbish that a list accepts, in percent.
pub const LIMITS: [(u8, u8); 4] = [(100, 100), (50, 25), (10, 3), (90, 50)];

/// Shorter lists may shrink freely.
const LONG: usize = 100;

/// So long larger sizes count, and within a day only the first one.
const WEEK: Time = 7.0 * DAY;
const DAY: Time = 86_400.0;

/// What is in a file.
#[derive(Clone, Debug)]
pub struct Content {
    pub targets: Vec<Prefix>,
    /// The lines that are neither blank nor comments, and those of them that are no targets.
    pub lines: usize,
    pub rejected: usize,
    /// The last line has no end.
    pub is_open: bool,
    /// The same bytes have the same number.
    pub id: u64,
}

/// What was accepted of a list.
#[derive(Clone, Debug)]
pub struct Row {
    /// How many targets were named.
    pub size: usize,
    /// None if only a part was accepted, because nothing was there before. Such a list has no copy.
    pub id: Option<u64>,
    is_open: bool,
    /// Larger sizes, and until when.
    peaks: Vec<(usize, Time)>,
    pub copy: Copy,
}

/// The bytes of a list in the state directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copy {
    Whole,
    Damaged,
    Gone,
    /// The disk was full. The earlier record stays.
    Unsaved,
}

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Accept,
    TakePart,
    HoldBack,
}

impl Content {
    /// The content of this text, in which so many lines mean something, and so many do not.
    pub fn of(text: &str, mut targets: Vec<Prefix>, lines: usize, rejected: usize) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        targets.sort();
        targets.dedup();
        Self {
            targets,
            lines: lines + rejected,
            rejected,
            is_open: !text.ends_with('\n'),
            id: hasher.finish(),
        }
    }

    /// Decides whether a list takes this.
    pub fn judge(&self, (max_shrink, max_rejected): (u8, u8), before: Option<&Row>, now: Time) -> Verdict {
        let (size, had) = (self.targets.len(), before.map_or(0, |row| row.size));
        let recent = before.map_or(&[][..], |row| &row.peaks).iter().filter(|(_, until)| now - until < WEEK);
        let largest = recent.map(|(peak, _)| *peak).fold(had, usize::max);
        let is_rubbish = self.rejected * 100 > self.lines * usize::from(max_rejected);
        let is_emptied = size == 0 && had > 0 && max_shrink < 100;
        let is_cut = self.is_open
            && before.is_some_and(|row| row.id.is_some() && row.copy == Copy::Whole && !row.is_open)
            && size < had
            && had >= LONG;
        let is_short =
            largest >= LONG && largest.saturating_sub(size) * 100 > largest * usize::from(max_shrink);
        match (is_rubbish || is_emptied || is_cut || is_short, had == 0 && size > 0) {
            (false, _) => Verdict::Accept,
            (true, true) => Verdict::TakePart,
            (true, false) => Verdict::HoldBack,
        }
    }
}

impl Row {
    /// A list of which a part is in force.
    pub fn part(content: &Content) -> Self {
        let Content { is_open, .. } = *content;
        Self { size: content.targets.len(), id: None, is_open, peaks: Vec::new(), copy: Copy::Gone }
    }

    /// The list that was `before`, now that this is accepted. A running filterd writes again what is gone.
    pub fn accepted(content: &Content, before: Option<&Self>, now: Time, reader: Reader) -> Self {
        let (size, is_open) = (content.targets.len(), content.is_open);
        let known = before.filter(|before| before.id.is_some());
        let mut peaks = known.map_or_else(Vec::new, |known| known.peaks.clone());
        let had = known.map_or(0, |known| known.size);
        peaks.retain(|(peak, until)| now - until < WEEK && *peak > size.max(had));
        if had > size && peaks.last().is_none_or(|(_, until)| now - until >= DAY) {
            peaks.push((had, now));
        }
        let same = known.filter(|known| known.id == Some(content.id));
        let is_written = |copy: &Copy| reader == Reader::Running && *copy != Copy::Damaged;
        let copy = same.map(|same| same.copy).filter(|copy| !is_written(copy)).unwrap_or(Copy::Whole);
        Self { size, id: Some(content.id), is_open, peaks, copy }
    }

    /// So much time is over at once.
    pub fn lose(&mut self, seconds: f64) {
        self.peaks.iter_mut().for_each(|(_, until)| *until -= seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rubbish_and_short_files_are_refused() {
        let target = |number| Prefix::host(false, 0x0a00_0000 + number);
        let content = |size: u128, rejected, end: &str| {
            Content::of(&format!("{size}{end}"), (0..size).map(target).collect(), size as usize, rejected)
        };
        let row = Row::accepted(&content(200, 0, "\n"), None, 0.0, Reader::Running);
        let limits = (50, 25);
        assert_eq!(content(3, 2, "").judge(limits, None, 1.0), Verdict::TakePart);
        assert_eq!(content(0, 2, "").judge(limits, None, 1.0), Verdict::HoldBack);
        assert_eq!(content(300, 101, "\n").judge(limits, Some(&row), 1.0), Verdict::HoldBack);
        assert_eq!(content(99, 0, "\n").judge(limits, Some(&row), 1.0), Verdict::HoldBack);
        assert_eq!(content(100, 0, "").judge(limits, Some(&row), 1.0), Verdict::HoldBack);
        assert_eq!(content(100, 0, "\n").judge(limits, Some(&row), 1.0), Verdict::Accept);
        let halved = Row::accepted(&content(100, 0, "\n"), Some(&row), 1.0, Reader::Running);
        assert_eq!(content(99, 0, "\n").judge(limits, Some(&halved), 1.0), Verdict::HoldBack);
        assert_eq!(content(0, 0, "\n").judge((100, 100), Some(&halved), 1.0), Verdict::Accept);
    }
}
