//! The process that holds the kernel. It is filterd too, started by filterd with a socket for its input; when that closes,
//! it ends, and what is attached goes on.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::{SigSet, Signal};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities, set_name, set_no_new_privs};

use super::super::KernelError;
use super::super::holder::Holder;
use super::line::Line;
use super::request::{Answer, Request};

/// The verb that makes a filterd a keeper; nobody types it.
pub const VERB: &str = "keep-the-kernel";

/// What attaching and changing tables take. Before, file systems are mounted and foreign programs asked their names.
const NEEDED: CapabilitySet =
    CapabilitySet::BPF.union(CapabilitySet::NET_ADMIN).union(CapabilitySet::PERFMON);

/// Starts the process.
pub fn start(directory: &Path) -> Result<Line, KernelError> {
    let (ours, theirs) = Line::pair()?;
    let mut command = Command::new("/proc/self/exe");
    command.arg(VERB).arg(directory).stdin(Stdio::from(theirs));
    // Whoever starts many of them may wait for the first process only; this one ends when that does.
    command.spawn().map_err(|error| KernelError::load("start the keeper of the kernel", error))?;
    Ok(ours)
}

/// Is that process.
pub fn be(directory: &Path) -> io::Result<()> {
    set_name(c"filterd-keeper")?;
    // Signals to a whole terminal or service are for the other process: this one ends after it.
    SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]).thread_block()?;
    let mut line = Line::of(io::stdin().as_fd().try_clone_to_owned()?);
    let told = match Holder::open(directory) {
        Ok(holder) => keep(holder, &mut line),
        Err(error) => line.send(&Answer::Failed(error), None),
    };
    told.map_err(io::Error::other)
}

fn keep(mut holder: Holder, line: &mut Line) -> Result<(), KernelError> {
    line.send(&Answer::Ready(holder.latest_generation()), None)?;
    while let Some((request, _)) = line.receive::<Request>()? {
        if matches!(request, Request::SettleIn) {
            give_up_the_rest();
        }
        let (answer, descriptor) =
            holder.serve(request).unwrap_or_else(|error| (Answer::Failed(error), None));
        line.send(&answer, descriptor)?;
    }
    holder.leave();
    Ok(())
}

/// Keeps three capabilities of those there are. Where even that is refused, there were none to lose.
fn give_up_the_rest() {
    let Ok(mut sets) = capabilities(None) else { return };
    sets.permitted &= NEEDED;
    sets.effective &= NEEDED;
    sets.inheritable = CapabilitySet::empty();
    let given_up = set_capabilities(None, sets).and_then(|()| set_no_new_privs(true));
    if let Err(error) = given_up {
        tracing::warn!("cannot give up capabilities: {error}");
    }
}
