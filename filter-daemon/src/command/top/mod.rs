//! `filterd top`: shows the current drops, by list and source, and their rates, and redraws the picture
//! every second.

mod asking;
mod draw;
mod foot;
mod history;
mod look;
mod sampling;
mod screen;
mod state;

use std::io::{IsTerminal, stdin, stdout};
use std::time::Duration;

use clap::Args;
use ratatui::crossterm::terminal;
use serde::Serialize;

use super::ask::trouble::CommandError;
use super::render::console::Console;
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::sources::SourceOrder;
use crate::control::wire;
use crate::control::wire::snapshot::{Reply as Snapshot, Sampled};
use crate::exit::Exit;
use crate::text::Explanation;
use state::TopState;

/// How long one picture is shown.
const EACH: Duration = Duration::from_secs(1);

/// The width of a single picture without a screen.
const PAPER: u16 = 80;

#[derive(Debug, Args)]
pub struct Top {
    /// Print one picture as text and exit
    #[arg(long)]
    once: bool,
}

impl Top {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        if console.json {
            let sources = sampling::within(socket, EACH);
            let snapshot = ask(socket)?;
            let sampled = sources.samples();
            let sources = sources.by_source(SourceOrder::Packets);
            console.answer(&TopOutput { snapshot: &snapshot, sampled, sources }, |_| String::new())?;
            return Ok(told(&snapshot));
        }
        if self.once {
            let mut state = TopState::default();
            state.take(ask(socket)?);
            state.sources = sampling::within(socket, EACH);
            let snapshot = ask(socket)?;
            let exit = told(&snapshot);
            state.take(snapshot);
            let screen = if stdout().is_terminal() { terminal::size().ok() } else { None };
            let width = screen.map_or(PAPER, |(width, _)| width.max(PAPER));
            let picture = draw::text(&state, &console.clock(), width);
            console.answer(&(), |()| picture + &draw::sampled(&state))?;
            return Ok(exit);
        }
        if !(stdin().is_terminal() && stdout().is_terminal()) {
            let why = "`filterd top` needs a terminal";
            let remedy = "`filterd top --once` prints one picture as text";
            return Err(CommandError::unparsable(Explanation::new(why, remedy)));
        }
        // If the daemon cannot be reached, the command fails here, before the screen is cleared.
        ask(socket)?;
        screen::run(socket)?;
        Ok(Exit::Done)
    }
}

/// The JSON output: the snapshot, and the most dropped sources of one second.
#[derive(Serialize)]
struct TopOutput<'a> {
    #[serde(flatten)]
    snapshot: &'a Snapshot,
    /// The number of samples that the sources are estimated from.
    sampled: u64,
    sources: Vec<Sampled>,
}

/// The exit code, as for `filterd status`.
fn told(snapshot: &Snapshot) -> Exit {
    if snapshot.faults.is_empty() { Exit::Done } else { Exit::Partly }
}

/// Requests a snapshot from the daemon.
fn ask(socket: &Endpoint) -> Result<Snapshot, ClientError> {
    Client::connect(socket)?.call(&wire::Snapshot {})
}

#[cfg(test)]
mod tests;
