//! Packets that come without a pause, from a listed source and from one that is not.

use std::fs::File;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow};
use nix::sched::{CloneFlags, setns};

use super::wire::{ITS_ADDRESS, LISTED, UNLISTED};

/// Of so many packets, one comes from the source that is not listed.
const OTHERS: u64 = 16;

/// Until it is told to end.
pub struct Flood {
    ends: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Flood {
    /// From this namespace.
    pub fn begin(namespace: &str) -> Self {
        let (ends, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (does_end, counts, namespace) = (Arc::clone(&ends), Arc::clone(&sent), namespace.to_owned());
        let thread = thread::spawn(move || send(&namespace, &does_end, &counts));
        Self { ends, sent, thread: Some(thread) }
    }

    /// Packets of the listed source so far.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// It has nothing to complain of.
    pub fn end(mut self) -> Result<()> {
        self.ends.store(true, Ordering::Relaxed);
        let thread = self.thread.take().context("it ends once")?;
        thread.join().map_err(|_| anyhow!("the flood ended by itself"))?
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

/// A thread of its own may be in another namespace than the rest of us.
fn send(namespace: &str, ends: &AtomicBool, sent: &AtomicU64) -> Result<()> {
    let file = File::open(format!("/run/netns/{namespace}")).context("the neighbour has no namespace")?;
    setns(file, CloneFlags::CLONE_NEWNET).context("cannot go to the neighbour")?;
    let socket = |address: &str| -> Result<UdpSocket> {
        let socket = UdpSocket::bind((address, 0)).context("the neighbour does not have this address")?;
        socket.connect((ITS_ADDRESS, 9)).context("there is no way to it")?;
        Ok(socket)
    };
    let (listed, unlisted) = (socket(LISTED)?, socket(UNLISTED)?);
    while !ends.load(Ordering::Relaxed) {
        // Nobody listens there, and where nobody says so it is not heard: neither is a fault.
        if listed.send(b"flood").is_ok() && sent.fetch_add(1, Ordering::Relaxed).is_multiple_of(OTHERS) {
            _ = unlisted.send(b"flood");
        }
    }
    Ok(())
}
