//! Bringing the daemon up, and down again.
//!
//! First what needs privileges: the socket, and processes of their own for the broker and for fetches. Then they are given up,
//! and only then is anything read. Everything is filled and published before the first interface is attached: the first
//! packet that meets the filter meets all of it.

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
use super::feeds::Means;
use super::guard::{self, Guard};
use super::log::meanwhile;
use super::owner::{Ended, Owner, Prepared, Signals};
use super::persistence::{self, Before};
use super::pinned::Attached;
use super::reload::{Loaded, Sources};
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
use crate::control::{Call, Handle, Server, SocketError, Watching, pins_note, told_by_whom};
use crate::journal::JournalError;
use crate::kernel::broker::Broker;
use crate::kernel::{KernelError, interface};
use crate::lock::{Lock, NotLocked, Place, Taken};
use crate::mount_namespace;
use crate::notify::Notify;
use crate::text::Explain;

/// Requests that wait for the owner; beyond these, clients wait to be read.
const MOST_WAITING: usize = 64;

/// How long a signal may be on its way to the one before.
const AT_ONCE: Duration = Duration::from_millis(300);

/// How often a place that will soon be free is tried.
const SOON: Duration = Duration::from_millis(1);

/// How long a filterd that was asked to make way may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long clients are still told to ask again, once another filterd listens at the same socket.
const GOODBYE: Duration = Duration::from_millis(100);

/// What a filterd that is ready to serve has in its hands.
struct Begun {
    owner: Owner,
    server: Server,
    /// Nobody else may use the state directory.
    state: Option<Lock>,
}

/// How it ended.
enum End {
    Signal(&'static str),
    /// Another one has told this one to go.
    Asked,
    /// Another one has everything already.
    Succeeded,
    /// The broker is gone.
    WithoutBroker(KernelError),
}

/// Runs the daemon until a signal ends it, or another one takes its place.
pub async fn run(run: &Run, watching: Watching) -> Result<(), DaemonError> {
    let mut stop = [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?];
    let hangup = signal(SignalKind::hangup())?;
    let children = signal(SignalKind::child())?;
    let (interfaces, addresses) = (interface::changes()?, guard::changes()?);
    let tried = pins_note::trial(&run.socket);
    let predecessor = if run.take_over { Predecessor::find(run)? } else { None };
    // Whom to tell is found before privileges are given up.
    let notify = Notify::from_environment();
    let Begun { mut owner, server, state } = match predecessor {
        Some(predecessor) => take_over(run, predecessor, &notify).await?,
        None => begin(run, &notify).await?,
    };
    owner.notify = notify;
    owner.configuration.has_begun();
    owner.configuration.trial.is_noted_beside(server.handle()?, tried.as_deref());
    owner.pause.has_begun();
    owner.pinned.are_noted_beside(server.handle()?);
    owner.persistence.is_noted_beside(server.handle()?);
    owner.note_attached();
    // From here on nobody goes back to what was before.
    owner.let_go();
    owner.guard.warnings(owner.protection.blocklist()).for_each(|warning| warn!("{warning}"));
    let (calls, requests) = mpsc::channel::<Call>(MOST_WAITING);
    let (tell, successors) = mpsc::channel(1);
    let socket = server.handle()?;
    let (come, came) = mpsc::channel(MOST_WAITING);
    owner.guard.listen(came);
    owner.is_watched(watching.clone());
    owner.is_seen();
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
            _ = terminate.recv() => break End::Signal("SIGTERM"),
            _ = interrupt.recv() => break End::Signal("SIGINT"),
        };
        let successor = match ended {
            Ended::Asked => break End::Asked,
            Ended::WithoutBroker(gone) => break End::WithoutBroker(gone),
            Ended::Succeeded(successor) => successor,
        };
        owner.keep_copies().await;
        if succession::hand_over(&mut owner, successor.into_std()?, &socket, state.as_ref()) {
            break End::Succeeded;
        }
    };
    owner.notify.stopping();
    // Another one may be about to listen there.
    drop(shown);
    // Whoever asks from here on is told that filterd is stopping.
    drop(signals);
    owner.keep_copies().await;
    // Whoever has come meanwhile is told the same, and asks the next one, if there is one.
    let goodbye = if let End::Succeeded = by { GOODBYE } else { Duration::ZERO };
    let ended = end(owner, by, &|since| note(&socket, run, Some(since)), &socket);
    tokio::time::sleep(goodbye).await;
    // The socket goes with the task, and last: who finds it free finds pins and journal free, too.
    serving.abort();
    _ = serving.await;
    ended
}

/// Begins where nobody is, or where whoever is there makes way by ending. One that is refused leaves no empty directories.
async fn begin(run: &Run, notify: &Notify) -> Result<Begun, DaemonError> {
    let is_missing = |directory: &&Path| !directory.as_os_str().is_empty() && !directory.exists();
    let missing: Vec<_> = run.state_dir.ancestors().take_while(is_missing).collect();
    let begun = begin_here(run, notify).await;
    if begun.is_err() {
        // The innermost first. What holds anything stays.
        missing.iter().take_while(|directory| fs::remove_dir(directory).is_ok()).for_each(drop);
    }
    begun
}

async fn begin_here(run: &Run, notify: &Notify) -> Result<Begun, DaemonError> {
    privilege::must_be_nobodys(run)?;
    let directory = privilege::state_directory(run);
    directory.inspect()?;
    let server = listen(run).await?;
    let state = meanwhile::told("waiting for the state directory", || lock_state(&run.state_dir))?;
    let unsaved = pins_note::unsaved(&run.socket);
    let attached = pins_note::attached(&run.socket, &run.pin_dir).map(|noted| Attached::noted(&noted));
    let attached = attached.filter(Attached::is_of_this_boot);
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
    let means = Means::of(fetcher?);
    // Whatever thread has told anything by now has ended.
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
    Ok(Begun { owner, server, state })
}

/// Begins beside another filterd, which goes on until everything is ready; whatever fails here, it goes on as it was.
async fn take_over(run: &Run, mut predecessor: Predecessor, notify: &Notify) -> Result<Begun, DaemonError> {
    let directory = privilege::state_directory(run);
    directory.inspect()?;
    let broker = Broker::beside(&run.pin_dir, &run.log.words()).map_err(pins_are_taken)?;
    let are_private = mount_namespace::ends_with_ours(Path::new("/proc"), &run.pin_dir, true);
    let means = Means::of(permits::start_fetcher(run)?);
    let privileges = privilege::drop_privileges(run, &directory)?;
    let _starting = notify.starting();
    let live = predecessor.live_entries()?;
    let reading = read(run)?.strictly(run, |name| live.get(name).copied().unwrap_or(0))?;
    reading.tell(run);
    let Reading { sources, configuration, loaded } = reading;
    let read = (configuration, loaded);
    succession::must_protect_as_well(&read.1)?;
    let there: Vec<_> = interface::all().await?.into_iter().map(|one| one.name).collect();
    let names = read.1.config.interfaces_besides(&run.interfaces);
    succession::must_find_interfaces(&names, &there, &predecessor.interfaces()?)?;
    // What is put back is not what the files say.
    let checksum = Some(read.1.checksum).filter(|_| !read.1.restores);
    let facts = (Blocklist::default(), Guard::begin(&run.state_dir).await);
    let mut prepared = Prepared::new(run, read, sources, broker, facts)?;
    let made = predecessor.make_way(run)?;
    let (mut persistence, mut live) = persistence::restore(&run.state_dir, Before::default())?;
    // It may have come onto a list of that name since it was asked.
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
    Ok(Begun { owner, server, state })
}

/// The other one has gone, or is about to: its place among the pins is taken as soon as it is free.
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

/// Leaves the kernel as it is to be left, and waits until everything is written and the broker is gone.
fn end(mut owner: Owner, by: End, note_unsaved: &dyn Fn(u64), socket: &Handle) -> Result<(), DaemonError> {
    let mut left = Ok(());
    match (by, owner.on_exit()) {
        (End::Succeeded, _) => {
            info!("another filterd has taken over");
            owner.end_without_a_word();
            return Ok(());
        }
        (End::Asked, _) => info!("another filterd takes over; the filter stays attached"),
        // Nobody is left who could take the filter off. A supervisor starts both anew, from the pins and without a gap.
        (End::WithoutBroker(gone), _) => {
            error!(
                "stopping: the broker process is gone; the filter stays attached as it is{}",
                if owner.is_paused() { ", paused until the pause ends" } else { "" }
            );
            left = Err(gone);
        }
        (End::Signal(signal), OnExit::Keep) => {
            info!(
                "stopping on {signal}; the filter stays attached (`on_exit: keep`); to remove it: filterd detach"
            );
        }
        (End::Signal(signal), OnExit::Detach) => {
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

fn note(socket: &Handle, run: &Run, unsaved: Option<u64>) {
    if let Err(error) = socket.note(&run.pin_dir, unsaved) {
        warn!("cannot store beside the socket where the pins are, or what was not on disk: {error}");
    }
}

/// Listens at the socket; asks whoever listens there to make way, if that is wanted.
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
        // One that has just been told to stop is waited for.
        let is_ending = || makes_way || waited < AT_ONCE || is_stopping(&run.socket);
        if waited >= PATIENCE || !is_ending() {
            return Ok(listening.map_err(told_by_whom)?);
        }
        tokio::time::sleep(if makes_way { SOON } else { SOON * 10 }).await;
    }
}

/// Nobody else may use the state directory while we do. Where there can be none, the journal tells why.
fn lock_state(directory: &Path) -> Result<Option<Lock>, DaemonError> {
    _ = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    let owner = fs::metadata(directory).map_or_else(|_| geteuid(), |found| Uid::from_raw(found.uid()));
    match as_user(owner, || Lock::directory(Place::State, directory)) {
        Ok(lock) => Ok(Some(lock)),
        // What others have open only root sees.
        Err(NotLocked::Taken(taken)) => {
            Err(Taken::by_holder_of(&taken.path, taken.place, &taken.path).into())
        }
        Err(NotLocked::Failed(_)) => Ok(None),
    }
}

/// The broker itself cannot see where another filterd listens; we still can.
fn pins_are_taken(error: KernelError) -> KernelError {
    if let KernelError::Taken(taken) = &error {
        return Taken::by_holder_of(&taken.path, taken.place, &taken.path).into();
    }
    error
}

/// Does whoever listens there answer no more requests, or is gone already? One that says nothing at all is not known to be
/// stopping, and neither is one whose socket somebody has removed.
fn is_stopping(socket: &Path) -> bool {
    let asked = Client::connect(socket).and_then(|mut client| client.call(&Ping {}));
    !matches!(asked, Ok(_) | Err(ClientError::Silent(_) | ClientError::SocketGone { .. }))
}

/// Somebody has this place, and cannot be asked to go.
fn has_lost_its_socket(socket: &Path) -> bool {
    matches!(Client::connect(socket), Err(ClientError::SocketGone { .. }))
}

/// It may be gone already, or be one that cannot be asked.
fn ask_to_make_way(socket: &Path) -> bool {
    Client::connect(socket).and_then(|mut client| client.call(&HandOver {})).is_ok()
}

/// What a start has read.
struct Reading {
    sources: Sources,
    configuration: Configuration,
    loaded: Loaded,
}

/// Reads everything that the configuration says.
fn read(run: &Run) -> Result<Reading, DaemonError> {
    let mut sources = Sources::of(&run.state_dir);
    let (configuration, loaded) =
        meanwhile::told("reading the lists", || Configuration::at_start(run, &mut sources))?;
    Ok(Reading { sources, configuration, loaded })
}

impl Reading {
    /// The same, or, where a reload would refuse it, what was read of the last good copy. `live_entries` counts the entries of
    /// the live list of a name.
    fn strictly(self, run: &Run, live_entries: impl Fn(&str) -> u64) -> Result<Self, DaemonError> {
        let Self { mut sources, mut configuration, loaded } = self;
        let loaded = configuration.must_be_possible(loaded, run, live_entries, &mut sources)?;
        unreadable::refuse(sources.denied())?;
        Ok(Self { sources, configuration, loaded })
    }

    /// Tells the log what this filterd is about to do.
    fn tell(&self, run: &Run) {
        let interfaces = self.loaded.config.interfaces_besides(&run.interfaces);
        info!("{}", self.configuration.summary(&self.loaded.config, &interfaces));
    }
}

/// Reads everything, fills the tables and publishes them. Whoever makes way for us may still be writing its journal.
async fn open(run: &Run, broker: Broker, unsaved: Option<u64>, means: Means) -> Result<Owner, DaemonError> {
    // Before the journal is made: what names no interface leaves nothing behind.
    let reading = read(run)?.strictly(run, |_| 0)?;
    reading.tell(run);
    let is_as_said = reading.configuration.not_taken().is_none();
    let begun = clock::instant();
    // Whoever blocked anything had a journal.
    let left_at_work = broker.found_blocked();
    let (mut persistence, mut blocklist) = loop {
        let restore = || persistence::restore(&run.state_dir, Before { left_at_work, unsaved });
        match meanwhile::told("reading the journal", restore) {
            Err(DaemonError::Journal(JournalError::InUse(_)))
                if run.take_over && begun.elapsed() < PATIENCE =>
            {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            restored => break restored?,
        }
    };
    let reading = reading.strictly(run, |name| blocklist.lists().live_entries(name))?;
    if is_as_said && reading.configuration.not_taken().is_some() {
        reading.tell(run);
    }
    let Reading { sources, configuration, loaded } = reading;
    persistence.free_names(&loaded.config, &mut blocklist)?;
    let facts = (blocklist, Guard::begin(&run.state_dir).await);
    let prepared = Prepared::new(run, (configuration, loaded), sources, broker, facts)?;
    Ok(Owner::of(run, prepared, persistence, means))
}
