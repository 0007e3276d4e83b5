//! The process that holds the kernel believes nobody: it is asked here as a daemon could ask that has fallen into other
//! hands.

use harness::limited::LimitedChild;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Stdio};

use filter_common::cuckoo::geometry::Geometry;
use filter_common::{settings, stash};
use harness::home::binary;
use harness::{ForeignProgram, Home, Net};
use nix::sys::socket::{
    AddressFamily, MsgFlags, Shutdown, SockFlag, SockType, recv, send, shutdown, socketpair,
};
use serde_json::{Value, json};

/// CAP_NET_ADMIN, CAP_PERFMON and CAP_BPF.
const THREE: u64 = 1 << 12 | 1 << 38 | 1 << 39;

/// Words of the smallest table of IPv4 addresses.
const SMALLEST: u64 = (stash::WORDS + Geometry::SMALLEST_EXACT4.words()) as u64;
/// Words of a map whose size in bytes is eight if it is counted in 32 bits.
const WRAPS: u64 = (1 << 29) + 1;

#[test]
fn broker_has_three_capabilities_from_the_start() {
    let (net, home) = (Net::new(), Home::new());
    let keeper = Keeper::start(&net, &home);
    let status = fs::read_to_string(format!("/proc/{}/status", keeper.process.id())).expect("it runs");
    let of = |set: &str| status.lines().find_map(|line| line.strip_prefix(set)?.strip_prefix(":\t"));
    for (set, expected) in [("CapEff", THREE), ("CapPrm", THREE), ("CapInh", 0), ("CapBnd", 0)] {
        let found = of(set).map(|bits| u64::from_str_radix(bits, 16).expect("a hexadecimal number"));
        assert_eq!(found, Some(expected), "{set}");
    }
    assert_eq!(of("NoNewPrivs"), Some("1"));
}

#[test]
fn broker_attaches_only_to_matching_interface() {
    let (net, home) = (Net::with_links(3), Home::new());
    let mut keeper = Keeper::start(&net, &home);
    let index = |name: &str| -> u32 {
        let told = net.host().ip(&format!("-json link show {name}"));
        let told: Value = serde_json::from_str(&told).expect("ip speaks JSON");
        told[0]["ifindex"].as_u64().expect("it has a number").try_into().expect("a small one")
    };
    let attach = |name: &str, index: u32| json!({"Attach": {"name": name, "index": index, "mode": "Native"}});
    let other = index("eth1");
    assert!(keeper.refuses(&attach("eth0", other)).contains(&format!("and number {other} was meant")));
    assert!(keeper.refuses(&attach("eth9", other)).contains("it is gone"));
    for name in ["../tables", "", "..", "a/b"] {
        keeper.refuses(&attach(name, other));
    }
    let foreign = ForeignProgram::attach(net.host(), "eth2");
    assert!(keeper.refuses(&attach("eth2", index("eth2"))).contains("already has an XDP program"));
    assert_eq!(net.attached("eth2").expect("it stays")["prog"]["id"], foreign.id);
    for name in ["eth0", "eth1"] {
        assert!(net.attached(name).is_none(), "nothing is on {name}");
    }
    keeper.does(&attach("eth0", index("eth0")));
    assert!(net.attached("eth0").is_some(), "what is meant and is there is attached to");
}

#[test]
fn the_keeper_makes_no_maps_without_end() {
    let (net, home) = (Net::new(), Home::new());
    let mut keeper = Keeper::start(&net, &home);
    let addresses = json!({"set": 0, "part": "Addresses"});
    let make = |generation: u64, words: u64| json!({"Make": {"map": &addresses, "generation": generation, "words": words}});
    for words in [0, 1, SMALLEST - 1, SMALLEST + 1, WRAPS, u64::from(u32::MAX)] {
        assert!(keeper.refuses(&make(1, words)).contains(&format!("no table has {words} words")), "{words}");
    }
    assert!(keeper.refuses(&make(u64::MAX, SMALLEST)).contains("far ahead"));
    (1..=4).for_each(|generation| keeper.does(&make(generation, SMALLEST)));
    assert!(keeper.refuses(&make(4, SMALLEST)).contains("number 4 is there"));
    assert!(keeper.refuses(&make(5, SMALLEST)).contains("there are 4 already"));
    let settings: Vec<u64> = vec![0; settings::WORDS];
    let used = |generation: u64| json!({"map": &addresses, "generation": generation});
    keeper.refuses(
        &json!({"Prepare": {"has_ports": false, "outbound_errors": false, "settings": [], "maps": []}}),
    );
    keeper.refuses(&json!({"Prepare": {"has_ports": false, "outbound_errors": false, "settings": &settings, "maps": [used(9)]}}));
    keeper.refuses(
        &json!({"Prepare": {"has_ports": false, "outbound_errors": false, "settings": &settings, "maps": [used(1), used(2)]}}),
    );
}

/// A keeper without its daemon.
pub struct Keeper {
    process: Child,
    line: OwnedFd,
}

impl Keeper {
    pub fn start(net: &Net, home: &Home) -> Self {
        Self::start_through(net, home, &[])
    }

    /// One that is started by these words.
    pub fn start_through(net: &Net, home: &Home, words: &[&str]) -> Self {
        let none = SockFlag::SOCK_CLOEXEC;
        let (line, theirs) =
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, none).expect("two ends of a line");
        let program = binary().display().to_string();
        let mut words = words.iter().copied().chain([program.as_str()]);
        let mut command = net.host().command(words.next().expect("there is a program"));
        command.args(words).arg("broker").arg(home.pins()).stdin(Stdio::from(theirs));
        let process = command.spawn().expect("filterd can be run");
        drop(command);
        let mut keeper = Self { process, line };
        let first = keeper.hear();
        assert!(first.get("Ready").is_some(), "it begins with how far it is: {first}");
        keeper
    }

    pub fn ask(&mut self, request: &Value) -> Value {
        self.say(&request.to_string());
        self.hear()
    }

    /// Says anything at all.
    pub fn say(&mut self, message: &str) {
        send(self.line.as_raw_fd(), message.as_bytes(), MsgFlags::MSG_NOSIGNAL).expect("it listens");
    }

    /// Waits until it has ended by itself.
    pub fn wait_for_the_end(&mut self) {
        self.process.limited_wait().expect("it is our child");
    }

    /// Asks for what it must not do; tells why it does not.
    #[track_caller]
    fn refuses(&mut self, request: &Value) -> String {
        let answer = self.ask(request);
        let error: filterd::kernel::KernelError = serde_json::from_value(answer["Failed"].clone())
            .unwrap_or_else(|_| panic!("{request}: {answer}"));
        error.to_string()
    }

    #[track_caller]
    pub fn does(&mut self, request: &Value) {
        let answer = self.ask(request);
        assert!(answer.get("Failed").is_none(), "{request}: {answer}");
    }

    fn hear(&mut self) -> Value {
        let mut bytes = vec![0; 65536];
        let length = recv(self.line.as_raw_fd(), &mut bytes, MsgFlags::empty()).expect("it lives");
        assert!(length > 0, "it has ended");
        serde_json::from_slice(&bytes[..length]).expect("it speaks JSON")
    }
}

/// It ends when the line does.
impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = shutdown(self.line.as_raw_fd(), Shutdown::Both);
        let _ = self.process.limited_wait();
    }
}
