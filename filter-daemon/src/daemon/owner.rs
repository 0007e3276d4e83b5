//! The one owner of state: a loop that serves requests, signals and time, one thing after another. Each part of the state
//! belongs to a part of its own; the owner hands every part what it needs of the others.

mod due;
mod looking;
mod parting;
mod prepared;
mod work;

use tokio::net::UnixStream;

use super::alarm::Alarm;
use super::capacity::Capacity;
use super::commit::Protection;
use super::configuration::Configuration;
use super::counting::Counting;
use super::databases::Databases;
use super::diff::Diff;
use super::expiry::Expiry;
use super::feeds::{Feeds, Means};
use super::flows::Flows;
use super::guard::Guard;
use super::interfaces::Interfaces;
use super::lists::Lists;
use super::pages::{Pages, Parts, Slot};
use super::pause::Pause;
use super::persistence::Persistence;
use super::pinned::Pinned;
use super::privilege::Privileges;
use super::reading::Readings;
use super::refresh::Refreshing;
use super::reload::Reload;
use super::sampling::Sampling;
use super::sleep::Sleep;
use super::tampered::Tampered;
use super::time::Time;
use super::traffic::Traffic;
use super::turns::{Minded, Turns};
use crate::blocklist::Timestamp;
use crate::cli::Run;
use crate::clock;
use crate::config::{Config, Mode, OnExit};
use crate::control::wire::reload::Reply as Reloaded;
use crate::control::wire::{confirm, rollback};
use crate::control::{ReplyTo, Watching};
use crate::http::Http;
use crate::notify::Notify;
pub use prepared::Prepared;
pub use work::{Ended, Signals};

/// Everything that changes.
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
    pub(super) flows: Flows,
    pub(super) pinned: Pinned,
    pub(super) tampered: Tampered,
    pub(super) time: Time,
    pub(super) sleep: Sleep,
    pub(super) pause: Pause,
    pub(super) counting: Counting,
    pub(super) traffic: Traffic,
    pub(super) sampling: Sampling,
    pub(super) pages: Pages,
    pub(super) reload: Slot<Reload>,
    pub(super) diff: Slot<Diff>,
    pub(super) readings: Readings,
    pub(super) lists: Lists,
    pub(super) guard: Guard,
    pub(super) feeds: Feeds,
    pub(super) http: Http,
    /// When the databases are looked at that lists are chosen out of.
    pub(super) databases: Databases,
    /// Who waits for what is fetched.
    pub(super) refreshing: Refreshing,
    /// What a reload has changed, until the copies of its lists are on disk.
    pub(super) reloaded: Option<Reloaded>,
    /// Who waits until the copies of what they have confirmed are on disk.
    pub(super) confirming: Vec<ReplyTo<confirm::Reply>>,
    /// Who waits until what was before a trial is in force again.
    pub(super) rolling_back: Vec<ReplyTo<rollback::Reply>>,
    /// Another filterd, which is to have this one's place as soon as nothing is under way.
    successor: Option<UnixStream>,
    /// The service manager, which is told of it.
    pub notify: Notify,
    alarm: Alarm,
    turns: Turns,
    minded: Minded,
    expiry: Expiry,
}

impl Owner {
    /// Does what was prepared.
    pub fn of(run: &Run, prepared: Prepared, persistence: Persistence, means: Means) -> Self {
        let Prepared { config, protection, configuration, readings, lists, alarm, guard, mut feeds } =
            prepared;
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
            flows: Flows::default(),
            pinned: Pinned::default(),
            tampered: Tampered::default(),
            time,
            sleep,
            pause: Pause::none(&run.state_dir),
            counting: Counting::default(),
            traffic: Traffic::default(),
            sampling: Sampling::of(Watching::default()),
            pages: Pages::default(),
            reload: Slot::empty(),
            diff: Slot::empty(),
            readings,
            lists,
            guard,
            feeds,
            http: Http::default(),
            databases,
            refreshing: Refreshing::default(),
            reloaded: None,
            confirming: Vec::new(),
            rolling_back: Vec::new(),
            successor: None,
            notify: Notify::default(),
            alarm,
            turns: Turns::default(),
            minded: Minded(clock::instant()),
            expiry: Expiry::default(),
        }
    }

    /// Those who watch there are told drops in full.
    pub fn is_watched(&mut self, watching: Watching) {
        self.sampling = Sampling::of(watching);
    }

    /// Who looks by HTTP is shown what the configuration says, where it says it.
    pub fn is_seen(&mut self) {
        self.http.follow(&self.config.metrics);
        self.sampling.tell(self.config.metrics.sources_told(), &mut self.protection);
    }

    /// What a page may need.
    pub(super) fn parts(&mut self) -> Parts<'_> {
        Parts {
            protection: &mut self.protection,
            capacity: &mut self.capacity,
            persistence: &mut self.persistence,
        }
    }

    /// What becomes of the filter when the daemon is stopped.
    pub fn on_exit(&self) -> OnExit {
        self.run.on_exit.unwrap_or(self.config.on_exit)
    }

    pub(super) fn mode(&self) -> Mode {
        self.run.mode.unwrap_or(self.config.mode)
    }

    /// What the command line and the configuration name.
    pub(super) fn interface_names(&self) -> Vec<String> {
        self.config.interfaces_besides(&self.run.interfaces)
    }
}
