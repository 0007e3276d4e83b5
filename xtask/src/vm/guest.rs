//! What a guest does, stage by stage, and how it tells of it: the other side of tests/vm/init.sh.

use std::fmt;

use super::ring::Ring;
use crate::results::Report;

/// A part of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Program,
    Network,
    Verifier,
    /// The last one: nothing lifts a lockdown.
    VerifierUnderLockdown,
}

impl Stage {
    /// The stages of a ring; none if its stories stand outside.
    pub fn of(ring: Ring) -> Vec<Self> {
        match ring {
            Ring::Program => vec![Self::Program],
            Ring::Network => vec![Self::Network],
            Ring::Verifier => vec![Self::Verifier, Self::VerifierUnderLockdown],
            Ring::Guest => Vec::new(),
        }
    }
}

/// As the plan spells it.
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Program => "program",
            Self::Network => "network",
            Self::Verifier => "verifier",
            Self::VerifierUnderLockdown => "verifier-under-lockdown",
        })
    }
}

/// A line of the guest's.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// The guest is up.
    Booted,
    /// A stage begins.
    Begin(&'a str),
    /// It has ended, and whether its program was content.
    End(bool),
    /// All stages have ended.
    Done,
    /// What a test program prints.
    Output(&'a str),
}

impl<'a> Line<'a> {
    /// Reads what came over the wire.
    pub fn read(line: &'a str) -> Self {
        let line = line.trim_end_matches('\r');
        let Some(told) = line.strip_prefix("@@ ") else { return Self::Output(line) };
        match told.split_once(' ') {
            Some(("begin", stage)) => Self::Begin(stage),
            Some(("end", status)) => Self::End(status == "0"),
            None if told == "booted" => Self::Booted,
            None if told == "done" => Self::Done,
            _ => Self::Output(line),
        }
    }

    /// Notes what it tells.
    pub fn tell(&self, report: &mut Report) {
        match self {
            Self::Booted => report.note_boot(),
            Self::Begin(stage) => report.begin(stage),
            Self::End(is_good) => report.end(*is_good),
            Self::Output(text) => report.read(text),
            Self::Done => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_guest_tells_is_told_apart_from_what_its_programs_print() {
        let cases = [
            ("@@ booted\r", Line::Booted),
            ("@@ begin network", Line::Begin("network")),
            ("@@ end 0\r", Line::End(true)),
            ("@@ end 101", Line::End(false)),
            ("@@ done", Line::Done),
            ("@@ what", Line::Output("@@ what")),
            ("test a ... ok\r", Line::Output("test a ... ok")),
        ];
        cases.into_iter().for_each(|(line, expected)| assert_eq!(Line::read(line), expected));
    }
}
