//! Drops that the bytecode tells in full while somebody watches, and that it costs nothing while nobody does.

use std::cell::RefCell;
use std::collections::BTreeMap;

use aya::maps::MapInfo;
use aya::programs::{ProgramInfo, TestRun, TestRunOptions, Xdp, loaded_programs};
use aya_obj::programs::XdpAttachType;
use filter_common::labels::{Counters, Label};
use filter_common::reason::{Outcome, Reason};
use filter_common::sampling::SNAP;
use filterd::blocklist::{Effects, Settings};
use filterd::kernel::Filter;
use filterd::kernel::samples::{Sample, Samples, budget};
use harness::numbered::Numbered;
use harness::{Frame, Home};

/// A filter at work.
struct Sampling {
    filter: RefCell<Filter>,
    program: Xdp,
    // Dropped last: the pins.
    home: Home,
}

impl Sampling {
    fn of(counters: Counters, blocked: &[(&str, Label)]) -> Self {
        let home = Home::new();
        let mut filter = Filter::open(home.pins()).expect("root may load programs");
        let mut wanted = Numbered::default();
        let settings = Settings { counters, ..Settings::default() };
        filter
            .apply(&Effects { settings: Some(settings), ..Effects::default() }, &wanted)
            .expect("there is room");
        let blocked: Vec<_> =
            blocked.iter().map(|(word, label)| (word.parse().expect("it is a target"), *label)).collect();
        wanted.block(&mut filter, &blocked).expect("there is room");
        let program = Xdp::from_pin(home.pins().join("root"), XdpAttachType::Interface);
        let program = program.expect("the root program is pinned");
        Self { filter: RefCell::new(filter), program, home }
    }

    fn on(&self) -> Samples {
        self.filter.borrow_mut().sample().expect("the kernel takes such a judge")
    }

    fn off(&self) {
        self.filter.borrow_mut().sample_no_more().expect("the kernel takes such a judge");
    }

    fn send(&self, bytes: &[u8]) {
        let options = TestRunOptions { data_in: Some(bytes), ..TestRunOptions::new() };
        self.program.test_run(options).expect("the kernel runs it");
    }

    fn counted(&self, outcome: Outcome) -> u64 {
        let all = self.filter.borrow_mut().counters().expect("counters can be read");
        all.into_iter().filter(|(counted, _)| *counted == outcome).map(|(_, count)| count).sum()
    }

    /// The judge at work: the last one that was loaded over these counters.
    fn judge(&self) -> ProgramInfo {
        let counters = MapInfo::from_pin(self.home.pins().join("counters")).expect("they are pinned").id();
        let judges = loaded_programs()
            .filter_map(Result::ok)
            .filter(|program| program.map_ids().ok().flatten().is_some_and(|maps| maps.contains(&counters)));
        judges.max_by_key(ProgramInfo::id).expect("it is loaded")
    }
}

#[test]
fn few_drops_are_all_sampled_in_full() {
    let sampling = Sampling::of(
        Counters::Lists,
        &[("192.0.2.7", 3), ("198.51.100.0/24", 250), ("2001:db8:bad::/64", 9)],
    );
    let mut samples = sampling.on();
    let four = Frame::from("192.0.2.7").payload(400).bytes([6; 6]);
    let network = Frame::from("198.51.100.77").tcp(Frame::SYN).vlan(7).bytes([6; 6]);
    let six = Frame::from("2001:db8:bad::1").bytes([6; 6]);
    [&four, &network, &six].into_iter().for_each(|frame| sampling.send(frame));
    sampling.send(&Frame::from("203.0.113.9").bytes([6; 6]));
    let taken = samples.take(100);
    let told = |frame: &[u8], reason, label| (frame.len() as u32, Outcome::Drop(reason), Some(label), 1, 0);
    let expected = [
        told(&four, Reason::Address4, 3),
        told(&network, Reason::Network4, 250),
        told(&six, Reason::Net64, 9),
    ];
    let found: Vec<_> =
        taken.iter().map(|one| (one.bytes, one.outcome, one.label, one.weight, one.lost)).collect();
    assert_eq!(found, expected);
    for (sample, frame) in taken.iter().zip([four, network, six]) {
        assert_eq!(sample.frame, frame[..frame.len().min(SNAP as usize)], "its first bytes");
    }
    assert!(taken.windows(2).all(|two| two[0].at <= two[1].at), "{taken:?}");
}

#[test]
fn without_list_counters_samples_name_no_list() {
    let sampling = Sampling::of(Counters::Total, &[("192.0.2.7", 3)]);
    let mut samples = sampling.on();
    sampling.send(&Frame::from("192.0.2.7").bytes([6; 6]));
    let taken = samples.take(100);
    assert_eq!(taken.iter().map(|one| one.label).collect::<Vec<_>>(), [None]);
}

/// Senders take turns, one of ten, three of ten, six of ten: which is the worst order for whoever takes each so-and-so-manieth.
#[test]
fn sample_weights_sum_to_counted_drops() {
    const FRAMES: u64 = 10_000;
    let senders = [("192.0.2.1", 1), ("192.0.2.2", 3), ("192.0.2.3", 6)];
    let sampling = Sampling::of(Counters::Lists, &senders.map(|(sender, share)| (sender, share)));
    let mut samples = sampling.on();
    let turn: Vec<_> = senders
        .iter()
        .flat_map(|(sender, share)| vec![Frame::from(*sender).bytes([6; 6]); usize::from(*share)])
        .collect();
    let mut taken: Vec<Sample> = Vec::new();
    for at in 0..FRAMES as usize {
        sampling.send(&turn[at % turn.len()]);
        if at % 1000 == 0 {
            taken.extend(samples.take(usize::MAX));
        }
    }
    taken.extend(samples.take(usize::MAX));
    assert_eq!(sampling.counted(Outcome::Drop(Reason::Address4)), FRAMES);
    let mut sums = BTreeMap::new();
    taken.iter().for_each(|sample| *sums.entry(sample.label).or_insert(0) += sample.weight + sample.lost);
    let total: u64 = sums.values().sum();
    assert!((FRAMES * 3 / 4..=FRAMES * 5 / 4).contains(&total), "{total} in {} samples", taken.len());
    // Each sample is one of its stratum: farther away than six deviations is one of a billion.
    let squares: f64 = taken.iter().map(|sample| (sample.weight * sample.weight) as f64).sum();
    for (label, share) in senders.map(|(_, share)| (Some(share), f64::from(share) / 10.0)) {
        let sum = sums.get(&label).copied().unwrap_or_default() as f64;
        let off = (sum - share * total as f64).abs();
        assert!(off <= 6.0 * (squares * share * (1.0 - share)).sqrt(), "{sum} of {share}: {sums:?}");
    }
    assert!(taken.len() < FRAMES as usize / 2, "{} samples", taken.len());
}

#[test]
fn unread_sample_ring_blocks_nothing_and_counts_losses() {
    let sampling = Sampling::of(Counters::Lists, &[("192.0.2.1", 1)]);
    let mut samples = sampling.on();
    let frame = Frame::from("192.0.2.1").bytes([6; 6]);
    let options = || TestRunOptions { data_in: Some(&frame), repeat: 1_000_000, ..TestRunOptions::new() };
    sampling.program.test_run(options()).expect("the kernel runs it");
    let taken = samples.take(usize::MAX);
    let sum: u64 = taken.iter().map(|sample| sample.weight + sample.lost).sum();
    assert!((900_000..1_100_000).contains(&sum), "{sum} in {} samples", taken.len());
    assert!(taken.len() < 5000, "a flood is no reason for more: {}", taken.len());
}

/// 32 jiffies where a second has most of them. Elsewhere a window is longer, and fewer are taken.
const SHORTEST_WINDOW: u64 = 32_000_000;

#[test]
fn millions_of_drops_give_few_samples() {
    const MILLION: u32 = 1_000_000;
    let sampling = Sampling::of(Counters::Lists, &[("192.0.2.1", 1)]);
    let mut samples = sampling.on();
    let frame = Frame::from("192.0.2.1").bytes([6; 6]);
    let mut taken = Vec::new();
    for _ in 0..3 {
        let flood = TestRunOptions { data_in: Some(&frame), repeat: MILLION, ..TestRunOptions::new() };
        sampling.program.test_run(flood).expect("the kernel runs it");
        taken.extend(samples.take(usize::MAX));
    }
    let millions = 3 * u64::from(MILLION);
    assert_eq!(sampling.counted(Outcome::Drop(Reason::Address4)), millions, "counted is each of them");
    let sum: u64 = taken.iter().map(|sample| sample.weight + sample.lost).sum();
    assert!((millions * 3 / 4..=millions * 5 / 4).contains(&sum), "{sum} in {} samples", taken.len());
    taken.sort_by_key(|sample| sample.at);
    let took = taken.last().map_or(0, |last| last.at) - taken.first().map_or(0, |first| first.at);
    println!("{millions} drops within {} ms were told in {} samples", took / 1_000_000, taken.len());
    // While more and more come, half a budget is told before each stands for twice as many, which it does sixteen times at most;
    // from then on one and a half in a window. Each flood may begin anew, and on any processor.
    let processors = std::thread::available_parallelism().expect("it is known").get() as u64;
    let (growing, windows) = (3 * 16 * budget() / 2, took / SHORTEST_WINDOW + 2);
    let most = processors * (growing + windows * budget() * 3 / 2);
    assert!((budget()..=most).contains(&(taken.len() as u64)), "{} samples of at most {most}", taken.len());
}

#[test]
fn program_without_watchers_has_no_sampling_code() {
    let sampling = Sampling::of(Counters::Lists, &[("192.0.2.1", 1), ("2001:db8:bad::/64", 9)]);
    let size = || (sampling.judge().size_translated(), sampling.judge().map_ids().unwrap().unwrap().len());
    let before = size();
    let samples = sampling.on();
    let meanwhile = size();
    assert!(meanwhile.0 > before.0 && meanwhile.1 == before.1 + 1, "{before:?} {meanwhile:?}");
    sampling.off();
    assert_eq!(size(), before, "the very same program");
    drop(samples);
    sampling.send(&Frame::from("192.0.2.1").bytes([6; 6]));
    let mut again = sampling.on();
    assert_eq!(again.take(10), [], "what was before is not told");
    sampling.send(&Frame::from("192.0.2.1").bytes([6; 6]));
    assert_eq!(again.take(10).len(), 1);
}
