//! Looks up the networks of autonomous systems and countries that decisions name, on a separate thread.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::blocklist::Targets;
use crate::config::LapiConfig;
use crate::crowdsec::{DecisionBook, Scope};
use crate::source::chosen::{Chosen, Database};
use crate::source::patience::ReadProgress;
use crate::source::{Limits, ReadOptions, database};
use crate::text::{Explain, Explanation};

/// What is known of databases.
#[derive(Default)]
pub struct KnownNetworks {
    /// The scopes that were looked up, and when the databases were written then.
    known: Vec<Scope>,
    stamps: Vec<Option<std::time::SystemTime>>,
    is_searching: bool,
    /// Why nothing could be looked up.
    pub trouble: Option<Explanation>,
}

/// A search to run.
pub struct NetworkSearch {
    source: String,
    scopes: Vec<Scope>,
    paths: Vec<PathBuf>,
    stamps: Vec<Option<std::time::SystemTime>>,
    most: u64,
}

/// The result of a search.
pub struct FoundNetworks {
    pub source: String,
    scopes: Vec<Scope>,
    stamps: Vec<Option<std::time::SystemTime>>,
    found: Result<BTreeMap<Scope, Targets>, Explanation>,
}

impl NetworkSearch {
    /// Reads each database once for each system and country.
    pub fn run(self) -> FoundNetworks {
        let found = self.search();
        let Self { source, scopes, stamps, .. } = self;
        FoundNetworks { source, scopes, stamps, found }
    }

    fn search(&self) -> Result<BTreeMap<Scope, Targets>, Explanation> {
        let mut found = BTreeMap::new();
        for scope in &self.scopes {
            let chosen = match scope {
                Scope::Autonomous(number) => Chosen::Autonomous(vec![*number]),
                Scope::Country(country) => Chosen::Countries(vec![*country]),
                Scope::Target(_) => continue,
            };
            let (mut networks, mut failed) = (Targets::default(), Vec::new());
            for path in &self.paths {
                match self.networks(path, chosen.clone()) {
                    Ok(found) => networks.extend(&found),
                    Err(told) => failed.push(told),
                }
            }
            // A database of systems has no countries, and the reverse. One of them must answer.
            if failed.len() == self.paths.len() {
                return Err(failed.swap_remove(0));
            }
            networks.sort();
            if !networks.is_empty() {
                found.insert(*scope, networks);
            }
        }
        Ok(found)
    }

    fn networks(&self, path: &Path, chosen: Chosen) -> Result<Targets, Explanation> {
        let database = Database { paths: vec![path.to_owned()], chosen, refresh: None };
        let limits = Limits { max_entries: self.most, ..Limits::default() };
        let read =
            database::list(&database, &limits, &ReadOptions::default(), None, &ReadProgress::default());
        read.map(|list| list.targets).map_err(|error| error.explain())
    }
}

impl KnownNetworks {
    /// The search for these scopes, unless nothing has changed since the last one.
    pub fn search(&mut self, config: &LapiConfig, scopes: Vec<Scope>) -> Option<NetworkSearch> {
        if scopes.is_empty() || self.is_searching {
            return None;
        }
        let written = |path: &PathBuf| path.metadata().and_then(|about| about.modified()).ok();
        let stamps: Vec<_> = config.database.iter().map(written).collect();
        if scopes == self.known && stamps == self.stamps {
            return None;
        }
        self.is_searching = true;
        let (source, paths, most) = (config.name.clone(), config.database.clone(), config.max_entries);
        Some(NetworkSearch { source, scopes, paths, stamps, most })
    }

    /// Records the result of a search.
    pub fn note(&mut self, result: FoundNetworks, book: &mut DecisionBook) {
        self.is_searching = false;
        match result.found {
            Ok(mut found) => {
                for scope in &result.scopes {
                    book.set_networks(scope, found.remove(scope));
                }
                (self.known, self.stamps, self.trouble) = (result.scopes, result.stamps, None);
            }
            // Networks that are known stay. The next poll tries again.
            Err(told) => self.trouble = Some(told),
        }
    }
}
