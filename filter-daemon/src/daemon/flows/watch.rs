//! The thread that looks every second who listens on UDP ports, and tells packets by a bit for each.

use std::fmt;
use std::fs;
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
use crate::daemon::sockets::{self, Pair, Protocol};
use crate::kernel::KernelError;
use crate::kernel::window::Window;

/// How often is looked: it takes some 50 µs where there are few sockets.
const APART: Duration = Duration::from_secs(1);

/// Where the kernel says which ports it gives away.
const RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// The thread; it ends with this.
pub struct Watch {
    window: Window,
    range: Range,
    unseen: watch::Receiver<Option<(Timestamp, String)>>,
    _ends: Sender<()>,
}

/// The ports that the kernel gives to whoever asks for none, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    first: u16,
    last: u16,
}

impl Watch {
    /// Looks once, so that what is sent from now on is known for what it is, and then again and again.
    pub fn begin(map: OwnedFd) -> Result<Self, KernelError> {
        let failed = |what: &str, reason: String| KernelError::Window { what: what.to_owned(), reason };
        let open = || Window::open(&map, WORDS).map_err(|error| failed("ports", error.to_string()));
        let (window, written) = (open()?, open()?);
        let range = Range::read().map_err(|error| failed(RANGE, error.to_string()))?;
        let seen = look(&written, range).err().map(|error| (clock::now(), error.to_string()));
        let (tell, unseen) = watch::channel(seen);
        let (ends, ended) = channel::<()>();
        let looks = move || {
            while ended.recv_timeout(APART) == Err(RecvTimeoutError::Timeout) {
                let seen = look(&written, range);
                tell.send_if_modified(|before| {
                    let changes = before.is_some() != seen.is_err();
                    if changes {
                        *before = seen.err().map(|error| (clock::now(), error.to_string()));
                    }
                    changes
                });
            }
        };
        let begun = thread::Builder::new().name("listeners".to_owned()).spawn(looks);
        begun.map_err(|error| KernelError::Netlink { reason: error.to_string() })?;
        Ok(Self { window, range, unseen, _ends: ends })
    }

    /// Which ports may begin flows.
    pub fn range(&self) -> Range {
        self.range
    }

    /// How many flows were begun since the map was made.
    pub fn begun(&self) -> u64 {
        (0..COUNTERS).map(|counter| self.window.load(BEGUN + counter)).sum()
    }

    /// Why it cannot be told who listens, and since when, if so.
    pub fn unseen(&self) -> Option<(Timestamp, String)> {
        self.unseen.borrow().clone()
    }
}

fn look(window: &Window, range: Range) -> io::Result<()> {
    let bits = range.without(&sockets::all(Protocol::Udp)?);
    for (word, bits) in (0..PORT_WORDS).zip(bits) {
        window.change(word, bits);
    }
    Ok(())
}

impl Range {
    fn read() -> io::Result<Self> {
        let text = fs::read_to_string(RANGE)?;
        Self::of(&text).ok_or_else(|| io::Error::other(format!("it says {:?}", text.trim())))
    }

    fn of(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
        let (first, last) = (numbers.next()??, numbers.next()??);
        Some(Self { first, last })
    }

    /// Is this port one of them?
    pub fn has(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }

    /// A bit for each of them that no socket has which hears everybody.
    fn without(self, sockets: &[Pair]) -> Vec<u64> {
        let mut bits = vec![0; PORT_WORDS as usize];
        for port in self.first..=self.last {
            bits[usize::from(port >> 6)] |= 1 << (port & 63);
        }
        for socket in sockets.iter().filter(|socket| socket.other.is_none()) {
            bits[usize::from(socket.ours >> 6)] &= !(1 << (socket.ours & 63));
        }
        bits
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_begins_flows_where_the_kernel_gives_it_away_and_nobody_hears_everybody_on_it() {
        let range = Range::of("32768\t60999\n").unwrap();
        assert_eq!(range.to_string(), "32768-60999");
        let pair = |ours, other| Pair { protocol: Protocol::Udp, ours, other };
        let somebody = Some(("192.0.2.1".parse().unwrap(), 53));
        let bits = range.without(&[pair(51820, None), pair(53, None), pair(40_000, somebody)]);
        let begins = |port: u16| bits[usize::from(port >> 6)] >> (port & 63) & 1 == 1;
        for (port, expected) in [
            (32767, false),
            (32768, true),
            (40_000, true),
            (51820, false),
            (60999, true),
            (61000, false),
            (53, false),
        ] {
            assert_eq!(begins(port), expected, "{port}");
        }
        assert_eq!(bits.iter().map(|bits| bits.count_ones()).sum::<u32>(), 60999 - 32768 + 1 - 1);
        for nonsense in ["", "5", "a b", "1 70000"] {
            assert_eq!(Range::of(nonsense), None, "{nonsense:?}");
        }
    }
}
