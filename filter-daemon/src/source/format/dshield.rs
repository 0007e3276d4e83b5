//! Reads lines with first address, last address and mask, separated by tabs or blanks, followed by anything,
//! as in DShield's block.txt.

use std::net::{IpAddr, Ipv4Addr};

use filter_common::target::Span;

use super::RowReader;
use crate::source::line::Said;
use crate::source::rejected::RejectReason;
use crate::text::lines::{Content, Line};

pub struct Dshield;

impl RowReader for Dshield {
    fn read<'a>(&mut self, line: &Line<'a>) -> Said<'a> {
        let content = match line.content() {
            Content::Nothing => return None,
            Content::TooLong(content) => return Some((content, Err(RejectReason::TooLong))),
            Content::Says(content) => content,
        };
        // Only the line with the column names begins with this word.
        let is_header = content.get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"start"));
        (!is_header).then(|| (content, block(content).unwrap_or(Err(RejectReason::Form))))
    }
}

/// True if this may be such a line.
pub fn could_be(line: &[u8]) -> bool {
    matches!(block(line), Some(Ok(_)))
}

/// The range of the line, if it is one. An error if its mask contradicts its ends.
fn block(content: &[u8]) -> Option<Result<Span, RejectReason>> {
    let mut words = std::str::from_utf8(content).ok()?.split_ascii_whitespace();
    let [first, last]: [Ipv4Addr; 2] = [words.next()?.parse().ok()?, words.next()?.parse().ok()?];
    let length = length(words.next()?)?;
    let host = u32::MAX.checked_shr(length.into()).unwrap_or(0);
    if first.to_bits() & host != 0 || last.to_bits() != first.to_bits() | host {
        return Some(Err(RejectReason::Mask));
    }
    Some(Span::new(IpAddr::V4(first), IpAddr::V4(last)).map_err(RejectReason::NoTarget))
}

/// Parses `24` or `255.255.255.0`.
fn length(mask: &str) -> Option<u8> {
    if let Ok(length) = mask.parse::<u8>() {
        return (length <= 32).then_some(length);
    }
    let mask = mask.parse::<Ipv4Addr>().ok()?.to_bits();
    let length = mask.leading_ones();
    (mask.count_ones() == length).then_some(length as u8)
}
