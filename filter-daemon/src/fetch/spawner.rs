//! The process that starts fetches. filterd starts it before it confines itself, without any capability. It
//! reads nothing from the network. When its socket closes, it ends all fetches and itself.

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Gid, Uid, geteuid};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set, set_name, set_no_new_privs};

use super::child;
use super::error::FetchError;
use super::line::SpawnerSocket;
use super::message::{self, FetchHead};
use super::permits::{PermitReader, PermitVersions, Permits};
use super::restrict;
use crate::accounts::{self, User};
use crate::clock;

/// The internal command that makes filterd this process; users do not call it.
pub const VERB: &str = "fetcher";

/// How much longer than its limit a fetch may run, so that it can report the timeout itself.
pub const LATEST: Duration = Duration::from_secs(1);

/// The most fetches at once; each is a process.
const MOST: usize = 16;

/// The user that root becomes by default.
const NOBODY: &str = "nobody";

/// The usual ID of this user, for systems that do not list it.
const NOBODYS_NUMBER: u32 = 65534;

/// A fetch under way.
struct Fetch {
    child: Child,
    ended: OwnedFd,
    /// Kept to notice when the receiver is gone.
    socket: OwnedFd,
    latest: Instant,
}

/// Runs the spawner process. With a reader, it fetches only what the configuration names.
pub fn be(user: Option<&str>, reader: Option<PermitReader>) -> io::Result<()> {
    set_name(c"filterd-fetcher")?;
    set_no_new_privs(true)?;
    for capability in CapabilitySet::all() {
        _ = remove_capability_from_bounding_set(capability);
    }
    become_nobody_in_particular(user)?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    // Signals to a whole terminal or service are for the daemon; this process ends after it.
    SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]).thread_block()?;
    let line = SpawnerSocket::of(io::stdin().as_fd().try_clone_to_owned()?);
    if !restrict::spawner()? {
        tracing::info!(
            "this kernel's Landlock cannot limit to which ports lists are fetched from (Linux 6.7 and newer can)"
        );
    }
    serve(&line, &mut PermitVersions::begin(reader))
}

fn become_nobody_in_particular(user: Option<&str>) -> io::Result<()> {
    if !geteuid().is_root() {
        return accounts::drop_capabilities();
    }
    let found = match user {
        Some(accounts::OWN) => Some(accounts::own()),
        user => accounts::user(user.unwrap_or(NOBODY))?,
    };
    let user = match found {
        Some(user) if !user.uid.is_root() => user,
        None if user.is_none() => User {
            name: NOBODY.to_owned(),
            uid: Uid::from_raw(NOBODYS_NUMBER),
            gid: Gid::from_raw(NOBODYS_NUMBER),
        },
        _ => return Err(io::Error::other("there is no such user")),
    };
    accounts::become_user(&user).map_err(|error| {
        let why = format!("cannot become {}, which takes CAP_SETUID and CAP_SETGID: {error}", user.name);
        io::Error::new(error.kind(), why)
    })
}

/// Starts the ordered fetches, and ends those that take too long, until the socket closes.
fn serve(line: &SpawnerSocket, versions: &mut PermitVersions) -> io::Result<()> {
    let mut fetches: Vec<Fetch> = Vec::new();
    loop {
        let is_asked = wait(line, &fetches)?;
        fetches.retain_mut(|fetch| !is_over(fetch));
        if !is_asked {
            continue;
        }
        let Some((patience, socket)) = line.receive()? else { break };
        let Some(socket) = socket else { continue };
        match start(patience, &socket, &versions.permits(), fetches.len()) {
            Ok(fetch) => fetches.push(fetch),
            Err(error) => _ = message::send(&mut UnixStream::from(socket), &FetchHead::Failed(error)),
        }
    }
    fetches.iter_mut().for_each(end);
    Ok(())
}

/// Waits for an order, the end of a fetch, a receiver that closed its socket, or a timeout. Returns whether
/// there is an order.
fn wait(line: &SpawnerSocket, fetches: &[Fetch]) -> io::Result<bool> {
    let mut who = vec![PollFd::new(line.as_fd(), PollFlags::POLLIN)];
    for fetch in fetches {
        who.push(PollFd::new(fetch.ended.as_fd(), PollFlags::POLLIN));
        // poll reports a hang-up without being asked.
        who.push(PollFd::new(fetch.socket.as_fd(), PollFlags::empty()));
    }
    let now = clock::instant();
    let first = fetches.iter().map(|fetch| fetch.latest.saturating_duration_since(now)).min();
    // One millisecond more, so that it does not wake just before the timeout.
    let timeout = first.map_or(PollTimeout::NONE, |first| {
        PollTimeout::try_from(first + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
    });
    match poll(&mut who, timeout) {
        Ok(_) => Ok(who[0].any().unwrap_or(true)),
        Err(nix::errno::Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// True if the fetch has ended, or was ended here.
fn is_over(fetch: &mut Fetch) -> bool {
    if let Ok(Some(_)) = fetch.child.try_wait() {
        return true;
    }
    if clock::instant() < fetch.latest && !is_hung_up(&fetch.socket) {
        return false;
    }
    end(fetch);
    true
}

fn is_hung_up(socket: &OwnedFd) -> bool {
    let mut one = [PollFd::new(socket.as_fd(), PollFlags::empty())];
    matches!(poll(&mut one, PollTimeout::ZERO), Ok(1..))
}

fn end(fetch: &mut Fetch) {
    _ = fetch.child.kill();
    _ = fetch.child.wait();
}

fn start(
    patience: Duration,
    socket: &OwnedFd,
    permits: &Permits,
    under_way: usize,
) -> Result<Fetch, FetchError> {
    if under_way >= MOST {
        return Err(FetchError::Busy);
    }
    spawn(patience, socket, permits)
        .map_err(|error| FetchError::Interrupted(format!("it cannot be started: {error}")))
}

fn spawn(patience: Duration, socket: &OwnedFd, permits: &Permits) -> io::Result<Fetch> {
    let (given, socket) = (socket.try_clone()?, socket.try_clone()?);
    let mut command = Command::new("/proc/self/exe");
    command.arg0("filterd").arg(child::VERB).arg(std::process::id().to_string()).current_dir("/").env_clear();
    // An operator may keep trusted authorities outside the usual places.
    let authorities = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter();
    command.envs(authorities.filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.stdin(Stdio::from(written(permits)?)).stdout(Stdio::from(given));
    let mut child = command.spawn()?;
    let ended = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).inspect_err(|_| {
        _ = child.kill();
        _ = child.wait();
    })?;
    let now = clock::instant();
    let latest = now.checked_add(patience.saturating_add(LATEST)).unwrap_or(now);
    Ok(Fetch { child, ended, socket, latest })
}

/// Writes the permits to memory, and rewinds to their start.
fn written(permits: &Permits) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"permits", MemfdFlags::CLOEXEC)?);
    serde_json::to_writer(&file, permits)?;
    file.rewind()?;
    Ok(file)
}
