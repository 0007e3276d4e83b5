//! `filterd rollback`: undoes a reload that is on trial at once.

use clap::Args;

use super::ask::trouble::CommandError;
use super::ask::waiting;
use super::reload;
use super::render::console::Console;
use super::render::moment::Clock;
use crate::control::client::{Client, Endpoint};
use crate::control::wire;
use crate::control::wire::rollback::Reply;
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct Rollback {}

impl Rollback {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
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
            "the reload was already rolled back {} ago\nto apply it again: filterd reload --confirm 60s",
            clock.elapsed(since)
        ),
        (None, None) => "nothing to roll back: no reload is on trial".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rollback_reply_shows_what_was_undone() {
        let told = |reply: Reply| render(&reply, &Clock::standing(100));
        let undone = wire::reload::Reply { entered: 2, left: 1, milliseconds: 3, ..Default::default() };
        assert_eq!(
            told(Reply { rolled_back: true, undone: Some(undone), ..Reply::default() }),
            "the earlier configuration is in force again: rolled back in 3 ms: 2 targets entered the filter, 1 left it"
        );
        let already = Reply { already: Some(90), ..Reply::default() };
        let already = told(already);
        assert!(already.starts_with("the reload was already rolled back 10 s ago"), "{already}");
        assert!(already.ends_with("to apply it again: filterd reload --confirm 60s"), "{already}");
        assert_eq!(told(Reply::default()), "nothing to roll back: no reload is on trial");
    }
}
