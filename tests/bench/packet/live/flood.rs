//! Frames of random sources, sent by the kernel itself: BPF_PROG_TEST_RUN with live frames.

use anyhow::{Context, Result};
use aya::programs::{TestRun, TestRunAttrs, TestRunOptions, Xdp};
use aya::{Ebpf, EbpfLoader};
use filterd_measure::processor;
use harness::{Frame, Namespace};
use nix::net::if_::if_nametoindex;

use crate::plan::Senders;
use crate::sender;
use crate::subject::Stage;

const PROGRAM: &str = "bench_sender_live";
/// The kernel's usual number of frames between two looks at what else there is to do.
const BATCH: u32 = 64;

/// A program that makes frames of some senders.
pub struct Flood {
    object: Ebpf,
    frame: Vec<u8>,
}

/// One of the first `entries` of the crowd but for its very first, whose address is 0.0.0.0; or of all others.
pub fn load(stage: &Stage<'_>, senders: Senders, entries: u32) -> Result<Flood> {
    let entries = u64::from(entries);
    let (first, count) = match senders {
        Senders::Listed => (1, entries),
        Senders::Half => (1, 2 * entries),
        Senders::Unlisted => (1 + entries, (1 << 32) - 1 - entries),
    };
    // Where no route leads: whatever arrives is counted and thrown away.
    let frame = Frame::from("0.0.0.0").to("198.18.255.254").bytes([6, 0xfe, 0, 0, 0, 1]);
    let checksum = u16::from_be_bytes([frame[24], frame[25]]);
    let header = u64::from(!checksum).to_ne_bytes();
    let mut object = stage.load(PROGRAM, EbpfLoader::new().override_global("HEADER", &header[..], true))?;
    sender::tell(&mut object, (first, count), (0, 0))?;
    Ok(Flood { object, frame })
}

impl Flood {
    /// Sends frames from a peer to its host, and tells how many nanoseconds of a processor each took, until it was dropped or had
    /// arrived.
    pub fn send(&self, peer: &Namespace, frames: u32) -> Result<f64> {
        peer.inside(|| {
            let before = processor::time();
            self.run(frames)?;
            Ok((processor::time() - before).as_nanos() as f64 / f64::from(frames))
        })
    }

    fn run(&self, frames: u32) -> Result<()> {
        let program: &Xdp = self.object.program(PROGRAM).context("it is loaded")?.try_into()?;
        let options = TestRunOptions {
            data_in: Some(&self.frame),
            ctx_in: Some(&on_device(if_nametoindex("eth0")?, self.frame.len())),
            repeat: frames,
            attrs: TestRunAttrs::new().xdp_live_frames(BATCH),
            ..TestRunOptions::new()
        };
        program.test_run(options).context("the kernel does not send live frames: that takes Linux 5.18")?;
        Ok(())
    }
}

/// `struct xdp_md`: six words, of which the second is where the data ends and the fourth the device.
fn on_device(index: u32, length: usize) -> Vec<u8> {
    [0, length as u32, 0, index, 0, 0].into_iter().flat_map(u32::to_ne_bytes).collect()
}
