//! The countries or autonomous systems that a list selects from a database.

mod autonomous;
mod country;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use autonomous::{Autonomous, NoAutonomous};
pub use country::{Country, CountryError};

/// The databases of a list, and the selection from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// Databases, registry files, or folders of registry files.
    pub paths: Vec<PathBuf>,
    pub chosen: Chosen,
    /// How often the files are checked for changes. If none, only reloads check them.
    pub refresh: Option<Duration>,
}

impl Database {
    /// The first path, which identifies the database in messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.paths.first().map_or(Path::new(""), |path| path)
    }
}

/// Countries or autonomous systems: at least one, without duplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// The networks of these countries.
    Countries(Vec<Country>),
    /// The networks that these systems announce.
    Autonomous(Vec<Autonomous>),
}

impl Chosen {
    /// All selected codes or numbers in their written form.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Countries(countries) => countries.iter().map(ToString::to_string).collect(),
            Self::Autonomous(numbers) => numbers.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Formats the selection as the configuration writes it.
impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = if matches!(self, Self::Countries(_)) { "country" } else { "asn" };
        write!(f, "{key} {}", self.words().join(" "))
    }
}
