//! `filterd allow add`: lets targets pass, even if they are blocked.

use clap::{Arg, Args};
use filter_common::target::Target;

use crate::command::ask::addition::{self, Addition, few};
use crate::command::ask::change::{self, ChangeOutcome};
use crate::command::ask::trouble::CommandError;
use crate::command::render::console::Console;
use crate::command::render::moment::Clock;
use crate::config::name;
use crate::control::client::Endpoint;
use crate::control::wire::{self, Entry};
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(mut_args(explained))]
pub struct AllowAdd {
    #[command(flatten)]
    addition: Addition,
    /// Accept prefixes shorter than /8 (IPv4) or /16 (IPv6)
    #[arg(long)]
    wide: bool,
}

/// The texts of options that differ from those of `filterd add`.
fn explained(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "list" => arg.help("Live list to add to, created if missing [default: manual-allow]"),
        "note" => arg.help("Reason, shown by `filterd allow list` and `filterd test`"),
        _ => arg,
    }
}

/// The new state of the targets.
const ALLOWED: &str = "allowed";

impl AllowAdd {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let Self { addition, wide } = self;
        let request = |words| wire::Allow(wire::Add { wide: *wide, ..addition.request(words) });
        let mut outcome = change::apply(&addition.targets, socket, console, &request)?;
        let clock = console.clock();
        outcome.remedies = addition::remedies(&outcome, self.list(), "allow remove");
        console.answer(&outcome, |outcome| self.render(outcome, &clock))?;
        outcome.remedies.iter().for_each(|remedy| console.note(remedy));
        change::tell_durability(&outcome.changed, console);
        Ok(outcome.exit(addition.strict))
    }

    fn render(&self, outcome: &ChangeOutcome, clock: &Clock) -> String {
        let ChangeOutcome { changed, .. } = outcome;
        if changed.named == 0 {
            return String::new();
        }
        let mut lines = vec![self.addition.told(outcome, ALLOWED, self.list())];
        lines.extend(self.addition.held_by(outcome, ALLOWED, clock));
        lines.extend(few(changed.blocked_by.iter().map(|entry| though(outcome, entry))));
        lines.join("\n")
    }

    fn list(&self) -> &str {
        self.addition.list(name::MANUAL_ALLOW_LIST)
    }
}

/// Describes which allowed targets pass, wholly or in part, although this entry blocks them.
fn though(outcome: &ChangeOutcome, entry: &Entry) -> String {
    let Entry { target, list, ports, .. } = entry;
    let ports = ports.as_ref().map(|ports| format!(" {ports}")).unwrap_or_default();
    let blocked = entry.blocks.as_deref().unwrap_or(target).parse::<Target>();
    let of = |is_meant: &dyn Fn(&Target, &Target) -> bool| {
        let blocked = blocked.as_ref().ok()?;
        outcome.first.iter().find(|allowed| is_meant(allowed, blocked))
    };
    let whole = of(&|allowed, blocked| blocked.covers(allowed)).map(|allowed| format!("{allowed} passes"));
    let part = || {
        of(&|allowed, blocked| allowed.covers(blocked)).map(|allowed| format!("a part of {allowed} passes"))
    };
    let passes = whole.or_else(part).unwrap_or_else(|| "passes".to_owned());
    format!("{passes}: allowed, although list `{list}` has {target}{ports}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::wire::Changed;

    const NOW: u64 = 1_795_296_480;

    fn add(words: &[&str], ttl: Option<&str>) -> AllowAdd {
        let targets = words.iter().map(ToString::to_string).collect();
        let ttl = ttl.map(|word| word.parse().unwrap());
        AllowAdd { addition: Addition { targets, ttl, ..Addition::default() }, wide: false }
    }

    fn told(words: &[&str], ttl: Option<&str>, changed: Changed) -> String {
        let first = words.iter().filter_map(|word| word.parse().ok()).collect();
        let outcome = ChangeOutcome { changed, first, ..ChangeOutcome::default() };
        add(words, ttl).render(&outcome, &Clock::standing(NOW))
    }

    fn entry(target: &str, list: &str, until: Option<u64>) -> Entry {
        let (target, list) = (target.into(), list.into());
        Entry { target, list, since: NOW, until, ..Entry::default() }
    }

    #[test]
    fn the_answer_says_what_passes_from_now_on() {
        let new = Changed { named: 1, changed: 1, entered: 1, ..Changed::default() };
        assert_eq!(told(&["192.0.2.1"], Some("2h"), new.clone()), "allowed 192.0.2.1 for 2 h");
        let blocked_by = vec![entry("192.0.2.0/24", "drop", None)];
        assert_eq!(
            told(&["192.0.2.1"], None, Changed { blocked_by, ..new }),
            "allowed 192.0.2.1\n192.0.2.1 passes: allowed, although list `drop` has 192.0.2.0/24"
        );
        let blocked_by = vec![entry("192.0.2.7", "ssh", None), entry("198.51.100.0/24", "drop", None)];
        let two = Changed { named: 2, changed: 2, entered: 2, blocked_by, ..Changed::default() };
        assert_eq!(
            told(&["192.0.2.0/28", "198.51.100.7"], None, two),
            "2 targets: 2 newly allowed\n\
             a part of 192.0.2.0/28 passes: allowed, although list `ssh` has 192.0.2.7\n\
             198.51.100.7 passes: allowed, although list `drop` has 198.51.100.0/24"
        );
        let many = Changed { named: 5, changed: 3, entered: 2, ..Changed::default() };
        let held = "1 already allowed, now held by list `manual-allow` permanently";
        assert_eq!(
            told(&["-"], None, many),
            format!("5 targets: 2 newly allowed, {held}, 2 already allowed")
        );
    }

    #[test]
    fn longer_allow_is_kept() {
        let longer = vec![entry("192.0.2.1", name::MANUAL_ALLOW_LIST, None)];
        let same = Changed { named: 1, longer, ..Changed::default() };
        assert_eq!(
            told(&["192.0.2.1"], Some("2h"), same),
            "192.0.2.1 is already allowed for longer: nothing was changed\n\
             stays allowed by list `manual-allow`: permanent"
        );
    }

    #[test]
    fn earlier_allow_is_not_claimed() {
        let covered_by = vec![entry("192.0.2.0/24", "office", None)];
        let within =
            Changed { named: 1, changed: 1, entered: 1, covered: 1, covered_by, ..Changed::default() };
        assert_eq!(
            told(&["192.0.2.1"], None, within),
            "added 192.0.2.1 to list `manual-allow`; it was already allowed\n\
             also allowed by 192.0.2.0/24 of list `office`: permanent"
        );
    }

    #[test]
    fn target_expires_with_wider_allow_entry() {
        let longer = vec![entry("192.0.2.0/24", "manual-allow", None)];
        let changed = Changed { named: 1, changed: 1, entered: 1, longer, ..Changed::default() };
        let first = vec!["192.0.2.1".parse().unwrap()];
        let outcome = ChangeOutcome { changed, first, ..ChangeOutcome::default() };
        let remedy = "to remove all of 192.0.2.0/24 from list `manual-allow`: filterd allow remove 192.0.2.0/24 --list manual-allow";
        assert_eq!(addition::remedies(&outcome, "manual-allow", "allow remove"), [remedy]);
    }
}
