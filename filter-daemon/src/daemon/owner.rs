//! The one owner of state: a loop that serves requests, signals and time, one thing after another. Each part of the state
//! belongs to a part of its own; the loop hands every part what it needs of the others.

use std::path::Path;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::signal::unix::Signal;
use tokio::sync::{mpsc, oneshot};
use tracing::{error, info, warn};

use super::capacity::Capacity;
use super::commit::Protection;
use super::configuration::Configuration;
use super::diff::Diff;
use super::error::DaemonError;
use super::interfaces::Interfaces;
use super::lists::{Lists, Outcomes};
use super::pages::{Pages, Parts, Slot};
use super::pause::Pause;
use super::persistence::Persistence;
use super::pinned::Pinned;
use super::privilege::Privileges;
use super::reading::{Read, Readings};
use super::reload::{Loaded, Reload, Sources};
use super::time::Time;
use super::turns::{Minded, Next, Turns};
use crate::blocklist::{Blocklist, Change, Timestamp};
use crate::cli::Run;
use crate::clock;
use crate::config::{Config, OnExit};
use crate::control::Call;
use crate::control::wire::reload::{Accept, Reply as Reloaded};
use crate::control::wire::{self, take_over};
use crate::journal::NotWritten;
use crate::kernel::broker::Broker;
use crate::kernel::{Filter, KernelError};
use crate::text::{Explain, Explanation};

/// Entries that expire in one turn: a millisecond or two.
const EXPIRING: usize = 4096;

/// A clock that is set while we wait is noticed within a minute.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// To look costs more than to add: whoever adds much is told what was so a moment ago.
const FRESH: Duration = Duration::from_millis(100);

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
    pub(super) pinned: Pinned,
    pub(super) time: Time,
    pub(super) pause: Pause,
    pub(super) pages: Pages,
    pub(super) reload: Slot<Reload>,
    pub(super) diff: Slot<Diff>,
    pub(super) readings: Readings,
    pub(super) lists: Lists,
    /// What a reload has changed, until the copies of its lists are on disk.
    pub(super) reloaded: Option<Reloaded>,
    /// Another filterd, which is to have this one's place as soon as nothing is under way.
    successor: Option<UnixStream>,
    turns: Turns,
    minded: Minded,
}

/// What wakes the loop up from outside.
pub struct Signals {
    /// Requests.
    pub calls: mpsc::Receiver<Call>,
    /// SIGHUP.
    pub hangup: Signal,
    /// An interface has changed.
    pub interfaces: mpsc::Receiver<()>,
    /// A child has ended: the broker is one.
    pub children: Signal,
    /// Another filterd is to take this one's place.
    pub successors: mpsc::Receiver<UnixStream>,
}

/// Why the loop has ended by itself.
pub enum Ended {
    /// Another filterd has told this one to go.
    Asked,
    /// Another one waits to be handed everything; if it comes to nothing, the loop goes on.
    Succeeded(UnixStream),
    /// Without its broker it could change nothing in the kernel any more.
    WithoutBroker(KernelError),
}

/// What the owner has to do when nobody asks for anything.
enum Event {
    /// A page, or what its time has come for.
    Due,
    Successor(UnixStream),
    Hangup,
    ChildEnded,
    InterfaceChanged,
    Loaded(Result<Read, DaemonError>),
    Kept(Outcomes),
    GraceIsOver(std::io::Result<()>),
    Compacted(Result<Result<(), NotWritten>, oneshot::error::RecvError>),
}

/// What a filterd will do, in tables that are filled, as long as nobody has asked it for anything.
pub struct Prepared {
    pub config: Config,
    pub protection: Protection,
    configuration: Configuration,
    readings: Readings,
    lists: Lists,
}

impl Prepared {
    /// Builds and publishes the tables for what was loaded, and for what is in `blocklist` already.
    pub fn new(
        run: &Run,
        (mut configuration, mut loaded): (Configuration, Loaded),
        sources: Sources,
        broker: Broker,
        mut blocklist: Blocklist,
    ) -> Result<Self, DaemonError> {
        configuration.is_coming(&mut loaded);
        configuration.says_mode(run.mode.unwrap_or(loaded.config.mode));
        let (config, found, to_keep) = super::reload::begin_with(loaded, &mut blocklist)?;
        super::reload::tell_log(&found);
        let mut lists = Lists::of(&run.state_dir);
        lists.keep_soon(to_keep);
        let protection = Protection::begin(blocklist, Filter::through(broker))?;
        Ok(Self { config, protection, configuration, readings: Readings::of(sources), lists })
    }
}

impl Owner {
    /// Does what was prepared.
    pub fn of(run: &Run, prepared: Prepared, persistence: Persistence) -> Self {
        let Prepared { config, protection, configuration, readings, lists } = prepared;
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
            pinned: Pinned::default(),
            time: Time::begin(),
            pause: Pause::none(&run.state_dir),
            pages: Pages::default(),
            reload: Slot::empty(),
            diff: Slot::empty(),
            readings,
            lists,
            reloaded: None,
            successor: None,
            turns: Turns::default(),
            minded: Minded(clock::instant()),
        }
    }

    /// Why another filterd is not to have this one's place, if that is so.
    pub fn would_lose(&self) -> Option<Explanation> {
        self.persistence.would_lose(self.protection.blocklist())
    }

    /// Is what is not on disk being written, or about to be?
    pub fn is_catching_up(&self) -> bool {
        self.persistence.is_catching_up()
    }

    /// Waits until all live entries are on disk, or the disk has refused them.
    pub fn settle(&mut self) {
        self.persistence.write_soon(self.protection.take_records());
        self.persistence.settle();
    }

    /// Lets another filterd have the journal, with everything in it.
    pub fn hand_over_journal(&mut self) {
        self.persistence.write_soon(self.protection.take_records());
        self.persistence.let_go();
    }

    /// The filterd whose place this is has gone.
    pub fn stand_alone(&mut self) -> Result<(), KernelError> {
        self.protection.filter_mut().stand_alone()
    }

    /// Another filterd has this one's place.
    pub fn give_way(&mut self) {
        if let Err(error) = self.protection.filter_mut().give_way() {
            error!("{}", error.explain());
        }
    }

    /// It has not: everything is as it was.
    pub fn come_back(&mut self) -> Result<(), KernelError> {
        self.protection.filter_mut().come_back()
    }

    /// Where this one has its things, for one that is to take its place.
    pub fn place(&self) -> take_over::Reply {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let tables: u64 = self.tables().iter().map(|table| table.bytes).sum();
        take_over::Reply {
            version: wire::VERSION,
            pid: std::process::id(),
            user: nix::unistd::geteuid().as_raw(),
            state_dir: absolute(&self.run.state_dir),
            pin_dir: absolute(&self.run.pin_dir),
            memory: tables + super::memory::own(),
        }
    }

    /// Attaches to every interface that is there; if all that are there refuse, leaves the kernel as it was found.
    pub async fn attach(&mut self) -> Result<(), DaemonError> {
        let (names, mode) = (self.interface_names(), self.mode());
        let filter = self.protection.filter_mut();
        let attached = self.interfaces.attach(names, mode, filter).await;
        if attached.is_err() {
            filter.rollback()?;
        } else if !self.config.enforce {
            warn!("enforce is false: packets are counted, none is dropped");
        }
        attached
    }

    /// Takes the filter off every interface, and everything out of the kernel.
    pub fn detach(&mut self) -> Result<(), KernelError> {
        self.protection.filter_mut().remove()?;
        self.interfaces.forget();
        Ok(())
    }

    /// Waits until the copies of lists are written.
    pub async fn keep_copies(&mut self) {
        self.lists.end(self.protection.blocklist_mut()).await;
    }

    /// Waits until the journal is written and the broker is gone.
    pub fn end(self) {
        self.persistence.end(self.protection.blocklist(), clock::now());
        self.protection.end();
    }

    /// What becomes of the filter when the daemon is stopped.
    pub fn on_exit(&self) -> OnExit {
        self.config.on_exit
    }

    /// Nothing is to be written, and nobody to be told, by whoever has this one's place.
    pub fn end_without_a_word(self) {
        drop(self.persistence);
        self.protection.end();
    }

    /// Serves requests, signals and time, until another filterd takes over or the broker is gone.
    pub async fn work(&mut self, signals: &mut Signals) -> Ended {
        self.lists.write_next();
        loop {
            let next = self.next(signals).await;
            let hands_over = matches!(next, Next::Call(Call::HandOver(_))) && self.would_lose().is_none();
            if !matches!(next, Next::Call(_) | Next::Own(Event::Due)) {
                self.wake();
            }
            match next {
                Next::Call(call) => {
                    self.look_before(&call).await;
                    self.serve(call);
                }
                Next::Own(Event::Due) => self.do_what_is_due().await,
                Next::Own(Event::Successor(successor)) => self.successor = Some(successor),
                Next::Own(Event::ChildEnded) => {
                    if let Some(gone) = self.protection.filter_mut().obituary() {
                        return Ended::WithoutBroker(gone);
                    }
                }
                Next::Own(Event::Hangup) => {
                    info!("SIGHUP: reading the configuration again");
                    self.read(Accept::default(), None);
                }
                Next::Own(Event::Loaded(loaded)) => self.take_reading(loaded),
                Next::Own(Event::Kept(outcomes)) => self.note_copies(outcomes),
                Next::Own(Event::GraceIsOver(result)) => self.capacity.end_grace(result),
                Next::Own(Event::Compacted(written)) => {
                    self.persistence.compact(self.protection.blocklist(), clock::now(), written);
                }
                Next::Own(Event::InterfaceChanged) => _ = self.look_again().await,
            }
            // Out with the answers, before what nobody waits for; and whoever has come meanwhile is heard.
            tokio::task::yield_now().await;
            if hands_over {
                return Ended::Asked;
            }
            self.persistence.write_soon(self.protection.take_records());
            self.capacity.settle(&mut self.protection);
            self.persistence.keep_up(self.protection.blocklist(), clock::now());
            self.capacity.shrink_in_time(&mut self.protection);
            if self.has_nothing_under_way()
                && let Some(successor) = self.successor.take()
            {
                return Ended::Succeeded(successor);
            }
        }
    }

    fn has_nothing_under_way(&self) -> bool {
        let is_reloading = self.reload.get().is_some() || self.reloaded.is_some();
        self.pages.is_empty() && self.readings.is_idle() && !is_reloading
    }

    /// Whoever comes takes turns with what the owner has to do, and of that comes first what happens seldom.
    async fn next(&mut self, signals: &mut Signals) -> Next<Call, Event> {
        let sleep = self.until_deadline();
        let is_due = sleep.is_zero() || self.pages.are_due() || self.reload.is_due() || self.diff.is_due();
        let Signals { calls, hangup, interfaces, children, successors } = signals;
        let own = async {
            tokio::select! {
                biased;
                Some(()) = children.recv() => Event::ChildEnded,
                result = self.capacity.grace_period() => Event::GraceIsOver(result),
                loaded = self.readings.read() => Event::Loaded(loaded),
                outcomes = self.lists.written() => Event::Kept(outcomes),
                written = self.persistence.compacted() => Event::Compacted(written),
                Some(()) = hangup.recv() => Event::Hangup,
                Some(()) = interfaces.recv() => Event::InterfaceChanged,
                Some(successor) = successors.recv() => Event::Successor(successor),
                () = std::future::ready(()), if is_due => Event::Due,
                () = tokio::time::sleep(sleep) => Event::Due,
            }
        };
        self.turns.next(calls, own).await
    }

    fn until_deadline(&self) -> Duration {
        let polls = [Capacity::poll(&self.protection), self.pages.poll(), self.reload.poll()];
        let poll = polls.into_iter().flatten().fold(LONGEST_SLEEP, Duration::min);
        let expiry = self.protection.blocklist().next_deadline().map(clock::until);
        let (persistence, interfaces) = (self.persistence.until_due(), self.interfaces.until_due());
        let deadlines = [expiry, persistence, interfaces, self.pause.until_due()];
        let minded = self.minded.until(poll, clock::instant());
        deadlines.into_iter().flatten().fold(minded, Duration::min)
    }

    async fn do_what_is_due(&mut self) {
        if self.until_deadline().is_zero() {
            self.wake();
            self.mind_deadlines().await;
        }
        self.turn_page().await;
    }

    /// Something has happened for which pages may have waited.
    fn wake(&mut self) {
        self.pages.wake();
        self.reload.wake();
    }

    async fn mind_deadlines(&mut self) {
        self.minded = Minded(clock::instant());
        self.time.look();
        self.mind_pause();
        let expiring = Change::Expire { most: EXPIRING };
        match self.protection.commit(&expiring, clock::now()) {
            Ok(applied) if applied.changed > 0 => info!("{} expired", applied.changed),
            Ok(_) => {}
            Err(error) => error!("{}", error.explain()),
        }
        if self.interfaces.must_retry() {
            self.look_again().await;
        } else if self.interfaces.until_due().is_some_and(|left| left.is_zero()) {
            self.look_at_links().await;
        }
    }

    /// What a page may need.
    pub(super) fn parts(&mut self) -> Parts<'_> {
        Parts {
            protection: &mut self.protection,
            capacity: &mut self.capacity,
            persistence: &mut self.persistence,
        }
    }

    async fn turn_page(&mut self) {
        let mut parts = Parts {
            protection: &mut self.protection,
            capacity: &mut self.capacity,
            persistence: &mut self.persistence,
        };
        if self.pages.are_due() {
            self.pages.turn(&mut parts);
        }
        let (reload, diff) = (self.reload.turn(&mut parts), self.diff.turn(&mut parts));
        if let Some(reload) = reload {
            self.finish_reload(reload).await;
        }
        if let Some(diff) = diff {
            self.end_diff(Ok(diff.into_reply()));
        }
    }

    pub(super) async fn look_again(&mut self) -> Vec<KernelError> {
        let mode = self.mode();
        let refused = self.interfaces.look_again(mode, self.protection.filter_mut()).await;
        self.let_go();
        refused
    }

    /// Takes the filter off what the configuration does not name, if nothing speaks against it.
    pub fn let_go(&mut self) {
        self.interfaces.let_go(self.protection.filter_mut());
    }

    /// Those who are told what packets meet are told what is so at this moment.
    async fn look_before(&mut self, call: &Call) {
        let is_asked = matches!(call, Call::Status(_) | Call::Test(_));
        if is_asked || matches!(call, Call::Add(_)) && self.interfaces.age() > FRESH {
            self.look_at_links().await;
        }
    }

    /// Asks the kernel whether pins are there and our links are where they were; if not, looks at everything.
    async fn look_at_links(&mut self) {
        self.pinned.look(self.protection.filter_mut());
        if !self.interfaces.are_as_left(self.protection.filter_mut()) {
            self.look_again().await;
        }
    }

    pub(super) fn mode(&self) -> crate::config::Mode {
        self.run.mode.unwrap_or(self.config.mode)
    }

    /// What the command line and the configuration name.
    pub(super) fn interface_names(&self) -> Vec<String> {
        self.config.interfaces_besides(&self.run.interfaces)
    }
}
