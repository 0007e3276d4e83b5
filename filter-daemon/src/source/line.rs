//! Parses a line of a list of any format: a target, or the error in it.

use std::net::{IpAddr, Ipv4Addr};

use filter_common::target::{Span, Target};

use super::quad;
use super::rejected::RejectReason;
use crate::text::lines::{Content, Line};

/// The content of a line without comment and blanks, with the addresses that it names or the error in it.
/// None for a line without content.
pub type Said<'a> = Option<(&'a [u8], Result<Span, RejectReason>)>;

/// Parses a line with a target.
pub fn read<'a>(line: &Line<'a>) -> Said<'a> {
    match line.content() {
        Content::Nothing => None,
        Content::TooLong(content) => Some((content, Err(RejectReason::TooLong))),
        Content::Says(content) => Some((content, whole(&String::from_utf8_lossy(content)))),
    }
}

/// Parses a target, with optional blanks around it.
pub fn target(word: &[u8]) -> Result<Span, RejectReason> {
    let word = word.trim_ascii();
    if let Some(address) = quad::parse(word) {
        return Ok(Target::from(IpAddr::from(Ipv4Addr::from_bits(address))).into());
    }
    String::from_utf8_lossy(word).parse().map_err(RejectReason::NoTarget)
}

fn whole(content: &str) -> Result<Span, RejectReason> {
    content.parse().map_err(|error| {
        let word = content.split([' ', '\t', ',']).next().unwrap_or(content);
        let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| content.starts_with(beginning));
        if begins(&["Include ", "Include\t"]) {
            RejectReason::Include
        } else if begins(&["tcp|", "udp|", "icmp|"]) {
            RejectReason::Ports
        } else if word != content && word.parse::<Span>().is_ok() {
            RejectReason::More
        } else {
            RejectReason::NoTarget(error)
        }
    })
}
