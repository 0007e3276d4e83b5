//! Frames in ordinary socket buffers, which drivers without XDP make: sent by a packet socket. For native XDP, veth copies each
//! of them; a network card does not.

use std::io::IoSlice;
use std::os::fd::{AsRawFd, OwnedFd};

use anyhow::{Context, Result};
use filterd_measure::processor;
use harness::{Frame, Namespace};
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{LinkAddr, MsgFlags, MultiHeaders, sendmmsg};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::crowd;
use crate::plan::Senders;

/// So many frames with one system call.
const BATCH: usize = 64;

/// Where the IPv4 header begins, its checksum and its source.
const HEADER: usize = 14;
const CHECKSUM: usize = HEADER + 10;
const SOURCE: usize = HEADER + 12;

/// Frames of these numbers of the crowd.
pub struct Ordinary {
    frame: Vec<u8>,
    first: u32,
    count: u32,
}

impl Ordinary {
    /// The same senders as `flood::load` has.
    pub fn of(senders: Senders, entries: u32) -> Self {
        let (first, count) = match senders {
            Senders::Listed => (1, entries),
            Senders::Half => (1, 2 * entries),
            Senders::Unlisted => (1 + entries, u32::MAX - entries),
        };
        let frame = Frame::from("0.0.0.0").to("198.18.255.254").bytes([6, 0xfe, 0, 0, 0, 1]);
        Self { frame, first, count }
    }

    /// Sends frames from a peer to its host. Returns how many nanoseconds of a processor each took, until it was dropped or had
    /// arrived.
    pub fn send(&self, peer: &Namespace, frames: u32) -> Result<f64> {
        peer.inside(|| {
            let (socket, eth0) = (packet_socket()?, device()?);
            let mut batch = vec![self.frame.clone(); BATCH];
            let mut headers = MultiHeaders::preallocate(BATCH, None);
            let (mut random, mut sent) = (0x1357_9BDF_2468_ACE1_u64, 0);
            let before = processor::time();
            while sent < frames {
                for frame in &mut batch {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    dress(
                        frame,
                        crowd::address(self.first + ((random >> 20) % u64::from(self.count)) as u32),
                    );
                }
                send_all(&socket, &eth0, &batch, &mut headers)?;
                sent += BATCH as u32;
            }
            Ok((processor::time() - before).as_nanos() as f64 / f64::from(sent))
        })
    }
}

fn send_all(
    socket: &OwnedFd,
    eth0: &LinkAddr,
    batch: &[Vec<u8>],
    headers: &mut MultiHeaders<LinkAddr>,
) -> Result<()> {
    let mut done = 0;
    while done < batch.len() {
        let slices: Vec<_> = batch[done..].iter().map(|frame| [IoSlice::new(frame)]).collect();
        let addresses = vec![Some(*eth0); slices.len()];
        match sendmmsg(socket.as_raw_fd(), headers, &slices, &addresses, [], MsgFlags::empty()) {
            Ok(sent) => done += sent.count(),
            // The queue of the wire is full, so this frame is lost.
            Err(Errno::ENOBUFS) => done += 1,
            Err(error) => return Err(error).context("cannot send frames"),
        }
    }
    Ok(())
}

fn packet_socket() -> Result<OwnedFd> {
    let made = socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None);
    made.context("cannot open a packet socket")
}

/// The address of the device, as packet sockets take it.
fn device() -> Result<LinkAddr> {
    let mut all = getifaddrs().context("cannot list interfaces")?.filter(|one| one.interface_name == "eth0");
    all.find_map(|one| one.address?.as_link_addr().copied()).context("there is no eth0")
}

/// Gives the frame another source.
fn dress(frame: &mut [u8], source: u32) {
    frame[SOURCE..SOURCE + 4].copy_from_slice(&source.to_be_bytes());
    frame[CHECKSUM..CHECKSUM + 2].fill(0);
    let words = frame[HEADER..HEADER + 20].chunks_exact(2);
    let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let sum = (sum & 0xFFFF) + (sum >> 16);
    let sum = (sum & 0xFFFF) + (sum >> 16);
    frame[CHECKSUM..CHECKSUM + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}
