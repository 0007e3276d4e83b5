//! The layers of tests, from the inside out: what each proves, what it calls, and at what pace it runs.

use std::thread;
use std::time::Duration;

use clap::ValueEnum;

use super::model;
use super::runner::Pace;
use crate::tools::{Tool, asked, helps, tool};

/// The layers of tests on this machine, in the order in which they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Layer {
    /// Pure code. Needs no root
    Units,
    /// What commands print, rendered from replies. Needs no root
    Wording,
    /// The protocol by which entries move, in all its states. Needs no root
    Model,
    /// How the compiled judge loads words. Needs no root
    Judge,
    /// The BPF programs on crafted frames, in the kernel
    Program,
    /// A running daemon between network namespaces
    Network,
    /// What filterd answers to odd inputs, word by word
    #[value(name = "odd_inputs")]
    OddInputs,
    /// Long runs, in short
    Soak,
    /// Every combination of settings before the verifier, with and without CAP_PERFMON
    Verifier,
}

/// All layers, in order.
pub const LAYERS: [Layer; 9] = [
    Layer::Units,
    Layer::Wording,
    Layer::Model,
    Layer::Judge,
    Layer::Program,
    Layer::Network,
    Layer::OddInputs,
    Layer::Soak,
    Layer::Verifier,
];

/// The layers that depend on the BPF objects alone.
pub const ON_OBJECTS: [Layer; 3] = [Layer::Judge, Layer::Program, Layer::Verifier];

/// The unit tests that are the layer of wording.
pub const WORDING: &str = "command::tests::wording";

/// The soaks that a newcomer's run includes. `--all` runs every one.
pub const SHORT_SOAKS: [&str; 3] = ["moves::", "kill::", "life::"];

/// What tests call.
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

/// What some tests of the network layer call. Without them the others run.
pub const OPTIONAL: [(&str, &[Tool]); 4] = [
    // 119 MB, or 353 MB unpacked.
    (
        "the page in a browser",
        &[asked("chromium-headless-shell", "chromium-headless-shell", "--dump-dom about:blank")],
    ),
    ("bans of fail2ban", &[tool("fail2ban-server", "fail2ban"), tool("fail2ban-client", "fail2ban")]),
    // 39 MB, or 135 MB unpacked, and never installed: its installation registers the machine with CrowdSec.
    (
        "decisions of CrowdSec",
        &[asked("crowdsec", "crowdsec", "-version"), asked("cscli", "crowdsec", "version")],
    ),
    ("completions of zsh and fish", &[tool("zsh", "zsh"), tool("fish", "fish")]),
];

/// The time after which a test is killed, unless its layer declares another.
const LIMIT: Duration = Duration::from_secs(300);

/// Tests that declare a limit of their own. They are models or soaks by nature, and stand beside what they share code with.
pub const SLOW: [(&str, Duration); 5] = [
    ("daemon::guard::tests::guarded_are_never_dropped_and_diff_names_cuts", MODEL_LIMIT),
    ("kernel::tests::refusals_never_change_verdicts", MODEL_LIMIT),
    ("pages::damaged_pages_never_invent_rows", MODEL_LIMIT),
    ("fail2ban::restart_with_thousands_of_bans_unblocks_none", MODEL_LIMIT),
    ("pages::flush_of_two_million_delays_no_one", MODEL_LIMIT),
];

/// Thousands of random stories, processes or grace periods.
const MODEL_LIMIT: Duration = Duration::from_secs(480);

/// A soak runs longer than any other test, also in short.
const SOAK_LIMIT: Duration = Duration::from_secs(600);

/// The verifier walks through hundreds of judges in one test.
const VERIFIER_LIMIT: Duration = Duration::from_secs(600);

impl Layer {
    pub fn name(self) -> &'static str {
        match self {
            Self::Units => "units",
            Self::Wording => "wording",
            Self::Model => "model",
            Self::Judge => "judge",
            Self::Program => "program",
            Self::Network => "network",
            Self::OddInputs => "odd_inputs",
            Self::Soak => "soak",
            Self::Verifier => "verifier",
        }
    }

    /// Does it need root, and the daemon?
    pub fn needs_root(self) -> bool {
        match self {
            Self::Units | Self::Wording | Self::Model | Self::Judge => false,
            Self::Program | Self::Network | Self::OddInputs | Self::Soak | Self::Verifier => true,
        }
    }

    /// What it calls.
    pub fn tools(self) -> &'static [Tool] {
        match self {
            Self::Units | Self::Wording | Self::Judge => &[],
            Self::Model => &model::TOOLS,
            Self::Program | Self::Verifier => &TOOLS[..1],
            Self::Network | Self::OddInputs | Self::Soak => &TOOLS,
        }
    }

    pub fn pace(self) -> Pace {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        match self {
            Self::Units | Self::Wording | Self::Model | Self::Judge | Self::Program => {
                Pace { jobs: processors, limit: LIMIT }
            }
            // Most of what they do is wait.
            Self::Network | Self::OddInputs => Pace { jobs: 2 * processors, limit: LIMIT },
            Self::Soak => Pace { jobs: 1, limit: SOAK_LIMIT },
            Self::Verifier => Pace { jobs: processors, limit: VERIFIER_LIMIT },
        }
    }

    /// Which tests of its programs belong to it?
    pub fn has(self, test: &str) -> bool {
        match self {
            Self::Units => !test.starts_with(WORDING),
            Self::Wording => test.starts_with(WORDING),
            Self::Model
            | Self::Judge
            | Self::Program
            | Self::Network
            | Self::OddInputs
            | Self::Soak
            | Self::Verifier => true,
        }
    }
}
