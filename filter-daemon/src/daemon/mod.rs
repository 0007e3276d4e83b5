//! The daemon. One task owns the blocklist and the kernel tables; all other tasks send it requests and get
//! replies.
//!
//! `start` starts it, and `owner` holds the state and the loop. `serve` handles each request, and `commit` is
//! the only way to change anything. `reload` turns the configuration into changes, `persistence` stores live
//! entries, and `needs` computes table sizes.

mod acknowledging;
mod alarm;
mod applying;
mod capacity;
mod change;
pub mod commit;
mod configuration;
mod confine;
mod core;
mod counting;
mod covering;
mod crowdsec;
mod databases;
mod diff;
mod error;
mod expiry;
mod feeds;
mod flows;
mod flush;
mod guard;
mod interfaces;
mod jobs;
mod latencies;
mod leftovers;
mod lists;
mod log;
mod names;
pub mod needs;
mod not_succeeded;
mod notices;
mod open_files;
mod owner;
mod pause;
mod permits;
mod persistence;
mod pinned;
mod privilege;
mod reading;
mod refresh;
mod refreshing;
mod reload;
mod reloading;
mod report;
mod retry;
mod sampling;
mod serve;
mod settings;
mod sleep;
mod snapshot;
mod sockets;
mod start;
mod start_input;
mod succession;
mod tampered;
mod time;
mod traffic;
mod trial;
mod trying;
mod turns;
mod unreadable;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use nix::sys::signal::{SigSet, Signal};

use crate::cli::{Log, Run};
use crate::command::render::console;
use crate::control::Watching;
use crate::exit::Exit;
use crate::fetch;
use crate::kernel::broker::process;
use error::DaemonError;
pub use leftovers::detach;

/// Runs the daemon until a signal ends it.
pub fn run(run: &Run) -> ExitCode {
    let log = log::start(run.log);
    // A terminal may stop a background process that writes to it, and a stopped daemon lets no entry expire.
    _ = SigSet::from(Signal::SIGTTOU).thread_block();
    match in_a_runtime(run, log.watching()) {
        Ok(()) => Exit::Done.into(),
        Err(DaemonError::Rehearsed(code)) => code.into(),
        Err(error) => {
            log.end(&error);
            if run.json {
                console::print_json(&serve::failure::of(&error));
            }
            Exit::from(&error).into()
        }
    }
}

fn in_a_runtime(run: &Run, watching: Watching) -> Result<(), DaemonError> {
    open_files::take_enough()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(in_a_task(run.clone(), watching));
    // Does not wait for blocking tasks: a list file whose read hangs must not delay the end.
    runtime.shutdown_background();
    ended
}

/// Runs the daemon in a spawned task. Waking the future that `block_on` polls takes a system call; waking a
/// task takes none.
async fn in_a_task(run: Run, watching: Watching) -> Result<(), DaemonError> {
    let task = async move {
        if run.rehearses { succession::rehearse(&run).await } else { start::run(&run, watching).await }
    };
    match tokio::spawn(task).await {
        Ok(ended) => ended,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Runs the broker process, which holds the kernel objects for the daemon.
pub fn keep(pin_dir: &Path, log: Log) -> ExitCode {
    log::start_beside(log);
    match process::be(pin_dir) {
        Ok(()) => Exit::Done.into(),
        Err(error) => {
            tracing::error!("only filterd itself starts the broker: {error}");
            Exit::Kernel.into()
        }
    }
}

/// Runs the process that starts fetches for the daemon.
pub fn start_fetches(user: Option<&str>, named_by: Option<PathBuf>, log: Log) -> ExitCode {
    log::start_beside(log);
    match fetch::be_spawner(user, named_by.map(permits::read_from)) {
        Ok(()) => Exit::Done.into(),
        Err(error) => {
            tracing::error!("the process that fetches lists has ended: {error}");
            Exit::Unreachable.into()
        }
    }
}

/// Runs a process that fetches once. It reports errors to the process that asked, not to the log.
pub fn fetch(spawner: u32) -> ExitCode {
    match fetch::be_child(spawner) {
        Ok(()) => Exit::Done.into(),
        Err(_) => Exit::Unreachable.into(),
    }
}
