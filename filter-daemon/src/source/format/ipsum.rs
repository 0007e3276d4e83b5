//! Reads lines with a target and its score, separated by a tab or blanks, as in stamparm/ipsum. The score is
//! the number of lists that contain the target.

use super::{ReadOptions, RowReader};
use crate::source::line::{self, Said};
use crate::source::rejected::RejectReason;
use crate::text::lines::{Content, Line};

pub struct Ipsum {
    /// Lines with lower scores are left out.
    least: Option<u32>,
}

impl Ipsum {
    /// Prepares to read as `how` says.
    pub fn new(how: &ReadOptions) -> Self {
        Self { least: how.min_score }
    }
}

impl RowReader for Ipsum {
    fn read<'a>(&mut self, line: &Line<'a>) -> Said<'a> {
        let content = match line.content() {
            Content::Nothing => return None,
            Content::TooLong(content) => return Some((content, Err(RejectReason::TooLong))),
            Content::Says(content) => content,
        };
        let (target, score) = parted(content);
        let score = match (score, self.least) {
            ([], None) => return Some((content, line::target(target))),
            (score, _) => number(score),
        };
        match (score, self.least) {
            (None, _) => Some((content, line::target(target).and(Err(RejectReason::NoScore)))),
            (Some(score), Some(least)) if score < u64::from(least) => match line::target(target) {
                Ok(_) => None,
                error => Some((content, error)),
            },
            (Some(_), _) => Some((content, line::target(target))),
        }
    }
}

/// True if this may be a line with a score.
pub fn could_be(line: &[u8]) -> bool {
    let (target, score) = parted(line);
    number(score).is_some() && line::target(target).is_ok()
}

fn parted(content: &[u8]) -> (&[u8], &[u8]) {
    let end = content.iter().position(u8::is_ascii_whitespace).unwrap_or(content.len());
    (&content[..end], content[end..].trim_ascii())
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}
