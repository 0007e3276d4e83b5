//! `test`: the units and the models, then the rings of stories as root, here and on another kernel, and one table of what
//! became of them.

mod failure;
mod model;
pub mod tally;

use std::env;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;

use anyhow::{Context, Result, ensure};
use bpf_build::{compiled, ebpf, process, toolchain, workspace};
use clap::{Args, ValueEnum};

use crate::build::{self, Profile};
use crate::results::{Report, Results};
use crate::tools::{Tool, Tools, asked, helps, tool};
use crate::vm::Vm;

/// What to run, and where.
#[derive(Debug, Default, Args)]
pub struct Test {
    /// Run this ring only, and on this machine only
    #[arg(value_enum)]
    ring: Option<Ring>,
    /// Run the stories on all kernels that filterd is tested on, not just on this machine's and the oldest
    #[arg(long, conflicts_with_all = ["ring", "filter"])]
    every_kernel: bool,
    /// For the test programs themselves, after `--`: names to choose, or flags. With them, this machine's kernel must do
    #[arg(last = true)]
    filter: Vec<OsString>,
}

/// The rings of tests, from the inside out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Ring {
    /// Pure code; needs no root
    Units,
    /// The protocol by which entries move, in all its states; needs no root
    Model,
    /// How the compiled judge loads words; needs no root
    Judge,
    /// The BPF programs on crafted frames, in the kernel
    Program,
    /// A running daemon between network namespaces
    Network,
    /// What filterd answers to odd inputs, word by word
    #[value(name = "odd_inputs")]
    OddInputs,
    /// The stories that go on for long, in short
    Soak,
    /// Every combination of settings before the verifier, with and without CAP_PERFMON
    Verifier,
}

/// What stories call.
pub const TOOLS: [Tool; 17] = [
    asked("ip", "iproute2", "-V"),
    asked("ss", "iproute2", "-V"),
    tool("nsenter", "util-linux"),
    tool("setpriv", "util-linux"),
    tool("timeout", "coreutils"),
    asked("bpftool", "bpftool", "version"),
    tool("strace", "strace"),
    asked("tc", "iproute2", "-V"),
    asked("nginx", "nginx", "-v"),
    tool("ipset", "ipset"),
    tool("nft", "nftables"),
    helps("xdp-filter", "xdp-tools", "Usage: xdp-filter"),
    helps("xdp-loader", "xdp-tools", "Usage: xdp-loader"),
    tool("promtool", "prometheus"),
    tool("prometheus", "prometheus"),
    tool("tcpdump", "tcpdump"),
    asked("python3", "python3", "-c __import__('json'),__import__('socket')"),
];

/// What one story of the network ring calls: 119 MB, or 353 MB unpacked. The others are told without it.
const BROWSER: Tool = asked("chromium-headless-shell", "chromium-headless-shell", "--dump-dom about:blank");

/// What the stories of `fail2ban` call. The others are told without it.
const FAIL2BAN: [Tool; 2] = [tool("fail2ban-server", "fail2ban"), tool("fail2ban-client", "fail2ban")];

/// How cargo names the package that has the stories.
const STORIES: [&str; 3] = ["--release", "--package", "filterd-tests"];

/// Tells test programs how many tests to run at a time.
const THREADS: &str = "RUST_TEST_THREADS";

/// Tells stories that go on for long where the programs lie that they send and count frames with.
pub const SOAK_OBJECT: &str = "FILTERD_SOAK_OBJECT";

/// Shells whose completions are asked for beside bash's. The others are told without them.
const SHELLS: [Tool; 2] = [tool("zsh", "zsh"), tool("fish", "fish")];

const RINGS: [Ring; 8] = [
    Ring::Units,
    Ring::Model,
    Ring::Judge,
    Ring::Program,
    Ring::Network,
    Ring::OddInputs,
    Ring::Soak,
    Ring::Verifier,
];

/// The rings that are about the objects alone.
const ON_OBJECTS: [Ring; 3] = [Ring::Judge, Ring::Program, Ring::Verifier];

/// Which BPF objects the tests are linked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Objects {
    /// Those that come with the source, if they are of it.
    AsTheyCome,
    Fresh,
}

impl Ring {
    fn name(self) -> &'static str {
        match self {
            Self::Units => "units",
            Self::Model => "model",
            Self::Judge | Self::Program | Self::Network | Self::OddInputs | Self::Soak | Self::Verifier => {
                self.stories().unwrap_or_default()
            }
        }
    }

    /// The test program; the units are what the manifest calls its default members, and models are no program of ours.
    fn stories(self) -> Option<&'static str> {
        match self {
            Self::Units | Self::Model => None,
            Self::Judge => Some("judge"),
            Self::Program => Some("program"),
            Self::Network => Some("network"),
            Self::OddInputs => Some("odd_inputs"),
            Self::Soak => Some("soak"),
            Self::Verifier => Some("verifier"),
        }
    }

    /// Does it run filterd, as root?
    fn needs_daemon(self) -> bool {
        match self {
            Self::Units | Self::Model | Self::Judge => false,
            Self::Program | Self::Network | Self::OddInputs | Self::Soak | Self::Verifier => true,
        }
    }

    /// What it calls.
    fn tools(self) -> &'static [Tool] {
        match self {
            Self::Units | Self::Judge => &[],
            Self::Model => &model::TOOLS,
            Self::Program | Self::Verifier => &TOOLS[..1],
            Self::Network | Self::OddInputs | Self::Soak => &TOOLS,
        }
    }
}

impl Test {
    /// Runs a ring, or all of them, and prints the table.
    pub fn run(&self) -> Result<ExitCode> {
        let mut results = Results::default();
        results.add(self.here()?);
        if self.ring.is_none() && self.filter.is_empty() {
            let vm = if self.every_kernel { Vm::every() } else { Vm::oldest() };
            vm.test_where_it_can(&mut results);
        }
        Ok(results.tell())
    }

    /// On this machine.
    fn here(&self) -> Result<Report> {
        let rings = self.ring.map_or(RINGS.to_vec(), |ring| vec![ring]);
        let fresh = if rings == RINGS { on_fresh_objects()? } else { Vec::new() };
        // First, lest somebody without root wait for the units only to be told so.
        let daemon = rings.iter().any(|ring| ring.needs_daemon()).then(daemon).transpose()?;
        let mut report = report()?;
        for &ring in &rings {
            self.tell(ring, Objects::AsTheyCome, daemon.as_deref(), &mut report);
        }
        for ring in fresh {
            self.tell(ring, Objects::Fresh, daemon.as_deref(), &mut report);
        }
        Ok(report)
    }

    /// Runs one ring. Whatever becomes of it, the next one runs.
    fn tell(&self, ring: Ring, objects: Objects, daemon: Option<&Path>, report: &mut Report) {
        let tools = match Tools::provide(ring.tools()) {
            Ok(tools) => tools,
            Err(missing) => return report.lack(ring.name(), &missing),
        };
        if ring == Ring::Network {
            for (stories, tools) in [
                ("the page in a browser", &[BROWSER][..]),
                ("bans of fail2ban", &FAIL2BAN),
                ("completions of zsh and fish", &SHELLS),
            ] {
                let _ = Tools::provide(tools).map_err(|missing| report.lack(stories, &missing));
            }
        }
        let name = match objects {
            Objects::AsTheyCome => ring.name().to_owned(),
            Objects::Fresh => format!("{} of fresh objects", ring.name()),
        };
        report.begin(&name);
        let told = match ring {
            Ring::Model => model::run(&tools, &self.filter, report),
            Ring::Units
            | Ring::Judge
            | Ring::Program
            | Ring::Network
            | Ring::OddInputs
            | Ring::Soak
            | Ring::Verifier => command(ring, objects, daemon, &tools)
                .and_then(|mut cargo| listen(cargo.args(&self.filter), report)),
        };
        told.unwrap_or_else(|error| report.fail(&name, &error));
    }
}

/// The rings that are told of fresh objects, too: where others are compiled than come with the source, both must be right.
fn on_fresh_objects() -> Result<Vec<Ring>> {
    let are_the_same = compiled::are_made_here(&toolchain::ensure()?)?;
    Ok(if are_the_same { Vec::new() } else { ON_OBJECTS.into() })
}

fn command(ring: Ring, objects: Objects, daemon: Option<&Path>, tools: &Tools) -> Result<Command> {
    let mut cargo = workspace::cargo();
    if objects == Objects::Fresh {
        cargo.env(compiled::CHOICE, compiled::FRESH);
    }
    tools.equip(&mut cargo);
    cargo.args(["test", "--no-fail-fast"]);
    cargo.envs(daemon.map(|daemon| ("FILTERD_BIN", daemon)));
    match ring.stories() {
        None => cargo.arg("--"),
        // Of the parts that the daemon is built of already, and as guests are given them. A story that skips itself says so
        // on its output, which is shown only on request.
        Some(stories) => cargo.args(STORIES).args(["--test", stories, "--", "--show-output"]),
    };
    if ring == Ring::Network {
        // Three quarters of what they do is wait.
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let threads = env::var_os(THREADS).unwrap_or_else(|| (3 * processors).to_string().into());
        cargo.env(THREADS, threads);
    }
    if ring == Ring::Soak {
        // Each wants the machine for itself.
        cargo.arg("--test-threads=1").env(SOAK_OBJECT, ebpf::build_soak(&toolchain::ensure()?)?);
    }
    Ok(cargo)
}

/// What stories need beside themselves: root, and the daemon.
fn daemon() -> Result<PathBuf> {
    ensure!(
        process::is_root(),
        "the stories of programs and networks need root\n       try `cargo xtask test units`, or all as root: sudo env \"PATH=$PATH\" \"HOME=$HOME\" cargo xtask test"
    );
    build::daemon(Profile::Release)
}

/// Runs one test program here, and prints what became of it.
pub fn tell(stage: &str, cargo: &mut Command) -> Result<ExitCode> {
    let (mut results, mut report) = (Results::default(), report()?);
    report.begin(stage);
    listen(cargo, &mut report)?;
    results.add(report);
    Ok(results.tell())
}

/// This machine's, with nothing in it yet.
fn report() -> Result<Report> {
    let uname = nix::sys::utsname::uname().context("cannot ask the kernel for its name")?;
    Ok(Report::new(format!("Linux {} (this machine)", uname.release().to_string_lossy())))
}

/// Runs tests, shows what they print, and counts it.
fn listen(cargo: &mut Command, report: &mut Report) -> Result<()> {
    eprintln!("$ {}", process::line(cargo));
    let mut tests = cargo.stdout(Stdio::piped()).spawn().context("cannot start the tests")?;
    let output = tests.stdout.take().context("the tests have no output")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("cannot read what the tests print")?;
        report.read(&String::from_utf8_lossy(&line));
    }
    let status = tests.wait().context("cannot wait for the tests")?;
    report.end(status.success());
    Ok(())
}
