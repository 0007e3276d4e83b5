//! `filterd flush`: removes all blocking entries that commands added.

use clap::Args;

use super::ask::change;
use super::ask::trouble::CommandError;
use super::ask::waiting;
use super::render::console::Console;
use super::render::entry::ALL_LISTS;
use super::render::figure::{count, counted, counted_as};
use crate::config::ListName;
use crate::control::client::{Client, Endpoint};
use crate::control::wire::words;
use crate::control::wire::{self, Changed, Emptied};
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct Flush {
    /// Empty only this live list [default: every live list that blocks]
    #[arg(long, value_name = "NAME", value_parser = words::list_name)]
    list: Option<ListName>,
}

impl Flush {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let request = wire::Flush { list: self.list.as_ref().map(ToString::to_string) };
        let mut client = Client::connect(socket)?;
        let changed = waiting::shown(console.progress, "removing what was added", || client.call(&request))?;
        console.answer(&changed, |changed| render(changed, self.list.as_ref()))?;
        change::tell_durability(&changed, console);
        Ok(if changed.not_durable.is_some() { Exit::Partly } else { Exit::Done })
    }
}

fn render(changed: &Changed, only: Option<&ListName>) -> String {
    if changed.changed == 0 {
        return match only {
            Some(list) => format!("nothing to remove: list `{list}` has no entry ({ALL_LISTS})"),
            None => "nothing to remove: there are no live entries".to_owned(),
        };
    }
    let all = counted_as(changed.changed, ["entry", "entries"]);
    let list = |list: &Emptied| format!("{} of list `{}`", count(list.entries), list.name);
    let lists: Vec<_> = changed.lists.iter().map(list).collect();
    let whose = match &changed.lists[..] {
        // An older daemon does not report the lists.
        [] => String::new(),
        [only] => format!(" of list `{}`", only.name),
        _ => format!(" ({})", lists.join(", ")),
    };
    let freed = counted(changed.left, "target");
    let (unblocked, block) = match changed.idle {
        _ if changed.allows => ("no longer allowed", "allow"),
        None => ("unblocked", "block"),
        Some(_) => ("no longer listed", "list"),
    };
    let held = match changed.still {
        0 => String::new(),
        still => format!("; other entries still {block} {}", counted(still, "target")),
    };
    format!("removed {all}{whose}: {freed} {unblocked}{held}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::wire::Idle;

    #[test]
    fn the_answer_says_what_is_still_blocked() {
        let told = |changed, left, lists: &[(&str, u64)]| {
            let list = |(name, entries): &(&str, u64)| Emptied { name: (*name).into(), entries: *entries };
            let lists = lists.iter().map(list).collect();
            render(&Changed { named: changed, changed, left, lists, ..Changed::default() }, None)
        };
        assert_eq!(told(0, 0, &[]), "nothing to remove: there are no live entries");
        assert_eq!(told(1, 1, &[("ssh", 1)]), "removed 1 entry of list `ssh`: 1 target unblocked");
        let both =
            "removed 1,200 entries (1,100 of list `ssh`, 100 of list `manual`): 1,000 targets unblocked";
        assert_eq!(told(1200, 1000, &[("ssh", 1100), ("manual", 100)]), both);
        assert_eq!(told(2, 2, &[]), "removed 2 entries: 2 targets unblocked");
        let counted_only =
            Changed { changed: 2, left: 1, idle: Some(Idle::NotEnforced), ..Changed::default() };
        let words = "removed 2 entries: 1 target no longer listed";
        assert_eq!(render(&counted_only, None), words);
        let covered =
            |changed, left, still| render(&Changed { changed, left, still, ..Changed::default() }, None);
        let words = "removed 1 entry: 0 targets unblocked; other entries still block 1 target";
        assert_eq!(covered(1, 0, 1), words);
        let words = "removed 5 entries: 1 target unblocked; other entries still block 2 targets";
        assert_eq!(covered(5, 1, 2), words);
        let allowed = Changed { changed: 1, still: 1, allows: true, ..Changed::default() };
        let words = "removed 1 entry: 0 targets no longer allowed; other entries still allow 1 target";
        assert_eq!(render(&allowed, None), words);
    }
}
