//! The daemon's end of the control socket: accepts clients, and gives each a session.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use nix::unistd::geteuid;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::admission::{Admission, ClientProcess};
use super::answer;
use super::audit::{AuditLog, AuditedClient};
use super::complaints::Complaints;
use super::connections::Connections;
use super::pins_note;
use super::session::{self, ClientTimeouts, SessionClient, SessionContext};
use super::socket::{SocketError, SocketFile};
use super::watching::Watching;
use super::wire::{Call, Failure};
use crate::text::Explanation;

/// Limits on the daemon's resources that clients may use.
#[derive(Clone, Copy, Debug)]
pub struct ClientLimits {
    /// The most clients at once. Each may make the daemon hold one line and its targets, a few MiB.
    pub clients: usize,
    pub patience: ClientTimeouts,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self { clients: 256, patience: ClientTimeouts::default() }
    }
}

/// A socket that listens. Clients that connect before [`serve`](Self::serve) wait.
pub struct Server {
    // Before the listener, so that the file is removed before connections are refused.
    file: SocketFile,
    listener: UnixListener,
    limits: ClientLimits,
    /// The user who started the daemon.
    starter: u32,
    askers: Option<mpsc::Sender<String>>,
    watching: Watching,
}

/// The claim of a server's path. Notes for later processes are in its file.
pub struct ServerHandle(File);

impl Server {
    /// Listens at `path`, unless another daemon does. Needs a tokio runtime.
    pub fn listen(path: &Path) -> Result<Self, SocketError> {
        Ok(Self::of(SocketFile::listen(path)?))
    }

    /// Listens at `path` in place of a daemon that is ending, and waits until that daemon has left the path.
    /// Clients that connect meanwhile wait for this one.
    pub async fn replace(path: &Path, patience: Duration) -> Result<Self, SocketError> {
        Ok(Self::of(SocketFile::replace(path, patience).await?))
    }

    fn of((file, listener): (SocketFile, UnixListener)) -> Self {
        Self {
            file,
            listener,
            limits: ClientLimits::default(),
            starter: geteuid().as_raw(),
            askers: None,
            watching: Watching::default(),
        }
    }

    /// Sends the SSH connections that clients report to `askers`.
    #[must_use]
    pub fn with_askers(self, askers: mpsc::Sender<String>) -> Self {
        Self { askers: Some(askers), ..self }
    }

    /// Sends the events of `watching` to clients that watch.
    #[must_use]
    pub fn with_watching(self, watching: Watching) -> Self {
        Self { watching, ..self }
    }

    /// The claim of its path.
    pub fn handle(&self) -> io::Result<ServerHandle> {
        self.file.share().map(ServerHandle)
    }

    /// The same server with other limits.
    #[must_use]
    pub fn with_limits(self, limits: ClientLimits) -> Self {
        Self { limits, ..self }
    }

    /// Serves clients until it is dropped. Then their connections close, and the socket's file is removed.
    pub async fn serve(self, calls: mpsc::Sender<Call>) {
        let (user, group) = (geteuid().as_raw(), self.file.group());
        let admission = Admission { user, group, starter: self.starter };
        let (audit, mut book) = AuditLog::new();
        let (complaints, patience) = (Complaints::new(), self.limits.patience);
        let (askers, watching) = (self.askers.clone(), self.watching.clone());
        let context = SessionContext { calls, askers, patience, complaints, audit, watching };
        let mut connections = Connections::new(self.limits.clients);
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => welcome(stream, admission, &mut connections, &context),
                    Err(error) => recover(&error, &context.complaints).await,
                },
                () = connections.vacated() => {}
                () = book.write() => {}
            }
        }
    }
}

impl ServerHandle {
    /// Writes the notes of a start, for later processes.
    pub fn note(&self, pins: &Path, unsaved: Option<u64>) -> io::Result<()> {
        pins_note::write(&self.0, pins, unsaved)
    }

    /// Records since when live entries are not on disk, if nothing else can, or that all are.
    pub fn note_unsaved(&self, since: Option<u64>) -> io::Result<()> {
        pins_note::write_unsaved(&self.0, since)
    }

    /// Records the state of a trial, in case its own record is lost.
    pub fn note_trial(&self, trial: Option<&str>) -> io::Result<()> {
        pins_note::write_trial(&self.0, trial)
    }

    /// Records where the filter is attached, or that it is not.
    pub fn note_attached(&self, place: Option<&str>) -> io::Result<()> {
        pins_note::write_attached(&self.0, place)
    }

    /// Leaves the path to another daemon. Clients that have connected to this one still get answers.
    pub fn release(&self) -> io::Result<()> {
        self.0.unlock()
    }
}

/// Gives a client a connection, or sends it the reason why there is none.
fn welcome(
    stream: UnixStream,
    admission: Admission,
    connections: &mut Connections,
    context: &SessionContext,
) {
    let admitted =
        ClientProcess::of(&stream).map_err(|error| Failure::PermissionDenied(error.to_string().into()));
    match admitted.and_then(|peer| admission.admits(&peer).map(|()| peer)) {
        Ok(peer) => match connections.free() {
            Some(connection) => {
                let may_replace = admission.may_replace(&peer);
                let client =
                    SessionClient { peer, may_replace, witness: AuditedClient::new(context.audit.clone()) };
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

/// Sends the reason without waiting. The buffer of a fresh connection takes a short line at once.
fn turn_away(stream: UnixStream, failure: &Failure, context: &SessionContext) {
    context.complaints.about(failure.explanation());
    // A client that has disconnected needs no reason.
    let _ = stream.into_std().and_then(|mut stream| stream.write(&answer::failure(failure)));
}

/// Waits after a lack of descriptors or memory, until other clients have left.
async fn recover(error: &io::Error, complaints: &Complaints) {
    complaints.about(format_args!("cannot accept a client: {error}"));
    sleep(Duration::from_millis(100)).await;
}
