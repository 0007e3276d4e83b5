//! The client end of the control socket. It blocks, because starting a runtime would take longer than most
//! commands.
//!
//! If the daemon is silent, the client sends a ping over another connection. If the ping is answered, the
//! daemon is working and the client waits on. Otherwise it gives up.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use thiserror::Error;

pub use super::endpoint::{Endpoint, TIMEOUT};
use super::session::STOPPING;
use super::wire::{Answer, Envelope, Failure, LONGEST_LINE, Method, Ping};
use super::{came_by, pins_note};
use crate::accounts::or_as_owner_of;
use crate::clock;
use crate::lock;
use crate::text::{Explain, printable};

/// How soon to ask the filterd that replaces one that stops.
const ASK_AGAIN: Duration = Duration::from_millis(10);

/// A connection to the daemon.
pub struct Client {
    endpoint: Endpoint,
    stream: BufReader<UnixStream>,
    line: Vec<u8>,
    /// The last request, to be sent again if needed, and whether a line of its answer has come.
    request: Vec<u8>,
    is_answered: bool,
    /// When the daemon last sent something, and how long the request may take while it is alive.
    heard: Instant,
    may_take: Duration,
    /// Whether this connection sends the ping.
    is_probe: bool,
}

/// Why there was no answer, or a wrong one.
#[derive(Debug, Error)]
pub enum ClientError {
    /// No process listens at the socket.
    #[error("cannot reach filterd at {}: it is not running", printable::path(.0))]
    NotRunning(PathBuf),
    /// No process listens, but a running one holds the place, and its socket was removed.
    #[error(
        "cannot reach filterd at {}: process {pid} is running, but its socket is missing",
        printable::path(path)
    )]
    SocketGone {
        /// The path of the socket.
        path: PathBuf,
        /// The process that runs.
        pid: u32,
    },
    /// The socket is not for this user.
    #[error("cannot reach filterd at {}: permission denied", printable::path(.0))]
    NotPermitted(PathBuf),
    /// Connecting failed for another reason.
    #[error("cannot reach filterd at {}: {error}", printable::path(path))]
    Unreachable {
        path: PathBuf,
        /// The error of the system.
        error: nix::Error,
    },
    /// No answer in time.
    #[error("cannot reach filterd at {}: it did not answer within {} s", printable::path(&.0.socket), .0.timeout.unwrap_or_default().as_secs())]
    Silent(Endpoint),
    /// It answered a ping, but not this request in time.
    #[error("filterd is running, but did not finish this within {} s", .0.as_secs())]
    Late(Duration),
    #[error("filterd closed the connection before it answered: {0}")]
    Closed(io::Error),
    /// The answer does not follow this protocol.
    #[error("the answer is not from this version of filterd: {0}")]
    Garbled(String),
    #[error("{}", .0.explanation().message)]
    Failed(Failure),
}

/// The remedy if the daemon is silent.
pub const MAY_BE_STOPPED: &str = "it may be starting, overloaded or stopped: see its log and `ps -eo pid,stat,args | grep filterd`; if it is stopped (state T), `kill -CONT PID` resumes it";

impl Explain for ClientError {
    fn remedy(&self) -> Option<String> {
        let remedy = match self {
            Self::NotRunning(_) => {
                "start the service:       sudo systemctl start filterd\nor in the foreground:    sudo filterd --iface eth0\nif it listens elsewhere: pass --socket PATH or set FILTERD_SOCKET"
            }
            Self::NotPermitted(_) => "use sudo, or join the group that owns the socket (`ls -l` shows it)",
            Self::Silent(_) => {
                return Some(format!(
                    "{MAY_BE_STOPPED}\nthe request may still be carried out; --timeout waits longer"
                ));
            }
            Self::SocketGone { pid, .. } => {
                return Some(format!(
                    "if it is not still starting, its socket was removed and it runs without one\n{}",
                    lock::start_again(*pid)
                ));
            }
            Self::Late(_) => "the request may still be carried out: see the log and `filterd status`",
            Self::Closed(_) => "see its log; the request may or may not have been carried out",
            Self::Failed(failure) => return failure.explanation().remedy.clone(),
            Self::Unreachable { .. } | Self::Garbled(_) => return None,
        };
        Some(remedy.to_owned())
    }
}

impl Client {
    /// Connects as soon as the daemon has room for one more client.
    pub fn connect(to: impl Into<Endpoint>) -> Result<Self, ClientError> {
        let endpoint = to.into();
        let patience = endpoint.timeout;
        Self::connect_within(endpoint, patience)
    }

    fn connect_within(endpoint: Endpoint, patience: Option<Duration>) -> Result<Self, ClientError> {
        let stream = connected(&endpoint.socket, patience).map_err(|error| unconnected(&endpoint, error))?;
        let half = endpoint.half();
        let blocking = stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_write_timeout(half))
            .and_then(|()| stream.set_read_timeout(half));
        blocking.map_err(ClientError::Closed)?;
        Ok(Self {
            endpoint,
            stream: BufReader::new(stream),
            line: Vec::new(),
            request: Vec::new(),
            is_answered: false,
            heard: clock::instant(),
            may_take: Duration::MAX,
            is_probe: false,
        })
    }

    /// Sends a request, and waits for all parts of the answer.
    pub fn call<M: Method>(&mut self, parameters: &M) -> Result<M::Reply, ClientError> {
        self.send(parameters)?;
        let Answer { parameters: mut all, mut continues } = self.receive::<M>()?;
        while continues {
            let part = self.receive::<M>()?;
            M::join(&mut all, part.parameters);
            continues = part.continues;
        }
        Ok(all)
    }

    /// Sends a request to this daemon and no other one, and waits for its answer.
    pub fn call_once<M: Method>(&mut self, parameters: &M) -> Result<M::Reply, ClientError> {
        self.send(parameters)?;
        Ok(self.receive_once::<M>()?.parameters)
    }

    /// Sends a request without waiting for its answer.
    pub fn send<M: Method>(&mut self, parameters: &M) -> Result<(), ClientError> {
        (self.heard, self.may_take) = (clock::instant(), M::MAY_TAKE);
        self.request.clear();
        let came_by = if M::MAY_CUT { came_by::connection() } else { None };
        let envelope = Envelope { method: M::NAME, came_by: came_by.as_deref(), parameters };
        serde_json::to_writer(&mut self.request, &envelope)
            .map_err(|error| ClientError::Garbled(error.to_string()))?;
        self.request.push(b'\n');
        self.is_answered = false;
        match self.write_request() {
            // A daemon that rejects a client sends the reason before it closes.
            Err(ClientError::Closed(error))
                if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) =>
            {
                let failure = self.last_words().ok_or(ClientError::Closed(error))?;
                Err(ClientError::Failed(failure))
            }
            result => result,
        }
    }

    fn write_request(&mut self) -> Result<(), ClientError> {
        let mut written = 0;
        while written < self.request.len() {
            match self.stream.get_mut().write(&self.request[written..]) {
                Ok(0) => return Err(ClientError::Closed(ErrorKind::WriteZero.into())),
                Ok(more) => written += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => self.bear(error)?,
            }
        }
        Ok(())
    }

    /// Waits for the next line of an answer to that method.
    ///
    /// A daemon that is stopping has not carried out the request. If another one takes over, the request is
    /// sent to it.
    pub fn receive<M: Method>(&mut self) -> Result<Answer<M::Reply>, ClientError> {
        let begun = clock::instant();
        loop {
            let stopping = match self.receive_once::<M>() {
                Err(ClientError::Failed(Failure::Unavailable(why))) if why.message == STOPPING => why,
                answered => {
                    self.is_answered = true;
                    return answered;
                }
            };
            let patience = self.endpoint.timeout.unwrap_or(Duration::MAX);
            let is_late = self.is_answered || begun.elapsed() > patience;
            sleep(ASK_AGAIN);
            if is_late || self.ask_again().is_err() {
                return Err(ClientError::Failed(Failure::Unavailable(stopping)));
            }
        }
    }

    fn ask_again(&mut self) -> Result<(), ClientError> {
        self.stream = Self::connect(self.endpoint.clone())?.stream;
        self.write_request()
    }

    fn receive_once<M: Method>(&mut self) -> Result<Answer<M::Reply>, ClientError> {
        answer::<M>(self.read_line()?)
    }

    fn last_words(&mut self) -> Option<Failure> {
        serde_json::from_slice(self.read_line().ok()?).ok()
    }

    fn read_line(&mut self) -> Result<&[u8], ClientError> {
        self.line.clear();
        loop {
            let room = (LONGEST_LINE + 1).saturating_sub(self.line.len()) as u64;
            // Bytes that were read before an error stay in the line.
            match (&mut self.stream).take(room).read_until(b'\n', &mut self.line) {
                Ok(_) => break,
                Err(error) => self.bear(error)?,
            }
        }
        self.heard = clock::instant();
        match self.line.pop() {
            Some(b'\n') => Ok(&self.line),
            Some(_) if self.line.len() >= LONGEST_LINE => {
                Err(ClientError::Garbled("its answer is too long".to_owned()))
            }
            _ => Err(ClientError::Closed(ErrorKind::UnexpectedEof.into())),
        }
    }

    /// Decides whether to wait on after an error. After half of the timeout, an answered ping is a reason to
    /// do so.
    fn bear(&self, error: io::Error) -> Result<(), ClientError> {
        if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
            return Err(ClientError::Closed(error));
        }
        if self.is_probe {
            return Err(ClientError::Silent(self.endpoint.clone()));
        }
        if self.heard.elapsed() > self.may_take {
            return Err(ClientError::Late(self.may_take));
        }
        self.sign_of_life()
    }

    fn sign_of_life(&self) -> Result<(), ClientError> {
        let mut probe = Self::connect_within(self.endpoint.clone(), self.endpoint.half())?;
        probe.is_probe = true;
        match probe.call(&Ping {}) {
            // A refusal shows that the daemon is alive, too.
            Ok(_) | Err(ClientError::Failed(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Reads a line of an answer to that method.
///
/// # Errors
/// If the line is a refusal or not an answer.
pub fn answer<M: Method>(line: &[u8]) -> Result<Answer<M::Reply>, ClientError> {
    serde_json::from_slice::<Answer<M::Reply>>(line).map_err(|error| match serde_json::from_slice(line) {
        Ok(failure) => ClientError::Failed(failure),
        Err(_) => {
            let fault = printable::sentence(&error.to_string());
            ClientError::Garbled(format!("{fault} in {}", printable::bytes(line)))
        }
    })
}

fn unconnected(endpoint: &Endpoint, error: nix::Error) -> ClientError {
    let path = &endpoint.socket;
    if matches!(error, nix::Error::ENOENT | nix::Error::ECONNREFUSED) {
        match pins_note::whose(path) {
            Some(pid) => ClientError::SocketGone { path: path.clone(), pid },
            None => ClientError::NotRunning(path.clone()),
        }
    } else if matches!(error, nix::Error::EACCES | nix::Error::EPERM) {
        ClientError::NotPermitted(path.clone())
    } else if error == nix::Error::EAGAIN {
        ClientError::Silent(endpoint.clone())
    } else {
        ClientError::Unreachable { path: path.clone(), error }
    }
}

/// Connects without blocking, because a stopped daemon with a full backlog would block its client forever.
fn connected(path: &Path, patience: Option<Duration>) -> nix::Result<UnixStream> {
    let address = UnixAddr::new(path)?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    let asked = clock::instant();
    let connect = || Ok(connect(socket.as_raw_fd(), &address)?);
    while let Err(error) = or_as_owner_of(path, connect) {
        let error = nix::Error::from_raw(error.raw_os_error().unwrap_or_default());
        if error != nix::Error::EAGAIN || patience.is_some_and(|patience| asked.elapsed() > patience) {
            return Err(error);
        }
        sleep(Duration::from_millis(20));
    }
    Ok(UnixStream::from(socket))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filterd_without_its_socket_is_restarted_as_a_service_first() {
        let told =
            ClientError::SocketGone { path: "/run/filterd/control.sock".into(), pid: 77 }.remedy().unwrap();
        let (service, foreground) = (told.find("sudo systemctl restart filterd"), told.find("sudo kill 77"));
        assert!(service.is_some() && service < foreground, "{told}");
        assert!(told.contains("all packets pass until it runs again"), "{told}");
    }
}
