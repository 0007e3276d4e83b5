//! What `match: new` costs: the egress program a packet that is sent, above a program that does nothing, and the question
//! whether this host began it a packet of a listed source (`answered`).

use anyhow::{Context, Result};
use aya::maps::Array;
use aya::programs::{SchedClassifier, TestRun, TestRunOptions};
use aya::{Ebpf, EbpfLoader};
use filter_common::flow::WORDS;
use filterd_measure::tables::Table;
use harness::{ForeignEgress, Frame, HOST};
use pages::page::Chapter;

use crate::answered;

/// Runs of one frame in a row.
pub const REPEATS: u32 = 1_000_000;

/// So often all of them take their turn; the median counts.
pub const ROUNDS: usize = 7;

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

/// Flows that are begun, each by one packet.
const NEW: u16 = 20_000;

/// What begins one, from and to these ports.
type Begins = fn(u16, u16) -> (u8, Vec<u8>);

const BEGINNING: [(&str, Begins); 2] = [
    ("TCP: a SYN, which begins a flow", |ours, theirs| (6, segment(ours, theirs, Frame::SYN))),
    ("UDP: the first packet of a flow", |ours, theirs| (17, datagram(ours, theirs))),
];

/// Nanoseconds for each, above nothing.
#[derive(Debug)]
pub struct Sent {
    sent: Vec<(&'static str, f64)>,
    answered: Vec<(&'static str, [f64; 2])>,
}

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
    let mut sent: Vec<_> = cases().iter().map(|case| case.0).zip(above.into_iter().map(median)).collect();
    for (number, (what, begins)) in (0..).zip(BEGINNING) {
        // Each frame is seen once, and before it another one, so that what it does is near.
        let once = |program: &SchedClassifier| {
            let frames = (0..NEW).map(|port| {
                let (protocol, content) = begins(40_000 + number, 1 + port);
                Frame::from(HOST).to(PEER).transport(protocol, content).bytes([6; 6])
            });
            frames.map(|frame| run(program, &frame, 1)).collect::<Result<Vec<_>>>().map(median)
        };
        let idle = once(floor)?;
        sent.push((what, once(program)? - idle));
    }
    Ok(Sent { sent, answered: answered::measure()? })
}

pub fn median(mut rounds: Vec<f64>) -> f64 {
    rounds.sort_by(f64::total_cmp);
    rounds[rounds.len() / 2]
}

impl Sent {
    /// Only these.
    pub fn tell(&self) -> Result<()> {
        self.sent.iter().for_each(|(what, above)| println!("{above:6.1} ns  {what}"));
        self.answered.iter().for_each(|(what, [all, new])| println!("{all:6.1} ns, {new:6.1} ns  {what}"));
        Ok(())
    }

    /// For the page.
    pub fn chapter(&self) -> Chapter {
        let row = |(what, above): &(&str, f64)| vec![(*what).to_owned(), format!("{above:.1}")];
        let table = Table {
            title: "Nanoseconds for a packet that is sent".to_owned(),
            heads: ["what", "above a program that does nothing"].map(str::to_owned).into(),
            rows: self.sent.iter().map(row).collect(),
        };
        let row = |(what, [all, new]): &(&str, [f64; 2])| {
            vec![(*what).to_owned(), format!("{all:.1}"), format!("{new:.1}")]
        };
        let answered = Table {
            title: "Nanoseconds for a packet of a listed source".to_owned(),
            heads: ["what", "`match: all`", "`match: new`"].map(str::to_owned).into(),
            rows: self.answered.iter().map(row).collect(),
        };
        Chapter {
            title: "What is sent, and what a hit costs, with `match: new`".to_owned(),
            words: format!(
                "The egress program runs with BPF_PROG_TEST_RUN, one frame {REPEATS} times, with all data in \
                 near memory. Figures are medians of {ROUNDS} rounds. They include writing a flow's time, at \
                 most once a second. Where a flow begins, each of {NEW} frames is sent once. Without `match: \
                 new` this program is not attached. A packet from a listed source goes through all of \
                 filterd's own programs; a packet from an unlisted source costs nothing more."
            ),
            tables: vec![table, answered],
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

pub fn datagram(source: u16, destination: u16) -> Vec<u8> {
    [source.to_be_bytes(), destination.to_be_bytes(), [0, 8], [0, 0]].concat()
}

pub fn segment(source: u16, destination: u16, flags: u8) -> Vec<u8> {
    let mut segment = datagram(source, destination);
    segment.extend([0, 0, 0, 0, 5 << 4, flags, 0, 0, 0, 0, 0, 0]);
    segment
}
