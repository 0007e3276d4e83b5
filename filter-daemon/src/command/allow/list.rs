//! `filterd allow list`: what is allowed, entry by entry.

use clap::Args;
use filter_common::target::Target;

use crate::command::ask::trouble::Trouble;
use crate::command::list::show;
use crate::command::render::console::Console;
use crate::command::render::entry::ALL_LISTS;
use crate::config::ListName;
use crate::control::client::Endpoint;
use crate::control::wire::{self, words};
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filterd allow list
  filterd allow list --within 198.51.100.0/24
  filterd allow list --list partners --json | jq -r .target")]
pub struct List {
    /// Only entries of this list
    #[arg(long, value_name = "NAME", value_parser = words::list_name)]
    list: Option<ListName>,
    /// Only IPv4 or only IPv6
    #[arg(long, value_name = "4|6", value_parser = ["4", "6"])]
    family: Option<String>,
    /// Only this address or prefix, and what lies within it
    #[arg(long, value_name = "TARGET", value_parser = words::target)]
    within: Option<Target>,
}

impl List {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
        if show(&self.request(), socket, console)? == 0 {
            console.note(&self.nothing());
        }
        Ok(Exit::Done)
    }

    fn nothing(&self) -> String {
        let family = self.family.as_ref().map(|family| format!(" of IPv{family}")).unwrap_or_default();
        let within = self.within.map(|wide| format!(" within {wide}")).unwrap_or_default();
        match &self.list {
            Some(list) => format!("list `{list}` has no entry{family}{within} ({ALL_LISTS})"),
            None => format!("nothing{family} is allowed{within}"),
        }
    }

    fn request(&self) -> wire::List {
        let family = self.family.as_ref().and_then(|family| family.parse().ok());
        let within = self.within.map(|wide| wide.to_string());
        wire::List {
            list: self.list.as_ref().map(ToString::to_string),
            family,
            within,
            expiring: None,
            allow: true,
        }
    }
}
