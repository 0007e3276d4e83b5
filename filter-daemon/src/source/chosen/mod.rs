//! What a list is chosen by out of a database: countries, or autonomous systems.

mod autonomous;
mod country;

use std::fmt;
use std::path::{Path, PathBuf};

pub use autonomous::{Autonomous, NoAutonomous};
pub use country::{Country, CountryError};

/// What is chosen, and where from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// A database, or files of registries, or a folder of these.
    pub paths: Vec<PathBuf>,
    /// What of it.
    pub chosen: Chosen,
}

impl Database {
    /// What it is known by: the first of its paths.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.paths.first().map_or(Path::new(""), |path| path)
    }
}

/// Countries, or autonomous systems; one at least, and each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// The networks of these countries.
    Countries(Vec<Country>),
    /// The networks that these announce.
    Autonomous(Vec<Autonomous>),
}

impl Chosen {
    /// Each, as it is written.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Countries(countries) => countries.iter().map(ToString::to_string).collect(),
            Self::Autonomous(numbers) => numbers.iter().map(ToString::to_string).collect(),
        }
    }
}

/// As in the configuration.
impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = if matches!(self, Self::Countries(_)) { "country" } else { "asn" };
        write!(f, "{key} {}", self.words().join(" "))
    }
}
