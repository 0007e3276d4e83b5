//! The meaning of a list as text. A saved copy of the list contains it, so that the next start knows it as
//! well.

use std::fmt;
use std::str::FromStr;

use filter_common::direction::Direction;
use filter_common::ports::{Clause, Range};

use super::{Polarity, Reach};

/// How a list affects packets from its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    pub polarity: Polarity,
    /// The ports on which it blocks; all if none.
    pub ports: Option<Clause>,
    /// Which packets it blocks.
    pub direction: Direction,
    pub reach: Reach,
}

impl Meaning {
    /// That of a list without ports and other options.
    pub const fn plain(polarity: Polarity) -> Self {
        Self { polarity, ports: None, direction: Direction::In, reach: Reach::AS_GIVEN }
    }

    /// True if a list with this meaning treats its targets differently from one with `other`. The reach
    /// does not count: it can change while the list stays the same one.
    pub fn is_other_than(&self, other: &Self) -> bool {
        (self.polarity, self.ports, self.direction) != (other.polarity, other.ports, other.direction)
    }

    pub fn allows(&self) -> bool {
        self.polarity == Polarity::Allow
    }

    /// True if one blocks and the other allows.
    pub fn is_reverse_of(&self, other: &Self) -> bool {
        self.polarity != other.polarity
    }
}

/// `allow`, or `block` with the length that IPv6 prefixes are widened to, and the ports or the direction:
/// `block /64 only 22,8000-8100`, `block both`.
impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.polarity {
            Polarity::Block => "block",
            Polarity::Allow => "allow",
        })?;
        if self.reach != Reach::AS_GIVEN {
            write!(f, " /{}", self.reach.length())?;
        }
        if self.direction != Direction::In {
            write!(f, " {}", self.direction.name())?;
        }
        let Some(clause) = &self.ports else { return Ok(()) };
        f.write_str(if clause.is_except() { " except " } else { " only " })?;
        for (number, range) in clause.ranges().enumerate() {
            write!(f, "{}{range}", if number == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// The text is not one that this version of filterd understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownMeaning;

impl FromStr for Meaning {
    type Err = UnknownMeaning;

    fn from_str(words: &str) -> Result<Self, UnknownMeaning> {
        let mut words = words.split(' ').peekable();
        let polarity = match words.next() {
            Some("block") => Polarity::Block,
            Some("allow") => Polarity::Allow,
            _ => return Err(UnknownMeaning),
        };
        let length = words.next_if(|word| word.starts_with('/'));
        let length =
            length.map(|word| word[1..].parse().ok().filter(|length| *length <= 128).ok_or(UnknownMeaning));
        let reach = length.transpose()?.map_or(Reach::AS_GIVEN, Reach::to);
        let directions = [Direction::Out, Direction::Both];
        let direction = words.next_if(|word| directions.iter().any(|direction| direction.name() == *word));
        let direction = match direction {
            Some(_) if polarity == Polarity::Allow => return Err(UnknownMeaning),
            Some("out") => Direction::Out,
            Some(_) => Direction::Both,
            None => Direction::In,
        };
        let ports = match (words.next(), words.next(), words.next()) {
            (None, ..) => None,
            (Some(word @ ("only" | "except")), Some(ports), None) => {
                let ranges: Option<Vec<Range>> = ports.split(',').map(range).collect();
                Some(
                    Clause::new(word == "except", ranges.ok_or(UnknownMeaning)?)
                        .map_err(|_| UnknownMeaning)?,
                )
            }
            _ => return Err(UnknownMeaning),
        };
        Ok(Self { polarity, ports, direction, reach })
    }
}

fn range(word: &str) -> Option<Range> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    Range::new(first.parse().ok()?, last.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_meaning_is_read_as_it_was_written() {
        let ports = |is_except, ranges: &[(u16, u16)]| {
            let ranges: Vec<_> =
                ranges.iter().map(|(first, last)| Range::new(*first, *last).unwrap()).collect();
            Some(Clause::new(is_except, ranges).unwrap())
        };
        for (ports, direction, reach, said) in [
            (None, Direction::In, Reach::AS_GIVEN, "block"),
            (None, Direction::In, Reach::to(64), "block /64"),
            (None, Direction::Out, Reach::AS_GIVEN, "block out"),
            (None, Direction::Both, Reach::to(64), "block /64 both"),
            (
                ports(false, &[(22, 22), (8000, 8100)]),
                Direction::In,
                Reach::AS_GIVEN,
                "block only 22,8000-8100",
            ),
            (ports(true, &[(443, 443)]), Direction::In, Reach::to(48), "block /48 except 443"),
        ] {
            let meaning = Meaning { polarity: Polarity::Block, ports, direction, reach };
            assert_eq!((meaning.to_string().as_str(), said.parse()), (said, Ok(meaning)));
        }
        let allows = Meaning {
            polarity: Polarity::Allow,
            ports: None,
            direction: Direction::In,
            reach: Reach::AS_GIVEN,
        };
        assert_eq!(("allow".parse(), allows.to_string().as_str()), (Ok(allows), "allow"));
    }

    #[test]
    fn unknown_meanings_are_refused() {
        for words in [
            "",
            "blocks",
            "block /129",
            "block /",
            "block only",
            "block only 22 80",
            "block only 9-1",
            "allow x",
            "allow out",
            "block out both",
        ] {
            assert_eq!(words.parse::<Meaning>(), Err(UnknownMeaning), "{words}");
        }
    }
}
