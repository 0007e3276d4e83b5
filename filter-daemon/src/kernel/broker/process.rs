//! The process that holds the kernel. It is filterd too, started by filterd with a socket for its input; when that closes,
//! it ends, and what is attached goes on.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use rustix::thread::{
    CapabilitySet, capabilities, remove_capability_from_bounding_set, set_capabilities, set_name,
    set_no_new_privs,
};

use super::super::KernelError;
use super::client::{Answered, Place};
use super::confine;
use super::line::Line;
use super::request::{Answer, Earlier, Request};
use super::server::Server;
use crate::clock;
use crate::seccomp;

/// The verb that makes a filterd the broker; nobody types it.
pub const VERB: &str = "broker";

/// Whether another filterd goes on meanwhile.
const BESIDE: &str = "--beside";

/// What attaching and changing tables take.
const NEEDED: CapabilitySet =
    CapabilitySet::BPF.union(CapabilitySet::NET_ADMIN).union(CapabilitySet::PERFMON);

/// What it takes besides to mount a file system, to ask foreign programs their names, and to see who else uses the pins,
/// before anybody asks for anything.
const NEEDED_AT_FIRST: CapabilitySet = CapabilitySet::SYS_ADMIN.union(CapabilitySet::SYS_PTRACE);

/// How long it may take to end: it has little more to do than to remove pins.
const PATIENCE: Duration = Duration::from_secs(5);

/// The process, seen from the one that started it.
pub struct Process {
    /// It ends when this is closed.
    line: Option<Line>,
    child: Child,
}

impl Process {
    /// Starts it. Tells what is pinned.
    pub fn start(directory: &Path, log: &[&str], is_beside: bool) -> Result<(Earlier, Self), KernelError> {
        let (ours, theirs) = Line::pair()?;
        let mut command = Command::new("/proc/self/exe");
        // Whoever looks for filterd in `ps` is to find it.
        command.arg0("filterd").args(log).arg(VERB).arg(directory).args(is_beside.then_some(BESIDE));
        command.stdin(Stdio::from(theirs));
        let child = command.spawn().map_err(|error| KernelError::load("start the broker", error))?;
        // What it was started with is not to be held here: the line would never close.
        drop(command);
        let mut process = Self { line: Some(ours), child };
        match process.line()?.answer()? {
            (Answer::Ready(earlier), _) => Ok((earlier, process)),
            (Answer::Failed(error), _) => Err(error),
            (_, _) => Err(KernelError::broker_gone("it begins with an answer")),
        }
    }

    fn line(&mut self) -> Result<&mut Line, KernelError> {
        self.line.as_mut().ok_or_else(|| KernelError::broker_gone("it was ended"))
    }

    /// Closes the line, and waits until the process is gone.
    fn close(&mut self) {
        if self.line.take().is_none() {
            return;
        }
        let begun = clock::instant();
        while matches!(self.child.try_wait(), Ok(None)) {
            if begun.elapsed() > PATIENCE {
                tracing::error!("the broker process does not end; filterd no longer waits for it");
                return;
            }
            thread::sleep(Duration::from_micros(200));
        }
    }
}

impl Place for Process {
    fn fate(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| status.to_string())
    }

    fn serve(&mut self, request: Request) -> Answered {
        let line = self.line()?;
        line.send(&request, None)?;
        match line.answer()? {
            (Answer::Failed(error), _) => Err(error),
            answer => Ok(answer),
        }
    }

    fn end(&mut self) {
        self.close();
    }
}

/// Nobody may come behind us while it is still at the pins.
impl Drop for Process {
    fn drop(&mut self) {
        self.close();
    }
}

/// Is that process.
pub fn be(directory: &Path, is_beside: bool) -> io::Result<()> {
    set_name(c"filterd-broker")?;
    set_no_new_privs(true)?;
    forget_bounding_set();
    keep(NEEDED | NEEDED_AT_FIRST)?;
    // Signals to a whole terminal or service are for the other process: this one ends after it.
    SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]).thread_block()?;
    let mut line = Line::of(io::stdin().as_fd().try_clone_to_owned()?);
    let server = if is_beside { Server::beside(directory) } else { Server::open(directory) };
    let told = match server {
        Ok(server) => {
            keep(NEEDED)?;
            confine(directory);
            serve(server, &mut line)
        }
        Err(error) => line.send(&Answer::Failed(error), None),
    };
    told.map_err(io::Error::other)
}

/// It works without, as on a kernel that has neither.
fn confine(directory: &Path) {
    if let Err(error) = confine::to_pins(directory) {
        tracing::warn!("the broker is not confined by Landlock: {error}");
    }
    if let Err(error) = seccomp::restrict(seccomp::Process::Broker) {
        tracing::warn!("the broker is not confined by seccomp: {error}");
    }
}

fn serve(mut server: Server, line: &mut Line) -> Result<(), KernelError> {
    // With no more capabilities than this process keeps: a thread has those of whoever begins it.
    server.begin_loaders();
    let ended = answer(&mut server, line);
    // Whoever asks may be killed in the middle of a request.
    server.leave();
    ended
}

fn answer(server: &mut Server, line: &mut Line) -> Result<(), KernelError> {
    line.send(&Answer::Ready(server.earlier()), None)?;
    while let Some((request, _)) = line.receive::<Request>()? {
        let (answer, descriptor) =
            server.serve(request).unwrap_or_else(|error| (Answer::Failed(error), None));
        line.send(&answer, descriptor)?;
    }
    Ok(())
}

/// Keeps these capabilities of those there are, and nothing of memory in a file.
fn keep(needed: CapabilitySet) -> io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.permitted &= needed;
    sets.effective &= needed;
    sets.inheritable = CapabilitySet::empty();
    set_capabilities(None, sets)?;
    Ok(setrlimit(Resource::RLIMIT_CORE, 0, 0)?)
}

/// Where we are not root there is nothing to be forgotten, and nobody who may.
fn forget_bounding_set() {
    for capability in CapabilitySet::all() {
        _ = remove_capability_from_bounding_set(capability);
    }
}
