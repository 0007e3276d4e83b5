//! The parts of a daemon whose tables are filled, before it owns its place.

use crate::blocklist::Blocklist;
use crate::cli::Run;
use crate::daemon::commit::Protection;
use crate::daemon::configuration::Configuration;
use crate::daemon::error::DaemonError;
use crate::daemon::feeds::Feeds;
use crate::daemon::guard::Guard;
use crate::daemon::lists::ListCopies;
use crate::daemon::reading::Readings;
use crate::daemon::reload::{self, ListSources, Loaded};
use crate::kernel::Filter;
use crate::kernel::broker::Broker;

/// The prepared parts, as long as no client can send requests.
pub struct Prepared {
    pub protection: Protection,
    pub(super) configuration: Configuration,
    pub(super) readings: Readings,
    pub(super) lists: ListCopies,
    pub(super) guard: Guard,
    pub(super) feeds: Feeds,
}

impl Prepared {
    /// Builds and publishes the tables from the loaded configuration and from the entries in `blocklist`.
    pub fn new(
        run: &Run,
        (mut configuration, mut loaded): (Configuration, Loaded),
        sources: ListSources,
        broker: Broker,
        (mut blocklist, mut guard): (Blocklist, Guard),
    ) -> Result<Self, DaemonError> {
        configuration.take_effect(loaded.text.take());
        configuration.set_mode(run.mode.unwrap_or(loaded.config.mode));
        let feeds = Feeds::begin(&run.state_dir, &loaded.config);
        // The guard comes before anything is blocked. Servers of lists follow with the first check.
        guard.enter(&mut blocklist).map_err(DaemonError::from)?;
        let mut lists = ListCopies::of(&run.state_dir);
        let (config, found, to_keep) = reload::begin_with(loaded, &mut blocklist, &mut lists.sources)?;
        configuration.config = config;
        reload::tell_log(&found);
        lists.save_soon(configuration.save_target(), to_keep);
        let protection = Protection::begin(blocklist, Filter::through(broker))?;
        let readings = Readings::of(sources);
        Ok(Self { protection, configuration, readings, lists, guard, feeds })
    }
}
