//! A device without an Ethernet header. What is written to it comes out as received packets.
#![allow(unsafe_code, reason = "a device is asked for by ioctl")]

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;

use nix::libc;

use crate::taps::Taps;
use crate::{Frame, Namespace};

/// "Local experimental 2": neither IP nor anything else that a filter judges.
const FENCE: u16 = 0x88b6;

/// The length of the header that a frame has and a packet has not.
const ETHERNET: usize = 14;

/// The byte before the number of a packet.
const OURS: u8 = 0x77;

/// Where a packet with this first byte has its number.
const fn place_of_number(first: u8) -> usize {
    if first >> 4 == 4 { 4 } else { 2 }
}

/// A tun device, and the taps of its namespace.
#[derive(Debug)]
pub struct Tun {
    device: File,
    taps: Taps,
}

impl Tun {
    /// Makes the device in the namespace, and switches it on.
    pub fn new(host: &Namespace, name: &str) -> Self {
        let device = host.inside(|| device(name));
        host.ip(&format!("link set {name} up"));
        Self { device, taps: Taps::open(host, FENCE) }
    }

    /// Which of these packets arrive, each alone? At most 255.
    pub fn arrivals(&self, packets: &[Frame]) -> Vec<bool> {
        for (number, packet) in (1..).zip(packets) {
            let mut frame = packet.bytes([6; 6]);
            let kind = u16::from_be_bytes([frame[12], frame[13]]);
            let mut packet = frame.split_off(ETHERNET);
            // The last bytes of IPv4's identification, or of IPv6's flow label.
            let at = place_of_number(packet[0]);
            packet[at..at + 2].copy_from_slice(&[OURS, number]);
            self.write(kind, &packet);
        }
        self.write(FENCE, &[0; 46]);
        self.taps.fence().expect("what is not IP passes");
        let mut arrived = vec![false; packets.len()];
        for start in self.taps.others() {
            let at = place_of_number(start[0]);
            // Others come over other interfaces.
            if start[at] == OURS && matches!(start[0] >> 4, 4 | 6) {
                arrived[usize::from(start[at + 1]) - 1] = true;
            }
        }
        arrived
    }

    /// Lets the device receive a packet of this type.
    fn write(&self, kind: u16, packet: &[u8]) {
        let flags = [0, 0];
        let written = (&self.device).write(&[&flags[..], &kind.to_be_bytes(), packet].concat());
        written.expect("the device is on");
    }
}

fn device(name: &str) -> File {
    let device = OpenOptions::new().read(true).write(true).open("/dev/net/tun").expect("this kernel has tun");
    // SAFETY: a structure of numbers, all of which may be zero.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = libc::IFF_TUN as libc::c_short;
    // SAFETY: the kernel reads and writes this structure only.
    let made = unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    assert_eq!(made, 0, "root may make devices");
    device
}
