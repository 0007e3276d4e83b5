//! A thread that finds every second which UDP ports begin flows, and writes one bit for each into the map.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use filter_common::flow::{BEGUN, COUNTERS, PORT_WORDS, WORDS};
use filter_common::{Words as _, WordsMut as _};
use tokio::sync::watch;

use crate::blocklist::Timestamp;
use crate::clock;
use crate::daemon::sockets::{PortRange, UdpPorts};
use crate::kernel::KernelError;
use crate::kernel::window::Window;

/// The time between two looks.
const APART: Duration = Duration::from_secs(1);

/// The thread, which ends when this is dropped.
pub struct PortWatcher {
    window: Window,
    seen: watch::Receiver<ObservedPorts>,
    _ends: Sender<()>,
}

/// The result of the last look.
#[derive(Clone, Debug)]
struct ObservedPorts {
    range: PortRange,
    /// Why looks fail now, and since when.
    unseen: Option<(Timestamp, String)>,
}

impl PortWatcher {
    /// Looks once before it returns, so that packets sent from now on are judged correctly, and then every
    /// second.
    pub fn begin(map: OwnedFd) -> Result<Self, KernelError> {
        let failed = |what: &str, reason: String| KernelError::Window { what: what.to_owned(), reason };
        let open = || Window::open(&map, WORDS).map_err(|error| failed("ports", error.to_string()));
        let (window, written) = (open()?, open()?);
        let unseen = |error: io::Error| KernelError::Sockets { reason: error.to_string() };
        let range = look(&written).map_err(unseen)?;
        let (tell, seen) = watch::channel(ObservedPorts { range, unseen: None });
        let (ends, ended) = channel::<()>();
        let looks = move || {
            while ended.recv_timeout(APART) == Err(RecvTimeoutError::Timeout) {
                let found = look(&written);
                tell.send_if_modified(|seen| seen.take(found, clock::now()));
            }
        };
        let begun = thread::Builder::new().name("listeners".to_owned()).spawn(looks);
        begun.map_err(unseen)?;
        Ok(Self { window, seen, _ends: ends })
    }

    /// The ports that may begin flows.
    pub fn range(&self) -> PortRange {
        self.seen.borrow().range
    }

    /// How many flows were begun since the map was made.
    pub fn begun(&self) -> u64 {
        (0..COUNTERS).map(|counter| self.window.load(BEGUN + counter)).sum()
    }

    /// Why listening sockets cannot be read, and since when, if looks fail.
    pub fn unseen(&self) -> Option<(Timestamp, String)> {
        self.seen.borrow().unseen.clone()
    }
}

impl ObservedPorts {
    /// Records the result of a look. Returns true if it differs from the last one.
    fn take(&mut self, found: io::Result<PortRange>, now: Timestamp) -> bool {
        let before = (self.range, self.unseen.is_some());
        match found {
            Ok(range) => *self = Self { range, unseen: None },
            Err(error) if self.unseen.is_none() => self.unseen = Some((now, error.to_string())),
            Err(_) => {}
        }
        before != (self.range, self.unseen.is_some())
    }
}

fn look(window: &Window) -> io::Result<PortRange> {
    let ports = UdpPorts::look()?;
    for (word, bits) in (0..PORT_WORDS).zip(ports.bits()) {
        window.change(word, *bits);
    }
    Ok(ports.range())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unseen_ports_are_reported_until_seen_again() {
        let mut seen = ObservedPorts { range: PortRange::default(), unseen: None };
        let gone = || Err(io::Error::other("no"));
        assert!(seen.take(gone(), Timestamp::from_secs(7)));
        assert!(!seen.take(gone(), Timestamp::from_secs(8)));
        assert_eq!(seen.unseen, Some((Timestamp::from_secs(7), "no".to_owned())));
        assert!(seen.take(Ok(PortRange::default()), Timestamp::from_secs(9)));
        assert_eq!(seen.unseen, None);
        assert!(!seen.take(Ok(PortRange::default()), Timestamp::from_secs(9)));
    }
}
