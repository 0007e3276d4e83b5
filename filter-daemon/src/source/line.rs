//! A line of a list, wherever it comes from: a target, or what is wrong with it.

use std::net::{IpAddr, Ipv4Addr};

use filter_common::target::{Span, Target};

use super::quad;
use super::rejected::Reason;
use crate::text::lines::{Content, Line};

/// What a line says, comment and blanks aside, and what that names or is wrong with it; none if it says nothing.
pub type Said<'a> = Option<(&'a [u8], Result<Span, Reason>)>;

/// Reads a line with a target on it.
pub fn read<'a>(line: &Line<'a>) -> Said<'a> {
    match line.content() {
        Content::Nothing => None,
        Content::TooLong(content) => Some((content, Err(Reason::TooLong))),
        Content::Says(content) => Some((content, whole(&String::from_utf8_lossy(content)))),
    }
}

/// What a word names, blanks aside.
pub fn target(word: &[u8]) -> Result<Span, Reason> {
    let word = word.trim_ascii();
    if let Some(address) = quad::parse(word) {
        return Ok(Target::from(IpAddr::from(Ipv4Addr::from_bits(address))).into());
    }
    String::from_utf8_lossy(word).parse().map_err(Reason::NoTarget)
}

fn whole(content: &str) -> Result<Span, Reason> {
    content.parse().map_err(|error| {
        let word = content.split([' ', '\t', ',']).next().unwrap_or(content);
        let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| content.starts_with(beginning));
        if begins(&["Include ", "Include\t"]) {
            Reason::Include
        } else if begins(&["tcp|", "udp|", "icmp|"]) {
            Reason::Ports
        } else if word != content && word.parse::<Span>().is_ok() {
            Reason::More
        } else {
            Reason::NoTarget(error)
        }
    })
}
