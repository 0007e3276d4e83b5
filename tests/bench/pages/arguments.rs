//! How thoroughly, and for whom: what the benchmarks in userspace are told.

use std::path::PathBuf;

use clap::Args;

/// The flags that `cargo xtask bench` hands on.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Smaller filters, fewer rounds, less exact
    #[arg(long, conflicts_with = "full")]
    short: bool,
    /// The sizes of the paper
    #[arg(long)]
    full: bool,
    /// How often everything is measured
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Print one JSON object instead of tables
    #[arg(long)]
    pub json: bool,
    /// Write the tables to this page, too, and plots beside it
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Cargo says this to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
}

/// How thoroughly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Seconds.
    Short,
    /// Minutes.
    Usual,
    /// A quarter of an hour.
    Full,
}

impl Arguments {
    /// How thoroughly.
    pub const fn effort(&self) -> Effort {
        match (self.short, self.full) {
            (true, _) => Effort::Short,
            (_, true) => Effort::Full,
            _ => Effort::Usual,
        }
    }

    /// How often everything is measured.
    pub fn rounds(&self) -> usize {
        self.rounds.map_or_else(|| self.effort().of(1, 3, 3), |rounds| rounds as usize)
    }
}

impl Effort {
    /// What belongs to this effort, of three.
    pub fn of<T>(self, short: T, usual: T, full: T) -> T {
        match self {
            Self::Short => short,
            Self::Usual => usual,
            Self::Full => full,
        }
    }
}
