//! The ports of a list that another service fills. Its name ends in them, as in `crowdsec-cscli-only-22` or
//! `crowdsec-capi-except-80-8000_8100`, so that records of the journal need nothing else.

use filter_common::ports::{Clause, Range};

const WORDS: [(bool, &str); 2] = [(false, "-only-"), (true, "-except-")];

/// The longest such end of a name.
pub const LONGEST_END: usize = 32;

/// The end of the name of a list with these ports. It may be longer than [`LONGEST_END`].
#[must_use]
pub fn name_end(ports: Option<Clause>) -> String {
    let Some(clause) = ports else { return String::new() };
    let word = WORDS.iter().find(|(is_except, _)| *is_except == clause.is_except());
    let word = word.map_or("", |(_, word)| word);
    let ranges = clause.ranges().map(|range| match (range.first(), range.last()) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}_{last}"),
    });
    format!("{word}{}", ranges.collect::<Vec<_>>().join("-"))
}

/// The name without its ports, and the ports; all ports if it ends in none.
#[must_use]
pub fn split(name: &str) -> (&str, Option<Clause>) {
    WORDS
        .iter()
        .find_map(|(is_except, word)| {
            let (beginning, ports) = name.rsplit_once(word)?;
            let ranges: Option<Vec<Range>> = ports.split('-').map(range).collect();
            Some((beginning, Some(Clause::new(*is_except, ranges?).ok()?)))
        })
        .unwrap_or((name, None))
}

fn range(word: &str) -> Option<Range> {
    let (first, last) = word.split_once('_').unwrap_or((word, word));
    let port = |word: &str| word.parse().ok().filter(|port| *port > 0);
    Range::new(port(first)?, port(last)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clause(is_except: bool, ranges: &[(u16, u16)]) -> Option<Clause> {
        let ranges = ranges.iter().map(|(first, last)| Range::new(*first, *last).unwrap());
        Some(Clause::new(is_except, ranges.collect::<Vec<_>>()).unwrap())
    }

    #[test]
    fn names_end_in_their_ports() {
        for (ports, end) in [
            (None, ""),
            (clause(false, &[(22, 22)]), "-only-22"),
            (clause(false, &[(22, 22), (8000, 8100)]), "-only-22-8000_8100"),
            (clause(true, &[(443, 443)]), "-except-443"),
        ] {
            assert_eq!(name_end(ports), end);
            assert_eq!(split(&format!("crowdsec-capi{end}")), ("crowdsec-capi", ports));
        }
    }

    #[test]
    fn other_ends_of_names_are_no_ports() {
        for name in [
            "crowdsec-capi",
            "crowdsec-x-only",
            "crowdsec-x-only-",
            "crowdsec-x-only-0",
            "crowdsec-x-only-70000",
            "crowdsec-x-only-12345678",
            "crowdsec-x-only-22-x",
            "crowdsec-x-except-9_8",
        ] {
            assert_eq!(split(name), (name, None));
        }
    }
}
