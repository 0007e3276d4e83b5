//! Raw frames sent on the peer's side, and which of them come out on the host's side.
//!
//! A frame is recognised by its sender's hardware address, which every Ethernet frame has, however short
//! it is cut. The taps stand behind XDP and TC: what they see, filterd let pass.

use std::cell::Cell;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::socket::{LinkAddr, MsgFlags, sendto};
use nix::unistd::Pid;

use crate::taps::{Taps, packet_socket};
use crate::{Frame, Namespace};

/// How many frames travel before the next fence: a veth queue holds 256.
const VOLLEY: usize = 128;

/// No fence takes this long on a machine that still works.
const PATIENCE: Duration = Duration::from_secs(30);

/// "Local experimental": neither IP nor anything else that a filter judges.
const FENCE: u16 = 0x88b5;

/// The two ends of the links between peer and host.
#[derive(Debug)]
pub struct Wire {
    sender: OwnedFd,
    links: Vec<LinkAddr>,
    taps: Taps,
    next: Cell<u32>,
}

impl Wire {
    /// Takes hold of the links `eth0`, `eth1`, … between the two namespaces.
    pub fn new(host: &Namespace, peer: &Namespace, links: usize) -> Self {
        // Without a protocol, a packet socket only sends.
        let (sender, links) = peer.inside(|| (packet_socket(None), link_addresses(links)));
        Self { sender, links, taps: Taps::open(host, FENCE), next: Cell::new(1) }
    }

    /// Sends the frames in this order over one link, and tells of each whether it arrived.
    pub fn arrivals(&self, link: usize, frames: &[Frame]) -> Vec<bool> {
        let before = stay_on_this_cpu();
        let arrived = frames.chunks(VOLLEY).flat_map(|volley| self.volley(link, volley)).collect();
        sched_setaffinity(Pid::from_raw(0), &before).expect("where we were before");
        arrived
    }

    fn volley(&self, link: usize, frames: &[Frame]) -> Vec<bool> {
        let first = self.next.get();
        for frame in frames {
            self.send(link, frame);
        }
        let fence = self.send(link, &Frame::other(FENCE, &[0; 46]));
        self.seen_until(first, fence)
    }

    fn send(&self, link: usize, frame: &Frame) -> u32 {
        let number = self.next.get();
        self.next.set(number + 1);
        let bytes = frame.bytes(identity(number));
        match sendto(self.sender.as_raw_fd(), &bytes, &self.links[link], MsgFlags::empty()) {
            // So the kernel tells that a program has dropped it on its way out.
            Ok(_) | Err(Errno::ENOBUFS) => {}
            Err(error) => panic!("{frame} cannot be sent: {error}"),
        }
        number
    }

    /// Which of the frames `first..fence` came out before the fence did.
    fn seen_until(&self, first: u32, fence: u32) -> Vec<bool> {
        let begun = Instant::now();
        let has_come = || self.taps.fence().and_then(|start| number(&start)) == Some(fence);
        while begun.elapsed() < PATIENCE {
            if has_come() {
                let mut seen = vec![false; (fence - first) as usize];
                let numbers = self.taps.others().filter_map(|start| number(&start));
                numbers
                    .filter(|number| (first..fence).contains(number))
                    .for_each(|number| seen[(number - first) as usize] = true);
                return seen;
            }
        }
        panic!(
            "the fence did not arrive within {PATIENCE:?}: the wire is cut, or frames that are not IP are dropped"
        );
    }
}

/// Frames sent from one CPU keep their order on every path through veth; from two they need not.
fn stay_on_this_cpu() -> CpuSet {
    let me = Pid::from_raw(0);
    let before = sched_getaffinity(me).expect("one may ask for one's own affinity");
    let mut here = CpuSet::new();
    let first = (0..CpuSet::count()).find(|cpu| before.is_set(*cpu) == Ok(true));
    here.set(first.expect("a thread runs somewhere")).expect("the number came from the set");
    sched_setaffinity(me, &here).expect("a part of what is allowed is allowed");
    before
}

pub(crate) fn link_addresses(links: usize) -> Vec<LinkAddr> {
    let interfaces: Vec<_> = getifaddrs().expect("interfaces can be listed").collect();
    let address = |link: usize| {
        let name = format!("eth{link}");
        let mut those = interfaces.iter().filter(|interface| interface.interface_name == name);
        those.find_map(|interface| interface.address?.as_link_addr().copied()).expect("the link was made")
    };
    (0..links).map(address).collect()
}

/// A locally administered hardware address that spells the number.
fn identity(number: u32) -> [u8; 6] {
    let [a, b, c, d] = number.to_be_bytes();
    [0x06, 0xfd, a, b, c, d]
}

/// The number spelled by the sender's address of a frame, if it is one of ours.
fn number(frame: &[u8]) -> Option<u32> {
    match frame.get(6..12)? {
        [0x06, 0xfd, a, b, c, d] => Some(u32::from_be_bytes([*a, *b, *c, *d])),
        _ => None,
    }
}
