//! What the egress program of `match: new` costs a packet that is sent, above a program that does nothing.

use anyhow::{Context, Result};
use aya::maps::Array;
use aya::programs::{SchedClassifier, TestRun, TestRunOptions};
use aya::{Ebpf, EbpfLoader};
use filter_common::flow::WORDS;
use filterd_measure::tables::Table;
use harness::{ForeignEgress, Frame, HOST};
use pages::page::Chapter;

/// Runs of one frame in a row.
const REPEATS: u32 = 1_000_000;

/// So often all of them take their turn; the median counts.
const ROUNDS: usize = 7;

const PEER: &str = "198.51.100.7";

/// What is sent, and why it costs what it does.
fn cases() -> [(&'static str, Frame); 5] {
    let from = |protocol, content: Vec<u8>| Frame::from(HOST).to(PEER).transport(protocol, content);
    [
        ("ARP: no flow", Frame::arp(HOST)),
        ("TCP: an answer of a service, which is no own flow", from(6, segment(22, 40_000, Frame::ACK))),
        ("TCP: a flow of this host's, known and young", from(6, segment(40_000, 443, Frame::ACK))),
        ("UDP: from a port that begins no flows", from(17, datagram(53, 40_000))),
        ("UDP: a flow of this host's, known and young", from(17, datagram(40_000, 53))),
    ]
}

/// Nanoseconds for each, above nothing.
#[derive(Debug)]
pub struct Sent(Vec<(&'static str, f64)>);

/// Measures them with this object.
pub fn measure(object: &[u8]) -> Result<Sent> {
    let mut egress = load(object)?;
    let name = "filterd_egress";
    let mut nothing = Ebpf::load(&ForeignEgress::object())?;
    let floor = classifier(&mut nothing, "other_egress")?;
    let opening = Frame::from(HOST).to(PEER).transport(6, segment(40_000, 443, Frame::SYN)).bytes([6; 6]);
    let mut above = vec![Vec::new(); cases().len()];
    let program = classifier(&mut egress, name)?;
    for _ in 0..ROUNDS {
        run(program, &opening, 1)?;
        for (above, (_, frame)) in above.iter_mut().zip(cases()) {
            let frame = frame.bytes([6; 6]);
            above.push(run(program, &frame, REPEATS)? - run(floor, &frame, REPEATS)?);
        }
    }
    let medians = above.into_iter().map(|mut rounds| {
        rounds.sort_by(f64::total_cmp);
        rounds[ROUNDS / 2]
    });
    Ok(Sent(cases().iter().map(|case| case.0).zip(medians).collect()))
}

impl Sent {
    /// Only these.
    pub fn tell(&self) -> Result<()> {
        self.0.iter().for_each(|(what, above)| println!("{above:6.1} ns  {what}"));
        Ok(())
    }

    /// For the page.
    pub fn chapter(&self) -> Chapter {
        let row = |(what, above): &(&str, f64)| vec![(*what).to_owned(), format!("{above:.1}")];
        let table = Table {
            title: "Nanoseconds for a packet that is sent".to_owned(),
            heads: ["what", "above a program that does nothing"].map(str::to_owned).into(),
            rows: self.0.iter().map(row).collect(),
        };
        Chapter {
            title: "What is sent, with `match: new`".to_owned(),
            words: format!(
                "The egress program with BPF_PROG_TEST_RUN, one frame {REPEATS} times, medians of {ROUNDS} rounds: all in \
                 near memory. At most once a second a flow's time is written, which is among these. Without `match: new` \
                 there is no such program."
            ),
            tables: vec![table],
            ..Chapter::default()
        }
    }
}

fn load(object: &[u8]) -> Result<Ebpf> {
    let mut egress = EbpfLoader::new().btf(None).load(object)?;
    let mut ports: Array<_, [u64; WORDS as usize]> =
        Array::try_from(egress.map_mut("PORTS").context("it has it")?)?;
    let mut words = [0; WORDS as usize];
    words[40_000 >> 6] = u64::MAX;
    ports.set(0, words, 0)?;
    Ok(egress)
}

fn classifier<'a>(object: &'a mut Ebpf, name: &str) -> Result<&'a mut SchedClassifier> {
    let program: &mut SchedClassifier = object.program_mut(name).context("it has it")?.try_into()?;
    program.load()?;
    Ok(program)
}

fn run(program: &SchedClassifier, frame: &[u8], repeats: u32) -> Result<f64> {
    let options = TestRunOptions { data_in: Some(frame), repeat: repeats, ..TestRunOptions::new() };
    Ok(program.test_run(options)?.duration.as_nanos() as f64)
}

fn datagram(source: u16, destination: u16) -> Vec<u8> {
    [source.to_be_bytes(), destination.to_be_bytes(), [0, 8], [0, 0]].concat()
}

fn segment(source: u16, destination: u16, flags: u8) -> Vec<u8> {
    let mut segment = datagram(source, destination);
    segment.extend([0, 0, 0, 0, 5 << 4, flags, 0, 0, 0, 0, 0, 0]);
    segment
}
