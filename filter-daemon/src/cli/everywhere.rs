//! Flags for every command, before its name or behind it.
//!
//! clap knows flags that are global, but copies them into each command there is: a fifth of what `filterd add` took.
//! The structs below are told of in plain comments, since others would become the help of whatever they are part of.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::help::GLOBAL_HEADING;
use crate::text::quantity;

// The flags.
#[derive(Debug, Args)]
#[group(skip)]
pub struct Everywhere {
    /// Print JSON: one object, or one per line for lists
    #[arg(long, help_heading = GLOBAL_HEADING)]
    pub json: bool,
    /// Print only errors. `filterd run` logs only warnings and errors
    #[arg(short, long, help_heading = GLOBAL_HEADING)]
    pub quiet: bool,
    /// Control socket [default: $FILTERD_SOCKET, or /run/filterd/control.sock]
    #[arg(long, value_name = "PATH", help_heading = GLOBAL_HEADING)]
    pub socket: Option<PathBuf>,
    /// Give up when filterd was silent for this long. 0 waits forever [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = timeout, help_heading = GLOBAL_HEADING)]
    pub timeout: Option<Duration>,
}

// What stands behind the name of a command: its own arguments, and these flags.
#[derive(Debug, Args)]
#[group(skip)]
pub struct With<T: Args> {
    /// Its own.
    #[command(flatten)]
    pub own: T,
    /// These.
    #[command(flatten)]
    pub everywhere: Everywhere,
}

impl Everywhere {
    /// Both together: what stands before the name of a command and what stands behind it, which counts more.
    pub fn and(self, behind: Option<&Self>) -> Self {
        let Some(behind) = behind else { return self };
        Self {
            json: self.json || behind.json,
            quiet: self.quiet || behind.quiet,
            socket: behind.socket.clone().or(self.socket),
            timeout: behind.timeout.or(self.timeout),
        }
    }
}

fn timeout(word: &str) -> Result<Duration, String> {
    quantity::duration(word)
        .map_err(|_| "write seconds, or a time such as 2s or 1min, or 0 to wait forever".to_owned())
}
