//! `filterd resume`: ends a pause, so that listed packets are dropped again.

use clap::Args;

use super::ask::trouble::CommandError;
use super::render::console::Console;
use super::render::moment::Clock;
use crate::control::client::{Client, Endpoint};
use crate::control::wire::resume::Reply;
use crate::control::wire::{self, Idle};
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct Resume {}

impl Resume {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let resumed = Client::connect(socket)?.call(&wire::Resume {})?;
        let clock = console.clock();
        console.answer(&resumed, |resumed| render(resumed, &clock))?;
        Ok(Exit::Done)
    }
}

fn render(resumed: &Reply, clock: &Clock) -> String {
    let paused = match resumed.before {
        Some(before) => format!("resumed: protection was paused until {}", clock.at(before)),
        None => "nothing to resume: protection is not paused".to_owned(),
    };
    let but = match resumed.idle {
        Some(Idle::NotEnforced) => ", but NOTHING IS DROPPED: `enforce: false`",
        Some(Idle::NothingAttached) => {
            ", but NOTHING IS DROPPED: filterd is attached to no interface (`filterd status` shows why)"
        }
        Some(Idle::Paused) | None => "",
    };
    format!("{paused}{but}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resume_reply_shows_pause_and_enforcement() {
        let now = 1_795_296_480;
        let told = |before, idle| render(&Reply { before, idle }, &Clock::standing(now));
        assert_eq!(told(Some(now + 120), None), "resumed: protection was paused until 21:30 (in 2 min)");
        assert_eq!(told(None, None), "nothing to resume: protection is not paused");
        assert!(told(None, Some(Idle::NotEnforced)).contains(", but NOTHING IS DROPPED"));
    }
}
