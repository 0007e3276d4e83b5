//! The command line's end of the control socket. It blocks, since starting a runtime would take longer than
//! most commands.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use thiserror::Error;

use super::wire::{Answer, Envelope, Failure, LONGEST_LINE, Method};
use crate::clock;
use crate::text::{Explain, printable};

/// How long a busy daemon may take to accept a connection.
const ACCEPT_WITHIN: Duration = Duration::from_secs(5);

/// How long it may take to take a line.
const TAKE_WITHIN: Duration = Duration::from_secs(60);

/// A connection to the daemon.
pub struct Client {
    stream: BufReader<UnixStream>,
    line: Vec<u8>,
}

/// Why the daemon gave no answer, or the wrong one.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Nobody listens.
    #[error("filterd is not running: nobody listens at {}", printable::path(.0))]
    NotRunning(PathBuf),
    /// The socket is not for this user.
    #[error("not permitted to talk to filterd at {}", printable::path(.0))]
    NotPermitted(PathBuf),
    /// It could not be connected to for another reason.
    #[error("cannot connect to filterd at {}: {error}", printable::path(path))]
    Unreachable {
        /// The socket.
        path: PathBuf,
        /// Why it failed.
        error: nix::Error,
    },
    /// No answer in time.
    #[error("filterd does not answer")]
    Silent,
    /// The connection broke.
    #[error("filterd closed the connection before it answered: {0}")]
    Closed(io::Error),
    /// The answer is not one of this protocol.
    #[error("what answers is no filterd of this version: {0}")]
    Garbled(String),
    /// The daemon refused.
    #[error("{}", .0.explanation().message)]
    Failed(Failure),
}

impl Explain for ClientError {
    fn remedy(&self) -> Option<String> {
        let remedy = match self {
            Self::NotRunning(_) => {
                "start it with `sudo filterd --iface eth0`, or say with --socket where it listens"
            }
            Self::NotPermitted(_) => {
                "use sudo, or become a member of the group that owns the socket (filterd)"
            }
            Self::Silent => "it may be overloaded or stopped: see its log, and `ps -C filterd`",
            Self::Closed(_) => "see its log",
            Self::Failed(failure) => return failure.explanation().remedy.clone(),
            Self::Unreachable { .. } | Self::Garbled(_) => return None,
        };
        Some(remedy.to_owned())
    }
}

impl Client {
    /// Connects, within a few seconds.
    pub fn connect(path: &Path) -> Result<Self, ClientError> {
        let stream = connected(path).map_err(|error| unconnected(path, error))?;
        let blocking =
            stream.set_nonblocking(false).and_then(|()| stream.set_write_timeout(Some(TAKE_WITHIN)));
        blocking.map_err(ClientError::Closed)?;
        Ok(Self { stream: BufReader::new(stream), line: Vec::new() })
    }

    /// Asks, and waits for an answer that is all on one line.
    pub fn call<M: Method>(&mut self, parameters: &M) -> Result<M::Reply, ClientError> {
        self.send(parameters)?;
        Ok(self.receive::<M>()?.parameters)
    }

    /// Sends a request without waiting for its answer.
    pub fn send<M: Method>(&mut self, parameters: &M) -> Result<(), ClientError> {
        self.stream.get_ref().set_read_timeout(Some(M::MAY_TAKE)).map_err(ClientError::Closed)?;
        self.line.clear();
        serde_json::to_writer(&mut self.line, &Envelope { method: M::NAME, parameters })
            .map_err(|error| ClientError::Garbled(error.to_string()))?;
        self.line.push(b'\n');
        match self.stream.get_mut().write_all(&self.line) {
            // A daemon that turns a client away says why before it closes.
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => self
                .last_words()
                .map_or(Err(ClientError::Closed(error)), |failure| Err(ClientError::Failed(failure))),
            result => result.map_err(broken),
        }
    }

    /// Waits for the next line of an answer to that method.
    pub fn receive<M: Method>(&mut self) -> Result<Answer<M::Reply>, ClientError> {
        answer::<M>(self.read_line()?)
    }

    fn last_words(&mut self) -> Option<Failure> {
        serde_json::from_slice(self.read_line().ok()?).ok()
    }

    fn read_line(&mut self) -> Result<&[u8], ClientError> {
        self.line.clear();
        let mut bounded = (&mut self.stream).take(LONGEST_LINE as u64 + 1);
        bounded.read_until(b'\n', &mut self.line).map_err(broken)?;
        match self.line.pop() {
            Some(b'\n') => Ok(&self.line),
            Some(_) if self.line.len() >= LONGEST_LINE => {
                Err(ClientError::Garbled("its answer is too long".to_owned()))
            }
            _ => Err(ClientError::Closed(ErrorKind::UnexpectedEof.into())),
        }
    }
}

/// Reads a line of an answer to that method.
///
/// # Errors
/// When it is a refusal, or no answer at all.
pub fn answer<M: Method>(line: &[u8]) -> Result<Answer<M::Reply>, ClientError> {
    serde_json::from_slice::<Answer<M::Reply>>(line).map_err(|error| match serde_json::from_slice(line) {
        Ok(failure) => ClientError::Failed(failure),
        Err(_) => ClientError::Garbled(format!("{error} in {}", printable::bytes(line))),
    })
}

fn unconnected(path: &Path, error: nix::Error) -> ClientError {
    if matches!(error, nix::Error::ENOENT | nix::Error::ECONNREFUSED) {
        ClientError::NotRunning(path.to_owned())
    } else if matches!(error, nix::Error::EACCES | nix::Error::EPERM) {
        ClientError::NotPermitted(path.to_owned())
    } else if error == nix::Error::EAGAIN {
        ClientError::Silent
    } else {
        ClientError::Unreachable { path: path.to_owned(), error }
    }
}

fn broken(error: io::Error) -> ClientError {
    let late = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
    if late { ClientError::Silent } else { ClientError::Closed(error) }
}

/// Connects without blocking: a stopped daemon with a full backlog would hold its client for ever.
fn connected(path: &Path) -> nix::Result<UnixStream> {
    let address = UnixAddr::new(path)?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    let given_up = clock::instant() + ACCEPT_WITHIN;
    while let Err(error) = connect(socket.as_raw_fd(), &address) {
        if error != nix::Error::EAGAIN || clock::instant() > given_up {
            return Err(error);
        }
        sleep(Duration::from_millis(20));
    }
    Ok(UnixStream::from(socket))
}
