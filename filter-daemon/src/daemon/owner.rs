//! The single owner of all state: a loop that handles requests, signals and timers one after another. Each
//! part of the state belongs to a module, and the owner passes it what it needs from the others.

mod due;
mod groups;
mod looking;
mod parting;
mod prepared;
mod work;

use super::capacity::Capacity;
use super::configuration::Configuration;
use super::core::Core;
use super::counting::Counting;
use super::crowdsec::CrowdSec;
use super::databases::Databases;
use super::expiry::Expiry;
use super::feeds::FetchTools;
use super::flows::OwnFlows;
use super::guard::Guard;
use super::interfaces::Interfaces;
use super::jobs::NewJobs;
use super::pause::PauseState;
use super::persistence::Persistence;
use super::pinned::Pinned;
use super::privilege::Privileges;
use super::refresh::Refreshing;
use super::sampling::Sampling;
use super::sleep::Sleep;
use super::tampered::Tampered;
use super::time::Time;
use super::traffic::Traffic;
use super::turns::LastCheck;
use crate::cli::Run;
use crate::clock;
use crate::config::{Mode, OnExit};
use crate::control::Watching;
use crate::http::Http;
use crate::notify::Notify;
use groups::{AttachmentState, Clocks, Counters, Process, Sources};
pub use prepared::Prepared;
pub use work::{LoopEnd, Signals, work};

/// All state of the daemon that changes.
pub struct Owner {
    pub(super) run: Run,
    pub(super) process: Process,
    pub(super) configuration: Configuration,
    pub(super) core: Core,
    pub(super) attachment: AttachmentState,
    pub(super) clocks: Clocks,
    pub(super) pause: PauseState,
    pub(super) counters: Counters,
    pub(super) sources: Sources,
    pub(super) guard: Guard,
    pub(super) crowdsec: CrowdSec,
    /// The jobs that were begun since the last turn.
    pub(super) jobs: NewJobs<Self>,
}

impl Owner {
    /// Makes the owner from the prepared state.
    pub fn of(run: &Run, prepared: Prepared, persistence: Persistence, means: FetchTools) -> Self {
        let Prepared { protection, configuration, readings, lists, guard, mut feeds } = prepared;
        let crowdsec = CrowdSec::begin(&configuration.config, protection.blocklist(), means.clone());
        feeds.go_by(means);
        let mut databases = Databases::default();
        databases.follow(&configuration.config);
        let time = Time::begin(persistence.clock_is_behind());
        Self {
            run: run.clone(),
            process: Process {
                started: clock::now(),
                privileges: Privileges::default(),
                notify: Notify::default(),
                http: Http::default(),
                successor: None,
            },
            configuration,
            core: Core::new(protection, Capacity::begin(), persistence, lists),
            attachment: AttachmentState {
                interfaces: Interfaces::new(),
                flows: OwnFlows::default(),
                pinned: Pinned::default(),
                tampered: Tampered::default(),
            },
            clocks: Clocks {
                time,
                sleep: Sleep::begin(),
                expiry: Expiry::default(),
                minded: LastCheck(clock::instant()),
            },
            pause: PauseState::none(&run.state_dir),
            counters: Counters {
                counting: Counting::default(),
                traffic: Traffic::default(),
                sampling: Sampling::of(Watching::default()),
            },
            sources: Sources { readings, feeds, databases, refreshing: Refreshing::default() },
            guard,
            crowdsec,
            jobs: NewJobs::default(),
        }
    }

    /// Sets the clients to which samples of drops are reported.
    pub fn set_watching(&mut self, watching: Watching) {
        self.counters.sampling = Sampling::of(watching);
    }

    /// Starts serving HTTP if the configuration says so.
    pub fn show_metrics(&mut self) {
        self.process.http.follow(&self.configuration.config.metrics);
        self.counters
            .sampling
            .tell(self.configuration.config.metrics.sources_told(), &mut self.core.protection);
    }

    /// Whether the filter stays when the daemon stops.
    pub fn on_exit(&self) -> OnExit {
        self.run.on_exit.unwrap_or(self.configuration.config.on_exit)
    }

    pub(super) fn mode(&self) -> Mode {
        self.run.mode.unwrap_or(self.configuration.config.mode)
    }

    /// The interfaces that the command line and the configuration name.
    pub(super) fn interface_names(&self) -> Vec<String> {
        self.configuration.config.interfaces_besides(&self.run.interfaces)
    }
}

impl AsMut<Core> for Owner {
    fn as_mut(&mut self) -> &mut Core {
        &mut self.core
    }
}
