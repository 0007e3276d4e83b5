//! `filterd add`: blocks targets.

use clap::Args;
use filter_common::target::{Prefix, Target};

use super::ask::addition::{self, Addition, few};
use super::ask::change::{self, ChangeOutcome, STANDARD_INPUT};
use super::ask::guarded;
use super::ask::trouble::CommandError;
use super::render::console::Console;
use super::render::figure::count;
use super::render::moment::Clock;
use crate::config::name;
use crate::control::client::Endpoint;
use crate::control::wire::{self, Changed, Entry, Idle, Widened};
use crate::exit::Exit;
use crate::text::printable;

#[derive(Debug, Args)]
pub struct Add {
    #[command(flatten)]
    addition: Addition,
    /// Block packets from these addresses (in) or to them (out, on the list manual-out)
    #[arg(long, value_name = "DIRECTION", value_parser = ["in", "out"], default_value = "in", conflicts_with = "list")]
    direction: String,
    /// Accept prefixes shorter than /8 (IPv4) or /16 (IPv6)
    #[arg(long)]
    wide: bool,
}

impl Add {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let Self { addition, .. } = self;
        let list = self.is_outbound().then(|| name::MANUAL_OUT_LIST.to_owned());
        let request = |words| {
            let request = addition.request(words);
            wire::Add { wide: self.wide, list: list.clone().or(request.list.clone()), ..request }
        };
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

    /// Adjusts the exit code. A filter that is attached nowhere drops nothing, contrary to the configuration, so
    /// the code is 7. Counting only is configured, and does not change the code. A named target that is allowed
    /// still passes, so the code is 1. Standard input may well contain allowed targets.
    fn exit(&self, outcome: &ChangeOutcome) -> Exit {
        let Changed { idle, allowed, .. } = outcome.changed;
        match (outcome.exit(self.addition.strict), idle) {
            (Exit::Done, Some(Idle::NothingAttached)) => Exit::Partly,
            (Exit::Done, _) if allowed > 0 && self.addition.targets != [STANDARD_INPUT] => Exit::No,
            (exit, _) => exit,
        }
    }

    fn render(&self, outcome: &ChangeOutcome, clock: &Clock) -> String {
        let ChangeOutcome { changed, .. } = outcome;
        if changed.named == 0 {
            return String::new();
        }
        let blocked = blocked(changed);
        let mut lines = vec![self.addition.told(outcome, blocked, self.list()) + &but(changed)];
        lines.extend(self.widened(outcome, blocked));
        if self.list() == name::MANUAL_OUT_LIST {
            // Whether they are dropped stands in other lines if they are not.
            let to = if blocked == "blocked" {
                "packets to it are dropped"
            } else {
                "this is about packets to it"
            };
            lines.push(format!("{to}; packets from it are not blocked by this list"));
        }
        lines.extend(guarded::around(changed));
        lines.extend(allowed(outcome, clock));
        lines.extend(self.addition.held_by(outcome, blocked, clock));
        lines.join("\n")
    }

    /// Explains that more was blocked than named, because the list widens IPv6 prefixes.
    fn widened(&self, outcome: &ChangeOutcome, blocked: &str) -> Option<String> {
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

    fn is_outbound(&self) -> bool {
        self.direction == "out"
    }

    fn list(&self) -> &str {
        self.addition.list(if self.is_outbound() { name::MANUAL_OUT_LIST } else { name::MANUAL_LIST })
    }
}

/// The word for the new state. Targets are only listed if nothing is dropped, or if they are allowed.
fn blocked(changed: &Changed) -> &'static str {
    if changed.idle.is_none() && changed.allowed == 0 { "blocked" } else { "listed" }
}

/// Describes the targets that still pass because they are allowed.
fn allowed(outcome: &ChangeOutcome, clock: &Clock) -> Vec<String> {
    let Changed { named, allowed, ref allowed_by, .. } = outcome.changed;
    let all = match (allowed, named, &outcome.first[..]) {
        (0, ..) => None,
        (1, 1, [one]) => Some(format!("{one} is allowed, so it is NOT dropped")),
        _ => Some(format!("{} of them allowed, so NOT dropped", count(allowed))),
    };
    let part = allowed == 0 && !allowed_by.is_empty();
    let part = part.then(|| format!("{} allowed, so not dropped", parts(outcome)));
    let by = |entry: &Entry| {
        format!("allowed by {} of list `{}`, {}", entry.target, entry.list, clock.until(entry.until))
    };
    all.into_iter().chain(part).chain(few(allowed_by.iter().map(by))).collect()
}

/// The subject of a sentence about the named targets of which a part is allowed. Not all targets of standard
/// input are known here.
fn parts(outcome: &ChangeOutcome) -> String {
    let allowed = outcome.changed.allowed_by.iter().filter_map(|entry| entry.target.parse().ok());
    let allowed: Vec<Target> = allowed.collect();
    let named = outcome.first.iter().filter(|named| allowed.iter().any(|allowed| named.covers(allowed)));
    let named: Vec<_> = named.map(ToString::to_string).collect();
    match &named[..] {
        [] => "a part of them is".to_owned(),
        [one] => format!("a part of {one} is"),
        several => format!("parts of {} are", several.join(", ")),
    }
}

/// Explains why packets still pass.
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
