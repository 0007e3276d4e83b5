//! The daemon's end of the control socket: lets clients in, and gives each its own session.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::unistd::geteuid;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::admission::{Admission, Peer};
use super::answer;
use super::audit::{Book, Witness};
use super::complaints::Complaints;
use super::connections::Connections;
use super::pins_note;
use super::session::{self, Client, Context, Patience};
use super::socket::{SocketError, SocketFile};
use super::watching::Watching;
use super::wire::{Call, Failure};
use crate::lock::Lock;
use crate::text::Explanation;

/// What clients may use up of the daemon.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Clients at once. Each may make the daemon hold one line and its targets, a few MiB.
    pub clients: usize,
    /// How long one client may take.
    pub patience: Patience,
}

impl Default for Limits {
    fn default() -> Self {
        Self { clients: 256, patience: Patience::default() }
    }
}

/// A socket that listens; clients that come before [`serve`](Self::serve) wait.
pub struct Server {
    // Before the listener, so that the file is gone before connections are refused.
    file: SocketFile,
    listener: UnixListener,
    limits: Limits,
    /// Who started this.
    starter: u32,
    successors: Option<mpsc::Sender<UnixStream>>,
    askers: Option<mpsc::Sender<String>>,
    watching: Watching,
}

/// What another daemon needs to listen in this one's place.
pub struct Handle {
    listener: OwnedFd,
    claim: OwnedFd,
    is_handed_over: Arc<AtomicBool>,
}

impl Server {
    /// Listens at `path`, unless another daemon does. Needs a tokio runtime.
    pub fn listen(path: &Path) -> Result<Self, SocketError> {
        let (file, listener) = SocketFile::listen(path)?;
        Ok(Self {
            file,
            listener,
            limits: Limits::default(),
            starter: geteuid().as_raw(),
            successors: None,
            askers: None,
            watching: Watching::default(),
        })
    }

    /// Listens in the place of another daemon, which has handed it over: clients that wait there are served.
    pub fn handed_over(path: &Path, listener: OwnedFd, claim: OwnedFd) -> io::Result<Self> {
        let listener = std::os::unix::net::UnixListener::from(listener);
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        let file = SocketFile::handed_over(path, Lock::handed_over(claim))?;
        Ok(Self {
            file,
            listener,
            limits: Limits::default(),
            starter: geteuid().as_raw(),
            successors: None,
            askers: None,
            watching: Watching::default(),
        })
    }

    /// The other daemon has gone: the file of the socket is ours.
    pub fn take(&self) {
        self.file.take();
    }

    /// Tells `successors` of clients that are to take this daemon's place.
    #[must_use]
    pub fn with_successors(self, successors: mpsc::Sender<UnixStream>) -> Self {
        Self { successors: Some(successors), ..self }
    }

    /// Tells `askers` by which SSH connections those who ask say to have come.
    #[must_use]
    pub fn with_askers(self, askers: mpsc::Sender<String>) -> Self {
        Self { askers: Some(askers), ..self }
    }

    /// Those who watch are told what `watching` is told.
    #[must_use]
    pub fn with_watching(self, watching: Watching) -> Self {
        Self { watching, ..self }
    }

    /// What another daemon needs to listen in this one's place.
    pub fn handle(&self) -> io::Result<Handle> {
        let (claim, is_handed_over) = self.file.share()?;
        Ok(Handle { listener: self.listener.as_fd().try_clone_to_owned()?, claim, is_handed_over })
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Serves clients until it is dropped; then their connections close and the socket's file goes.
    pub async fn serve(self, calls: mpsc::Sender<Call>) {
        let (user, group) = (geteuid().as_raw(), self.file.group());
        let admission = Admission { user, group, starter: self.starter };
        let (audit, mut book) = Book::new();
        let (complaints, successors) = (Complaints::new(), self.successors.clone());
        let (askers, patience) = (self.askers.clone(), self.limits.patience);
        let watching = self.watching.clone();
        let context = Context { calls, successors, askers, patience, complaints, audit, watching };
        let mut connections = Connections::new(self.limits.clients);
        loop {
            tokio::select! {
                // Whoever comes once the socket is another daemon's is for that one.
                accepted = self.listener.accept(), if !self.file.is_handed_over() => match accepted {
                    Ok((stream, _)) => welcome(stream, admission, &mut connections, &context),
                    Err(error) => recover(&error, &context.complaints).await,
                },
                () = connections.vacated() => {}
                () = book.write() => {}
            }
        }
    }
}

impl Handle {
    /// Both descriptors: of what listens, and of what is locked.
    pub fn share(&self) -> io::Result<[OwnedFd; 2]> {
        Ok([self.listener.try_clone()?, self.claim.try_clone()?])
    }

    /// Notes what the next one to listen here, and whoever finds nobody, is to know.
    pub fn note(&self, pins: &Path, unsaved: Option<u64>) -> io::Result<()> {
        pins_note::write(&self.claim.try_clone()?.into(), pins, unsaved)
    }

    /// Notes since when live entries are not on disk, where nothing else can say it, or that all are.
    pub fn note_unsaved(&self, since: Option<u64>) -> io::Result<()> {
        pins_note::write_unsaved(&self.claim.try_clone()?.into(), since)
    }

    /// Notes what is to be said of a trial whose record is not found.
    pub fn note_trial(&self, trial: Option<&str>) -> io::Result<()> {
        pins_note::write_trial(&self.claim.try_clone()?.into(), trial)
    }

    /// Notes where the filter is attached, or that it is not.
    pub fn note_attached(&self, place: Option<&str>) -> io::Result<()> {
        pins_note::write_attached(&self.claim.try_clone()?.into(), place)
    }

    /// The file of the socket is another's now, and stays.
    pub fn is_handed_over(&self) {
        self.is_handed_over.store(true, Ordering::Relaxed);
    }
}

/// Gives a client its connection, or tells it why there is none.
fn welcome(stream: UnixStream, admission: Admission, connections: &mut Connections, context: &Context) {
    let admitted = Peer::of(&stream).map_err(|error| Failure::PermissionDenied(error.to_string().into()));
    match admitted.and_then(|peer| admission.admits(&peer).map(|()| peer)) {
        Ok(peer) => match connections.free() {
            Some(connection) => {
                let may_replace = admission.may_replace(&peer);
                let client = Client { peer, may_replace, witness: Witness::new(context.audit.clone()) };
                let session = session::hold(stream, client, connection.clone(), context.clone());
                connections.take((), connection, session);
            }
            None => turn_away(
                stream,
                &Failure::Unavailable(Explanation::new("too many clients", "try again in a moment")),
                context,
            ),
        },
        Err(failure) => turn_away(stream, &failure, context),
    }
}

/// The buffer of a fresh connection takes a short line at once; nobody is waited for.
fn turn_away(stream: UnixStream, failure: &Failure, context: &Context) {
    context.complaints.about(failure.explanation());
    // A client that is gone already needs no reason.
    let _ = stream.into_std().and_then(|mut stream| stream.write(&answer::failure(failure)));
}

/// Out of descriptors or memory: some come free when other clients leave.
async fn recover(error: &io::Error, complaints: &Complaints) {
    complaints.about(format_args!("cannot accept a client: {error}"));
    sleep(Duration::from_millis(100)).await;
}
