//! `filterd confirm`: keeps the changes of a reload that is on trial.

use clap::Args;

use super::ask::trouble::CommandError;
use super::reload;
use super::render::console::Console;
use super::render::moment::Clock;
use crate::control::client::{Client, Endpoint};
use crate::control::wire;
use crate::control::wire::confirm::Reply;
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct Confirm {}

impl Confirm {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let confirmed = Client::connect(socket)?.call(&wire::Confirm {})?;
        let clock = console.clock();
        console.answer(&confirmed, |confirmed| render(confirmed, &clock))?;
        if !confirmed.confirmed {
            return Ok(Exit::No);
        }
        let held_back = confirmed.held_back.iter().map(|held| &held.told);
        reload::complain(
            confirmed.unnoted.iter().chain(&confirmed.not_taken).chain(held_back).chain(&confirmed.not_kept),
            console,
        )
    }
}

fn render(confirmed: &Reply, clock: &Clock) -> String {
    match (confirmed.confirmed, confirmed.rolled_back) {
        (true, _) => {
            let held_back = reload::counted_back(&confirmed.held_back);
            let what = match confirmed.not_taken {
                None => "the configuration stays",
                Some(_) => "the configuration in force stays, which is not the one that was on trial",
            };
            let unnoted = confirmed.unnoted.as_ref().map_or("", |_| ", but the next start may not know it");
            format!("confirmed: {what}{unnoted}{held_back}")
        }
        (false, None) if confirmed.at_work => {
            "nothing to confirm yet: the reload is still running; try again when it has answered"
                .to_owned()
        }
        (false, None) if confirmed.rolling_back => {
            "too late to confirm: the reload is being rolled back\nto apply it again after that: filterd reload --confirm 60s"
                .to_owned()
        }
        (false, None) => "nothing to confirm: no reload is on trial".to_owned(),
        (false, Some(since)) => format!(
            "nothing to confirm: the reload was rolled back {} ago\nto apply it again: filterd reload --confirm 60s",
            clock.elapsed(since)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_confirm_is_reported() {
        let told = |confirmed, rolled_back| {
            render(&Reply { confirmed, rolled_back, ..Reply::default() }, &Clock::standing(100))
        };
        let at_work = Reply { at_work: true, ..Reply::default() };
        assert!(render(&at_work, &Clock::standing(100)).starts_with("nothing to confirm yet: the reload"));
        let rolling_back = Reply { rolling_back: true, ..Reply::default() };
        assert!(
            render(&rolling_back, &Clock::standing(100))
                .starts_with("too late to confirm: the reload is being")
        );
        assert_eq!(told(true, None), "confirmed: the configuration stays");
        let other = Reply { confirmed: true, not_taken: Some("not valid".into()), ..Reply::default() };
        let words = "confirmed: the configuration in force stays, which is not the one that was on trial";
        assert_eq!(render(&other, &Clock::standing(100)), words);
        let unnoted = Reply { confirmed: true, unnoted: Some("read-only".into()), ..Reply::default() };
        let words = "confirmed: the configuration stays, but the next start may not know it";
        assert_eq!(render(&unnoted, &Clock::standing(100)), words);
        assert_eq!(told(false, None), "nothing to confirm: no reload is on trial");
        let late = told(false, Some(90));
        assert!(late.starts_with("nothing to confirm: the reload was rolled back 10 s ago"), "{late}");
        for told in [late, render(&rolling_back, &Clock::standing(100))] {
            assert!(told.ends_with(": filterd reload --confirm 60s"), "{told}");
        }
    }
}
