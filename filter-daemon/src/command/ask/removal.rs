//! Removals from live lists: the arguments of every verb that removes targets, and when its exit code is 1.

use clap::Args;

use super::change::{self, ChangeOutcome};
use super::trouble::CommandError;
use crate::command::render::console::Console;
use crate::command::render::held::{self, HeldWords};
use crate::config::ListName;
use crate::control::client::Endpoint;
use crate::control::wire::{self, Changed, Method, words};
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct Removal {
    /// Address, prefix or range a-b, or - to read standard input, one per line
    #[arg(value_name = "TARGET", required = true)]
    pub targets: Vec<String>,
    /// Live list to remove from [default: every live list that has the target]
    #[arg(long, value_name = "NAME", value_parser = words::list_name)]
    pub list: Option<ListName>,
    /// Exit with 4 if nothing changed
    #[arg(long)]
    pub strict: bool,
}

impl Removal {
    /// Sends the removal as another method, and prints the outcome. `words_of` gives the wording for
    /// entries that still hold a target.
    pub fn carry_out<M: Method<Reply = Changed>>(
        &self,
        method: fn(wire::Remove) -> M,
        words_of: fn(&Changed) -> HeldWords,
        render: impl Fn(&ChangeOutcome) -> String,
        (socket, console): (&Endpoint, &mut Console),
    ) -> Result<Exit, CommandError> {
        let list = self.list.as_ref().map(ToString::to_string);
        let request = |targets| method(wire::Remove { targets, list: list.clone() });
        let outcome = change::apply(&self.targets, socket, console, &request)?;
        let Changed { changed, held: holders, .. } = &outcome.changed;
        if *changed == 0 && !holders.is_empty() {
            console.answer(&outcome, |_| String::new())?;
            let of = self.list.as_ref().map(|list| format!(" from list `{list}`")).unwrap_or_default();
            console
                .note(&format!("nothing removed{of}: {}", held::told(holders, &words_of(&outcome.changed))));
        } else {
            console.answer(&outcome, render)?;
        }
        change::tell_durability(&outcome.changed, console);
        Ok(self.exit(&outcome))
    }

    /// The exit code is 1 if a target, or part of it, is still held. With a single list, only that list
    /// counts. A target held on some ports only passes on the others, as requested.
    pub fn exit(&self, outcome: &ChangeOutcome) -> Exit {
        let asked = |list: &str| self.list.as_ref().is_none_or(|only| only.as_str() == list);
        let mut whole = outcome.changed.held.iter().filter(|held| held.ports.is_empty());
        let still_held = whole.any(|held| held.lists.iter().any(|list| asked(list)));
        let exit = outcome.exit(self.strict);
        if exit == Exit::Done && still_held { Exit::No } else { exit }
    }
}
