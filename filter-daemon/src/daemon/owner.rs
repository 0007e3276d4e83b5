//! The one owner of state: the blocklist, the tables, the links.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use filter_common::target::Target;
use tokio::signal::unix::Signal;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tracing::{error, info, warn};

use super::error::DaemonError;
use super::interfaces::Watched;
use super::live::{self, Carrying};
use super::needs;
use super::reload::{self, Loaded, Stamp};
use super::shrink::Roominess;
use crate::blocklist::{Blocklist, Effects, Record, Timestamp};
use crate::cli::Run;
use crate::clock;
use crate::config::{Config, ConfigError, OnExit};
use crate::control::wire::{self, add, reload as reloading};
use crate::control::{Asked, Call};
use crate::exit::Exit;
use crate::journal::{Journal, NotWritten};
use crate::kernel::broker::Broker;
use crate::kernel::{Filter, KernelError, Needs, grace};
use crate::text::Explain;

/// How a client learns what became of its request.
pub(super) type Answer<R> = oneshot::Sender<Result<R, wire::Failure>>;

/// Everything that changes.
pub struct Owner {
    pub(super) run: Run,
    pub(super) started: Timestamp,
    pub(super) config: Config,
    pub(super) blocklist: Blocklist,
    pub(super) filter: Filter,
    pub(super) interfaces: Vec<Watched>,
    /// When the interfaces were last looked at.
    pub(super) looked: Instant,
    pub(super) journal: Journal,
    /// Changes that the journal has not been told yet.
    pub(super) unsaved: Vec<Record>,
    pub(super) carrying: Option<Carrying>,
    /// When the journal may be tried again after the disk has failed.
    pub(super) journal_retry: Instant,
    /// List files as they were last read.
    pub(super) stamps: HashMap<PathBuf, Stamp>,
    /// Lines of each list that were not understood.
    pub(super) rejected: HashMap<String, u64>,
    /// Why a list could not be read.
    pub(super) unusable: HashMap<String, String>,
    pub(super) roominess: Roominess,
    grace: Option<JoinHandle<std::io::Result<()>>>,
    /// The kernel has no grace periods for us: entries on the move get a table of their own instead.
    graceless: bool,
    reloading: Option<Reloading>,
    /// Large additions that wait until there is room to move entries. At most one a client.
    deferred: VecDeque<Call>,
}

/// A reload under way, who waits for it, and who asked too late for what it reads.
struct Reloading {
    began: Instant,
    loading: JoinHandle<Result<Loaded, ConfigError>>,
    waiting: Vec<Answer<reloading::Reply>>,
    again: Option<Vec<Answer<reloading::Reply>>>,
}

/// How often a larger table in the making is asked whether it is done.
const GROWTH_POLL: Duration = Duration::from_millis(2);

/// What wakes the loop up from outside.
pub struct Signals {
    /// Requests.
    pub calls: mpsc::Receiver<Call>,
    /// SIGHUP.
    pub hangup: Signal,
    /// An interface has changed.
    pub interfaces: mpsc::Receiver<()>,
}

/// Where the loop wakes up.
enum Event {
    Call(Call),
    Hangup,
    InterfaceChanged,
    Loaded(Result<Loaded, ConfigError>),
    GraceIsOver(std::io::Result<()>),
    Carried(Result<Result<(), NotWritten>, oneshot::error::RecvError>),
    Deadline,
}

impl Owner {
    /// What was added live before.
    pub fn restore(run: &Run, config: &Config) -> Result<(Journal, Blocklist), DaemonError> {
        let mut blocklist = Blocklist::default();
        let journal = live::restore(&run.state_dir, config, &mut blocklist)?;
        Ok((journal, blocklist))
    }

    /// Builds and publishes the tables for what was loaded, and for what is in `blocklist` already.
    pub fn new(
        run: &Run,
        loaded: Loaded,
        broker: Broker,
        journal: Journal,
        blocklist: Blocklist,
    ) -> Result<Self, DaemonError> {
        let restored = blocklist.everything();
        let mut owner = Self {
            run: run.clone(),
            started: clock::now(),
            config: Config::default(),
            blocklist,
            filter: Filter::through(broker),
            interfaces: Vec::new(),
            looked: Instant::now(),
            journal,
            unsaved: Vec::new(),
            carrying: None,
            journal_retry: Instant::now(),
            stamps: HashMap::new(),
            rejected: HashMap::new(),
            unusable: HashMap::new(),
            roominess: Roominess::default(),
            grace: None,
            graceless: false,
            reloading: None,
            deferred: VecDeque::new(),
        };
        let reloaded = owner.apply(loaded, restored)?;
        reloaded.warnings.iter().for_each(|warning| warn!("{warning}"));
        Ok(owner)
    }

    /// Leaves the kernel as it was found, if it cannot be made what it should be.
    pub fn give_up(&mut self) -> Result<(), KernelError> {
        self.filter.give_up()
    }

    /// Takes the filter off every interface, and everything out of the kernel.
    pub fn detach(&mut self) -> Result<(), KernelError> {
        self.filter.remove()?;
        for one in self.interfaces.drain(..).filter(|one| one.attached().is_some()) {
            info!("{}: detached", one.name());
        }
        Ok(())
    }

    /// What becomes of the filter when the daemon is stopped.
    pub fn on_exit(&self) -> OnExit {
        self.config.on_exit
    }

    /// What is needed only to begin with is over.
    pub fn settle_in(&mut self) -> Result<(), KernelError> {
        if !self.config.enforce {
            warn!("enforce is false: packets are counted, none is dropped");
        }
        self.filter.settle_in()
    }

    /// Serves requests, signals and time, until another filterd takes over.
    pub async fn work(&mut self, signals: &mut Signals) {
        loop {
            match self.next_event(signals).await {
                Event::Call(call @ Call::HandOver(_)) => {
                    self.serve(call);
                    // The answer must get out before we do.
                    tokio::task::yield_now().await;
                    return;
                }
                Event::Call(call) if self.must_wait(&call) => self.deferred.push_back(call),
                Event::Call(call) => {
                    self.serve(call);
                    // Out with the answer, before what nobody waits for.
                    tokio::task::yield_now().await;
                }
                Event::Hangup => self.begin_reload(Vec::new()),
                Event::Loaded(loaded) => self.finish_reload(loaded).await,
                Event::GraceIsOver(result) => self.grace_is_over(result),
                Event::Carried(written) => self.carried(written),
                Event::InterfaceChanged => _ = self.look_again().await,
                Event::Deadline => {
                    self.expire();
                    if self.until_retry().is_some_and(|retry| retry.is_zero()) {
                        self.look_again().await;
                    }
                }
            }
            self.settle();
            self.catch_up();
            self.keep_journal();
            self.shrink_in_time();
        }
    }

    /// Must this addition wait, because many entries are on the move, or for a larger table? Small ones never do.
    fn must_wait(&mut self, call: &Call) -> bool {
        const SMALL: usize = 64;
        let Call::Add(Asked { request: add::Request { targets, .. }, .. }) = call else { return false };
        if targets.len() <= SMALL {
            return false;
        }
        if self.grace.is_some() && self.filter.is_crowded() {
            return true;
        }
        let needs = self.needs_with(targets.iter().copied());
        // Where there is no memory for it, the addition itself will be told so.
        !self.filter.has_room(&needs) && self.filter.grow_aside(needs.addresses).unwrap_or(false)
    }

    /// Answers those who had to wait, as far as they no longer need to.
    fn catch_up(&mut self) {
        while let Some(call) = self.deferred.pop_front() {
            if self.must_wait(&call) {
                self.deferred.push_front(call);
                return;
            }
            self.serve(call);
            self.settle();
        }
    }

    async fn next_event(&mut self, signals: &mut Signals) -> Event {
        let deadline = self.until_deadline();
        tokio::select! {
            Some(call) = signals.calls.recv() => Event::Call(call),
            Some(()) = signals.hangup.recv() => Event::Hangup,
            Some(()) = signals.interfaces.recv() => Event::InterfaceChanged,
            loaded = finished(self.reloading.as_mut().map(|reloading| &mut reloading.loading)) => Event::Loaded(loaded),
            result = finished(self.grace.as_mut()) => Event::GraceIsOver(result),
            written = told(self.carrying.as_mut().map(|carrying| &mut carrying.written)) => Event::Carried(written),
            () = tokio::time::sleep(deadline) => Event::Deadline,
        }
    }

    /// A clock that is set while we wait is noticed within a minute.
    fn until_deadline(&self) -> Duration {
        const LONGEST_SLEEP: Duration = Duration::from_secs(60);
        let deadline = self.blocklist.next_deadline().map(clock::until);
        let growing = self.filter.is_growing().then_some(GROWTH_POLL);
        let due = [deadline, self.until_journal(), self.until_retry(), growing];
        due.into_iter().flatten().fold(LONGEST_SLEEP, Duration::min)
    }

    fn expire(&mut self) {
        let effects = self.blocklist.expire(clock::now());
        if !effects.is_empty() {
            info!("{} expired", effects.block.left.len());
        }
        if let Err(error) = self.filter.apply(&effects, &self.blocklist) {
            error!("{error}");
        }
    }

    /// Lets entries on the move take their next step, and waits for a grace period if they need one.
    fn settle(&mut self) {
        if self.grace.is_some() {
            return;
        }
        let due = if self.graceless {
            self.filter.settle_anew(&self.blocklist).map(|()| false)
        } else {
            self.filter.settle(&self.blocklist)
        };
        match due {
            Ok(true) => self.grace = Some(tokio::task::spawn_blocking(grace::wait)),
            Ok(false) => {}
            Err(error) => error!("{error}"),
        }
    }

    fn grace_is_over(&mut self, result: std::io::Result<()>) {
        self.grace = None;
        if let Err(error) = result {
            warn!(
                "the kernel gives no grace periods ({error}): crowded tables are built anew instead, which is slower"
            );
            self.graceless = true;
        }
    }

    /// Reads the configuration anew, away from this task. Whoever asks while another reload reads may have changed what
    /// that one has read already, and so gets a further one.
    pub(super) fn begin_reload(&mut self, answers: Vec<Answer<reloading::Reply>>) {
        if let Some(reloading) = &mut self.reloading {
            reloading.again.get_or_insert_default().extend(answers);
            return;
        }
        let (path, stamps) = (self.run.config.clone(), self.stamps.clone());
        let loading = tokio::task::spawn_blocking(move || reload::load(path.as_deref(), &stamps));
        self.reloading = Some(Reloading { began: Instant::now(), loading, waiting: answers, again: None });
    }

    async fn finish_reload(&mut self, loaded: Result<Loaded, ConfigError>) {
        let Some(reloading) = self.reloading.take() else { return };
        let result = match loaded {
            Ok(loaded) => self.reload(loaded, reloading.began).await,
            Err(error) => Err(wire::Failure::InvalidConfig(error.explain())),
        };
        match &result {
            Ok(reloaded) => super::report::log_reload(reloaded),
            Err(failure) => error!("reload failed, everything stays as it was: {}", failure.explanation()),
        }
        reloading.waiting.into_iter().for_each(|answer| _ = answer.send(result.clone()));
        reloading.again.into_iter().for_each(|answers| self.begin_reload(answers));
    }

    async fn reload(&mut self, loaded: Loaded, began: Instant) -> Result<reloading::Reply, wire::Failure> {
        let failed = |error: DaemonError| {
            let told = error.explain();
            if Exit::from(&error) == Exit::Config {
                wire::Failure::InvalidConfig(told)
            } else {
                wire::Failure::Kernel(told)
            }
        };
        let mode = self.config.mode;
        let mut reloaded = self.apply(loaded, Effects::default()).map_err(failed)?;
        if self.config.mode != mode && self.run.mode.is_none() {
            reloaded.warnings.push(
                "mode changed: interfaces stay attached as they are until filterd starts anew".to_owned(),
            );
        }
        self.shrink();
        match self.follow_wanted() {
            Ok(()) => reloaded.warnings.extend(self.look_again().await.iter().map(ToString::to_string)),
            Err(error) => reloaded.warnings.push(error.to_string()),
        }
        reloaded.milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(reloaded)
    }

    /// Looks at all interfaces; where even that fails, it is tried again.
    async fn look_again(&mut self) -> Vec<KernelError> {
        self.look().await.unwrap_or_else(|error| {
            error!("{error}");
            vec![error]
        })
    }

    /// Makes room for these targets.
    pub(super) fn reserve(
        &mut self,
        targets: impl Iterator<Item = Target> + Clone,
    ) -> Result<(), KernelError> {
        let needs = self.needs_with(targets);
        self.filter.reserve(&needs, &self.blocklist)
    }

    /// What there must be room for once these targets have entered: counted exactly only where that matters.
    fn needs_with(&self, targets: impl Iterator<Item = Target> + Clone) -> Needs {
        let most = needs::at_most(&self.blocklist, targets.clone());
        if self.filter.has_room(&most) { most } else { needs::with(&self.blocklist, targets) }
    }
}

/// The outcome of a task, or never if there is none.
async fn finished<T>(task: Option<&mut JoinHandle<T>>) -> T {
    match task {
        Some(task) => match task.await {
            Ok(outcome) => outcome,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        },
        None => std::future::pending().await,
    }
}

/// What is told, or never if nobody is to tell anything.
async fn told<T>(told: Option<&mut oneshot::Receiver<T>>) -> Result<T, oneshot::error::RecvError> {
    match told {
        Some(told) => told.await,
        None => std::future::pending().await,
    }
}
