//! A flood in the background: frames of one who is listed and of one who is not, and how many of each came through.
//!
//! The tap stands behind XDP and TC, as those of the wire do. A frame says in its sender's hardware address which kind it is. The
//! few frames of the unlisted one are counted exactly; those that the wire itself lost on the way are told by the kernel.

use crate::limited::LimitedCommand;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{LinkAddr, MsgFlags, recv, sendto, setsockopt, sockopt};
use nix::sys::time::TimeVal;

use crate::taps::packet_socket;
use crate::wire::link_addresses;
use crate::{Frame, Namespace};

const LISTED: [u8; 6] = [0x06, 0xfe, 0, 0, 0, 1];
const UNLISTED: [u8; 6] = [0x06, 0xfe, 0, 0, 0, 2];

/// Frames of the listed one between two of the other.
const VOLLEY: u64 = 32;

/// Between two volleys of a gentle flood.
const REST: Duration = Duration::from_millis(2);

/// The flood, until it is ended.
#[derive(Debug)]
pub struct Traffic {
    stop: Arc<AtomicBool>,
    sender: JoinHandle<u64>,
    tap: JoinHandle<[u64; 2]>,
    lost: Lost,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Frames of the listed one that were sent.
    pub sent: u64,
    /// Frames of the listed one that passed.
    pub passed: u64,
    /// Frames of the unlisted one that did not.
    pub dropped: u64,
}

impl Fate {
    /// Nothing listed passed, and nothing unlisted was dropped.
    #[track_caller]
    pub fn is_flawless(self) -> Self {
        assert!(self.sent > 0, "nothing was sent");
        assert_eq!((self.passed, self.dropped), (0, 0), "listed passed, unlisted dropped, of {}", self.sent);
        self
    }
}

impl Traffic {
    /// Sends frames of `listed` and of `unlisted` through `eth0` as fast as one thread can.
    pub fn begin(host: &Namespace, peer: &Namespace, listed: &str, unlisted: &str) -> Self {
        Self::begin_with(host, peer, listed, unlisted, Duration::ZERO)
    }

    /// The same with a rest after each volley, for stories in which filterd starts and is to have a processor for that.
    pub fn begin_gently(host: &Namespace, peer: &Namespace, listed: &str, unlisted: &str) -> Self {
        Self::begin_with(host, peer, listed, unlisted, REST)
    }

    fn begin_with(host: &Namespace, peer: &Namespace, listed: &str, unlisted: &str, rest: Duration) -> Self {
        let far = "198.18.255.254";
        let frames = [(listed, LISTED), (unlisted, UNLISTED)];
        let frames = frames.map(|(source, identity)| Frame::from(source).to(far).bytes(identity));
        let stop = Arc::new(AtomicBool::new(false));
        let lost = Lost::on(peer);
        let [protocol, other] =
            [listed, unlisted].map(|source| if source.contains(':') { 0x86dd } else { 0x0800 });
        assert_eq!(protocol, other, "one tap sees both");
        let tap = host.inside(|| packet_socket(Some(protocol)));
        let (sender, link) = peer.inside(|| (packet_socket(None), link_addresses(1)[0]));
        setsockopt(&tap, sockopt::RcvBufForce, &(256 << 20)).expect("root may have large buffers");
        setsockopt(&tap, sockopt::ReceiveTimeout, &TimeVal::new(0, 200_000)).expect("a timeout can be set");
        let tap = thread::spawn({
            let stop = Arc::clone(&stop);
            move || watch(&tap, &stop)
        });
        let sender = thread::spawn({
            let stop = Arc::clone(&stop);
            move || flood(&sender, &link, &frames, rest, &stop)
        });
        Self { stop, sender, tap, lost }
    }

    /// Ends it, and waits for the last frames.
    #[track_caller]
    pub fn end(self) -> Fate {
        self.stop.store(true, Ordering::Relaxed);
        let volleys = self.sender.join().expect("the sender only sends");
        let [listed, unlisted] = self.tap.join().expect("the tap only counts");
        let missing = volleys.saturating_sub(unlisted);
        Fate { sent: volleys * VOLLEY, passed: listed, dropped: missing.saturating_sub(self.lost.since()) }
    }
}

/// Sends volleys of listed frames, each with one unlisted frame behind it, and tells how many.
fn flood(sender: &OwnedFd, link: &LinkAddr, frames: &[Vec<u8>; 2], rest: Duration, stop: &AtomicBool) -> u64 {
    let send = |bytes: &[u8]| loop {
        match sendto(sender.as_raw_fd(), bytes, link, MsgFlags::empty()) {
            Ok(_) => return,
            Err(Errno::ENOBUFS | Errno::EINTR | Errno::EAGAIN) => thread::yield_now(),
            // The interface is down or gone for a moment.
            Err(Errno::ENETDOWN | Errno::ENXIO | Errno::ENODEV) => return,
            Err(error) => panic!("cannot send: {error}"),
        }
    };
    let mut volleys = 0;
    while !stop.load(Ordering::Relaxed) {
        (0..VOLLEY).for_each(|_| send(&frames[0]));
        send(&frames[1]);
        volleys += 1;
        if !rest.is_zero() {
            thread::sleep(rest);
        }
    }
    volleys
}

/// Counts frames of each kind until there is silence after the end.
fn watch(tap: &OwnedFd, stop: &AtomicBool) -> [u64; 2] {
    let (mut seen, mut start) = ([0; 2], [0; 12]);
    loop {
        match recv(tap.as_raw_fd(), &mut start, MsgFlags::empty()) {
            Ok(12) if start[6..] == LISTED => seen[0] += 1,
            Ok(12) if start[6..] == UNLISTED => seen[1] += 1,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) if stop.load(Ordering::Relaxed) => return seen,
            Err(Errno::EAGAIN) => {}
            Err(error) => panic!("the tap is broken: {error}"),
        }
    }
}

/// What the sending end of the wire counts as lost: its queue was full.
#[derive(Debug)]
struct Lost {
    namespace: String,
    before: u64,
}

impl Lost {
    fn on(peer: &Namespace) -> Self {
        Self { namespace: peer.name().to_owned(), before: count(peer.name()) }
    }

    fn since(&self) -> u64 {
        count(&self.namespace) - self.before
    }
}

fn count(namespace: &str) -> u64 {
    let words = ["-n", namespace, "-json", "-statistics", "link", "show", "eth0"];
    let said = std::process::Command::new("ip").args(words).limited_output().expect("ip can be run").stdout;
    let said: serde_json::Value = serde_json::from_slice(&said).expect("ip speaks JSON");
    said[0]["stats64"]["tx"]["dropped"].as_u64().expect("frames are counted")
}

/// How long a flood is let flow between two events, so that some of it meets the state between them.
pub const A_WHILE: Duration = Duration::from_millis(20);
