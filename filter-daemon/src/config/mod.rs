//! The configuration file: parses it and checks everything in it, and reports all errors at once.

mod check;
mod chosen;
mod crowdsec;
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

use filter_common::direction::Direction;
use filter_common::labels::Counters;
use filter_common::ports::Clause;
use filter_common::target::Target;
use serde::{Deserialize, Serialize};

use crate::source::file::{self, FileError};
use crate::source::{Limits, ReadOptions};
use crate::text::Explanation;
pub use check::MOST_LISTS;
#[cfg(test)]
pub use check::keys;
pub use crowdsec::{LapiConfig, LapiCredential, MAIN as MAIN_LAPI, ORIGIN_WORDS};
pub use diagnostic::{ConfigError, Invalid};
pub use feed::{Auth, Feed, Scheme, Secret};
pub use interface::{InterfaceNameError, check_interface_name};
pub use name::{ListName, ListNameError};

/// A configuration. Its values are always valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The interfaces where packets are filtered.
    pub interfaces: Vec<String>,
    /// How the filter is attached to them.
    pub mode: Mode,
    /// Whether packets are dropped or only counted.
    pub enforce: bool,
    /// Whether packets are also counted for each list.
    pub counters: Counters,
    /// The packets from a blocked source that are dropped.
    pub matches: Matches,
    /// Whether calls of local processes that send to a blocked destination fail at once.
    pub outbound_errors: bool,
    /// The targets to block.
    pub block: Vec<Target>,
    /// The targets to allow, even if others block them.
    pub allow: Vec<Target>,
    /// The files with further targets.
    pub lists: Vec<ListConfig>,
    /// Settings for live lists, which commands fill.
    pub live: Vec<LiveList>,
    /// The local APIs of CrowdSec whose decisions are enforced.
    pub crowdsec: Vec<LapiConfig>,
    /// The addresses where browsers can reach filterd.
    pub metrics: Metrics,
    /// Whether live additions are written to disk before the reply.
    pub durable: bool,
    /// What happens to the filter when the daemon stops.
    pub on_exit: OnExit,
}

/// The access for browsers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// The addresses to listen at. Off if there are none.
    pub listen: Vec<SocketAddr>,
    /// The host names that a request may use, in lower case, in addition to addresses and `localhost`.
    pub hosts: Vec<String>,
    /// The number of sources to show: those with the most drops.
    pub sources: usize,
}

/// What happens to the filter when the daemon stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnExit {
    /// The filter is removed together with the daemon.
    #[default]
    Detach,
    /// The filter stays, and keeps filtering as before.
    Keep,
}

impl OnExit {
    /// The name of the value in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Detach => "detach",
            Self::Keep => "keep",
        }
    }
}

/// The packets from a blocked source that are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matches {
    /// All packets from the source.
    #[default]
    All,
    /// All packets except those in flows that this host began.
    New,
}

impl Matches {
    /// The name of the value in the configuration.
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
    /// Behind the driver, by TC.
    Tc,
    /// The former name of `Tc`, from when filterd used generic XDP there.
    Generic,
}

impl Mode {
    /// The name of the value in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Native => "native",
            Self::Tc => "tc",
            Self::Generic => "generic",
        }
    }

    /// Whether both attach in the same way.
    pub fn is_like(self, other: Self) -> bool {
        let plain = |mode| if mode == Self::Generic { Self::Tc } else { mode };
        plain(self) == plain(other)
    }

    /// The warning about a former name.
    pub fn warning(self) -> Option<Explanation> {
        (self == Self::Generic).then(|| {
            let message = "`mode: generic` now means `mode: tc`: filterd no longer uses generic XDP";
            Explanation::new(message, "write `mode: tc` or `mode: auto` in the configuration")
        })
    }
}

/// A list of targets: an operator's file, or a fetched one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListConfig {
    pub name: ListName,
    /// The path of the file. For a fetched list, its URL without secrets.
    pub path: PathBuf,
    /// The feed, if the list is fetched. Fetched files are in the state directory.
    pub feed: Option<Feed>,
    /// Whether its targets are allowed instead of blocked.
    pub allows: bool,
    /// The limits within which it may change without a confirmation.
    pub limits: Limits,
    pub how: ReadOptions,
    /// How long its entries stay. Forever if none.
    pub ttl: Option<Duration>,
    /// The ports on which its targets are blocked. All ports if none.
    pub ports: Option<Clause>,
    /// Which packets it blocks: those from its targets, to them, or both.
    pub direction: Direction,
    /// Longer IPv6 prefixes are widened to this length and blocked as such.
    pub ipv6_prefix: u8,
}

/// The configured settings of a live list, whether that list exists or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveList {
    pub name: ListName,
    /// Longer IPv6 prefixes are widened to this length and blocked as such.
    pub ipv6_prefix: u8,
}

/// The length at which no prefix is widened.
pub const AS_GIVEN: u8 = 128;

impl Config {
    /// These interfaces, followed by those of the configuration.
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
            outbound_errors: true,
            block: Vec::new(),
            allow: Vec::new(),
            lists: Vec::new(),
            live: Vec::new(),
            crowdsec: Vec::new(),
            metrics: Metrics::default(),
            durable: true,
            on_exit: OnExit::Detach,
        }
    }
}

/// More than anyone writes by hand. The parser is not made for larger files, and long lists belong in list
/// files.
pub const LARGEST: u64 = 256 * 1024;

/// Reads a configuration file.
///
/// # Errors
/// If it cannot be read, or with all errors in it.
pub fn load(path: &Path) -> Result<Config, ConfigError> {
    parse(path, read(path)?)
}

/// The bytes of a configuration file, up to the number that shows that it is too large.
///
/// # Errors
/// If it cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, ConfigError> {
    let mut bytes = Vec::new();
    let limited = file::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes);
    limited.map_err(|error| FileError::new(path, error))?;
    Ok(bytes)
}

/// Parses the bytes of the configuration file at `path`. Relative paths are resolved against its folder.
///
/// # Errors
/// With all errors in the file.
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
