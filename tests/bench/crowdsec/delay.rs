//! How long the packets of one source still arrive after CrowdSec decided to ban it.

use std::net::{IpAddr, Ipv4Addr};
use std::thread;
use std::time::{Duration, Instant};

use harness::Random;

use crate::host::Host;
use crate::program::{Frequency, Program, Setup};

/// Between two packets.
const PAUSE: Duration = Duration::from_millis(1);

/// A decision that is not enforced within this time counts as lost.
const LIMIT: Duration = Duration::from_secs(60);

const SETUPS: [Setup; 4] = [
    Setup::default_of(Program::Filterd),
    Setup { program: Program::Filterd, frequency: Frequency::Milliseconds(250) },
    Setup { program: Program::Bouncer, frequency: Frequency::Milliseconds(1000) },
    Setup::default_of(Program::Bouncer),
];

/// How long it took with one setup.
#[derive(Debug)]
pub struct Delays {
    pub setup: Setup,
    /// One for each decision, the shortest first. None if the setup was not measured.
    pub sorted: Option<Vec<Delay>>,
}

/// From LAPI's answer to the last packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Delay {
    Dropped(Duration),
    /// Packets still arrived after [`LIMIT`].
    Lost,
}

/// A host, and the addresses that can still be banned on it.
struct Contender {
    host: Host,
    setup: Setup,
    delays: Vec<Delay>,
}

/// Measures all setups in turn.
pub fn measure(is_short: bool, has_bouncer: bool) -> Vec<Delays> {
    let is_measured = |setup: &Setup| has_bouncer || setup.program != Program::Bouncer;
    let mut contenders: Vec<_> = SETUPS.into_iter().filter(is_measured).map(Contender::begin).collect();
    let mut random = Random(43);
    let decisions = SETUPS.map(|setup| decisions(setup, is_short)).into_iter().max().unwrap_or(0);
    for round in 0..decisions {
        eprint!("\rdecision {} of {decisions}", round + 1);
        for contender in contenders.iter_mut().filter(|one| round < decisions_of(one, is_short)) {
            contender.decide(&mut random);
        }
    }
    eprintln!();
    let mut measured = contenders.into_iter().map(Contender::end);
    let delays =
        |setup: Setup| Delays { setup, sorted: if is_measured(&setup) { measured.next() } else { None } };
    SETUPS.map(delays).into()
}

fn decisions_of(contender: &Contender, is_short: bool) -> usize {
    decisions(contender.setup, is_short)
}

/// How many decisions are made: fewer where each of them takes ten seconds.
fn decisions(setup: Setup, is_short: bool) -> usize {
    match (setup.period() > Duration::from_secs(1), is_short) {
        (false, false) => 40,
        (false, true) => 10,
        (true, false) => 12,
        (true, true) => 3,
    }
}

impl Contender {
    /// Starts it, and waits until a first decision is enforced.
    fn begin(setup: Setup) -> Self {
        let mut host = Host::new();
        host.start(setup);
        let first = delay(&host, address(0));
        assert!(first != Delay::Lost, "{} enforces nothing", setup.name());
        Self { host, setup, delays: Vec::new() }
    }

    /// Measures one decision at a random moment between two requests.
    fn decide(&mut self, random: &mut Random) {
        let period = self.setup.period().as_millis() as usize;
        thread::sleep(Duration::from_millis(random.below(period) as u64));
        self.delays.push(delay(&self.host, address(self.delays.len() + 1)));
    }

    fn end(mut self) -> Vec<Delay> {
        self.delays.sort();
        self.delays
    }
}

fn delay(host: &Host, source: IpAddr) -> Delay {
    assert!(!host.arrivals(&[source]).is_empty(), "{source} is banned too early");
    host.ban(&[source]);
    let decided = Instant::now();
    let mut last = decided;
    while decided.elapsed() < LIMIT {
        let sent = Instant::now();
        if host.arrivals(&[source]).is_empty() {
            return Delay::Dropped(last.duration_since(decided));
        }
        last = sent;
        thread::sleep(PAUSE);
    }
    Delay::Lost
}

fn address(number: usize) -> IpAddr {
    Ipv4Addr::from(0x0a00_0001 + number as u32).into()
}
