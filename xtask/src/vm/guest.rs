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
    /// How many tests it runs at a time, as tests/vm/init.sh has it.
    pub fn jobs(self) -> usize {
        match self {
            Self::Network => 2,
            Self::Program | Self::Verifier | Self::VerifierUnderLockdown => 1,
        }
    }

    /// The layer, and so the test program.
    pub fn ring(self) -> Ring {
        match self {
            Self::Program => Ring::Program,
            Self::Network => Ring::Network,
            Self::Verifier | Self::VerifierUnderLockdown => Ring::Verifier,
        }
    }

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

    /// Notes in the report what it says.
    pub fn note(&self, report: &mut Report) {
        match self {
            Self::Booted => report.note_boot(),
            Self::Begin(stage) => report.begin(stage),
            Self::End(is_good) => report.end(*is_good),
            Self::Output(text) => report.hear(text),
            Self::Done => {}
        }
    }

    /// The test that has ended, and whether it failed.
    pub fn ended(&self) -> Option<(&'a str, bool)> {
        let Self::Output(text) = self else { return None };
        let (name, verdict) = text.strip_prefix("test ")?.split_once(" ... ")?;
        matches!(verdict, "ok" | "FAILED" | "ignored").then_some((name, verdict == "FAILED"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guest_messages_are_separated_from_output() {
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
