//! Recognises the format of a list by its beginning: each line votes for a format that it may have, and the
//! majority decides.

use super::{Format, ReadOptions, csv, dshield, head, ipset, ipsum};
use crate::source::line;

/// The number of lines that vote.
const MOST_ASKED: usize = 500;

/// The format of a list that begins with `head`, unless it is configured.
pub fn of(head: &[u8], how: &ReadOptions) -> Format {
    if let Some(format) = how.format {
        return format;
    }
    let found = recognised(head);
    match (how.min_score, &how.column) {
        (Some(_), _) if found.is_plain() => Format::Ipsum,
        (_, Some(_)) if found != Format::Json => Format::Csv,
        _ => found,
    }
}

fn recognised(head: &[u8]) -> Format {
    if is_nft(head) {
        return Format::Nft;
    }
    let votes = head::lines(head).filter(|line| !head::is_comment(line)).take(MOST_ASKED).filter_map(vote);
    let mut counts = [0; Format::ALL.len()];
    votes.for_each(|format| counts[format as usize] += 1);
    // If several formats have equally many votes, the simplest one wins.
    let most = counts.iter().copied().max().unwrap_or_default();
    let winner = Format::ALL.into_iter().find(|format| counts[*format as usize] == most).unwrap_or_default();
    if most > 0 && winner != Format::Plain {
        return winner;
    }
    if most > 0 && counts[Format::Csf as usize] > 0 { Format::Csf } else { by_comments(head) }
}

/// The format that one line may have.
fn vote(line: &[u8]) -> Option<Format> {
    let content = line.split(|byte| matches!(byte, b'#' | b';')).next().unwrap_or_default().trim_ascii();
    if line::target(content).is_ok() {
        return Some(if content.contains(&b'-') { Format::Ranges } else { Format::Plain });
    }
    let could_be = [
        (Format::Csf, is_csf as fn(&[u8]) -> bool),
        (Format::Json, |line| line.starts_with(b"{") && line.ends_with(b"}")),
        (Format::Ipset, ipset::could_be),
        (Format::Ipsum, ipsum::could_be),
        (Format::Dshield, dshield::could_be),
        // A list in brackets is JSON, of which only objects are accepted.
        (Format::Csv, |line| !line.starts_with(b"[") && csv::could_be(line)),
    ];
    could_be.into_iter().find(|(_, could_be)| could_be(line)).map(|(format, _)| format)
}

fn is_csf(line: &[u8]) -> bool {
    [&b"Include "[..], b"tcp|", b"udp|", b"icmp|"].into_iter().any(|beginning| line.starts_with(beginning))
}

/// Recognises nft documents. The whole document may be on one line.
fn is_nft(head: &[u8]) -> bool {
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    let document = head.trim_ascii_start().strip_prefix(b"{");
    document.is_some_and(|rest| rest.trim_ascii_start().starts_with(b"\"nftables\""))
}

/// Distinguishes plain formats by the publisher's comments.
fn by_comments(head: &[u8]) -> Format {
    let says = |words: &[&str]| {
        let comments = head::lines(head).filter(|line| line.iter().any(|byte| matches!(byte, b'#' | b';')));
        comments.take(MOST_ASKED).any(|line| words.iter().any(|word| has(line, word.as_bytes())))
    };
    if says(&["firehol", "FireHOL", "ipv4 hash:"]) {
        Format::Firehol
    } else if says(&["Spamhaus", "; SBL"]) {
        Format::Spamhaus
    } else if says(&["lfd: ", "configserver.com", "do not delete"]) {
        Format::Csf
    } else {
        Format::Plain
    }
}

fn has(line: &[u8], word: &[u8]) -> bool {
    line.windows(word.len()).any(|part| part == word)
}
