//! Lists of destinations: what this host sends or forwards to them is dropped, and what comes from them is not.

use std::fs;
use std::io;
use std::net::UdpSocket;
use std::process::{self, Stdio};
use std::time::Duration;

use harness::{
    ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, Frame, GATEWAY, GATEWAY6, HOST, HOST6, Net, Tun, Watching,
    Wire, in_mode, until,
};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::egress::egress_programs;

/// Programs at the root cgroup hold for every test that runs beside this one, so few stories have them, each with addresses
/// that no other story sends to.
const SENT: &str = "outbound_errors: false\nlists: [{name: c2, path: $HOME/c2.txt, direction: out}]";

/// A filterd that drops what is sent to these.
fn blocking(targets: &str) -> Net {
    let mut net = Net::new();
    net.file("c2.txt", targets);
    net.start(SENT);
    net
}

/// Frames on their way from the host to the peer.
struct Way(Wire);

impl Way {
    fn out_of(net: &Net) -> Self {
        Self(Wire::new(net.peer(), net.host(), 1))
    }

    /// Which of the destinations are reached.
    fn reaches<const COUNT: usize>(&self, destinations: [&str; COUNT]) -> [bool; COUNT] {
        self.carries(destinations.map(to))
    }

    fn carries<const COUNT: usize>(&self, frames: [Frame; COUNT]) -> [bool; COUNT] {
        self.0.arrivals(0, &frames).try_into().expect("an answer for each")
    }
}

/// A frame from this host.
fn to(destination: &str) -> Frame {
    Frame::from(if destination.contains(':') { HOST6 } else { HOST }).to(destination)
}

#[test]
fn listed_destinations_of_both_families_are_not_reached() {
    for mode in ["native", "tc"] {
        in_mode(mode, || {
            let mut net = blocking("203.0.113.7\n2001:db8:bad::/48\n192.0.2.64/26\n");
            let way = Way::out_of(&net);
            assert_eq!(
                way.reaches([ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, "192.0.2.100"]),
                [false, false, true, true, false]
            );
            assert_eq!((net.counted("outbound"), net.counted("ipv4_address")), (3, 0));
            net.expect_each([ATTACKER, ATTACKER6, "192.0.2.100"]).passes();
            net.stop();
            assert_eq!(way.reaches([ATTACKER, ATTACKER6]), [true; 2]);
            assert_eq!(egress_programs(&net), [""; 0]);
        });
    }
}

#[test]
fn listed_destination_is_found_behind_tags_and_headers() {
    let mut net = blocking("203.0.113.7\n2001:db8:bad::7\n");
    let way = Way::out_of(&net);
    let wrappings: [fn(Frame) -> Frame; 5] = [
        |frame| frame.vlan(7),
        |frame| frame.service_vlan(7).vlan(8),
        |frame| frame.tcp(Frame::SYN),
        |frame| frame.payload(1200),
        |frame| frame.fragment(8),
    ];
    for wrap in wrappings {
        let frames = [ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6].map(|destination| wrap(to(destination)));
        assert_eq!(way.carries(frames), [false, false, true, true]);
    }
    // More tags than are looked behind are no destination. Some kernels drop such frames themselves.
    let untold = || [(0..9).fold(to(ATTACKER), |frame, _| frame.tag(0x8100, 0)), Frame::arp(HOST)];
    let carried = way.carries(untold());
    net.stop();
    assert_eq!(carried, way.carries(untold()));
}

#[test]
fn forwarded_packets_do_not_reach_listed_destinations() {
    let net = blocking("203.0.113.7\n");
    net.host().set("ipv4/ip_forward", "1");
    for setting in ["rp_filter", "send_redirects"] {
        ["all", "eth0"].iter().for_each(|on| net.host().set(&format!("ipv4/conf/{on}/{setting}"), "0"));
    }
    let [listed, unlisted] = [ATTACKER, BYSTANDER].map(|own| {
        let socket = net.peer().inside(|| UdpSocket::bind((own, 53))).expect("the peer has this address");
        socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout can be set");
        socket
    });
    // From a neighbour of the host, through the host, to whom the peer speaks for.
    let via = |destination: &str| Frame::from("198.19.255.77").to(destination);
    net.arrivals(0, &[via(ATTACKER), via(BYSTANDER)]);
    let mut bytes = [0; 64];
    let (_, from) = unlisted.recv_from(&mut bytes).expect("it was forwarded");
    assert_eq!(from.ip().to_string(), "198.19.255.77");
    listed.set_nonblocking(true).expect("it can be");
    assert!(listed.recv_from(&mut bytes).is_err(), "the other came first");
    assert_eq!(net.counted("outbound"), 1);
}

#[test]
fn both_directions_are_blocked_and_counted_for_one_list() {
    let mut net = Net::new();
    net.file("c2.txt", "203.0.113.7\n2001:db8:bad::/48\n");
    net.start("outbound_errors: false\nlists: [{name: c2, path: $HOME/c2.txt, direction: both}]");
    let way = Way::out_of(&net);
    for _ in 0..2 {
        net.expect_each([ATTACKER, ATTACKER6]).dropped();
        assert_eq!(way.reaches([ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6]), [false, false, true, true]);
        let hits = json!({"name": "c2", "direction": "both", "hits": {"dropped": 4}});
        net.filterd(["lists", "--json"]).succeeds().has(json!({"lists": [hits]}));
        // The second time a daemon has them that found them in the kernel.
        net.end(Signal::SIGKILL);
        assert_eq!(way.reaches([ATTACKER, BYSTANDER]), [false, true], "without a daemon");
        net.start("outbound_errors: false\nlists: [{name: c2, path: $HOME/c2.txt, direction: both}]");
    }
    net.filterd(["status"]).succeeds().says("packets from 2 targets and to 2 targets on eth0 are dropped");
    // Without entries nothing is left.
    net.file("c2.txt", "# nobody\n");
    net.filterd(["reload", "--accept", "c2"]).succeeds();
    net.expect_each([ATTACKER, ATTACKER6]).passes();
    assert_eq!(way.reaches([ATTACKER, ATTACKER6]), [true; 2]);
}

#[test]
fn direction_of_a_list_can_be_changed() {
    let mut net = Net::new();
    net.file("c2.txt", "203.0.113.7\n");
    let config = |direction: &str| {
        format!("outbound_errors: false\nlists: [{{name: c2, path: $HOME/c2.txt, direction: {direction}}}]")
    };
    net.start(&config("in"));
    let way = Way::out_of(&net);
    assert_eq!(egress_programs(&net), [""; 0], "no list needs one");
    for (direction, comes, goes) in [
        ("in", false, true),
        ("out", true, false),
        ("both", false, false),
        ("out", true, false),
        ("in", false, true),
    ] {
        net.configure(&config(direction));
        net.filterd(["reload"]).succeeds();
        assert_eq!(net.arrivals(0, &[ATTACKER.into()]), [comes], "{direction}");
        assert_eq!(way.reaches([ATTACKER, BYSTANDER]), [goes, true], "{direction}");
    }
    assert_eq!(egress_programs(&net), [""; 0], "no list needs one any more");
    net.configure(&config("both"));
    // The second time the file is read anew, and says the same.
    for _ in 0..2 {
        net.filterd(["diff"])
            .exits(1)
            .says("`c2` on packets from and to its targets (now on packets from its targets)");
        net.file("c2.txt", "203.0.113.7\n");
    }
    net.configure(&config("ot"));
    net.filterd(["reload"]).exits(3).complains("did you mean out?");
    net.configure("lists: [{name: c2, path: $HOME/c2.txt, direction: out, ports: [22]}]");
    net.filterd(["reload"]).exits(3).complains("cannot have ports");
    net.configure("lists: [{name: c2, path: $HOME/c2.txt, direction: out, allow: true}]");
    net.filterd(["reload"]).exits(3).complains("a list that allows cannot have a `direction`");
}

#[test]
fn destinations_can_be_added_live() {
    let mut net = Net::with_filterd("outbound_errors: false");
    let way = Way::out_of(&net);
    assert_eq!(egress_programs(&net), [""; 0]);
    let mut watching = Watching::of(&net, &["--drops"]);
    net.filterd(["add", "--direction", "out", ATTACKER, "2001:db8:bad::/64"])
        .succeeds()
        .says("packets to it are dropped; packets from it are not blocked by this list");
    assert_eq!(way.reaches([ATTACKER, ATTACKER6, BYSTANDER]), [false, false, true]);
    net.expect(ATTACKER).passes();
    let drop = watching.sees_a_drop();
    let told = ["source", "destination", "reason", "list"].map(|field| drop[field].as_str());
    assert_eq!(told, [HOST, ATTACKER, "outbound", "manual-out"].map(Some), "{drop}");
    net.filterd(["list"]).succeeds().says("packets to it");
    net.filterd(["test", ATTACKER]).exits(1).says("packets to it are DROPPED");
    net.filterd(["test", ATTACKER, "--json"]).exits(1).has(
        json!({"tested": [{"dropped": false, "to": {"dropped": true, "because": [{"list": "manual-out"}]}}]}),
    );
    net.end(Signal::SIGKILL);
    assert_eq!(way.reaches([ATTACKER]), [false]);
    net.start("outbound_errors: false");
    assert_eq!(way.reaches([ATTACKER, BYSTANDER]), [false, true]);
    net.succeed("outbound_errors: false");
    assert_eq!(way.reaches([ATTACKER, BYSTANDER]), [false, true]);
    assert_eq!(egress_programs(&net).len(), 1, "it is there once");
    net.filterd(["lists"]).succeeds().says("live, out");
    net.filterd(["add", ATTACKER]).succeeds();
    net.filterd(["remove", "--list", "manual", ATTACKER]).says("held by list `manual-out` (packets to it)");
    // An export can be imported where the list does not exist.
    let exported = net.filterd(["export", "--format", "json"]).succeeds().json_lines();
    let exported: String = exported.iter().map(|line| format!("{line}\n")).collect();
    net.file("export.json", &exported);
    net.filterd(["remove", ATTACKER]).succeeds();
    assert_eq!(way.reaches([ATTACKER, ATTACKER6]), [true, false]);
    net.filterd(["remove", "--list", "manual-out", "2001:db8:bad::/64"]).succeeds();
    assert_eq!(way.reaches([ATTACKER, ATTACKER6]), [true, true]);
    let file = net.home().path("export.json").display().to_string();
    net.filterd(["import", &file]).succeeds();
    assert_eq!(way.reaches([ATTACKER, ATTACKER6, BYSTANDER]), [false, false, true]);
    net.expect(ATTACKER).passes();
}

#[test]
fn pause_count_mode_and_allow_hold_for_destinations() {
    let net = blocking("203.0.113.7\n2001:db8:bad::7\n");
    let way = Way::out_of(&net);
    net.filterd(["pause", "5m"]).succeeds();
    assert_eq!(way.reaches([ATTACKER, ATTACKER6]), [true; 2]);
    net.filterd(["resume"]).succeeds();
    assert_eq!(way.reaches([ATTACKER, ATTACKER6]), [false; 2]);
    net.configure(&format!("enforce: false\n{SENT}"));
    net.filterd(["reload"]).succeeds();
    assert_eq!(way.reaches([ATTACKER, ATTACKER6]), [true; 2]);
    assert_eq!((net.counted("outbound"), net.paused("outbound"), net.spared("outbound")), (2, 2, 2));
    net.configure(SENT);
    net.filterd(["reload"]).succeeds();
    net.filterd(["allow", "add", ATTACKER]).succeeds();
    assert_eq!(way.reaches([ATTACKER, ATTACKER6]), [true, false]);
    net.filterd(["allow", "remove", ATTACKER]).succeeds();
    assert_eq!(way.reaches([ATTACKER, ATTACKER6]), [false, false]);
}

/// What the host needs is not cut off by a list of destinations either.
#[test]
fn guarded_addresses_can_be_reached() {
    let net = Net::with_filterd("outbound_errors: false");
    let way = Way::out_of(&net);
    net.filterd(["add", "--wide", "--direction", "out", "0.0.0.0/0", "::/0"]).succeeds();
    assert_eq!(way.reaches([GATEWAY, GATEWAY6, BYSTANDER, BYSTANDER6]), [true, true, false, false]);
    net.filterd(["add", "--direction", "out", GATEWAY]).exits(5).complains("a gateway of this host");
}

#[test]
fn tables_of_destinations_grow_while_frames_are_sent() {
    let net = blocking("203.0.113.7\n");
    let way = Way::out_of(&net);
    let more: String = (0..150_000u32)
        .map(|number| format!("11.{}.{}.{}\n", 64 + (number >> 16), number >> 8 & 255, number & 255))
        .collect();
    net.file("c2.txt", &format!("203.0.113.7\n{more}"));
    let mut reload = net.host().command(&harness::binary().display().to_string());
    reload.args(["reload", "--accept", "c2", "--socket"]).arg(net.home().socket()).stdout(Stdio::null());
    let mut reload = reload.spawn().expect("it can be run");
    let mut rounds = 0;
    while reload.try_wait().expect("it is our child").is_none() {
        assert_eq!(way.reaches([ATTACKER, BYSTANDER]), [false, true], "round {rounds}");
        rounds += 1;
    }
    assert!(reload.wait().expect("it ended").success() && rounds > 0);
    assert_eq!(
        way.reaches([ATTACKER, BYSTANDER, "11.64.0.0", "11.66.73.239", "11.66.73.240"]),
        [false, true, false, false, true]
    );
}

#[test]
fn removed_program_for_destinations_is_restored() {
    let mut net = blocking("203.0.113.7\n");
    let way = Way::out_of(&net);
    net.forget_log();
    net.daemon().signal(Signal::SIGSTOP);
    net.host().take_off("eth0", &net.home().pins().join("outbound/eth0"));
    assert_eq!(way.reaches([ATTACKER]), [true]);
    net.daemon().signal(Signal::SIGCONT);
    net.filterd(["status"]).succeeds();
    // With a filter of `clsact` both programs are gone, and both come back.
    let what = if net.tc_mode() == "tcx" { "program by which destinations are filtered" } else { "filter" };
    net.wait_for_log(&format!("eth0: another process detached the {what}; attaching again"));
    assert_eq!(way.reaches([ATTACKER, BYSTANDER]), [false, true]);
    net.end(Signal::SIGKILL);
    let detach = ["detach", "--pin-dir", &net.home().pins().display().to_string()];
    net.host().entered(|| net.home().filterd(detach)).succeeds();
    assert_eq!(egress_programs(&net), [""; 0], "detach leaves nothing");
    assert_eq!(way.reaches([ATTACKER]), [true]);
    assert!(!net.home().pins().exists());
}

#[test]
fn tun_sends_nothing_to_listed_destinations() {
    let mut net = Net::new();
    let _tun = Tun::new(net.host(), "tun0");
    net.host().ip_all("route add 198.51.100.0/24 dev tun0\nroute add 2001:db8:c2::/48 dev tun0\n");
    net.file("c2.txt", "198.51.100.232\n2001:db8:c2::232\n");
    net.start(&format!("interfaces: [tun0]\n{SENT}"));
    let socket = |own| net.host().inside(move || UdpSocket::bind((own, 0))).expect("there are ports");
    let (four, six) = (socket(HOST), socket(HOST6));
    for (socket, other, listed) in
        [(&four, "198.51.100.5", "198.51.100.232"), (&six, "2001:db8:c2::5", "2001:db8:c2::232")]
    {
        let before = net.counted("outbound");
        // The program drops it behind the socket, which is not told.
        let sent = [other, listed].map(|destination| socket.send_to(b"x", (destination, 9)));
        assert!(sent.iter().all(Result::is_ok), "{sent:?}");
        assert_eq!(net.counted("outbound"), before + 1, "{listed}");
    }
}

/// A process learns at once that it may not send there, in whichever cgroup it is.
#[test]
fn local_calls_fail_at_once() {
    let mut net = Net::new();
    let places = ["198.51.100.231", "2001:db8:c2::231", "::ffff:198.51.100.231"];
    net.file("c2.txt", "198.51.100.231\n2001:db8:c2::231\n");
    let list = "lists: [{name: c2, path: $HOME/c2.txt, direction: out}]";
    net.start(list);
    assert!(are_refused(&net, places));
    let cgroup = Cgroup::new();
    assert!(cgroup.within(|| are_refused(&net, places)), "in a cgroup of its own");
    let unlisted = || UdpSocket::bind((HOST, 0)).and_then(|one| one.connect(("198.51.100.5", 9)));
    assert!(net.host().inside(unlisted).is_ok());
    net.end(Signal::SIGKILL);
    assert!(are_refused(&net, places), "without a daemon");
    net.start(list);
    assert!(are_refused(&net, places));
    net.stop();
    assert!(!are_refused(&net, places));
}

#[test]
fn local_calls_fail_only_while_packets_are_dropped() {
    let mut net = Net::new();
    let places = ["198.51.100.234", "2001:db8:c2::234", "::ffff:198.51.100.234"];
    net.file("c2.txt", "198.51.100.234\n2001:db8:c2::234\n");
    let list = "lists: [{name: c2, path: $HOME/c2.txt, direction: out}]";
    net.start(list);
    for (config, fails) in [
        (format!("{list}\noutbound_errors: false"), false),
        (list.to_owned(), true),
        (format!("{list}\nenforce: false"), false),
        (format!("{list}\nallow: [198.51.100.234, \"2001:db8:c2::234\"]"), false),
        (list.to_owned(), true),
        (String::new(), false),
        (list.to_owned(), true),
    ] {
        net.configure(&config);
        net.filterd(["diff"]).exits(1);
        net.filterd(["reload"]).succeeds();
        assert_eq!(are_refused(&net, places), fails, "{config}");
    }
    fs::remove_dir_all(net.home().pins().join("connect")).expect("they are ours");
    // It does so one by one.
    until(|| calls_to(&net, places) == [[false; 2]; 3], "the kernel detaches a program whose pin is gone");
    net.filterd(["status"]).succeeds();
    assert!(are_refused(&net, places), "filterd has attached them again");
    net.filterd(["pause", "5m"]).succeeds();
    assert!(!are_refused(&net, places));
    net.filterd(["resume"]).succeeds();
    assert!(are_refused(&net, places));
    net.succeed(list);
    assert!(are_refused(&net, places));
    // Without a daemon a pause ends, for calls as for packets.
    net.filterd(["pause", "5m"]).succeeds();
    net.end(Signal::SIGKILL);
    until(|| calls_to(&net, places) == [[true; 2]; 3], "calls fail again");
}

/// Found by an outsider: calls failed on a machine where no interface was filtered.
#[test]
fn local_calls_fail_only_while_an_interface_is_filtered() {
    let mut net = Net::new();
    let places = ["198.51.100.235", "2001:db8:c2::235", "::ffff:198.51.100.235"];
    net.file("c2.txt", "198.51.100.235\n2001:db8:c2::235\n");
    let add = "link add other0 type veth peer name other1";
    net.host().ip(add);
    net.start("interfaces: [other0]\nlists: [{name: c2, path: $HOME/c2.txt, direction: out}]");
    assert!(are_refused(&net, places));
    net.host().ip("link del other0");
    until(|| calls_to(&net, places) == [[false; 2]; 3], "the programs are gone");
    net.host().ip(add);
    until(|| calls_to(&net, places) == [[true; 2]; 3], "the programs are attached again");
}

/// Does a call to each of these fail, to `sendto` and to `connect`?
fn calls_to(net: &Net, places: [&str; 3]) -> [[bool; 2]; 3] {
    places.map(|destination| {
        let any = if destination.contains(':') { "::" } else { "0.0.0.0" };
        net.host().inside(|| {
            let socket = UdpSocket::bind((any, 0)).expect("there are ports");
            let sent = socket.send_to(b"x", (destination, 9)).err().map(|error| error.kind());
            let connected = socket.connect((destination, 9)).err().map(|error| error.kind());
            [sent, connected].map(|kind| kind == Some(io::ErrorKind::PermissionDenied))
        })
    })
}

/// Do all of them fail? None does otherwise.
fn are_refused(net: &Net, places: [&str; 3]) -> bool {
    let calls = calls_to(net, places);
    assert!(calls.iter().flatten().all(|one| one == &calls[0][0]), "{calls:?}");
    calls[0][0]
}

/// As in a container: filterd sees only its own part of the hierarchy.
#[test]
fn filterd_that_sees_only_its_own_cgroup_says_so() {
    let cgroup = Cgroup::new();
    let mut net = Net::new();
    net.file("c2.txt", "203.0.113.7\n");
    let mount = &cgroup.mount;
    let enter = format!(
        "echo $$ >{} && exec /usr/bin/unshare --cgroup --mount -- sh -c 'umount -l {mount} && mount -t cgroup2 none {mount} && exec \"$@\"' sh \"$@\"",
        cgroup.processes()
    );
    net.starts_through(["sh", "-c", &enter, "sh"]);
    net.start("lists: [{name: c2, path: $HOME/c2.txt, direction: out}]");
    net.filterd(["status"])
        .succeeds()
        .says("filterd sees only its own cgroup")
        .says("docker run --cgroupns host");
    // Nobody else's call fails, and the packets are dropped all the same.
    let sent =
        net.host().inside(|| UdpSocket::bind((HOST, 0)).and_then(|own| own.send_to(b"x", (ATTACKER, 9))));
    assert_eq!(sent.ok(), Some(1));
    assert_eq!(Way::out_of(&net).reaches([ATTACKER, BYSTANDER]), [false, true]);
    net.stop();
}

/// A cgroup below the root of the hierarchy. It is removed when nobody is in it any more.
struct Cgroup {
    mount: String,
    path: String,
}

impl Cgroup {
    fn new() -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").expect("it is there");
        let mount = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"));
        let mount =
            mount.and_then(|line| line.split(' ').nth(1)).expect("this machine has cgroups").to_owned();
        let path = format!("{mount}/filterd-test-{}", process::id());
        fs::create_dir(&path).expect("root may make one");
        Self { mount, path }
    }

    /// Does it as a process in there.
    fn within<T>(&self, does: impl FnOnce() -> T) -> T {
        let own = fs::read_to_string("/proc/self/cgroup").expect("it is there");
        let own = own.lines().find_map(|line| line.strip_prefix("0::")).expect("every process is in one");
        let enter = |processes: &str| fs::write(processes, "0").expect("root may");
        enter(&self.processes());
        let done = does();
        enter(&format!("{}{own}/cgroup.procs", self.mount));
        done
    }

    /// The file that has the processes in it.
    fn processes(&self) -> String {
        format!("{}/cgroup.procs", self.path)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        until(|| fs::remove_dir(&self.path).is_ok(), "who was in it has ended");
    }
}
