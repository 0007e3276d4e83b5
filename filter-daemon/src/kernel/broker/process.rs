//! The process that holds the kernel. It is filterd too, started by filterd with a socket for its input; when that closes,
//! it ends, and what is attached goes on.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities, set_name, set_no_new_privs};

use super::super::KernelError;
use super::client::{Answered, Place};
use super::line::Line;
use super::request::{Answer, Request};
use super::server::Server;

/// The verb that makes a filterd the broker; nobody types it.
pub const VERB: &str = "broker";

/// What attaching and changing tables take. Before, file systems are mounted and foreign programs asked their names.
const NEEDED: CapabilitySet =
    CapabilitySet::BPF.union(CapabilitySet::NET_ADMIN).union(CapabilitySet::PERFMON);

/// How long it may take to end: it has little more to do than to remove pins.
const PATIENCE: Duration = Duration::from_secs(5);

/// The process, seen from the one that started it.
pub struct Process {
    /// It ends when this is closed.
    line: Option<Line>,
    child: Child,
}

impl Process {
    /// Starts it. Tells the highest number that a map is pinned under.
    pub fn start(directory: &Path, log: &[&str]) -> Result<(u64, Self), KernelError> {
        let (ours, theirs) = Line::pair()?;
        let mut command = Command::new("/proc/self/exe");
        command.args(log).arg(VERB).arg(directory).stdin(Stdio::from(theirs));
        let child = command.spawn().map_err(|error| KernelError::load("start the broker", error))?;
        // What it was started with is not to be held here: the line would never close.
        drop(command);
        let mut process = Self { line: Some(ours), child };
        match process.line()?.answer()? {
            (Answer::Ready(latest_generation), _) => Ok((latest_generation, process)),
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
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if begun.elapsed() > PATIENCE {
                tracing::error!("the broker does not end; what it still does to the pins is not waited for");
                return;
            }
            thread::sleep(Duration::from_micros(200));
        }
    }
}

impl Place for Process {
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
pub fn be(directory: &Path) -> io::Result<()> {
    set_name(c"filterd-broker")?;
    // Signals to a whole terminal or service are for the other process: this one ends after it.
    SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]).thread_block()?;
    let mut line = Line::of(io::stdin().as_fd().try_clone_to_owned()?);
    let told = match Server::open(directory) {
        Ok(server) => serve(server, &mut line),
        Err(error) => line.send(&Answer::Failed(error), None),
    };
    told.map_err(io::Error::other)
}

fn serve(mut server: Server, line: &mut Line) -> Result<(), KernelError> {
    line.send(&Answer::Ready(server.latest_generation()), None)?;
    while let Some((request, _)) = line.receive::<Request>()? {
        if matches!(request, Request::DropPrivileges) {
            drop_the_rest();
        }
        let (answer, descriptor) =
            server.serve(request).unwrap_or_else(|error| (Answer::Failed(error), None));
        line.send(&answer, descriptor)?;
    }
    server.leave();
    Ok(())
}

/// Keeps three capabilities of those there are. Where even that is refused, there were none to lose.
fn drop_the_rest() {
    let Ok(mut sets) = capabilities(None) else { return };
    sets.permitted &= NEEDED;
    sets.effective &= NEEDED;
    sets.inheritable = CapabilitySet::empty();
    let given_up = set_capabilities(None, sets).and_then(|()| set_no_new_privs(true));
    if let Err(error) = given_up {
        tracing::warn!("cannot give up capabilities: {error}");
    }
}
