//! Reads the configuration and its lists for a start, or for its rehearsal.

use tracing::info;

use super::configuration::Configuration;
use super::error::DaemonError;
use super::log::meanwhile;
use super::reload::{ListSources, Loaded};
use super::unreadable;
use crate::cli::Run;

/// The configuration and lists that a start has read.
pub struct StartInput {
    pub sources: ListSources,
    pub configuration: Configuration,
    pub loaded: Loaded,
}

impl StartInput {
    /// Reads the configuration and its lists.
    pub fn read(run: &Run) -> Result<Self, DaemonError> {
        Self::read_from(run, ListSources::of(&run.state_dir))
    }

    /// Reads them without writing copies, and without a fall-back to the last good configuration.
    pub fn read_only(run: &Run) -> Result<Self, DaemonError> {
        let mut sources = ListSources::of(&run.state_dir);
        sources.writes = false;
        Self::read_from(run, sources)
    }

    fn read_from(run: &Run, mut sources: ListSources) -> Result<Self, DaemonError> {
        let (configuration, loaded) =
            meanwhile::told("reading the lists", || Configuration::at_start(run, &mut sources))?;
        Ok(Self { sources, configuration, loaded })
    }

    /// Falls back to the last good copy if a reload would refuse what was read. `live_entries` returns the
    /// number of entries on a live list.
    pub fn strictly(self, run: &Run, live_entries: impl Fn(&str) -> u64) -> Result<Self, DaemonError> {
        let Self { mut sources, mut configuration, loaded } = self;
        let loaded = configuration.must_be_possible(loaded, run, live_entries, &mut sources)?;
        unreadable::refuse(sources.denied())?;
        Ok(Self { sources, configuration, loaded })
    }

    /// Logs a summary of the configuration.
    pub fn tell(&self, run: &Run) {
        let interfaces = self.loaded.config.interfaces_besides(&run.interfaces);
        info!("{}", self.configuration.summary(&self.loaded.config, &interfaces));
    }
}
