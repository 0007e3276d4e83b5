//! `filterd list`: what is blocked, entry by entry.

use std::sync::mpsc;
use std::thread;

use clap::Args;

use super::ask::trouble::Trouble;
use super::ask::which::Which;
use super::render::console::Console;
use super::render::entry::{self, ALL_LISTS};
use super::render::moment::Clock;
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::wire::{self, Entry};
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filterd list
  filterd list --list ssh --family 6
  filterd list --within 198.51.100.0/24
  filterd list --expiring 1h
  filterd list --json | jq -r .target
  filterd list --list ssh | filterd remove -")]
pub struct List {
    #[command(flatten)]
    which: Which,
}

impl List {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
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

/// Shows what is asked for as it comes. Tells how many entries that were.
pub fn show(request: &wire::List, socket: &Endpoint, console: &mut Console) -> Result<usize, Trouble> {
    let mut client = Client::connect(socket)?;
    client.send(request)?;
    let clock = Clock::system();
    let (pages, arriving) = mpsc::channel();
    // A pager that nobody scrolls must not keep the daemon waiting, which would hang up: so the answer is
    // fetched as fast as it comes, whatever becomes of the output.
    let fetching = thread::spawn(move || fetch(client, &pages));
    let mut shown = 0;
    for page in arriving {
        shown += page.len();
        page.iter().try_for_each(|one| console.answer(one, |one| entry::line(one, &clock)))?;
    }
    fetching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    Ok(shown)
}

fn fetch(mut client: Client, pages: &mpsc::Sender<Vec<Entry>>) -> Result<(), ClientError> {
    loop {
        let page = client.receive::<wire::List>()?;
        let reader_left = pages.send(page.parameters.entries).is_err();
        if reader_left || !page.continues {
            return Ok(());
        }
    }
}
