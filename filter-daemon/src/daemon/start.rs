//! Starts the daemon and stops it.
//!
//! First come the steps that need privileges: the socket, and the processes for the broker and for fetches.
//! Then privileges are given up, and only after that is anything read. All tables are filled and published
//! before the first interface is attached, so that the filter is complete from the first packet on.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use nix::unistd::{Uid, geteuid};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tracing::{error, info, warn};

use super::configuration::Configuration;
use super::error::DaemonError;
use super::feeds::FetchTools;
use super::guard::{self, Guard};
use super::log::meanwhile;
use super::owner::{LoopEnd, Owner, Prepared, Signals};
use super::persistence::{self, EarlierRun};
use super::pinned::AttachmentNote;
use super::reload::{ListSources, Loaded};
use super::succession::{self, Predecessor};
use super::{permits, privilege, unreadable};
use crate::accounts::as_user;
use crate::blocklist::Blocklist;
use crate::cli::Run;
use crate::clock;
use crate::config::OnExit;
use crate::control::client::Client;
use crate::control::client::ClientError;
use crate::control::wire::{HandOver, Ping};
use crate::control::{Call, Server, ServerHandle, SocketError, Watching, pins_note, told_by_whom};
use crate::journal::JournalError;
use crate::kernel::broker::Broker;
use crate::kernel::{KernelError, interface};
use crate::lock::{Lock, LockedPlace, NotLocked, PlaceInUse};
use crate::mount_namespace;
use crate::notify::Notify;
use crate::state::{GenerationName, StateStore};
use crate::text::Explain;

/// The most requests that wait for the owner. Beyond that, clients are not read.
const MOST_WAITING: usize = 64;

/// How long to wait for a process that may have been told to stop just now.
const AT_ONCE: Duration = Duration::from_millis(300);

/// How often to try a place that will soon be free.
const SOON: Duration = Duration::from_millis(1);

/// How long a filterd may take to make way.
const PATIENCE: Duration = Duration::from_secs(30);

/// After a takeover, how long clients of the old filterd are still told to ask again.
const GOODBYE: Duration = Duration::from_millis(100);

/// A filterd that is ready to serve.
struct StartedDaemon {
    owner: Owner,
    server: Server,
    /// The lock that keeps others from the state directory.
    state: Option<Lock>,
}

/// Why the daemon ends.
enum DaemonEnd {
    Signal(&'static str),
    /// Another filterd has asked this one to end.
    Asked,
    /// Another filterd has taken over everything.
    Succeeded,
    WithoutBroker(KernelError),
}

/// Runs the daemon until a signal ends it, or another filterd takes over.
pub async fn run(run: &Run, watching: Watching) -> Result<(), DaemonError> {
    let mut stop = [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?];
    let hangup = signal(SignalKind::hangup())?;
    let children = signal(SignalKind::child())?;
    let (interfaces, addresses) = (interface::changes()?, guard::changes()?);
    let tried = pins_note::trial(&run.socket);
    let predecessor = if run.take_over { Predecessor::find(run)? } else { None };
    // The service manager's socket is found before privileges are given up.
    let notify = Notify::from_environment();
    let StartedDaemon { mut owner, server, state } = match predecessor {
        Some(predecessor) => take_over(run, predecessor, &notify).await?,
        None => begin(run, &notify).await?,
    };
    owner.notify = notify;
    owner.configuration.note_start();
    owner.configuration.trial.note_beside_socket(server.handle()?, tried.as_deref());
    owner.pause.report_earlier_pause();
    owner.pinned.note_beside_socket(server.handle()?);
    owner.persistence.note_beside_socket(server.handle()?);
    owner.note_attached();
    // From here on, the earlier filterd cannot continue any more.
    owner.let_go();
    owner.guard.warnings(owner.protection.blocklist()).for_each(|warning| warn!("{warning}"));
    let (calls, requests) = mpsc::channel::<Call>(MOST_WAITING);
    let (tell, successors) = mpsc::channel(1);
    let socket = server.handle()?;
    let (come, came) = mpsc::channel(MOST_WAITING);
    owner.guard.listen(came);
    owner.set_watching(watching.clone());
    owner.show_metrics();
    let shown = owner.http.serve(calls.clone()).await?;
    let serving =
        tokio::spawn(server.with_successors(tell).with_askers(come).with_watching(watching).serve(calls));
    owner.tell_ready();
    owner.notify.ready(owner.summary());
    let mut signals = Signals { calls: requests, hangup, interfaces, addresses, children, successors };
    let [terminate, interrupt] = &mut stop;
    let by = loop {
        let ended = tokio::select! {
            ended = owner.work(&mut signals) => ended,
            _ = terminate.recv() => break DaemonEnd::Signal("SIGTERM"),
            _ = interrupt.recv() => break DaemonEnd::Signal("SIGINT"),
        };
        let successor = match ended {
            LoopEnd::Asked => break DaemonEnd::Asked,
            LoopEnd::WithoutBroker(gone) => break DaemonEnd::WithoutBroker(gone),
            LoopEnd::Succeeded(successor) => successor,
        };
        owner.keep_copies().await;
        if succession::hand_over(&mut owner, successor.into_std()?, &socket, state.as_ref()) {
            break DaemonEnd::Succeeded;
        }
    };
    owner.notify.stopping();
    // Another filterd may listen there soon.
    drop(shown);
    // Later requests are answered with the message that filterd is stopping.
    drop(signals);
    owner.keep_copies().await;
    // The counters go with the filter.
    if let DaemonEnd::Signal(_) = by {
        owner.report_usage().await;
    }
    // Clients that connected meanwhile get the same answer, and ask the next filterd, if there is one.
    let goodbye = if let DaemonEnd::Succeeded = by { GOODBYE } else { Duration::ZERO };
    let ended = end(owner, by, &|since| note(&socket, run, Some(since)), &socket);
    tokio::time::sleep(goodbye).await;
    // The socket is freed last, so that a filterd which finds it free also finds pins and journal free.
    serving.abort();
    _ = serving.await;
    ended
}

/// Starts if no filterd runs, or if the running one makes way by ending. If this start is refused, it removes
/// the empty directories that it made.
async fn begin(run: &Run, notify: &Notify) -> Result<StartedDaemon, DaemonError> {
    let is_missing = |directory: &&Path| !directory.as_os_str().is_empty() && !directory.exists();
    let missing: Vec<_> = run.state_dir.ancestors().take_while(is_missing).collect();
    let store = StateStore::of(&run.state_dir);
    let was_carried_over = store.has(GenerationName::Current);
    let begun = begin_here(run, notify).await;
    if begun.is_err() {
        if !was_carried_over {
            store.undo_carry_over();
        }
        // Removes the innermost first, and stops at the first one that is not empty.
        missing.iter().take_while(|directory| fs::remove_dir(directory).is_ok()).for_each(drop);
    }
    begun
}

async fn begin_here(run: &Run, notify: &Notify) -> Result<StartedDaemon, DaemonError> {
    privilege::must_be_nobodys(run)?;
    let directory = privilege::state_directory(run);
    directory.inspect()?;
    let server = listen(run).await?;
    let state = meanwhile::told("waiting for the state directory", || lock_state(&run.state_dir))?;
    let unsaved = pins_note::unsaved(&run.socket);
    let attached = pins_note::attached(&run.socket, &run.pin_dir).map(|noted| AttachmentNote::noted(&noted));
    let attached = attached.filter(AttachmentNote::is_of_this_boot);
    note(&server.handle()?, run, unsaved);
    let was_there = mount_namespace::has_bpffs(&run.pin_dir);
    let broker = meanwhile::told("starting the broker", || Broker::apart(&run.pin_dir, &run.log.words()));
    let broker = broker.map_err(pins_are_taken)?;
    let are_private = mount_namespace::ends_with_ours(Path::new("/proc"), &run.pin_dir, was_there);
    let is_gone = attached.is_some() && !broker.found_attached();
    if broker.found_at_work() && attached.is_some_and(|attached| attached.is_elsewhere()) {
        return Err(DaemonError::OtherNamespace);
    }
    let fetcher = meanwhile::told("starting the process that fetches lists", || permits::start_fetcher(run));
    let means = FetchTools::of(fetcher?);
    // Threads that logged progress have ended by now.
    let privileges = privilege::drop_privileges(run, &directory)?;
    let _starting = notify.starting();
    let mut owner = open(run, broker, unsaved, means).await?;
    if unsaved.is_some() && owner.losses_are_noted() {
        note(&server.handle()?, run, None);
    }
    info!("running as {privileges}");
    owner.privileges = privileges;
    owner.attach().await?;
    if are_private {
        owner.pinned.end_with_namespace(clock::now());
    }
    if is_gone {
        owner.pinned.were_gone(clock::now());
    }
    Ok(StartedDaemon { owner, server, state })
}

/// Starts beside another filterd, which continues until everything is ready. If this start fails, the other
/// one continues unchanged.
async fn take_over(
    run: &Run,
    mut predecessor: Predecessor,
    notify: &Notify,
) -> Result<StartedDaemon, DaemonError> {
    let directory = privilege::state_directory(run);
    directory.inspect()?;
    let broker = Broker::beside(&run.pin_dir, &run.log.words()).map_err(pins_are_taken)?;
    let are_private = mount_namespace::ends_with_ours(Path::new("/proc"), &run.pin_dir, true);
    let means = FetchTools::of(permits::start_fetcher(run)?);
    let privileges = privilege::drop_privileges(run, &directory)?;
    let _starting = notify.starting();
    let live = predecessor.live_entries()?;
    let reading = read(run)?.strictly(run, |name| live.get(name).copied().unwrap_or(0))?;
    reading.tell(run);
    let StartInput { sources, configuration, loaded } = reading;
    let read = (configuration, loaded);
    succession::must_protect_as_well(&read.1)?;
    let there: Vec<_> = interface::all().await?.into_iter().map(|one| one.name).collect();
    let names = read.1.config.interfaces_besides(&run.interfaces);
    succession::must_find_interfaces(&names, &there, &predecessor.interfaces()?)?;
    // Restored content differs from the files, which must then be read again.
    let checksum = Some(read.1.checksum).filter(|_| !read.1.restores);
    let facts = (Blocklist::default(), Guard::begin(&run.state_dir).await);
    let mut prepared = Prepared::new(run, read, sources, broker, facts)?;
    let made = predecessor.make_way(run)?;
    let (mut persistence, mut live) = persistence::restore(&run.state_dir, EarlierRun::default())?;
    // A live list with such a name may have got entries since the earlier check.
    persistence.free_names(&prepared.config, &mut live)?;
    prepared.protection.join(&live, clock::now())?;
    prepared.protection.filter_mut().succeed(made.too_late)?;
    let mut owner = Owner::of(run, prepared, persistence, means);
    info!("running as {privileges}");
    owner.privileges = privileges;
    owner.attach().await?;
    if are_private {
        owner.pinned.end_with_namespace(clock::now());
    }
    owner.interfaces.go_on_from(&made.interfaces);
    let (server, state) = made.done()?;
    stand_alone(&mut owner).await;
    if let Some(checksum) = checksum {
        owner.read_what_has_changed(checksum);
    }
    Ok(StartedDaemon { owner, server, state })
}

/// Waits until the other filterd has ended, and takes over its pins.
async fn stand_alone(owner: &mut Owner) {
    let begun = clock::instant();
    while let Err(error) = owner.stand_alone() {
        if begun.elapsed() > PATIENCE {
            error!("{}", error.explain());
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Leaves the kernel in the state that `on_exit` asks for. Waits until everything is written and the broker
/// has ended.
fn end(
    mut owner: Owner,
    by: DaemonEnd,
    note_unsaved: &dyn Fn(u64),
    socket: &ServerHandle,
) -> Result<(), DaemonError> {
    let mut left = Ok(());
    match (by, owner.on_exit()) {
        (DaemonEnd::Succeeded, _) => {
            info!("another filterd has taken over");
            owner.end_without_a_word();
            return Ok(());
        }
        (DaemonEnd::Asked, _) => info!("another filterd takes over; the filter stays attached"),
        // No process is left that could detach the filter. A supervisor starts both again, which take over
        // the pins without a gap.
        (DaemonEnd::WithoutBroker(gone), _) => {
            error!(
                "stopping: the broker process is gone; the filter stays attached as it is{}",
                if owner.is_paused() { ", paused until the pause ends" } else { "" }
            );
            left = Err(gone);
        }
        (DaemonEnd::Signal(signal), OnExit::Keep) => {
            info!(
                "stopping on {signal}; the filter stays attached (`on_exit: keep`); to remove it: filterd detach"
            );
        }
        (DaemonEnd::Signal(signal), OnExit::Detach) => {
            info!("stopping on {signal}");
            left = owner.detach();
            if let (Ok(()), Err(error)) = (&left, socket.note_attached(None)) {
                warn!("cannot store beside the socket that the filter is detached: {error}");
            }
        }
    }
    if let Some(since) = owner.end() {
        note_unsaved(since);
    }
    Ok(left?)
}

fn note(socket: &ServerHandle, run: &Run, unsaved: Option<u64>) {
    if let Err(error) = socket.note(&run.pin_dir, unsaved) {
        warn!("cannot store beside the socket where the pins are, or what was not on disk: {error}");
    }
}

/// Listens at the socket. With `--take-over`, asks the filterd that listens there to make way.
async fn listen(run: &Run) -> Result<Server, DaemonError> {
    let begun = clock::instant();
    let mut is_asked = !run.take_over;
    loop {
        let listening = Server::listen(&run.socket);
        let Err(SocketError::Taken(_)) = listening else {
            return Ok(listening?);
        };
        let waited = begun.elapsed();
        if !is_asked {
            is_asked = ask_to_make_way(&run.socket);
        }
        let makes_way = run.take_over && (is_asked || waited < AT_ONCE || !has_lost_its_socket(&run.socket));
        // A filterd that has just been told to stop is waited for.
        let is_ending = || makes_way || waited < AT_ONCE || is_stopping(&run.socket);
        if waited >= PATIENCE || !is_ending() {
            return Ok(listening.map_err(told_by_whom)?);
        }
        tokio::time::sleep(if makes_way { SOON } else { SOON * 10 }).await;
    }
}

/// Locks the state directory. If it cannot be locked, this returns none, and the journal reports the error.
fn lock_state(directory: &Path) -> Result<Option<Lock>, DaemonError> {
    _ = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    let owner = fs::metadata(directory).map_or_else(|_| geteuid(), |found| Uid::from_raw(found.uid()));
    match as_user(owner, || Lock::directory(LockedPlace::State, directory)) {
        Ok(lock) => Ok(Some(lock)),
        // Only root sees which process holds the lock.
        Err(NotLocked::Taken(taken)) => {
            Err(PlaceInUse::by_holder_of(&taken.path, taken.place, &taken.path).into())
        }
        Err(NotLocked::Failed(_)) => Ok(None),
    }
}

/// Adds the socket of the other filterd to the error. The broker cannot find it, but this process still can.
fn pins_are_taken(error: KernelError) -> KernelError {
    if let KernelError::Taken(taken) = &error {
        return PlaceInUse::by_holder_of(&taken.path, taken.place, &taken.path).into();
    }
    error
}

/// Whether the filterd at this socket has ended or no longer answers requests. A silent one is not known to
/// be stopping, and neither is one whose socket was removed.
fn is_stopping(socket: &Path) -> bool {
    let asked = Client::connect(socket).and_then(|mut client| client.call(&Ping {}));
    !matches!(asked, Ok(_) | Err(ClientError::Silent(_) | ClientError::SocketGone { .. }))
}

/// Whether a process holds this place but cannot be asked, because its socket was removed.
fn has_lost_its_socket(socket: &Path) -> bool {
    matches!(Client::connect(socket), Err(ClientError::SocketGone { .. }))
}

/// Asks the filterd to end. It may have ended already, or not know the request.
fn ask_to_make_way(socket: &Path) -> bool {
    Client::connect(socket).and_then(|mut client| client.call(&HandOver {})).is_ok()
}

/// The configuration and lists that a start has read.
struct StartInput {
    sources: ListSources,
    configuration: Configuration,
    loaded: Loaded,
}

/// Reads the configuration and its lists.
fn read(run: &Run) -> Result<StartInput, DaemonError> {
    let mut sources = ListSources::of(&run.state_dir);
    let (configuration, loaded) =
        meanwhile::told("reading the lists", || Configuration::at_start(run, &mut sources))?;
    Ok(StartInput { sources, configuration, loaded })
}

impl StartInput {
    /// Falls back to the last good copy if a reload would refuse what was read. `live_entries` returns the
    /// number of entries on a live list.
    fn strictly(self, run: &Run, live_entries: impl Fn(&str) -> u64) -> Result<Self, DaemonError> {
        let Self { mut sources, mut configuration, loaded } = self;
        let loaded = configuration.must_be_possible(loaded, run, live_entries, &mut sources)?;
        unreadable::refuse(sources.denied())?;
        Ok(Self { sources, configuration, loaded })
    }

    /// Logs a summary of the configuration.
    fn tell(&self, run: &Run) {
        let interfaces = self.loaded.config.interfaces_besides(&run.interfaces);
        info!("{}", self.configuration.summary(&self.loaded.config, &interfaces));
    }
}

/// Reads everything, fills the tables and publishes them. A predecessor that makes way may still be writing
/// its journal.
async fn open(
    run: &Run,
    broker: Broker,
    unsaved: Option<u64>,
    means: FetchTools,
) -> Result<Owner, DaemonError> {
    // This is checked before the journal is made, so that a start without an interface leaves no files.
    let reading = read(run)?.strictly(run, |_| 0)?;
    reading.tell(run);
    let is_as_said = reading.configuration.not_taken().is_none();
    let begun = clock::instant();
    // If anything was blocked, there was a journal.
    let left_at_work = broker.found_blocked();
    let (mut persistence, mut blocklist) = loop {
        let restore = || persistence::restore(&run.state_dir, EarlierRun { left_at_work, unsaved });
        match meanwhile::told("reading the journal", restore) {
            Err(DaemonError::Journal(JournalError::InUse(_)))
                if run.take_over && begun.elapsed() < PATIENCE =>
            {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            restored => break restored?,
        }
    };
    let interfaces = reading.loaded.config.interfaces_besides(&run.interfaces);
    let reading = reading.strictly(run, |name| blocklist.lists().live_entries(name));
    let reading = reading.map_err(|error| error.at_start(interfaces))?;
    if is_as_said && reading.configuration.not_taken().is_some() {
        reading.tell(run);
    }
    let StartInput { sources, configuration, loaded } = reading;
    persistence.free_names(&loaded.config, &mut blocklist)?;
    let facts = (blocklist, Guard::begin(&run.state_dir).await);
    let prepared = Prepared::new(run, (configuration, loaded), sources, broker, facts)?;
    Ok(Owner::of(run, prepared, persistence, means))
}
