//! `filterd top`: what is dropped at the moment, for the sake of whom and how fast, drawn anew each second.

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

use super::ask::trouble::Trouble;
use super::render::console::Console;
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::sources::By;
use crate::control::wire;
use crate::control::wire::snapshot::{Reply as Snapshot, Sampled};
use crate::exit::Exit;
use crate::text::Explanation;
use state::State;

/// How long one picture stays.
const EACH: Duration = Duration::from_secs(1);

/// How wide a single picture is where there is no screen.
const PAPER: u16 = 80;

#[derive(Debug, Args)]
#[command(after_help = "\
Keys:
  q, Ctrl-C     leave
  up, down      choose a list, or a source
  v             show lists, sources, or reasons
  s             sort lists by rate, hits, entries, name, or as configured; sources by packets, bytes, address
  p             pause dropping for a while, or end a pause
  b             block an address or a prefix
  u             unblock one
  ?             tell the keys

What is to be changed is shown as the command that does it, and done only after `y`. Rates are worked out from the
daemon's own counters and times, over the second before. Sources and reasons are estimates out of samples of what was dropped in the
ten seconds before (with --once and --json, in one), each of which stands for as many drops as it says.

Examples:
  filterd top
  filterd top --once             one picture as text, over one second
  filterd top --json             all that it is drawn from, as one object")]
pub struct Top {
    /// Print one picture as text, and end
    #[arg(long)]
    once: bool,
}

impl Top {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
        if console.json {
            let sources = sampling::within(socket, EACH);
            let snapshot = ask(socket)?;
            let sampled = sources.samples();
            let sources = sources.by_source(By::Packets);
            console.answer(&Whole { snapshot: &snapshot, sampled, sources }, |_| String::new())?;
            return Ok(told(&snapshot));
        }
        if self.once {
            let mut state = State::default();
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
            return Err(Trouble::unparsable(Explanation::new(why, remedy)));
        }
        // Nobody waits in front of an empty screen for a daemon that is not there.
        ask(socket)?;
        screen::run(socket)?;
        Ok(Exit::Done)
    }
}

/// With `--json`: the snapshot, and who was dropped most in a second.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    snapshot: &'a Snapshot,
    /// How many samples the following is known from.
    sampled: u64,
    sources: Vec<Sampled>,
}

/// As `filterd status`.
fn told(snapshot: &Snapshot) -> Exit {
    if snapshot.faults.is_empty() { Exit::Done } else { Exit::Partly }
}

/// Everything there is to see.
fn ask(socket: &Endpoint) -> Result<Snapshot, ClientError> {
    Client::connect(socket)?.call(&wire::Snapshot {})
}

#[cfg(test)]
mod tests;
