//! Frames of members, which are listed all the time, and of unlisted sources: counted where they arrive, and where they pass.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use aya::Ebpf;
use aya::maps::{MapData, PerCpuArray, ProgramArray};
use aya::programs::links::LinkOrder;
use aya::programs::tc::TcAttachOptions;
use aya::programs::{SchedClassifier, TcAttachType, TestRun, TestRunAttrs, TestRunOptions, Xdp, XdpMode, tc};
use filterd::kernel::hook::Hook;
use harness::{Frame, Net};

use crate::programs;

/// What was counted, of members and of unlisted sources.
#[derive(Debug, Default)]
pub struct Seen {
    pub arrived_of_members: u64,
    pub arrived_of_unlisted: u64,
    pub passed_of_members: u64,
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

    pub fn arrived(&self) -> u64 {
        self.arrived_of_members + self.arrived_of_unlisted
    }

    /// Exact once no frame is under way any more.
    pub fn dropped_of_unlisted(&self) -> u64 {
        self.arrived_of_unlisted - self.passed_of_unlisted
    }
}

/// The program that makes frames, and one to begin with.
pub struct Sender {
    object: Ebpf,
    program: &'static str,
    frame: Frame,
}

impl Sender {
    /// Of the crowd, whose first are members.
    pub fn four(net: &Net, members: u32) -> Self {
        Self::new(net, ("soak_sender", "192.0.2.254"), &[("MEMBERS", members.into())])
    }

    /// Of these IPv6 sources.
    pub fn six(net: &Net, members: &[u128], strangers: &[u128]) -> Self {
        let settings = [("MEMBERS", members.len() as u64), ("STRANGERS", strangers.len() as u64)];
        let mut sender = Self::new(net, ("soak_sender6", "2001:db8::1"), &settings);
        programs::tell(&mut sender.object, members.iter().chain(strangers).copied());
        sender
    }

    fn new(net: &Net, (program, source): (&'static str, &str), settings: &[(&str, u64)]) -> Self {
        let link = net.peer().inside(|| nix::net::if_::if_nametoindex("eth0")).expect("the link was made");
        let settings = [&[("LINK", link.into())], settings].concat();
        let mut object = programs::load(net.home().pins(), &settings);
        programs::xdp(&mut object, program);
        Self { object, program, frame: Frame::from(source) }
    }

    /// Sends so many from where it is called.
    pub fn send(&self, frames: u32) {
        const BATCH: u32 = 64;
        let program = self.object.program(self.program).expect("it is loaded");
        let program: &Xdp = program.try_into().expect("it is one");
        let (frame, attrs) = (self.frame.bytes([6; 6]), TestRunAttrs::new().xdp_live_frames(BATCH));
        let options =
            TestRunOptions { data_in: Some(&frame), repeat: frames, attrs, ..TestRunOptions::new() };
        program.test_run(options).expect("the kernel sends frames");
    }
}

/// Frames from the peer to the host, where they are counted before filterd's program and behind it.
pub struct Traffic<'a> {
    net: &'a Net,
    sender: Sender,
    counters: PerCpuArray<MapData, u64>,
    _counting: Ebpf,
    _judged: Judged,
}

/// What keeps filterd's root program where frames meet it.
enum Judged {
    /// The slot behind the gate in XDP.
    InDriver(#[allow(dead_code, reason = "it is held")] ProgramArray<MapData>),
    /// The program and its link of TCX.
    InTc(#[allow(dead_code, reason = "it is held")] SchedClassifier),
}

impl<'a> Traffic<'a> {
    /// From this sender, past what is pinned for this hook.
    pub fn new(net: &'a Net, sender: Sender, hook: Hook) -> Self {
        let pins = net.home().pins();
        let mut counting = programs::load(pins, &[]);
        let judged = match hook {
            Hook::Xdp => Judged::InDriver(programs::aim(&mut counting, "ROOT", pins)),
            Hook::Tc | Hook::TcBare | Hook::Sent | Hook::SentBare => {
                Judged::InTc(net.host().inside(|| attach_tc(pins)))
            }
        };
        let counters =
            counting.take_map("SEEN").expect("the object has it").try_into().expect("one a processor");
        net.host().inside(|| attach(&mut counting));
        Self { net, sender, counters, _counting: counting, _judged: judged }
    }

    /// What is seen while this is done, which may ask what has been seen so far.
    pub fn during(&self, act: impl FnOnce(&dyn Fn() -> Seen)) -> Seen {
        let before = self.seen();
        let is_over = AtomicBool::new(false);
        scope(|scope| {
            let (peer, sender, is_over) = (self.net.peer(), &self.sender, &is_over);
            scope.spawn(move || {
                peer.inside(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        sender.send(1 << 16);
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

/// Programs of TCX run before filters of `clsact`, such as the one that counts what passes.
fn attach_tc(pins: &Path) -> SchedClassifier {
    let mut root = SchedClassifier::from_pin(pins.join("root-tc")).expect("it is pinned");
    let order = TcAttachOptions::TcxOrder(LinkOrder::first());
    root.attach_with_options("eth0", TcAttachType::Ingress, order).expect("this kernel has TCX (6.6)");
    root
}

fn attach(counting: &mut Ebpf) {
    programs::xdp(counting, "soak_gate").attach("eth0", XdpMode::Driver).expect("veth knows native XDP");
    tc::qdisc_add_clsact("eth0").expect("nobody else has");
    let receiver = counting.program_mut("soak_receiver").expect("the object has it");
    let receiver: &mut SchedClassifier = receiver.try_into().expect("it is a classifier");
    receiver.load().expect("the verifier has nothing to say");
    receiver.attach("eth0", TcAttachType::Ingress).expect("root may");
}
