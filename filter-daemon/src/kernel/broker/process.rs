//! The broker's process. It is filterd itself, started by filterd with a socket as its standard input. When
//! the socket closes, the process ends, and the attached filter continues.

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
use super::client::{BrokerAnswer, BrokerHost};
use super::confine;
use super::line::BrokerSocket;
use super::loaders;
use super::request::{EarlierPins, Reply, Request};
use super::server::BrokerServer;
use crate::clock;
use crate::seccomp;

/// The internal command that starts the broker.
pub const VERB: &str = "broker";

/// The capabilities for attaching programs and changing tables.
const NEEDED: CapabilitySet =
    CapabilitySet::BPF.union(CapabilitySet::NET_ADMIN).union(CapabilitySet::PERFMON);

/// Additional capabilities at the start, before any request. They serve to mount a file system, to read names
/// of foreign programs, and to see which processes use the pins.
const NEEDED_AT_FIRST: CapabilitySet = CapabilitySet::SYS_ADMIN.union(CapabilitySet::SYS_PTRACE);

/// The longest wait for its end: it only has to remove pins.
const PATIENCE: Duration = Duration::from_secs(5);

/// The broker's process, as the daemon sees it.
pub struct BrokerProcess {
    /// Closing this ends the process.
    line: Option<BrokerSocket>,
    child: Child,
}

impl BrokerProcess {
    /// Starts the process. Returns the pins that it found.
    pub fn start(directory: &Path, log: &[&str]) -> Result<(EarlierPins, Self), KernelError> {
        let (ours, theirs) = BrokerSocket::pair()?;
        let mut command = Command::new("/proc/self/exe");
        // Makes the process appear as filterd in `ps`.
        command.arg0("filterd").args(log).arg(VERB).arg(directory);
        command.stdin(Stdio::from(theirs));
        let child = command.spawn().map_err(|error| KernelError::load("start the broker", error))?;
        // The command holds the broker's end of the socket. Without this drop the socket would never close.
        drop(command);
        let mut process = Self { line: Some(ours), child };
        match process.line()?.answer()? {
            (Reply::Ready(earlier), _) => Ok((earlier, process)),
            (Reply::Failed(error), _) => Err(error),
            (_, _) => Err(KernelError::broker_gone("it begins with an answer")),
        }
    }

    fn line(&mut self) -> Result<&mut BrokerSocket, KernelError> {
        self.line.as_mut().ok_or_else(|| KernelError::broker_gone("it was ended"))
    }

    /// Closes the socket and waits until the process has ended.
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

impl BrokerHost for BrokerProcess {
    fn fate(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| status.to_string())
    }

    fn serve(&mut self, request: Request) -> BrokerAnswer {
        let line = self.line()?;
        line.send(&request, None)?;
        match line.answer()? {
            (Reply::Failed(error), _) => Err(error),
            answer => Ok(answer),
        }
    }

    fn end(&mut self) {
        self.close();
    }
}

/// Waits for the process, so that no successor starts while it still changes pins.
impl Drop for BrokerProcess {
    fn drop(&mut self) {
        self.close();
    }
}

/// Runs the broker in this process.
pub fn be(directory: &Path) -> io::Result<()> {
    set_name(c"filterd-broker")?;
    set_no_new_privs(true)?;
    forget_bounding_set();
    keep(NEEDED | NEEDED_AT_FIRST)?;
    // Signals to a whole terminal or service are meant for the daemon. The broker ends after it.
    SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]).thread_block()?;
    let mut line = BrokerSocket::of(io::stdin().as_fd().try_clone_to_owned()?);
    let told = match BrokerServer::open(directory) {
        Ok(server) => {
            keep(NEEDED)?;
            confine(directory);
            serve(server, &mut line)
        }
        Err(error) => line.send(&Reply::Failed(error), None),
    };
    told.map_err(io::Error::other)
}

/// Failures are only logged: on kernels without Landlock or seccomp the broker works unconfined.
fn confine(directory: &Path) {
    if let Err(error) = confine::to_pins(directory) {
        tracing::warn!("the broker is not confined by Landlock: {error}");
    }
    if let Err(error) = seccomp::restrict(seccomp::ProcessKind::Broker) {
        tracing::warn!("the broker is not confined by seccomp: {error}");
    }
}

fn serve(mut server: BrokerServer, line: &mut BrokerSocket) -> Result<(), KernelError> {
    // A thread inherits the capabilities of its creator, so loaders start after these were reduced.
    loaders::begin();
    let ended = answer(&mut server, line);
    // The daemon may be killed in the middle of a request.
    server.leave();
    ended
}

fn answer(server: &mut BrokerServer, line: &mut BrokerSocket) -> Result<(), KernelError> {
    line.send(&Reply::Ready(server.earlier()), None)?;
    while let Some((request, _)) = line.receive::<Request>()? {
        let (answer, descriptor) = server.serve(request).unwrap_or_else(|error| (Reply::Failed(error), None));
        line.send(&answer, descriptor)?;
    }
    Ok(())
}

/// Drops all capabilities except these, and disables core dumps.
fn keep(needed: CapabilitySet) -> io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.permitted &= needed;
    sets.effective &= needed;
    sets.inheritable = CapabilitySet::empty();
    set_capabilities(None, sets)?;
    Ok(setrlimit(Resource::RLIMIT_CORE, 0, 0)?)
}

/// Without root privileges this fails, and then there is nothing to drop.
fn forget_bounding_set() {
    for capability in CapabilitySet::all() {
        _ = remove_capability_from_bounding_set(capability);
    }
}
