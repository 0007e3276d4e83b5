//! The single owner of all state: a loop that handles requests, signals and timers one after another. Each
//! part of the state belongs to a module, and the owner passes it what it needs from the others.

mod due;
mod looking;
mod parting;
mod prepared;
mod work;

use super::alarm::Alarm;
use super::capacity::Capacity;
use super::commit::Protection;
use super::configuration::Configuration;
use super::counting::Counting;
use super::crowdsec::CrowdSec;
use super::databases::Databases;
use super::expiry::Expiry;
use super::feeds::{Feeds, FetchTools};
use super::flows::OwnFlows;
use super::guard::Guard;
use super::interfaces::Interfaces;
use super::jobs::{HasParts, NewJobs, OwnerParts};
use super::lists::ListCopies;
use super::pause::PauseState;
use super::persistence::Persistence;
use super::pinned::Pinned;
use super::privilege::Privileges;
use super::reading::Readings;
use super::refresh::Refreshing;
use super::sampling::Sampling;
use super::sleep::Sleep;
use super::tampered::Tampered;
use super::time::Time;
use super::traffic::Traffic;
use super::turns::{LastCheck, Turns};
use crate::blocklist::Timestamp;
use crate::cli::Run;
use crate::clock;
use crate::config::{Config, Mode, OnExit};
use crate::control::wire::{confirm, hand_over, rollback};
use crate::control::{ReplyTo, Watching};
use crate::http::Http;
use crate::notify::Notify;
pub use prepared::Prepared;
pub use work::{LoopEnd, Signals, work};

/// All state of the daemon that changes.
pub struct Owner {
    pub(super) run: Run,
    pub(super) started: Timestamp,
    pub(super) privileges: Privileges,
    pub(super) config: Config,
    pub(super) configuration: Configuration,
    pub(super) protection: Protection,
    pub(super) capacity: Capacity,
    pub(super) persistence: Persistence,
    pub(super) interfaces: Interfaces,
    pub(super) flows: OwnFlows,
    pub(super) pinned: Pinned,
    pub(super) tampered: Tampered,
    pub(super) time: Time,
    pub(super) sleep: Sleep,
    pub(super) pause: PauseState,
    pub(super) counting: Counting,
    pub(super) traffic: Traffic,
    pub(super) sampling: Sampling,
    /// The jobs that were begun since the last turn.
    pub(super) jobs: NewJobs<Self>,
    /// What a reload is doing, to show people.
    pub(super) activity: Option<&'static str>,
    pub(super) readings: Readings,
    pub(super) lists: ListCopies,
    pub(super) guard: Guard,
    pub(super) feeds: Feeds,
    pub(super) crowdsec: CrowdSec,
    pub(super) http: Http,
    /// When to refresh lists that are chosen from databases.
    pub(super) databases: Databases,
    /// Clients that wait for fetches.
    pub(super) refreshing: Refreshing,
    /// Clients that wait until the copies of a confirmed reload are on disk.
    pub(super) confirming: Vec<ReplyTo<confirm::Reply>>,
    /// Clients that wait until the state before a trial is restored.
    pub(super) rolling_back: Vec<ReplyTo<rollback::Reply>>,
    /// Another filterd, for which this one ends as soon as no work is under way.
    pub(super) successor: Option<ReplyTo<hand_over::Reply>>,
    pub notify: Notify,
    alarm: Alarm,
    turns: Turns,
    minded: LastCheck,
    expiry: Expiry,
}

impl Owner {
    /// Makes the owner from the prepared state.
    pub fn of(run: &Run, prepared: Prepared, persistence: Persistence, means: FetchTools) -> Self {
        let Prepared { config, protection, configuration, readings, lists, alarm, guard, mut feeds } =
            prepared;
        let crowdsec = CrowdSec::begin(&config, protection.blocklist(), means.clone());
        feeds.go_by(means);
        let mut databases = Databases::default();
        databases.follow(&config);
        let (time, sleep) = (Time::begin(persistence.clock_is_behind()), Sleep::begin());
        Self {
            run: run.clone(),
            started: clock::now(),
            privileges: Privileges::default(),
            config,
            configuration,
            protection,
            capacity: Capacity::begin(),
            persistence,
            interfaces: Interfaces::new(),
            flows: OwnFlows::default(),
            pinned: Pinned::default(),
            tampered: Tampered::default(),
            time,
            sleep,
            pause: PauseState::none(&run.state_dir),
            counting: Counting::default(),
            traffic: Traffic::default(),
            sampling: Sampling::of(Watching::default()),
            jobs: NewJobs::default(),
            activity: None,
            readings,
            lists,
            guard,
            feeds,
            crowdsec,
            http: Http::default(),
            databases,
            refreshing: Refreshing::default(),
            confirming: Vec::new(),
            rolling_back: Vec::new(),
            successor: None,
            notify: Notify::default(),
            alarm,
            turns: Turns::default(),
            minded: LastCheck(clock::instant()),
            expiry: Expiry::default(),
        }
    }

    /// Sets the clients to which samples of drops are reported.
    pub fn set_watching(&mut self, watching: Watching) {
        self.sampling = Sampling::of(watching);
    }

    /// Starts serving HTTP if the configuration says so.
    pub fn show_metrics(&mut self) {
        self.http.follow(&self.config.metrics);
        self.sampling.tell(self.config.metrics.sources_told(), &mut self.protection);
    }

    /// Whether the filter stays when the daemon stops.
    pub fn on_exit(&self) -> OnExit {
        self.run.on_exit.unwrap_or(self.config.on_exit)
    }

    pub(super) fn mode(&self) -> Mode {
        self.run.mode.unwrap_or(self.config.mode)
    }

    /// The interfaces that the command line and the configuration name.
    pub(super) fn interface_names(&self) -> Vec<String> {
        self.config.interfaces_besides(&self.run.interfaces)
    }
}

impl HasParts for Owner {
    fn parts(&mut self) -> OwnerParts<'_> {
        OwnerParts {
            protection: &mut self.protection,
            capacity: &mut self.capacity,
            persistence: &mut self.persistence,
            sources: &self.lists.sources,
        }
    }

    fn show(&mut self, activity: &'static str) {
        self.activity = Some(activity);
    }
}
