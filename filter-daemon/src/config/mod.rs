//! The configuration: read raw, then checked into what the daemon trusts; all errors are told at once.

mod check;
mod chosen;
mod diagnostic;
mod feed;
mod forms;
mod interface;
mod limits;
mod metrics;
pub mod name;
mod nearest;
mod nesting;
mod path;
pub mod pin;
mod place;
mod ports;
mod raw;
pub mod secret;
mod shape;
mod syntax;

use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use filter_common::labels::Counters;
use filter_common::ports::Clause;
use filter_common::target::Target;
use serde::{Deserialize, Serialize};

use crate::source::file::{self, FileError};
use crate::source::{How, Limits};
pub use check::MOST_LISTS;
#[cfg(test)]
pub use check::keys;
pub use diagnostic::{ConfigError, Invalid};
pub use feed::{Auth, Feed, Scheme, Secret};
pub use interface::{InterfaceNameError, check_interface_name};
pub use name::{ListName, ListNameError};

/// What the operator wants. A value that exists is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where packets are filtered.
    pub interfaces: Vec<String>,
    /// How the filter is attached there.
    pub mode: Mode,
    /// Are packets dropped, or only counted?
    pub enforce: bool,
    /// Are packets counted for each list, too?
    pub counters: Counters,
    /// Which packets of a blocked source.
    pub matches: Matches,
    /// What is blocked.
    pub block: Vec<Target>,
    /// What is allowed, whatever is blocked.
    pub allow: Vec<Target>,
    /// Files that name more.
    pub lists: Vec<List>,
    /// What is said of lists that commands fill.
    pub live: Vec<LiveList>,
    /// Where it may be looked at with a browser.
    pub metrics: Metrics,
    /// Is what is added live on disk before the answer goes out?
    pub durable: bool,
    /// What becomes of the filter when the daemon is stopped.
    pub on_exit: OnExit,
}

/// Where filterd may be looked at with a browser.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// There; nowhere if none.
    pub listen: Vec<SocketAddr>,
    /// The names of hosts, in small letters, by which that may be asked for, beside addresses and `localhost`.
    pub hosts: Vec<String>,
    /// So many of the sources that are dropped most are told there.
    pub sources: usize,
}

/// What becomes of the filter when the daemon is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnExit {
    /// It goes with the daemon.
    #[default]
    Detach,
    /// It stays, and filters what it filtered last.
    Keep,
}

impl OnExit {
    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Detach => "detach",
            Self::Keep => "keep",
        }
    }
}

/// Which packets of a blocked source are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matches {
    /// All of them.
    #[default]
    All,
    /// Those that are part of nothing that this host began.
    New,
}

impl Matches {
    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::New => "new",
        }
    }
}

/// How the filter is attached to an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// As early as the driver allows.
    #[default]
    Auto,
    /// In the driver, or not at all.
    Native,
    /// In the network stack: slower, and possible everywhere.
    Generic,
}

impl Mode {
    /// As the configuration calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Native => "native",
            Self::Generic => "generic",
        }
    }
}

/// A file that names targets, of the operator's own or one that was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// What it is called.
    pub name: ListName,
    /// Where it is; of one that is fetched, what its `url` is called.
    pub path: PathBuf,
    /// What is to be fetched, if it is: what was fetched then lies in the state directory.
    pub feed: Option<Feed>,
    /// Is what it names allowed, rather than blocked?
    pub allows: bool,
    /// How much it may change without being asked about.
    pub limits: Limits,
    /// How it is read.
    pub how: How,
    /// How long what it names stays on the list; for good if none.
    pub ttl: Option<Duration>,
    /// On which ports what it names is blocked; on all if none.
    pub ports: Option<Clause>,
    /// What is longer is blocked as an IPv6 prefix of this length.
    pub ipv6_prefix: u8,
}

/// What the configuration says of a list that commands fill, whether or not it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveList {
    /// What it is called.
    pub name: ListName,
    /// What is longer is blocked as an IPv6 prefix of this length.
    pub ipv6_prefix: u8,
}

/// As it is given: nothing is longer.
pub const AS_GIVEN: u8 = 128;

impl Config {
    /// These interfaces, and those of the configuration behind them.
    #[must_use]
    pub fn interfaces_besides(&self, named: &[String]) -> Vec<String> {
        let more = self.interfaces.iter().filter(|name| !named.contains(name));
        named.iter().chain(more).cloned().collect()
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            interfaces: Vec::new(),
            mode: Mode::Auto,
            enforce: true,
            counters: Counters::default(),
            matches: Matches::All,
            block: Vec::new(),
            allow: Vec::new(),
            lists: Vec::new(),
            live: Vec::new(),
            metrics: Metrics::default(),
            durable: true,
            on_exit: OnExit::Detach,
        }
    }
}

/// More than anybody writes by hand: the parser is not made for more, and lists belong into list files.
pub const LARGEST: u64 = 256 * 1024;

/// Reads a configuration file.
///
/// # Errors
/// When it cannot be read, or with all that is wrong in it.
pub fn load(path: &Path) -> Result<Config, ConfigError> {
    parse(path, read(path)?)
}

/// The bytes of a configuration file, and no more of them than show that it is too large.
///
/// # Errors
/// When it cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, ConfigError> {
    let mut bytes = Vec::new();
    let limited = file::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes);
    limited.map_err(|error| FileError::new(path, error))?;
    Ok(bytes)
}

/// Reads a configuration out of the bytes of the file at `path`, to which its relative paths relate.
///
/// # Errors
/// With all that is wrong in it.
pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Config, ConfigError> {
    if bytes.len() as u64 > LARGEST {
        return Err(ConfigError::TooLarge { path: path.into() });
    }
    let text = syntax::text(path, bytes)?;
    let read = syntax::read(&text);
    let folder = path.parent().unwrap_or(Path::new(""));
    let (config, faults) = check::check(read.root, folder);
    let (problems, more) = place::problems(&read.readable, read.problems, faults);
    if problems.is_empty() { Ok(config) } else { Err(Invalid::new(path, text, problems, more).into()) }
}

#[cfg(test)]
mod tests;
