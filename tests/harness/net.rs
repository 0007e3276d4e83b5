//! Two namespaces and the links between them: a host with its filterd, and a peer who attacks it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, HOST, HOST6};
use crate::{Daemon, Expectation, Frame, Home, Namespace, Reply, Wire, home, leftovers};

const HOST_MAC: &str = "02:00:00:00:00:01";
const PEER_MAC: &str = "02:00:00:00:00:02";
/// Where the host sends what is for neither of its own networks: the peer.
const GATEWAY: &str = "192.0.2.254";
const GATEWAY6: &str = "2001:db8::fe";
/// No link takes so long to come up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A host and a peer. Everything in it is unique on the machine and gone when it is dropped.
#[derive(Debug)]
pub struct Net {
    // The fields are dropped in this order: the daemon goes before what it stands on.
    daemon: Option<Daemon>,
    home: Home,
    wire: Wire,
    host: Namespace,
    peer: Namespace,
}

/// Making one.
impl Net {
    /// One link, `eth0` on both ends, and no filterd yet.
    pub fn new() -> Self {
        Self::with_links(1)
    }

    /// Links `eth0`, `eth1`, …, and no filterd yet. Only `eth0` has addresses.
    pub fn with_links(links: usize) -> Self {
        let home = Home::new();
        let name = leftovers::unique_name();
        let host = Namespace::new(format!("{name}-host"));
        let peer = Namespace::new(format!("{name}-peer"));
        let joined: String = (0..links).map(|link| join(link, &peer)).collect();
        let raised: String = (0..links).map(|link| format!("link set eth{link} up\n")).collect();
        host.ip_all(&(joined + &raised + &settled(HOST, HOST6, PEER_MAC)));
        peer.ip_all(&(raised + &settled(GATEWAY, GATEWAY6, HOST_MAC) + &visitors()));
        let wire = Wire::new(&host, &peer, links);
        Self { daemon: None, home, wire, host, peer }
    }

    /// One link, and a filterd with this configuration on `eth0`.
    #[track_caller]
    pub fn with_filterd(config: &str) -> Self {
        let mut net = Self::new();
        net.start(config);
        net
    }

    /// Takes hold of links that were made anew.
    pub fn with_a_new_wire(mut self) -> Self {
        self.wire = Wire::new(&self.host, &self.peer, 1);
        self
    }

    /// Frames of so many bytes fit through `eth0`.
    pub fn mtu(self, bytes: usize) -> Self {
        self.host.ip(&format!("link set eth0 mtu {bytes}"));
        self.peer.ip(&format!("link set eth0 mtu {bytes}"));
        self
    }
}

/// The life of its filterd.
impl Net {
    /// Starts filterd with this configuration; on `eth0` if it names no interfaces.
    #[track_caller]
    pub fn start(&mut self, config: &str) {
        self.start_with(config, &[]);
    }

    /// Starts filterd with this configuration and these further arguments.
    #[track_caller]
    pub fn start_with(&mut self, config: &str, arguments: &[&str]) {
        let mut command = self.command(config, arguments);
        self.daemon = Some(self.host.entered(|| Daemon::start(&mut command, &self.home)));
    }

    /// To be started by whoever has entered the host.
    fn command(&self, config: &str, arguments: &[&str]) -> Command {
        // A test run that is killed takes its daemons with it.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(home::binary());
        let mut own = daemon_arguments(&self.home, config);
        if arguments.contains(&"--user") {
            own = without(own, &["--user"]);
        }
        command.args(own).args(arguments);
        command
    }

    /// The words with which filterd is started for this configuration.
    pub fn arguments(&self, config: &str) -> Vec<String> {
        daemon_arguments(&self.home, config)
    }

    /// Starts one more filterd, with a home of its own, that is not expected to live: how does it end?
    pub fn another_filterd(&self, config: &str) -> Reply {
        self.another_filterd_with(config, &[])
    }

    /// The same with these further arguments, which count more than its own.
    pub fn another_filterd_with(&self, config: &str, arguments: &[&str]) -> Reply {
        let home = Home::new();
        let own = without(daemon_arguments(&home, config), arguments);
        let mut command = Command::new("timeout");
        command.args(["--signal=KILL", "30"]).arg(home::binary());
        self.host.entered(|| Reply::of(command.args(own).args(arguments).env("NO_COLOR", "1")))
    }

    /// Starts another filterd that takes the place of the running one.
    #[track_caller]
    pub fn succeed(&mut self, config: &str) {
        let before = self.daemon.take().expect("a filterd is running");
        let home = &self.home;
        let mut command = self.command(config, &["--take-over"]);
        let mut daemon = self.host.entered(|| Daemon::spawn(&mut command, home));
        let ours = format!("\"pid\":{}}}", daemon.id());
        daemon.wait_for("it does not take over", || {
            home.filterd(["ping", "--json"]).output.contains(&ours).then_some(())
        });
        self.daemon = Some(daemon);
        assert!(before.wait().success(), "the one before ends well");
    }

    /// Starts two filterds at once, each of which is to take the place of the running one, and waits until one of the three
    /// is left. How does the one of the two end that is not?
    #[track_caller]
    pub fn succeed_by_either_of_two(&mut self, config: &str) -> ExitStatus {
        let before = self.daemon.take().expect("a filterd is running");
        let start = || {
            let mut command = self.command(config, &["--take-over"]);
            self.host.entered(|| Daemon::spawn(&mut command, &self.home))
        };
        let (one, other) = (start(), start());
        let begun = Instant::now();
        while one.is_running() && other.is_running() {
            assert!(begun.elapsed() < PATIENCE, "both go on; their log:\n{}", one.log());
            thread::sleep(Duration::from_millis(2));
        }
        assert!(before.wait().success(), "the one before ends well");
        let (mut left, gone) = if one.is_running() { (one, other) } else { (other, one) };
        let (home, ours) = (&self.home, format!("\"pid\":{}}}", left.id()));
        left.wait_for("it does not take over", || {
            home.filterd(["ping", "--json"]).output.contains(&ours).then_some(())
        });
        self.daemon = Some(left);
        gone.wait()
    }

    /// Starts another filterd that is to take the place of the running one, and is not expected to: how does it end?
    pub fn failing_succession(&self, config: &str, arguments: &[&str]) -> Reply {
        let own = without(daemon_arguments(&self.home, config), arguments);
        let mut command = self.host.command("timeout");
        command.args(["--signal=KILL", "60"]).arg(home::binary()).args(own).args(arguments);
        Reply::of(command.arg("--take-over").env("NO_COLOR", "1"))
    }

    /// Lets another filterd take the place of the running one, which is to be done away with at a moment in strace's words:
    /// `bpf:signal=KILL:when=3`. Sees to it all the time that nothing from `blocked` arrives. Does the one before go on?
    #[track_caller]
    pub fn succession_struck_down(&mut self, config: &str, moment: &str, blocked: &str) -> bool {
        let call = moment.split(':').next().expect("it begins with a call");
        let own = daemon_arguments(&self.home, config);
        let mut command = self.host.command("setpriv");
        command.args(["--pdeathsig", "KILL", "strace", "-f", "-qqq", "-o", "/dev/null"]);
        command.args(["-e", &format!("trace={call}"), "-e", &format!("inject={moment}")]);
        command.arg(home::binary()).args(own).arg("--take-over");
        let newcomer = Daemon::spawn(&mut command, &self.home);
        while newcomer.is_running() && self.daemon().is_running() {
            self.expect(blocked).dropped();
        }
        // One that has not met its moment by now has done all it had to.
        let goes_on = self.daemon().is_running();
        if !goes_on {
            let before = self.daemon.take().expect("a filterd was running");
            assert!(before.wait().success(), "the one before ends well");
        }
        drop(newcomer);
        goes_on
    }

    /// Lets every user of the machine read what is in its home.
    pub fn readable_by_all(&self) {
        self.home.readable_by_all();
    }

    /// Waits until filterd has written this.
    #[track_caller]
    pub fn wait_for_log(&mut self, words: &str) {
        let daemon = self.daemon.as_mut().expect("a filterd is running");
        daemon.wait_for_log(words);
    }

    /// Forgets what it has written so far.
    pub fn forget_log(&mut self) {
        self.daemon.as_mut().expect("a filterd is running").forget_log();
    }

    /// Ends filterd the way systemd does.
    #[track_caller]
    pub fn stop(&mut self) -> ExitStatus {
        self.end(Signal::SIGTERM)
    }

    /// Asks filterd to end, and starts the next one in the moment in which its socket is gone.
    #[track_caller]
    pub fn stop_and_start_at_once(&mut self, config: &str) {
        let before = self.daemon.take().expect("a filterd is running");
        let mut command = self.command(config, &[]);
        before.signal(Signal::SIGTERM);
        let mut after = self.host.entered(|| Daemon::spawn(&mut command, &self.home));
        after.forget_log();
        assert!(before.wait().success(), "the one before ends well");
        after.wait_for_log("ready: ");
        self.daemon = Some(after);
    }

    /// Ends filterd with this signal, and waits for its end.
    #[track_caller]
    pub fn end(&mut self, signal: Signal) -> ExitStatus {
        self.daemon.take().expect("a filterd is running").end(signal)
    }

    /// Waits until filterd ends by itself: how, and what had it written?
    #[track_caller]
    pub fn wait_for_the_end(&mut self) -> (ExitStatus, String) {
        let daemon = self.daemon.take().expect("a filterd is running");
        let log = self.home.path("log");
        (daemon.wait(), std::fs::read_to_string(log).expect("it has a log"))
    }

    /// The running filterd.
    pub fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().expect("a filterd is running")
    }

    /// The places of the running filterd.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Writes a file beside the configuration, where that can name it `$HOME/name`.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        self.home.write(name, text)
    }

    /// Writes the configuration anew; filterd hears of it by a reload.
    pub fn configure(&self, config: &str) {
        self.home.write("filterd.yaml", said(config));
    }
}

/// What a story asks.
impl Net {
    /// Runs a verb.
    pub fn filterd(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Reply {
        self.home.filterd(words)
    }

    /// Runs a verb with this on its standard input.
    pub fn filterd_reading(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>, input: &str) -> Reply {
        self.home.filterd_reading(words, input)
    }

    /// What becomes of the next such frame on `eth0`?
    #[must_use = "say what becomes of it: dropped() or passes()"]
    pub fn expect(&self, frame: impl Into<Frame>) -> Expectation<'_> {
        self.expect_each([frame])
    }

    /// What becomes of each of these frames on `eth0`?
    #[must_use = "say what becomes of them: dropped() or passes()"]
    pub fn expect_each(&self, frames: impl IntoIterator<Item = impl Into<Frame>>) -> Expectation<'_> {
        Expectation::new(self, frames.into_iter().map(Into::into).collect())
    }

    /// Sends a packet from each of these sources; which of them arrived?
    pub fn send_from(&self, sources: &[IpAddr]) -> HashSet<IpAddr> {
        let frames: Vec<Frame> = sources.iter().map(|source| Frame::from(*source)).collect();
        let arrived = self.wire.arrivals(0, &frames);
        sources.iter().zip(arrived).filter(|(_, arrived)| *arrived).map(|(source, _)| *source).collect()
    }

    /// Sends these frames in this order over a link; which of them arrived?
    pub fn arrivals(&self, link: usize, frames: &[Frame]) -> Vec<bool> {
        self.wire.arrivals(link, frames)
    }

    /// How many packets filterd has passed or dropped for this reason.
    #[track_caller]
    pub fn counted(&self, reason: &str) -> u64 {
        self.counted_where(reason, |verdict| verdict == "pass" || verdict == "drop")
    }

    /// How many packets filterd would have dropped for this reason, had it enforced.
    #[track_caller]
    pub fn spared(&self, reason: &str) -> u64 {
        self.counted_where(reason, |verdict| verdict == "would_drop")
    }

    /// How many packets filterd would have dropped for this reason, had protection not been paused.
    #[track_caller]
    pub fn paused(&self, reason: &str) -> u64 {
        self.counted_where(reason, |verdict| verdict == "paused")
    }

    #[track_caller]
    fn counted_where(&self, reason: &str, verdict: impl Fn(&Value) -> bool) -> u64 {
        let stats = self.filterd(["stats", "--json"]).succeeds().json();
        let reasons = stats["reasons"].as_array().expect("stats has reasons");
        let row = reasons.iter().find(|row| row["reason"] == reason && verdict(&row["verdict"]));
        let row = row.unwrap_or_else(|| panic!("stats knows no such reason {reason:?}: {stats}"));
        row["packets"].as_u64().expect("packets are counted")
    }

    /// What the kernel says is attached to an interface of the host: `ip -json link`, `xdp`.
    pub fn attached(&self, interface: &str) -> Option<Value> {
        let links = self.host.ip(&format!("-json -details link show {interface}"));
        let links: Value = serde_json::from_str(&links).expect("ip speaks JSON");
        links[0].get("xdp").cloned()
    }

    /// Switches on those interfaces of the host that were off. The kernel sees to the other end in its own time: what the peer
    /// sends before that is lost without a word.
    #[track_caller]
    pub fn raise(&self, interfaces: &[&str]) {
        let raised: String = interfaces.iter().map(|name| format!("link set {name} up\n")).collect();
        self.host.ip_all(&raised);
        let begun = Instant::now();
        while !self.peer.ip("-brief link show type veth").lines().all(|link| link.contains(" UP ")) {
            assert!(begun.elapsed() < PATIENCE, "{interfaces:?} are up and a peer is not");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The host's namespace.
    pub fn host(&self) -> &Namespace {
        &self.host
    }

    /// The peer's namespace.
    pub fn peer(&self) -> &Namespace {
        &self.peer
    }
}

impl Default for Net {
    fn default() -> Self {
        Self::new()
    }
}

/// A configuration that says nothing is none; a story that says nothing means one that blocks nothing.
fn said(config: &str) -> &str {
    if config.is_empty() { "block: []" } else { config }
}

/// Those of `arguments` whose flags are not among these.
fn without(arguments: Vec<String>, flags: &[&str]) -> Vec<String> {
    arguments.chunks(2).filter(|pair| !flags.contains(&pair[0].as_str())).flatten().cloned().collect()
}

fn daemon_arguments(home: &Home, config: &str) -> Vec<String> {
    let file = home.write("filterd.yaml", said(config));
    let mut arguments = home.daemon_arguments();
    arguments.extend(["--config".to_owned(), file.display().to_string()]);
    if !config.contains("interfaces:") {
        arguments.extend(["--iface".to_owned(), "eth0".to_owned()]);
    }
    arguments
}

/// A veth pair with one queue, so that frames keep their order.
fn join(link: usize, peer: &Namespace) -> String {
    let (peer, one) = (peer.name(), "numtxqueues 1 numrxqueues 1");
    format!(
        "link add eth{link} {one} address {HOST_MAC} type veth peer name eth{link} netns {peer} {one} address {PEER_MAC}\n"
    )
}

/// Gives the end `eth0` its addresses, and a way to everywhere else that asks nobody for directions.
fn settled(v4: &str, v6: &str, neighbour: &str) -> String {
    let (next, next6) = if v4 == HOST { (GATEWAY, GATEWAY6) } else { (HOST, HOST6) };
    format!(
        "link set lo up\n\
         addr add {v4}/24 dev eth0\n\
         addr add {v6}/64 dev eth0 nodad\n\
         neigh add {next} lladdr {neighbour} dev eth0 nud permanent\n\
         neigh add {next6} lladdr {neighbour} dev eth0 nud permanent\n\
         route add default via {next}\n\
         route add ::/0 via {next6}\n"
    )
}

/// Those whom the peer speaks for.
fn visitors() -> String {
    let v4 = [ATTACKER, BYSTANDER].map(|own| format!("addr add {own}/32 dev eth0\n"));
    let v6 = [ATTACKER6, BYSTANDER6].map(|own| format!("addr add {own}/128 dev eth0 nodad\n"));
    [v4, v6].concat().concat()
}
