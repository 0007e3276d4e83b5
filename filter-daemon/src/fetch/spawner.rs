//! The process that starts fetches. It is filterd too, started by filterd before that confines itself, without any
//! capability; it reads nothing that comes from the network. When its line closes, it ends, and the fetches with it.

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
use super::line::Line;
use super::message::{self, Head};
use super::permits::{Permits, Reader, Versions};
use super::restrict;
use crate::accounts::{self, User};
use crate::clock;

/// The verb that makes a filterd this process; nobody types it.
pub const VERB: &str = "fetcher";

/// How much longer than it may take a fetch is left alone, so that it can say itself that it took too long.
pub const LATEST: Duration = Duration::from_secs(1);

/// Lists are fetched a few at a time; each of these is a process.
const MOST: usize = 16;

/// Whom root becomes that is told nobody else.
const NOBODY: &str = "nobody";

/// What most systems call nobody, where none is listed.
const NOBODYS_NUMBER: u32 = 65534;

/// Under way.
struct Fetch {
    child: Child,
    ended: OwnedFd,
    /// Kept to see that nobody listens any more.
    socket: OwnedFd,
    latest: Instant,
}

/// Is that process. With a reader only what the configuration names is fetched.
pub fn be(user: Option<&str>, reader: Option<Reader>) -> io::Result<()> {
    set_name(c"filterd-fetcher")?;
    set_no_new_privs(true)?;
    for capability in CapabilitySet::all() {
        _ = remove_capability_from_bounding_set(capability);
    }
    become_nobody_in_particular(user)?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    // Signals to a whole terminal or service are for the other process: this one ends after it.
    SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]).thread_block()?;
    let line = Line::of(io::stdin().as_fd().try_clone_to_owned()?);
    if !restrict::spawner()? {
        tracing::info!(
            "this kernel's Landlock cannot limit to which ports lists are fetched from (Linux 6.7 and newer can)"
        );
    }
    serve(&line, &mut Versions::begin(reader))
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

/// Starts what is asked for and ends what takes too long, until the line closes.
fn serve(line: &Line, versions: &mut Versions) -> io::Result<()> {
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
            Err(error) => _ = message::send(&mut UnixStream::from(socket), &Head::Failed(error)),
        }
    }
    fetches.iter_mut().for_each(end);
    Ok(())
}

/// Waits until somebody asks, a fetch ends, nobody listens to one, or one takes too long. Is somebody asking?
fn wait(line: &Line, fetches: &[Fetch]) -> io::Result<bool> {
    let mut who = vec![PollFd::new(line.as_fd(), PollFlags::POLLIN)];
    for fetch in fetches {
        who.push(PollFd::new(fetch.ended.as_fd(), PollFlags::POLLIN));
        // That it is hung up is told unasked.
        who.push(PollFd::new(fetch.socket.as_fd(), PollFlags::empty()));
    }
    let now = clock::instant();
    let first = fetches.iter().map(|fetch| fetch.latest.saturating_duration_since(now)).min();
    // One millisecond more, lest it wakes up just before.
    let timeout = first.map_or(PollTimeout::NONE, |first| {
        PollTimeout::try_from(first + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
    });
    match poll(&mut who, timeout) {
        Ok(_) => Ok(who[0].any().unwrap_or(true)),
        Err(nix::errno::Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Has it ended, or is it to end?
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
    // Where an operator keeps the authorities to be trusted, if not where the system does.
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

/// In memory, to be read from its beginning.
fn written(permits: &Permits) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"permits", MemfdFlags::CLOEXEC)?);
    serde_json::to_writer(&file, permits)?;
    file.rewind()?;
    Ok(file)
}
