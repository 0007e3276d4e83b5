//! `filterd add`: blocks targets from now on.

use clap::Args;
use filter_common::target::{Prefix, Target};

use super::ask::addition::{self, Addition, few};
use super::ask::change::{self, Outcome, STANDARD_INPUT};
use super::ask::guarded;
use super::ask::trouble::Trouble;
use super::render::console::Console;
use super::render::figure::count;
use super::render::moment::Clock;
use crate::config::name;
use crate::control::client::Endpoint;
use crate::control::wire::{self, Changed, Entry, Idle, Widened};
use crate::exit::Exit;
use crate::text::printable;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filterd add 203.0.113.7
  filterd add 198.51.100.0/24 2001:db8:bad::/48 --note 'ticket 4711'
  filterd add 203.0.113.7 --ttl 2h --list ssh
  filterd add 203.0.113.16-203.0.113.99
  filterd add - < blocklist.txt

What this host needs is guarded, and nothing overrides that: its own addresses, gateways and name servers, and whoever is
logged in from elsewhere (`filterd allow list --list guard`). An add of nothing else exits with 5; a prefix around it is
blocked, and it passes, which is told.
Servers that lists are fetched from are guarded against lists only. An add blocks them, with a warning.")]
pub struct Add {
    #[command(flatten)]
    addition: Addition,
    /// Block a prefix shorter than /8, or than /16 of IPv6, too: what is guarded passes all the same
    #[arg(long)]
    wide: bool,
}

impl Add {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
        let Self { addition, .. } = self;
        let request = |words| wire::Add { wide: self.wide, ..addition.request(words) };
        let mut outcome = change::apply(&addition.targets, socket, console, &request)?;
        let clock = console.clock();
        outcome.remedies = addition::remedies(&outcome, self.list(), "remove");
        console.answer(&outcome, |outcome| self.render(outcome, &clock))?;
        outcome.remedies.iter().for_each(|remedy| console.note(remedy));
        outcome.changed.warnings.iter().for_each(|warning| console.note(&format!("warning: {warning}")));
        guarded::tell(&outcome, console);
        change::tell_durability(&outcome.changed, console);
        Ok(self.exit(&outcome))
    }

    /// What is attached nowhere drops nothing, which is not what the configuration says; counting only is.
    /// Whoever names a target that is allowed, and so passes, is told no; in what is read there may well be some.
    fn exit(&self, outcome: &Outcome) -> Exit {
        let Changed { idle, allowed, .. } = outcome.changed;
        match (outcome.exit(self.addition.strict), idle) {
            (Exit::Done, Some(Idle::NothingAttached)) => Exit::Partly,
            (Exit::Done, _) if allowed > 0 && self.addition.targets != [STANDARD_INPUT] => Exit::No,
            (exit, _) => exit,
        }
    }

    fn render(&self, outcome: &Outcome, clock: &Clock) -> String {
        let Outcome { changed, .. } = outcome;
        if changed.named == 0 {
            return String::new();
        }
        let blocked = blocked(changed);
        let mut lines = vec![self.addition.told(outcome, blocked, self.list()) + &but(changed)];
        lines.extend(self.widened(outcome, blocked));
        lines.extend(guarded::around(changed));
        lines.extend(allowed(changed, clock));
        lines.extend(self.addition.held_by(outcome, blocked, clock));
        lines.join("\n")
    }

    /// More than was named is blocked where the list says so.
    fn widened(&self, outcome: &Outcome, blocked: &str) -> Option<String> {
        let Widened { count: widened, length } = outcome.changed.widened?;
        let why = format!("list `{}` says `ipv6_prefix: {length}`", self.list());
        Some(match (&outcome.first[..], outcome.changed.named) {
            ([Target::V6(one)], 1) => {
                let wide = Target::V6(Prefix::covering(one.address(), length));
                format!("all of {wide} is {blocked} for it: {why}")
            }
            _ if widened == 1 => format!("for 1 of them all of its /{length} is {blocked}: {why}"),
            _ => format!("for {} of them all of their /{length} is {blocked}: {why}", count(widened)),
        })
    }

    fn list(&self) -> &str {
        self.addition.list(name::MANUAL_LIST)
    }
}

/// Nothing is blocked where nothing is dropped, and what is allowed is not.
fn blocked(changed: &Changed) -> &'static str {
    if changed.idle.is_none() && changed.allowed == 0 { "blocked" } else { "listed" }
}

/// What passes, whatever was added.
fn allowed(changed: &Changed, clock: &Clock) -> Vec<String> {
    let Changed { named, allowed, ref allowed_by, .. } = *changed;
    let all = match (allowed, named) {
        (0, _) => None,
        (1, 1) => Some("it is allowed, so it is NOT dropped".to_owned()),
        _ => Some(format!("{} of them allowed, so NOT dropped", count(allowed))),
    };
    let part = allowed == 0 && !allowed_by.is_empty();
    let part = part.then(|| "a part of it is allowed, so not dropped".to_owned());
    let by = |entry: &Entry| {
        format!("allowed by {} of list `{}`, {}", entry.target, entry.list, clock.until(entry.until))
    };
    all.into_iter().chain(part).chain(few(allowed_by.iter().map(by))).collect()
}

/// What becomes of packets all the same.
pub fn but(changed: &Changed) -> String {
    match (changed.idle, &changed.except[..]) {
        (None, []) => String::new(),
        (None, names) => {
            let names: Vec<_> = names.iter().map(|name| printable::on_one_line(name)).collect();
            format!(", but not on {}, which is not filtered (`filterd status` shows why)", names.join(", "))
        }
        (Some(Idle::NothingAttached), _) => {
            ", but nothing is dropped: filterd is attached to no interface (`filterd status` shows why)"
                .to_owned()
        }
        (Some(Idle::NotEnforced), _) => "; with `enforce: false` it is only counted".to_owned(),
        (Some(Idle::Paused), _) => {
            "; protection is paused, so it is only counted (`filterd status` shows until when)".to_owned()
        }
    }
}

#[cfg(test)]
mod tests;
