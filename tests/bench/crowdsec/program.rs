//! The programs that are compared, and how they follow a LAPI.

use std::fs::File;
use std::process::{Child, Stdio};
use std::time::Duration;

use harness::Net;
use harness::lapi::{KEY, Lapi};
use harness::limited::LimitedChild;

/// The bouncer's program.
const BOUNCER: &str = "crowdsec-firewall-bouncer";

/// A program that enforces LAPI's decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Filterd,
    /// Debian's crowdsec-firewall-bouncer, which fills sets of nftables.
    Bouncer,
}

/// A program, and how often it asks LAPI for changes.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub program: Program,
    pub frequency: Frequency,
}

/// The time between two requests.
#[derive(Clone, Copy, Debug)]
pub enum Frequency {
    /// What the program does if nobody configures it.
    Default,
    Milliseconds(u64),
}

/// A bouncer that runs; killed when dropped. Its tables go with the namespace.
#[derive(Debug)]
pub struct Bouncer(Child);

impl Program {
    /// As rows of tables name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Filterd => "filterd",
            Self::Bouncer => "firewall bouncer",
        }
    }
}

impl Setup {
    /// As it is without configuration.
    pub const fn default_of(program: Program) -> Self {
        Self { program, frequency: Frequency::Default }
    }

    /// As a row of a table names it.
    pub fn name(self) -> String {
        let (name, period) = (self.program.name(), self.period().as_millis());
        let period = if period < 1000 { format!("{period} ms") } else { format!("{} s", period / 1000) };
        let default = if matches!(self.frequency, Frequency::Default) { " (default)" } else { "" };
        format!("{name}, {period}{default}")
    }

    /// The time between two requests.
    pub fn period(self) -> Duration {
        Duration::from_millis(match (self.frequency, self.program) {
            (Frequency::Milliseconds(milliseconds), _) => milliseconds,
            // On the host of LAPI.
            (Frequency::Default, Program::Filterd) => 1000,
            // In the configuration of Debian's package.
            (Frequency::Default, Program::Bouncer) => 10_000,
        })
    }

    /// Starts it on this host. The bouncer is returned, filterd belongs to the net.
    pub fn start(self, net: &mut Net, lapi: &Lapi) -> Option<Bouncer> {
        match self.program {
            Program::Filterd => {
                net.start(&self.configured_filterd(lapi));
                None
            }
            Program::Bouncer => Some(Bouncer::start(net, &self.configured_bouncer(net, lapi))),
        }
    }

    fn configured_filterd(self, lapi: &Lapi) -> String {
        let frequency = match self.frequency {
            Frequency::Default => String::new(),
            Frequency::Milliseconds(milliseconds) => format!(", update_frequency: {milliseconds}ms"),
        };
        let (url, key) = (lapi.url(), lapi.key());
        format!("crowdsec: {{api_url: '{url}', api_key: {{file: '{}'}}{frequency}}}", key.display())
    }

    /// Debian's configuration but for its places and its metrics.
    fn configured_bouncer(self, net: &Net, lapi: &Lapi) -> String {
        let (home, url, period) = (net.home().path(""), lapi.url(), self.period().as_millis());
        let home = home.display();
        format!(
            "\
mode: nftables
pid_dir: {home}
update_frequency: {period}ms
daemonize: false
log_mode: stdout
log_dir: {home}
log_level: info
api_url: {url}/
api_key: {KEY}
disable_ipv6: false
deny_action: DROP
deny_log: false
supported_decisions_types: [ban]
blacklists_ipv4: crowdsec-blacklists
blacklists_ipv6: crowdsec6-blacklists
nftables:
  ipv4: {{enabled: true, set-only: false, table: crowdsec, chain: crowdsec-chain}}
  ipv6: {{enabled: true, set-only: false, table: crowdsec6, chain: crowdsec6-chain}}
prometheus: {{enabled: false}}
"
        )
    }
}

impl Bouncer {
    fn start(net: &Net, configuration: &str) -> Self {
        let file = net.home().write("bouncer.yaml", configuration);
        let log = File::create(net.home().path("bouncer.log")).expect("a home can be written");
        let also = log.try_clone().expect("a file can be shared");
        let mut command = net.host().command("setpriv");
        // A benchmark that is killed takes it along.
        command.args(["--pdeathsig", "KILL", "--", BOUNCER, "-c"]).arg(file);
        let command = command.stdin(Stdio::null()).stdout(log).stderr(also);
        Self(command.spawn().expect("nsenter can be run"))
    }
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.limited_wait();
    }
}
