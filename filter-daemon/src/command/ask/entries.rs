//! Entries as the daemon tells them, page after page.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::wire::{self, Entry};

/// Pages on their way.
///
/// A pager that nobody scrolls must not keep the daemon waiting, which would hang up: so the answer is fetched as fast as it
/// comes, whatever becomes of the output.
pub struct Entries {
    arriving: mpsc::Receiver<Vec<Entry>>,
    fetching: JoinHandle<Result<(), ClientError>>,
}

/// Asks for entries.
pub fn of(request: &wire::List, socket: &Endpoint) -> Result<Entries, ClientError> {
    let mut client = Client::connect(socket)?;
    client.send(request)?;
    let (pages, arriving) = mpsc::channel();
    Ok(Entries { arriving, fetching: thread::spawn(move || fetch(client, &pages)) })
}

impl Entries {
    /// The next of them; none behind the last, and where something has failed.
    pub fn next_page(&self) -> Option<Vec<Entry>> {
        self.arriving.recv().ok()
    }

    /// Whether these were all.
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
