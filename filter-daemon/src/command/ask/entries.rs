//! Reads entries from the daemon, page by page.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::wire::{self, Entry};

/// Pages that a thread fetches.
///
/// The daemon disconnects slow readers. The thread therefore fetches the answer as fast as it arrives, even
/// if the output goes to a pager that does not move.
pub struct Entries {
    arriving: mpsc::Receiver<Vec<Entry>>,
    fetching: JoinHandle<Result<(), ClientError>>,
}

/// Requests entries and starts the thread that fetches them.
pub fn of(request: &wire::List, socket: &Endpoint) -> Result<Entries, ClientError> {
    let mut client = Client::connect(socket)?;
    client.send(request)?;
    let (pages, arriving) = mpsc::channel();
    Ok(Entries { arriving, fetching: thread::spawn(move || fetch(client, &pages)) })
}

impl Entries {
    /// The next page. None follows the last one or an error.
    pub fn next_page(&self) -> Option<Vec<Entry>> {
        self.arriving.recv().ok()
    }

    /// Returns an error if these were not all entries.
    pub fn end(self) -> Result<(), ClientError> {
        self.fetching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
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
