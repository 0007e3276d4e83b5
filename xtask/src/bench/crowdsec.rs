//! `bench crowdsec`: the runner in tests/bench/crowdsec, which needs root. CrowdSec and its bouncer are Debian's packages.

use anyhow::{Result, ensure};
use bpf_build::{process, workspace};
use clap::Args;

use super::overview;
use crate::build::{self, Profile};
use crate::tools::{Tool, Tools, asked, tool};

/// How thoroughly, and for whom.
#[derive(Debug, Args)]
pub struct Crowdsec {
    /// Two minutes' worth at most, less exact; leaves docs/benchmarks alone
    #[arg(long)]
    short: bool,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// What the runner calls.
const TOOLS: [Tool; 5] = [
    asked("ip", "iproute2", "-V"),
    tool("nsenter", "util-linux"),
    tool("setpriv", "util-linux"),
    asked("crowdsec", "crowdsec", "-version"),
    asked("cscli", "crowdsec", "version"),
];

/// What it compares filterd with.
const BOUNCER: [Tool; 2] =
    [asked("crowdsec-firewall-bouncer", "crowdsec-firewall-bouncer", "-V"), tool("nft", "nftables")];

impl Crowdsec {
    /// In the usual or in the short form.
    pub const fn new(short: bool) -> Self {
        Self { short, json: false }
    }

    /// Runs the benchmark. Without the bouncer its rows say why it is missing.
    pub fn run(&self) -> Result<()> {
        ensure!(
            process::is_root(),
            "only root may load programs and make namespaces\n       try it again with sudo"
        );
        let tools = Tools::provide(&TOOLS)?;
        let bouncer = Tools::provide(&BOUNCER);
        let daemon = build::daemon(Profile::Release)?;
        let mut cargo = workspace::cargo();
        // The wrappers of all tools lie in one directory.
        tools.equip(&mut cargo).env("FILTERD_BIN", daemon);
        cargo.args(["bench", "--quiet", "--package", "filterd-tests", "--bench", "crowdsec", "--"]);
        let flags = [("--short", self.short), ("--json", self.json)];
        cargo.args(flags.into_iter().filter_map(|(flag, wanted)| wanted.then_some(flag)));
        if let Err(missing) = bouncer {
            let missing = missing.to_string();
            eprintln!("{missing}");
            cargo.arg("--no-bouncer").arg(missing.lines().next().unwrap_or_default());
        }
        overview::with_page(&mut cargo, "crowdsec", !self.short)
    }
}
