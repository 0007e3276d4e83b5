//! `filterd reload`: makes the daemon read its configuration and its lists again.

use std::time::Duration;

use clap::Args;

use super::ask::trouble::CommandError;
use super::ask::waiting;
use super::render::console::Console;
use super::render::figure::{count, counted};
use super::render::moment::Clock;
use crate::control::client::{Client, Endpoint};
use crate::control::wire;
use crate::control::wire::accept::Accepted;
use crate::control::wire::reload::{HeldBack, Reply};
use crate::control::wire::words::LONGEST_TRIAL;
use crate::exit::Exit;
use crate::text::quantity::{self, QuantityError};
use crate::text::{Explanation, printable};

#[derive(Debug, Args)]
pub struct Reload {
    /// Accept this list although it looks wrong, or this interface as missing. `all` accepts all lists. Repeatable
    #[arg(long, value_name = "NAME", value_parser = acceptable)]
    accept: Vec<String>,
    /// Roll back after this time, unless `filterd confirm` comes first: 60s, 5m, at most 24h
    #[arg(long, value_name = "TIME", value_parser = trial)]
    confirm: Option<Duration>,
}

fn trial(word: &str) -> Result<Duration, String> {
    match quantity::duration(word) {
        Ok(Duration::ZERO) => Err("at least one second".to_owned()),
        Ok(length) if length <= LONGEST_TRIAL => Ok(length),
        Ok(_) | Err(QuantityError::TooLarge) => Err("at most 24h".to_owned()),
        Err(QuantityError::Form) => {
            Err("write seconds, or numbers with h, m or s: 90, 60s, 5m, 1h30m".to_owned())
        }
    }
}

impl Reload {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let accept = self.accept.clone();
        let confirm = self.confirm.map(|length| length.as_secs());
        let mut client = Client::connect(socket)?;
        let reloaded = waiting::shown(console.progress, "reading and applying the lists", || {
            client.call(&wire::Reload { accept, confirm })
        })?;
        let clock = console.clock();
        console.answer(&reloaded, |reloaded| render("reloaded", reloaded, &clock))?;
        look_after(&reloaded, console)
    }
}

/// Prints the problems that the operator must look after, and returns the exit code for them.
pub fn look_after(reloaded: &Reply, console: &mut Console) -> Result<Exit, CommandError> {
    for warning in &reloaded.warnings {
        console.note(&format!("warning: {warning}"));
    }
    let told = reloaded.faults.iter().map(|fault| &fault.told);
    let lists = reloaded.held_back.iter().map(|held| &held.told);
    complain(told.chain(lists).chain(&reloaded.not_kept), console)
}

/// Prints these errors, and returns the exit code for them.
pub fn complain<'a>(
    faults: impl Iterator<Item = &'a Explanation>,
    console: &mut Console,
) -> Result<Exit, CommandError> {
    let faults: Vec<_> = faults.collect();
    if faults.is_empty() {
        return Ok(Exit::Done);
    }
    console.flush()?;
    faults.into_iter().for_each(|told| console.complain(told));
    Ok(Exit::Partly)
}

fn acceptable(word: &str) -> Result<String, String> {
    word.parse::<Accepted>().map(|_| word.to_owned())
}

/// Describes the changes; `done` is the word for the action.
pub fn render(done: &str, reloaded: &Reply, clock: &Clock) -> String {
    let moved = match (reloaded.entered, reloaded.left) {
        (0, 0) => "nothing entered or left the filter".to_owned(),
        (entered, left) => {
            format!("{} entered the filter, {} left it", counted(entered, "target"), count(left))
        }
    };
    let allowed = match (reloaded.allowed, reloaded.disallowed) {
        (0, 0) => String::new(),
        (allowed, 0) => format!("; {} newly allowed", counted(allowed, "target")),
        (0, gone) => format!("; {} no longer allowed", counted(gone, "target")),
        (allowed, gone) => {
            format!("; {} newly allowed, {} no longer allowed", counted(allowed, "target"), count(gone))
        }
    };
    let unchanged = match reloaded.unchanged {
        0 => String::new(),
        lists => format!("; {} unchanged", counted(lists, "list")),
    };
    let held_back = counted_back(&reloaded.held_back);
    let not_kept = if reloaded.not_kept.is_empty() { "" } else { "; not all of it has a copy on disk" };
    let (milliseconds, switched) = (count(reloaded.milliseconds), switched(reloaded));
    let trial = reloaded.confirm_until.map(|until| {
        format!(
            "\non trial until {}, then rolled back; other reloads are refused until then\nto keep it: filterd confirm\nto roll back now: filterd rollback",
            clock.at(until)
        )
    });
    let trial = trial.unwrap_or_default();
    format!("{done} in {milliseconds} ms: {moved}{allowed}{unchanged}{held_back}{not_kept}{switched}{trial}")
}

/// Describes how many lists kept other content than their files have.
pub fn counted_back(lists: &[HeldBack]) -> String {
    match lists.len() as u64 {
        0 => String::new(),
        1 => "; 1 list was not updated".to_owned(),
        lists => format!("; {} lists were not updated", count(lists)),
    }
}

/// Describes where packets are filtered from now on and where no longer, whether they are dropped, and
/// which other settings changed.
fn switched(reloaded: &Reply) -> String {
    let names = |verb: &str, names: &[String]| {
        let names: Vec<_> = names.iter().map(|name| printable::on_one_line(name)).collect();
        if names.is_empty() { String::new() } else { format!("\n{verb} {}", names.join(", ")) }
    };
    let settings = reloaded.switched();
    let settings: String =
        settings.iter().map(|setting| format!("\n{}", printable::on_one_line(setting))).collect();
    let attached = names("attached to", &reloaded.attached);
    let detached = names("detached from", &reloaded.detached);
    format!("{attached}{detached}{settings}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(reloaded: &Reply) -> String {
        super::render("reloaded", reloaded, &Clock::standing(1_795_296_480))
    }

    #[test]
    fn trial_reply_shows_deadline_and_confirm_command() {
        let reloaded = Reply { confirm_until: Some(1_795_296_540), ..Reply::default() };
        let told = "\non trial until 21:29 (in 1 min), then rolled back; other reloads are refused until then\nto keep it: filterd confirm\nto roll back now: filterd rollback";
        assert!(render(&reloaded).ends_with(told));
        let lengths =
            ["60s", "24h", "0", "25h", "ever"].map(|word| trial(word).ok().map(|time| time.as_secs()));
        assert_eq!(lengths, [Some(60), Some(86_400), None, None, None]);
    }

    #[test]
    fn reload_reply_shows_the_difference() {
        let reloaded = Reply { entered: 1, left: 20, unchanged: 3, milliseconds: 12, ..Reply::default() };
        assert_eq!(
            render(&reloaded),
            "reloaded in 12 ms: 1 target entered the filter, 20 left it; 3 lists unchanged"
        );
    }

    #[test]
    fn allowed_targets_are_counted_separately() {
        let reloaded = Reply { allowed: 1, ..Reply::default() };
        assert_eq!(
            render(&reloaded),
            "reloaded in 0 ms: nothing entered or left the filter; 1 target newly allowed"
        );
        let reloaded = Reply { allowed: 2, disallowed: 1, ..Reply::default() };
        assert!(render(&reloaded).ends_with("; 2 targets newly allowed, 1 no longer allowed"));
    }

    #[test]
    fn changed_settings_are_reported() {
        let (attached, detached) = (vec!["eth1".into(), "eth2".into()], vec!["eth0".into()]);
        let reloaded = Reply { attached, detached, enforce: Some(false), ..Reply::default() };
        assert_eq!(
            render(&reloaded),
            "reloaded in 0 ms: nothing entered or left the filter\nattached to eth1, eth2\ndetached from eth0\n\
             enforce: false now, packets are only counted, NONE IS DROPPED"
        );
    }

    #[test]
    fn lists_that_differ_from_files_are_counted() {
        let held = HeldBack { list: "drop".into(), since: 0, told: "because".into() };
        let reloaded = Reply { held_back: vec![held], ..Reply::default() };
        assert_eq!(
            render(&reloaded),
            "reloaded in 0 ms: nothing entered or left the filter; 1 list was not updated"
        );
    }

    #[test]
    fn missing_copies_are_reported() {
        let reloaded = Reply { left: 2, not_kept: vec!["because".into()], ..Reply::default() };
        assert_eq!(
            render(&reloaded),
            "reloaded in 0 ms: 0 targets entered the filter, 2 left it; not all of it has a copy on disk"
        );
    }
}
