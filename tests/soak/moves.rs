//! Frames at full speed while entries move and tables grow: no member ever passes, no unlisted source is ever dropped.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use aya::Ebpf;
use aya::maps::{MapData, PerCpuArray, ProgramArray};
use aya::programs::{SchedClassifier, TcAttachType, TestRun, TestRunAttrs, TestRunOptions, Xdp, XdpMode, tc};
use filterd::kernel::grace;
use harness::{Frame, Net};

use crate::filter::Blocked;
use crate::{crowd, programs, rounds};

/// Listed all the time, and sending.
const MEMBERS: u32 = 4_000;
/// A table of 2^15 buckets of three, as full as it may be: three growths away from the members' own.
const MOST: u32 = 89_456;
/// The control goes on until so many members have passed.
const ENOUGH: u64 = 1_000;
const PATIENCE: Duration = Duration::from_secs(60);
/// So many unlisted sources it lists.
const MISTAKES: u32 = 1_000;

#[test]
fn moves() {
    let frames = rounds(20_000_000, 1_000_000_000) as u64;
    let (growths, relocations) = (rounds(3, 20), rounds(10_000, 300_000) as u64);
    let net = Net::new();
    let pins = net.home().pins();
    let mut churn = Churn { filter: Some(members(pins)), growths: 0, relocations: 0 };
    let traffic = Traffic::new(&net, pins);

    let seen = traffic.during(|seen| {
        while seen().arrived() < frames || churn.growths < growths || churn.relocations < relocations {
            churn.begin_anew(pins);
            churn.fill();
        }
    });
    assert_eq!((seen.passed_of_members, seen.dropped_of_unlisted()), (0, 0), "{seen:?}");

    // The control: entries leave before they come again elsewhere, and some unlisted sources are listed by mistake.
    let control = traffic.during(|seen| {
        churn.filter().add((0..MISTAKES).map(|number| crowd::address(u32::MAX - number)));
        let begun = Instant::now();
        while seen().passed_of_members < ENOUGH && begun.elapsed() < PATIENCE {
            for address in (0..MEMBERS).map(crowd::address) {
                churn.filter().remove(address);
                churn.filter().add([address]);
            }
        }
    });
    assert!(control.passed_of_members >= ENOUGH && control.dropped_of_unlisted() > 0, "{control:?}");
    println!(
        "{} frames in native mode during {} relocations and {} growths: 0 of {} listed passed, 0 of {} unlisted dropped\n\
         control, entries that leave before they come again: {} of {} listed passed; \
         {MISTAKES} unlisted sources listed by mistake: {} unlisted dropped",
        seen.arrived(),
        churn.relocations,
        churn.growths,
        seen.arrived_of_members,
        seen.arrived_of_unlisted,
        control.passed_of_members,
        control.arrived_of_members,
        control.dropped_of_unlisted(),
    );
}

fn members(pins: &Path) -> Blocked {
    Blocked::blocking(pins, u64::from(MEMBERS), (0..MEMBERS).map(crowd::address))
}

/// Others than the members, who come and go.
struct Churn {
    filter: Option<Blocked>,
    growths: usize,
    relocations: u64,
}

impl Churn {
    /// A small table again, as after a restart. The one before lets go of the pins first: they are one filter's at a time.
    fn begin_anew(&mut self, pins: &Path) {
        self.filter = None;
        self.filter = Some(members(pins));
    }

    fn filter(&mut self) -> &mut Blocked {
        self.filter.as_mut().expect("one is at work")
    }

    /// Fills the table to its limit, lets it grow, and fills it again.
    fn fill(&mut self) {
        let mut moved = self.filter().tables.moves();
        let mut capacity = self.filter().occupancy().capacity;
        for number in MEMBERS..MOST {
            self.filter().add([crowd::address(number)]);
            let now = self.filter().tables.moves();
            self.relocations += now.saturating_sub(moved);
            moved = now;
            let occupancy = self.filter().occupancy();
            self.growths += usize::from(occupancy.capacity > capacity);
            capacity = occupancy.capacity;
            let is_due = occupancy.entries.is_multiple_of(128) || self.filter().tables.is_crowded();
            if is_due && self.filter().settle() {
                grace::wait().expect("this kernel has grace periods");
            }
        }
        self.filter().settle_all();
    }
}

/// What was counted, of members and of unlisted sources.
#[derive(Debug, Default)]
struct Seen {
    arrived_of_members: u64,
    arrived_of_unlisted: u64,
    passed_of_members: u64,
    passed_of_unlisted: u64,
}

impl Seen {
    fn since(&self, before: &Self) -> Self {
        Self {
            arrived_of_members: self.arrived_of_members - before.arrived_of_members,
            arrived_of_unlisted: self.arrived_of_unlisted - before.arrived_of_unlisted,
            passed_of_members: self.passed_of_members - before.passed_of_members,
            passed_of_unlisted: self.passed_of_unlisted - before.passed_of_unlisted,
        }
    }

    fn arrived(&self) -> u64 {
        self.arrived_of_members + self.arrived_of_unlisted
    }

    /// Exact once no frame is under way any more.
    fn dropped_of_unlisted(&self) -> u64 {
        self.arrived_of_unlisted - self.passed_of_unlisted
    }
}

/// Frames from the peer to the host, where they are counted before filterd's program and behind it.
struct Traffic<'a> {
    net: &'a Net,
    sender: Ebpf,
    counters: PerCpuArray<MapData, u64>,
    _counting: Ebpf,
    _slot: ProgramArray<MapData>,
}

impl<'a> Traffic<'a> {
    fn new(net: &'a Net, pins: &Path) -> Self {
        let link = net.peer().inside(|| nix::net::if_::if_nametoindex("eth0")).expect("the link was made");
        let mut sender = programs::load(pins, &[("LINK", link.into()), ("MEMBERS", MEMBERS.into())]);
        programs::xdp(&mut sender, "soak_sender");
        let mut counting = programs::load(pins, &[]);
        let slot = programs::aim(&mut counting, "ROOT", pins);
        let counters =
            counting.take_map("SEEN").expect("the object has it").try_into().expect("one a processor");
        net.host().inside(|| attach(&mut counting));
        Self { net, sender, counters, _counting: counting, _slot: slot }
    }

    /// What is seen while this is done, which may ask what has been seen so far.
    fn during(&self, act: impl FnOnce(&dyn Fn() -> Seen)) -> Seen {
        let before = self.seen();
        let is_over = AtomicBool::new(false);
        scope(|scope| {
            let (peer, sender, is_over) = (self.net.peer(), &self.sender, &is_over);
            scope.spawn(move || {
                peer.inside(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        send(sender);
                    }
                });
            });
            let _ends_anyway = Over(is_over);
            act(&|| self.seen().since(&before));
        });
        // The last ones are still on their way.
        sleep(Duration::from_millis(100));
        self.seen().since(&before)
    }

    fn seen(&self) -> Seen {
        let sum = |at| self.counters.get(&at, 0).expect("it has four").iter().sum();
        Seen {
            arrived_of_members: sum(0),
            arrived_of_unlisted: sum(1),
            passed_of_members: sum(2),
            passed_of_unlisted: sum(3),
        }
    }
}

/// What was begun is over when this is dropped, in a panic too: else its thread would be waited for in vain.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn send(sender: &Ebpf) {
    const BATCH: u32 = 64;
    let program: &Xdp = sender.program("soak_sender").expect("it is loaded").try_into().expect("it is one");
    let frame = Frame::from("192.0.2.254").bytes([6; 6]);
    let attrs = TestRunAttrs::new().xdp_live_frames(BATCH);
    let options = TestRunOptions { data_in: Some(&frame), repeat: 1 << 16, attrs, ..TestRunOptions::new() };
    program.test_run(options).expect("the kernel sends frames");
}

fn attach(counting: &mut Ebpf) {
    programs::xdp(counting, "soak_gate").attach("eth0", XdpMode::Driver).expect("veth knows native XDP");
    tc::qdisc_add_clsact("eth0").expect("nobody else has");
    let receiver = counting.program_mut("soak_receiver").expect("the object has it");
    let receiver: &mut SchedClassifier = receiver.try_into().expect("it is a classifier");
    receiver.load().expect("the verifier has nothing to say");
    receiver.attach("eth0", TcAttachType::Ingress).expect("root may");
}
