//! Starts the daemon and stops it.
//!
//! First come the steps that need privileges: the socket, and the processes for the broker and for fetches.
//! Then privileges are given up, and only after that is anything read. All tables are filled and published
//! before the first interface is attached, so that the filter is complete from the first packet on.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nix::unistd::{Uid, geteuid};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, mpsc};
use tracing::{error, info, warn};

use super::alarm::Alarm;
use super::error::DaemonError;
use super::feeds::FetchTools;
use super::guard::{self, Guard};
use super::log::meanwhile;
use super::owner::{self, LoopEnd, Owner, Prepared, Signals};
use super::persistence::{self, EarlierRun};
use super::pinned::AttachmentNote;
use super::start_input::StartInput;
use super::succession::{self, Predecessor};
use super::turns::Turns;
use super::{permits, privilege};
use crate::accounts::as_user;
use crate::cli::Run;
use crate::clock;
use crate::config::OnExit;
use crate::control::client::Client;
use crate::control::client::ClientError;
use crate::control::wire::Ping;
use crate::control::{Call, Server, ServerHandle, SocketError, Watching, pins_note, told_by_whom};
use crate::kernel::broker::Broker;
use crate::kernel::{KernelError, interface};
use crate::lock::{Lock, LockedPlace, NotLocked, PlaceInUse};
use crate::mount_namespace;
use crate::notify::Notify;
use crate::state::{GenerationName, StateStore};

/// The most requests that wait for the owner. Beyond that, clients are not read.
const MOST_WAITING: usize = 64;

/// How long to wait for a process that may have been told to stop just now.
const AT_ONCE: Duration = Duration::from_millis(300);

/// How often to try a place that will soon be free.
const SOON: Duration = Duration::from_millis(10);

/// How long a filterd may take to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a filterd that another one replaces still tells its clients to ask again.
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
    WithoutBroker(KernelError),
}

/// Runs the daemon until a signal ends it, or another filterd takes over.
pub async fn run(run: &Run, watching: Watching) -> Result<(), DaemonError> {
    let predecessor = if run.take_over { Predecessor::find(run)? } else { None };
    if predecessor.is_some() {
        succession::rehearse_apart()?;
    }
    let mut stop = [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?];
    let hangup = signal(SignalKind::hangup())?;
    let children = signal(SignalKind::child())?;
    let alarm = Alarm::new()?;
    let (interfaces, addresses) = (interface::changes()?, guard::changes()?);
    let tried = pins_note::trial(&run.socket);
    let replaced = predecessor.map(Predecessor::end).transpose()?;
    let failed = |error: DaemonError| match &replaced {
        Some(replaced) => replaced.without_successor(&error).into(),
        None => error,
    };
    // The service manager's socket is found before privileges are given up.
    let notify = Notify::from_environment();
    let started = begin(run, &notify, replaced.is_some()).await;
    let StartedDaemon { mut owner, server, state } = started.map_err(failed)?;
    if let Some(replaced) = &replaced {
        owner.attachment.interfaces.go_on_from(&replaced.interfaces);
    }
    owner.process.notify = notify;
    owner.configuration.note_start();
    if owner.configuration.trial.is_on() {
        // Another start within the trial must know the lists of this one.
        owner.save_now().await;
    }
    owner.configuration.trial.note_beside_socket(server.handle()?, tried.as_deref());
    owner.pause.report_earlier_pause();
    owner.attachment.pinned.note_beside_socket(server.handle()?);
    owner.core.persistence.note_beside_socket(server.handle()?);
    owner.note_attached();
    owner.let_go();
    owner.guard.warnings(owner.core.protection.blocklist()).for_each(|warning| warn!("{warning}"));
    let (calls, requests) = mpsc::channel::<Call>(MOST_WAITING);
    let socket = server.handle()?;
    let (come, came) = mpsc::channel(MOST_WAITING);
    owner.guard.listen(came);
    owner.set_watching(watching.clone());
    owner.show_metrics();
    let shown = owner.process.http.serve(calls.clone()).await.map_err(|error| failed(error.into()))?;
    let serving = tokio::spawn(server.with_askers(come).with_watching(watching).serve(calls));
    owner.tell_ready();
    owner.process.notify.ready(owner.summary());
    let turns = Turns::default();
    let mut signals = Signals { calls: requests, hangup, interfaces, addresses, children, alarm, turns };
    let [terminate, interrupt] = &mut stop;
    let shared = Arc::new(Mutex::new(owner));
    let by = tokio::select! {
        ended = owner::work(&shared, &mut signals) => match ended {
            LoopEnd::Asked => DaemonEnd::Asked,
            LoopEnd::WithoutBroker(gone) => DaemonEnd::WithoutBroker(gone),
        },
        _ = terminate.recv() => DaemonEnd::Signal("SIGTERM"),
        _ = interrupt.recv() => DaemonEnd::Signal("SIGINT"),
    };
    let mut owner = Arc::into_inner(shared).expect("jobs end with the loop").into_inner();
    owner.process.notify.stopping();
    // Another filterd may listen there soon.
    drop(shown);
    // Later requests are answered with the message that filterd is stopping.
    drop(signals);
    owner.keep_copies().await;
    // The counters go with the filter.
    if let DaemonEnd::Signal(_) = by {
        owner.report_usage().await;
    }
    let is_replaced = matches!(by, DaemonEnd::Asked);
    let ended = end(owner, by, &|since| note(&socket, run, Some(since)), &socket);
    drop(state);
    // The socket is freed last, so that a filterd which finds it free also finds pins and journal free.
    if is_replaced {
        socket.release()?;
        // Clients that connected before the other one listened are told to ask it.
        tokio::time::sleep(GOODBYE).await;
    }
    serving.abort();
    _ = serving.await;
    ended
}

/// Starts if no filterd runs, or if the running one is ending for this one (`replaces`). If this start is
/// refused, it removes the empty directories that it made.
async fn begin(run: &Run, notify: &Notify, replaces: bool) -> Result<StartedDaemon, DaemonError> {
    let is_missing = |directory: &&Path| !directory.as_os_str().is_empty() && !directory.exists();
    let missing: Vec<_> = run.state_dir.ancestors().take_while(is_missing).collect();
    let store = StateStore::of(&run.state_dir);
    let was_carried_over = store.has(GenerationName::Current);
    let begun = begin_here(run, notify, replaces).await;
    if begun.is_err() {
        if !was_carried_over {
            store.undo_carry_over();
        }
        // Removes the innermost first, and stops at the first one that is not empty.
        missing.iter().take_while(|directory| fs::remove_dir(directory).is_ok()).for_each(drop);
    }
    begun
}

async fn begin_here(run: &Run, notify: &Notify, replaces: bool) -> Result<StartedDaemon, DaemonError> {
    privilege::must_be_nobodys(run)?;
    let directory = privilege::state_directory(run);
    directory.inspect()?;
    let server = match replaces {
        true => Server::replace(&run.socket, PATIENCE).await.map_err(told_by_whom)?,
        false => listen(&run.socket).await?,
    };
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
    owner.process.privileges = privileges;
    owner.attach().await?;
    if are_private {
        owner.attachment.pinned.end_with_namespace(clock::now());
    }
    if is_gone {
        owner.attachment.pinned.were_gone(clock::now());
    }
    Ok(StartedDaemon { owner, server, state })
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
        (DaemonEnd::Asked, _) => {
            info!("another filterd is taking over: requests wait, and the filter stays attached");
        }
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

/// Listens at the socket. A filterd that has just been told to stop is waited for.
async fn listen(socket: &Path) -> Result<Server, DaemonError> {
    let begun = clock::instant();
    loop {
        let listening = Server::listen(socket);
        let Err(SocketError::Taken(_)) = listening else {
            return Ok(listening?);
        };
        let waited = begun.elapsed();
        if waited >= PATIENCE || (waited >= AT_ONCE && !is_stopping(socket)) {
            return Ok(listening.map_err(told_by_whom)?);
        }
        tokio::time::sleep(SOON).await;
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

/// Reads everything, fills the tables and publishes them.
async fn open(
    run: &Run,
    broker: Broker,
    unsaved: Option<u64>,
    means: FetchTools,
) -> Result<Owner, DaemonError> {
    // This is checked before the journal is made, so that a start without an interface leaves no files.
    let reading = StartInput::read(run)?.strictly(run, |_| 0)?;
    reading.tell(run);
    let is_as_said = reading.configuration.not_taken().is_none();
    // If anything was blocked, there was a journal.
    let earlier = EarlierRun { left_at_work: broker.found_blocked(), unsaved };
    let (mut persistence, mut blocklist) =
        meanwhile::told("reading the journal", || persistence::restore(&run.state_dir, earlier))?;
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
