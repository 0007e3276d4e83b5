//! `filterd list`: shows the blocked targets, entry by entry.

use clap::Args;

use super::ask::entries;
use super::ask::trouble::CommandError;
use super::ask::which::EntrySelection;
use super::render::console::Console;
use super::render::entry::{self, ALL_LISTS};
use crate::control::client::Endpoint;
use crate::control::wire;
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    which: EntrySelection,
}

impl List {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        if show(&self.which.request(false), socket, console)? == 0 {
            console.note(&self.nothing());
        }
        Ok(Exit::Done)
    }

    fn nothing(&self) -> String {
        let (family, within, soon) = (self.which.family(), self.which.within(), self.which.expiring());
        match &self.which.list {
            Some(list) => format!("list `{list}` has no entry{family}{within}{soon} ({ALL_LISTS})"),
            None => format!("no list has an entry{family}{within}{soon}"),
        }
    }
}

/// Prints the requested entries as they arrive. Returns the number of entries.
pub fn show(request: &wire::List, socket: &Endpoint, console: &mut Console) -> Result<usize, CommandError> {
    let entries = entries::of(request, socket)?;
    let clock = console.clock();
    let mut shown = 0;
    while let Some(page) = entries.next_page() {
        shown += page.len();
        page.iter().try_for_each(|one| console.answer(one, |one| entry::line(one, &clock)))?;
    }
    entries.end()?;
    Ok(shown)
}
