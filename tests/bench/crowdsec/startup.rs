//! How long a program takes from its start until it enforces everything that CrowdSec has decided before.

use std::net::{IpAddr, Ipv4Addr};
use std::thread;
use std::time::{Duration, Instant};

use crate::host::{Host, VOLLEY};
use crate::program::{Program, Setup};

/// So many addresses are banned.
pub const DECISIONS: u32 = 50_000;

/// One address in so many is watched. As soon as all of these are dropped, all others are tried.
const WATCHED: usize = 49;

/// Between two volleys. Without it the packets would take the program's time.
const PAUSE: Duration = Duration::from_millis(5);

/// Nothing takes so long.
const LIMIT: Duration = Duration::from_secs(600);

const PROGRAMS: [Program; 2] = [Program::Filterd, Program::Bouncer];

/// What came out.
#[derive(Debug)]
pub struct Startup {
    /// Of each program, for each start. None if the program was not measured.
    pub programs: Vec<(Program, Option<Vec<f64>>)>,
    /// LAPI's answer with all decisions, which no program can be faster than.
    pub answers: Vec<f64>,
}

/// Measures all programs in turn.
pub fn measure(is_short: bool, has_bouncer: bool) -> Startup {
    let mut startup =
        Startup { programs: PROGRAMS.map(|program| (program, None)).into(), answers: Vec::new() };
    let rounds = if is_short { 1 } else { 3 };
    for round in 0..rounds {
        eprintln!("{DECISIONS} decisions, start {} of {rounds}", round + 1);
        for (program, seconds) in &mut startup.programs {
            if *program == Program::Bouncer && !has_bouncer {
                continue;
            }
            let (answer, start) = measure_start(Setup::default_of(*program));
            startup.answers.push(answer.as_secs_f64());
            seconds.get_or_insert_default().push(start.as_secs_f64());
        }
    }
    startup
}

/// Measures LAPI's answer and one start.
fn measure_start(setup: Setup) -> (Duration, Duration) {
    let mut host = Host::new();
    let banned: Vec<IpAddr> =
        (0..DECISIONS).map(|number| Ipv4Addr::from(0x0a00_0001 + number).into()).collect();
    host.ban(&banned);
    let asked = Instant::now();
    host.lapi().ask_as_bouncer("/v1/decisions/stream?startup=true");
    let answer = asked.elapsed();
    let started = Instant::now();
    host.start(setup);
    wait_until_dropped(&host, banned.iter().copied().step_by(WATCHED).collect());
    let mut dropped = started.elapsed();
    if wait_until_dropped(&host, banned) {
        dropped = started.elapsed();
    }
    (answer, dropped)
}

/// Sends packets from these sources until none arrives. Returns true if at least one did.
fn wait_until_dropped(host: &Host, mut sources: Vec<IpAddr>) -> bool {
    let begun = Instant::now();
    let mut has_arrived = false;
    while !sources.is_empty() {
        let volley = sources.split_off(sources.len().saturating_sub(VOLLEY));
        let arrived = host.arrivals(&volley);
        if !arrived.is_empty() {
            assert!(begun.elapsed() < LIMIT, "{} addresses are not enforced", arrived.len() + sources.len());
            has_arrived = true;
            thread::sleep(PAUSE);
        }
        sources.extend(arrived);
    }
    has_arrived
}
