//! What came out, as a page.

use std::fs;

use filterd_measure::figures::Figures;
use filterd_measure::machine;
use filterd_measure::tables::Table;
use pages::page::{Chapter, Page};

use crate::delay::{Delay, Delays};
use crate::program::Program;
use crate::startup::Startup;

/// All of it.
#[derive(Debug)]
pub struct Outcome {
    pub delays: Vec<Delays>,
    pub startup: Startup,
    /// Why there is no bouncer, if there is none.
    pub no_bouncer: Option<String>,
}

/// The page.
pub fn page(outcome: &Outcome) -> Page {
    Page {
        title: "Decisions of CrowdSec".to_owned(),
        command: "cargo xtask bench crowdsec".to_owned(),
        machine: machine::describe(),
        method: format!(
            "Each program protects a host of its own with a LAPI on it. The hosts take turns. A decision is \
             posted to LAPI at a random moment between two requests of the program. Meanwhile a packet from \
             that address arrives about every millisecond. A packet counts as arrived if a UDP socket on the \
             host receives it. The firewall bouncer is crowdsec-firewall-bouncer. It has Debian's configuration \
             without metrics, and fills sets of nftables. LAPI and the bouncer are packages of {}. filterd is \
             the release build.",
            system()
        ),
        chapters: vec![
            Chapter::of(
                "One decision",
                "From LAPI's answer to the machine that reported the decision, to the last packet that arrives. \
                 The time in a program's name is that between two requests to LAPI, `update_frequency`. With so \
                 few decisions, the 99th percentile is the slowest one. A decision is `lost` if it is not \
                 enforced within a minute.",
                delays(outcome),
            ),
            Chapter::of(
                "50,000 decisions at the start",
                "From the start of the program until packets from all 50,000 IPv4 addresses are dropped. LAPI had \
                 these decisions before. The last row is a client that only reads LAPI's answer.",
                startup(outcome),
            ),
        ],
    }
}

fn delays(outcome: &Outcome) -> Table {
    let row = |delays: &Delays| {
        let name = delays.setup.name();
        let Some(sorted) = &delays.sorted else { return outcome.missing(&name, 4) };
        let percentile = |percent| milliseconds(percentile(sorted, percent));
        vec![name, sorted.len().to_string(), percentile(50), percentile(99)]
    };
    Table {
        title: "Milliseconds from a decision to the drop".to_owned(),
        heads: ["program", "decisions", "p50", "p99"].map(str::to_owned).into(),
        rows: outcome.delays.iter().map(row).collect(),
    }
}

fn startup(outcome: &Outcome) -> Table {
    let row = |name: &str, seconds: &[f64]| {
        let slowest = seconds.iter().copied().fold(0.0, f64::max);
        let median = Figures::of(seconds.to_vec()).median;
        vec![name.to_owned(), seconds.len().to_string(), format!("{median:.2}"), format!("{slowest:.2}")]
    };
    let measured = |(program, seconds): &(Program, Option<Vec<f64>>)| match seconds {
        Some(seconds) => row(program.name(), seconds),
        None => outcome.missing(program.name(), 4),
    };
    let mut rows: Vec<_> = outcome.startup.programs.iter().map(measured).collect();
    rows.push(row("LAPI's answer alone", &outcome.startup.answers));
    Table {
        title: "Seconds until 50,000 decisions are enforced".to_owned(),
        heads: ["program", "starts", "median", "slowest"].map(str::to_owned).into(),
        rows,
    }
}

impl Outcome {
    /// A row of so many cells that says why it has no figures.
    fn missing(&self, name: &str, cells: usize) -> Vec<String> {
        let reason = self.no_bouncer.as_deref().unwrap_or("not measured");
        let mut row = vec![format!("{name}: {reason}")];
        row.resize(cells, String::new());
        row
    }
}

/// By nearest rank.
fn percentile(sorted: &[Delay], percent: usize) -> Delay {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted[rank.max(1) - 1]
}

fn milliseconds(delay: Delay) -> String {
    match delay {
        Delay::Dropped(took) => took.as_millis().to_string(),
        Delay::Lost => "lost".to_owned(),
    }
}

/// The system's name, as it says itself.
fn system() -> String {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or("an unknown system").trim_matches('"').to_owned()
}
