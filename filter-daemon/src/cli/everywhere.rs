//! Options of every command, before or after its name.
//!
//! clap's own global options are copied into every command, which took a fifth of the time of `filterd add`. The structs below
//! have plain comments, because clap would make doc comments the help of the commands.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::help::GLOBAL_HEADING;
use crate::text::quantity;

// The global options.
#[derive(Debug, Args)]
#[group(skip)]
pub struct GlobalOptions {
    /// Print JSON: one object, or one per line for `list`, `export` and `watch`
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

// The arguments after the name of a command: its own, and the global options.
#[derive(Debug, Args)]
#[group(skip)]
pub struct WithGlobals<T: Args> {
    /// The arguments of the command itself.
    #[command(flatten)]
    pub own: T,
    /// The global options after its name.
    #[command(flatten)]
    pub everywhere: GlobalOptions,
}

impl GlobalOptions {
    /// Merges the options before the name of a command with those after it, which take precedence.
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
