//! `filterd allow list`: shows the allowed targets, entry by entry.

use clap::Args;

use crate::command::ask::trouble::CommandError;
use crate::command::ask::which::EntrySelection;
use crate::command::list::show;
use crate::command::render::console::Console;
use crate::command::render::entry::ALL_LISTS;
use crate::control::client::Endpoint;
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct AllowList {
    #[command(flatten)]
    which: EntrySelection,
}

impl AllowList {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        if show(&self.which.request(true), socket, console)? == 0 {
            console.note(&self.nothing());
        }
        Ok(Exit::Done)
    }

    fn nothing(&self) -> String {
        let (family, within, soon) = (self.which.family(), self.which.within(), self.which.expiring());
        match &self.which.list {
            Some(list) => format!("list `{list}` has no entry{family}{within}{soon} ({ALL_LISTS})"),
            None => format!("nothing{family} is allowed{within}{soon}"),
        }
    }
}
