//! Three judges of one frame: the bytecode in the kernel, for XDP and for TC, and the same code run here. They must always
//! agree.

use std::cell::RefCell;

use aya::programs::{SchedClassifier, TestRun, TestRunOptions, Xdp};
use aya_obj::programs::XdpAttachType;
use filter_common::ports::Clause;
use filter_common::reason::{Outcome, Reason, Verdict};
use filter_common::target::{Span, Target};
use filterd::blocklist::{Blocklist, Change, Meaning, Origin, Polarity, Targets, Timestamp, Want};
use filterd::daemon::needs;
use filterd::kernel::Filter;
use filterd::kernel::hook::Hook;
use harness::{Frame, Home};

/// A frame, what should be told of it, and why.
pub type Case = (Frame, Reason, &'static str);

/// The shortest frame that the kernel takes for a test: an Ethernet header.
pub const SHORTEST: usize = 14;

/// While these targets are blocked, both judges say of each frame what is expected.
#[track_caller]
pub fn agree<T: AsRef<str>>(blocked: &[T], cases: impl IntoIterator<Item = Case>) {
    agree_while(blocked, &[""; 0], cases);
}

/// The same while these are allowed, too.
#[track_caller]
pub fn agree_while<T: AsRef<str>, A: AsRef<str>>(
    blocked: &[T],
    allowed: &[A],
    cases: impl IntoIterator<Item = Case>,
) {
    let judges = Judges::of(blocked, allowed);
    let wrong: Vec<String> = cases.into_iter().filter_map(|case| judges.objection(&case)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same while these targets are on a list with this clause.
#[track_caller]
pub fn agree_on_ports(clause: Clause, blocked: &[&str], cases: impl IntoIterator<Item = Case>) {
    let judges = Judges::on_ports(clause, blocked);
    let wrong: Vec<String> = cases.into_iter().filter_map(|case| judges.objection(&case)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same, wherever the kernel cuts a frame in two: of each, only so many bytes can be reached at once, from the fewest
/// to all of them.
#[track_caller]
pub fn agree_in_pieces<T: AsRef<str>>(blocked: &[T], cases: impl IntoIterator<Item = Case>) {
    let judges = Judges::blocking(blocked);
    if let Some(why) = judges.cannot_cut() {
        println!("SKIPPED pieces: {why}");
        return;
    }
    for (frame, expected, why) in cases {
        let bytes = frame.bytes([6; 6]);
        for linear in SHORTEST..=bytes.len() {
            let verdict = judges.as_bytecode_in_pieces(&bytes, linear);
            assert_eq!(verdict, [expected.verdict(); 2], "{frame} ({why}), {linear} bytes of it at once");
        }
    }
}

/// While these targets are blocked, both judges say the same of each frame, whatever that is.
#[track_caller]
pub fn agree_on(blocked: &[&str], frames: impl IntoIterator<Item = Vec<u8>>) {
    let judges = Judges::blocking(blocked);
    for frame in frames {
        let (here, there) = (judges.natively(&frame), judges.as_bytecode(&frame));
        assert_eq!([here; 2], there, "natively and as bytecode, of {frame:02x?}");
    }
}

/// While these targets are blocked, both judges say this of a frame of which only so many bytes can be reached at once.
#[track_caller]
pub fn agree_on_piece<T: AsRef<str>>(
    blocked: &[T],
    frame: &[u8],
    linear: usize,
    expected: Reason,
    why: &str,
) {
    let judges = Judges::blocking(blocked);
    assert_eq!(judges.natively(frame), expected.verdict(), "natively: {why}");
    if linear == frame.len() {
        assert_eq!(judges.as_bytecode(frame), [expected.verdict(); 2], "as bytecode: {why}");
    } else if let Some(why_not) = judges.cannot_cut() {
        println!("SKIPPED {why}: {why_not}");
    } else {
        let verdict = judges.as_bytecode_in_pieces(frame, linear);
        assert_eq!(verdict, [expected.verdict(); 2], "as bytecode, in pieces: {why}");
    }
}

/// Tables filled by filterd's own code, and the root programs through which packets reach them.
struct Judges {
    filter: RefCell<Filter>,
    xdp: Xdp,
    tc: SchedClassifier,
    // Dropped last: the pins.
    _home: Home,
}

impl Judges {
    fn blocking<T: AsRef<str>>(blocked: &[T]) -> Self {
        Self::of(blocked, &[""; 0])
    }

    fn of<T: AsRef<str>, A: AsRef<str>>(blocked: &[T], allowed: &[A]) -> Self {
        let home = Home::new();
        let mut filter = opened(&home);
        let blocked = (Polarity::Block, blocked.iter().flat_map(|text| targets(text.as_ref())).collect());
        let allowed = (Polarity::Allow, allowed.iter().flat_map(|text| targets(text.as_ref())).collect());
        let mut blocklist = Blocklist::default();
        let sides: [(Polarity, Targets); 2] = [blocked, allowed];
        for (polarity, targets) in sides {
            filter
                .reserve(&needs::at_most(&blocklist, polarity.whole().into(), &targets), &blocklist)
                .expect("there is room");
            let change = Change::Want(Want::live(format!("{polarity:?}"), polarity, targets));
            let applied =
                blocklist.apply(&change, Timestamp::from_secs(1)).expect("it is the first of its side");
            filter.apply(&applied.effects, &blocklist).expect("there is room");
        }
        Self::through(filter, home)
    }

    fn on_ports(clause: Clause, blocked: &[&str]) -> Self {
        let home = Home::new();
        let mut filter = opened(&home);
        let targets: Targets = blocked.iter().flat_map(|text| targets(text)).collect();
        let (mut blocklist, name) = (Blocklist::default(), "some ports");
        let meaning = Meaning { ports: Some(clause), ..Meaning::plain(Polarity::Block) };
        let make = Change::Make { name: name.into(), origin: Origin::File, meaning };
        let made = blocklist.apply(&make, Timestamp::from_secs(1)).expect("it is the first").made;
        let list = made.expect("it is made");
        let needs = needs::at_most(&blocklist, blocklist.lists().get(list).sets(), &targets);
        filter.reserve(&needs, &blocklist).expect("there is room");
        let want = Want { origin: Origin::File, ..Want::live(name, Polarity::Block, targets) };
        let applied = blocklist.apply(&Change::Want(want), Timestamp::from_secs(1)).expect("it is a list");
        filter.apply(&applied.effects, &blocklist).expect("there is room");
        Self::through(filter, home)
    }

    fn through(filter: Filter, home: Home) -> Self {
        let xdp = Xdp::from_pin(home.pins().join("root"), XdpAttachType::Interface);
        let tc = SchedClassifier::from_pin(home.pins().join("root-tc"));
        Self {
            filter: RefCell::new(filter),
            xdp: xdp.expect("the root program is pinned"),
            tc: tc.expect("the root program for TC is pinned"),
            _home: home,
        }
    }

    fn objection(&self, (frame, expected, why): &Case) -> Option<String> {
        let bytes = frame.bytes([6; 6]);
        let (here, there) = (self.natively(&bytes), self.as_bytecode(&bytes));
        let right = here == expected.verdict() && there.iter().all(|there| *there == expected.verdict());
        (!right).then(|| {
            format!("{frame} ({why}): {expected:?}, but natively {here:?}, as bytecode (XDP, TC) {there:?}")
        })
    }

    fn natively(&self, frame: &[u8]) -> Verdict {
        self.filter.borrow().judge_frame(frame)
    }

    /// What both programs do, and what they count.
    fn as_bytecode(&self, frame: &[u8]) -> [Verdict; 2] {
        let options = || TestRunOptions { data_in: Some(frame), ..TestRunOptions::new() };
        let xdp = self.run_xdp(options());
        [xdp, if is_for_tc(frame, frame.len()) { self.run_tc(options()) } else { xdp }]
    }

    /// The same where only so many bytes of the frame can be reached at once. A kernel that cuts frames for XDP alone says
    /// nothing of TC.
    fn as_bytecode_in_pieces(&self, frame: &[u8], linear: usize) -> [Verdict; 2] {
        let (xdp, tc) = (context(linear), tc_context(linear));
        let run =
            |context| TestRunOptions { data_in: Some(frame), ctx_in: Some(context), ..TestRunOptions::new() };
        let xdp = self.run_xdp(run(&xdp[..]));
        [xdp, if is_for_tc(frame, linear) && self.cuts_for_tc() { self.run_tc(run(&tc[..])) } else { xdp }]
    }

    /// Does this kernel let a frame for TC be cut in two? Linux 6.18 does not, and does so for XDP.
    fn cuts_for_tc(&self) -> bool {
        let (frame, context) = ([0; 60], tc_context(SHORTEST));
        let options =
            TestRunOptions { data_in: Some(&frame), ctx_in: Some(&context), ..TestRunOptions::new() };
        self.tc.test_run(options).is_ok()
    }

    fn run_xdp(&self, options: TestRunOptions<'_>) -> Verdict {
        const XDP_DROP: u32 = 1;
        const XDP_PASS: u32 = 2;
        self.counted(XDP_DROP, XDP_PASS, || {
            self.xdp.test_run(options).expect("the kernel runs it").return_value
        })
    }

    fn run_tc(&self, options: TestRunOptions<'_>) -> Verdict {
        const SHOT: u32 = 2;
        const UNSPEC: u32 = u32::MAX;
        let frame = options.data_in.unwrap_or_default();
        self.counted(SHOT, UNSPEC, || {
            let run = self.tc.test_run(options);
            run.unwrap_or_else(|error| panic!("{error} for {frame:02x?}")).return_value
        })
    }

    fn counted(&self, drop: u32, pass: u32, run: impl FnOnce() -> u32) -> Verdict {
        let before = self.counters();
        let action = run();
        let counted = self.counters().into_iter().zip(before).filter(|(after, before)| after.1 != before.1);
        let outcomes: Vec<Outcome> = counted.map(|(after, _)| after.0).collect();
        match &outcomes[..] {
            [Outcome::Drop(reason)] if action == drop => Verdict::Drop(*reason),
            [Outcome::Pass(reason)] if action == pass => Verdict::Pass(*reason),
            _ => panic!("action {action} for the outcomes {outcomes:?}"),
        }
    }

    fn cannot_cut(&self) -> Option<String> {
        cannot_cut(&self.xdp)
    }

    fn counters(&self) -> Vec<(Outcome, u64)> {
        self.filter.borrow_mut().counters().expect("counters can be read")
    }
}

/// Why this kernel does not let a frame be cut in two, if so. It does since Linux 6.18.
pub fn cannot_cut(program: &Xdp) -> Option<String> {
    let (frame, context) = ([0; 60], context(SHORTEST));
    let options = TestRunOptions { data_in: Some(&frame), ctx_in: Some(&context), ..TestRunOptions::new() };
    let refused = program.test_run(options).err()?;
    let release = filterd::kernel::version::found();
    assert!(filterd::kernel::version::numbers(&release) < Some((6, 18)), "this kernel can: {refused}");
    Some(format!("Linux {release} cannot run a program on a frame in pieces (6.18 can)"))
}

/// The kernel's `xdp_md` of a frame of which so many bytes can be reached at once: `data`, `data_end`, and what is zero.
pub fn context(linear: usize) -> [u8; 24] {
    let mut context = [0; 24];
    context[4..8].copy_from_slice(&(linear as u32).to_ne_bytes());
    context
}

/// Does the kernel run programs of TC on this frame for a test? Not where the IP header ends behind what can be reached.
fn is_for_tc(frame: &[u8], linear: usize) -> bool {
    match frame.get(12..SHORTEST) {
        Some([0x08, 0x00]) => linear >= SHORTEST + 20,
        Some([0x86, 0xdd]) => linear >= SHORTEST + 40,
        _ => true,
    }
}

/// The kernel's `__sk_buff` of such a frame.
fn tc_context(linear: usize) -> [u8; 192] {
    const DATA_END: usize = 80;
    let mut context = [0; 192];
    context[DATA_END..DATA_END + 4].copy_from_slice(&(linear as u32).to_ne_bytes());
    context
}

/// Empty tables, and judges for both hooks.
fn opened(home: &Home) -> Filter {
    let mut filter = Filter::open(home.pins()).expect("root may load programs");
    filter.expect(&[Hook::Xdp, Hook::Tc]).expect("the broker is here");
    filter
}

fn targets(text: &str) -> impl Iterator<Item = Target> {
    let span: Span = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    span.into_iter()
}
