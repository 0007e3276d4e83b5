//! Writes dropped frames to a file that tcpdump and Wireshark read (draft-ietf-opsawg-pcap, with
//! nanoseconds).

use std::fs::File;
use std::io::{self, Write, stdout};
use std::path::Path;

use filter_common::sampling::SNAP;

use crate::command::ask::trouble::CommandError;
use crate::control::wire::Failure;
use crate::control::wire::watch::{Drop, Reply};
use crate::text::{Explanation, printable};

const MAGIC: u32 = 0xA1B2_3C4D;
const VERSION: [u16; 2] = [2, 4];
const ETHERNET: u32 = 1;

/// The output. Each frame is written at once, so that the reader of a pipe sees it.
pub struct Pcap(Box<dyn Write>);

impl Pcap {
    /// Creates a file. An existing file is not overwritten.
    pub fn begin(path: &Path) -> Result<Self, CommandError> {
        let mut to: Box<dyn Write> = if path == Path::new("-") {
            Box::new(stdout())
        } else {
            Box::new(File::create_new(path).map_err(|error| {
                let path = printable::path(path);
                let remedy = "name a new file in a directory that you may write to";
                let told = Explanation::new(format!("cannot write {path}: {error}"), remedy);
                CommandError::Refused(Failure::InvalidRequest(told))
            })?)
        };
        to.write_all(&head())?;
        to.flush()?;
        Ok(Self(to))
    }

    /// Writes the frame of this reply, if it contains one.
    pub fn write(&mut self, reply: &Reply) -> io::Result<()> {
        let Some(record) = reply.drop.as_ref().and_then(record) else { return Ok(()) };
        self.0.write_all(&record)?;
        self.0.flush()
    }
}

fn head() -> Vec<u8> {
    let [major, minor] = VERSION.map(u16::to_ne_bytes);
    let [magic, zone, precision, snap, link] = [MAGIC, 0, 0, SNAP, ETHERNET].map(u32::to_ne_bytes);
    [&magic[..], &major, &minor, &zone, &precision, &snap, &link].concat()
}

fn record(drop: &Drop) -> Option<Vec<u8>> {
    let digits = drop.frame.as_ref()?.as_bytes();
    let (pairs, rest) = digits.as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let frame: Vec<u8> = pairs.iter().map(byte).collect::<Option<_>>().filter(|_| rest.is_empty())?;
    let seconds = u32::try_from(drop.at / 1000).ok()?;
    let nanoseconds = u32::try_from(drop.at % 1000).ok()? * 1_000_000 + drop.nanoseconds;
    let captured = u32::try_from(frame.len()).ok()?;
    // A frame without an Ethernet header has got one here.
    let head = [seconds, nanoseconds, captured, drop.bytes.max(captured)].map(u32::to_ne_bytes);
    Some([head.concat(), frame].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_is_written_with_time_and_length() {
        let drop = Drop {
            at: 1_795_296_480_123,
            nanoseconds: 456_789,
            bytes: 1514,
            frame: Some("0a0bff".into()),
            ..Drop::default()
        };
        let numbers = [1_795_296_480_u32, 123_456_789, 3, 1514].map(u32::to_ne_bytes).concat();
        assert_eq!(record(&drop), Some([&numbers[..], &[0x0A, 0x0B, 0xFF]].concat()));
        assert_eq!(record(&Drop { frame: Some("0a0".into()), ..drop.clone() }), None);
        assert_eq!(record(&Drop { frame: None, ..drop }), None);
        assert_eq!(head().len(), 24);
    }
}
