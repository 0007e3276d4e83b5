//! `filterd rollback`: what a reload has brought on trial is taken back at once.

use clap::Args;

use super::ask::trouble::Trouble;
use super::ask::waiting;
use super::reload;
use super::render::console::Console;
use super::render::moment::Clock;
use crate::control::client::{Client, Endpoint};
use crate::control::wire;
use crate::control::wire::rollback::Reply;
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_help = "\
Configuration and lists are put back as they were before `filterd reload --confirm`, as they would be by themselves at the end
of the trial; what was added or removed by command meanwhile stays. The files are left as they are: `filterd diff` tells what
they would change, and the next `filterd reload` takes them again.
A reload that is still at work is waited for, and then rolled back. Where it was rolled back already, by itself or by another
`filterd rollback`, nothing changes, and that is told.

Exit codes: 0 what was before is in force, also where it was already · 1 nothing was on trial · 7 what was before is in force
but for what is told: a list could not be put back, or the next start does not know of it.

Examples:
  filterd reload --confirm 1h
  filterd rollback                     when something does not work; filterd confirm when everything does")]
pub struct Rollback {}

impl Rollback {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
        let mut client = Client::connect(socket)?;
        let reply = waiting::shown(console.progress, "rolling back", || client.call(&wire::Rollback {}))?;
        let clock = console.clock();
        console.answer(&reply, |reply| render(reply, &clock))?;
        match &reply.undone {
            Some(undone) => reload::look_after(undone, console),
            None if reply.already.is_some() => Ok(Exit::Done),
            None => Ok(Exit::No),
        }
    }
}

fn render(reply: &Reply, clock: &Clock) -> String {
    match (&reply.undone, reply.already) {
        (Some(undone), _) => {
            format!(
                "the earlier configuration is in force again: {}",
                reload::render("rolled back", undone, clock)
            )
        }
        (None, Some(since)) => format!(
            "the reload was already rolled back {} ago\nto apply it again: filterd reload",
            clock.elapsed(since)
        ),
        (None, None) => "nothing to roll back: no reload is on trial".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_undone_and_that_nothing_was_to_be_are_told() {
        let told = |reply: Reply| render(&reply, &Clock::standing(100));
        let undone = wire::reload::Reply { entered: 2, left: 1, milliseconds: 3, ..Default::default() };
        assert_eq!(
            told(Reply { rolled_back: true, undone: Some(undone), ..Reply::default() }),
            "the earlier configuration is in force again: rolled back in 3 ms: 2 targets entered the filter, 1 left it"
        );
        let already = Reply { already: Some(90), ..Reply::default() };
        assert!(told(already).starts_with("the reload was already rolled back 10 s ago"));
        assert_eq!(told(Reply::default()), "nothing to roll back: no reload is on trial");
    }
}
