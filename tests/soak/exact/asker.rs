//! Asks filterd's programs about IPv6 sources by number, and compares every verdict with what it should be.

use std::fmt;
use std::net::Ipv6Addr;
use std::ops::Range;
use std::path::Path;
use std::thread::scope;

use aya::Ebpf;
use aya::maps::{Array, MapData, ProgramArray};
use aya::programs::{TestRun, TestRunOptions, Xdp};
use filter_common::Words;
use filterd::kernel::window::Window;
use harness::Frame;
use real::told::Told;

use super::{Wrong, processors, stay_on};
use crate::programs;

/// Verdicts that the program notes before they are read.
const BLOCK: u64 = 1 << 21;
/// Words in which the program has them.
const WORDS: u32 = (BLOCK / 64) as u32;

/// What the answers were.
#[derive(Clone, Default)]
pub struct Answers {
    pub asked: u64,
    pub listed: u64,
    pub wrong: Wrong,
    /// The first one that was.
    example: Option<u128>,
}

/// Asks about the sources of these numbers. Each processor takes every so many'th block of them.
pub fn ask(pins: &Path, told: &Told, numbers: Range<u64>) -> Answers {
    scope(|scope| {
        let askers: Vec<_> = (0..processors())
            .map(|processor| {
                let blocks = blocks(numbers.clone()).skip(processor as usize).step_by(processors() as usize);
                scope.spawn(move || {
                    stay_on(processor);
                    let mut asker = Asker::new(pins, told);
                    blocks.fold(Answers::default(), |sum, block| sum.and(asker.ask(told, block)))
                })
            })
            .collect();
        let answers = askers.into_iter().map(|asker| asker.join().expect("its own assertions tell more"));
        answers.fold(Answers::default(), Answers::and)
    })
}

/// These numbers, of which the first begins a word, cut where the program begins to note verdicts anew.
fn blocks(numbers: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let Range { start, end } = numbers;
    (start / BLOCK..end.div_ceil(BLOCK))
        .map(move |block| start.max(block * BLOCK)..end.min((block + 1) * BLOCK))
}

impl Answers {
    fn and(self, other: Self) -> Self {
        Self {
            asked: self.asked + other.asked,
            listed: self.listed + other.listed,
            wrong: self.wrong.and(other.wrong),
            example: self.example.or(other.example),
        }
    }

    /// A bit for each number from this one on.
    fn note(&mut self, told: &Told, number: u64, (listed, dropped): (u64, u64)) {
        self.listed += u64::from(listed.count_ones());
        self.wrong = self.wrong.and(Wrong::between(listed, dropped));
        if dropped != listed {
            self.example
                .get_or_insert_with(|| told.source(number + u64::from((dropped ^ listed).trailing_zeros())));
        }
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, listed, wrong, example } = self;
        write!(f, "{wrong:?} of {asked}, {listed} of them listed")?;
        example.map_or(Ok(()), |source| write!(f, ", {} among them", Ipv6Addr::from_bits(source)))
    }
}

/// The program that asks, before filterd's.
struct Asker {
    object: Ebpf,
    _slot: ProgramArray<MapData>,
    state: Array<MapData, u64>,
    dropped: Window,
}

impl Asker {
    fn new(pins: &Path, told: &Told) -> Self {
        assert!(told.count() <= programs::MOST_TOLD, "{} sources are more than can be told", told.count());
        let mut object = programs::load(pins, &[]);
        programs::xdp(&mut object, "soak_asker");
        let slot = programs::aim(&mut object, "ASKED", pins);
        programs::tell(&mut object, told.sources().iter().copied());
        let dropped = programs::window(&mut object, "DROPPED", WORDS);
        let state = array(&mut object, "ASKING");
        Self { object, _slot: slot, state, dropped }
    }

    /// About one block.
    fn ask(&mut self, told: &Told, numbers: Range<u64>) -> Answers {
        const UNKNOWN: u64 = u64::MAX;
        for (at, value) in (0..).zip([numbers.start, UNKNOWN, told.count()]) {
            self.state.set(at, value, 0).expect("the map has three words");
        }
        // What becomes of the last one shows when one more is due.
        self.run((numbers.end - numbers.start) as u32 + 1);
        let next = self.state.get(&0, 0).expect("the map has three words");
        assert_eq!(next, numbers.end + 1, "it came to the end");
        let mut answers = Answers::default();
        for (number, listed) in numbers.clone().step_by(64).zip(told.listed(numbers.clone())) {
            let asked = u64::MAX >> (64 - (numbers.end - number).min(64));
            let dropped = self.dropped.load((number % BLOCK / 64) as u32) & asked;
            answers.note(told, number, (listed, dropped));
        }
        answers.asked = numbers.end - numbers.start;
        answers
    }

    fn run(&self, packets: u32) {
        let program: &Xdp =
            self.object.program("soak_asker").expect("it is loaded").try_into().expect("it is one");
        let frame = Frame::from("2001:db8::1").bytes([6; 6]);
        let options = TestRunOptions { data_in: Some(&frame), repeat: packets, ..TestRunOptions::new() };
        program.test_run(options).expect("the kernel runs it");
    }
}

fn array(object: &mut Ebpf, name: &str) -> Array<MapData, u64> {
    object.take_map(name).expect("the object has it").try_into().expect("it is an array")
}
