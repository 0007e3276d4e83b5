//! `filterd doctor`: what stands in the way, before anybody has started anything, and beside a filterd that runs.

use harness::limited::{LimitedChild, LimitedCommand};
use std::fs;
use std::process::{Command, Stdio};

use harness::home::binary;
use harness::{ATTACKER, ForeignProgram, Net, Reply, program};

/// Asks it inside the host, about `eth0` and these words.
fn doctor(net: &Net, words: &[&str]) -> Reply {
    let mut command = net.host().command(&binary().display().to_string());
    command.arg("doctor").args(places(net)).args(words);
    Reply::of(command.env("FILTERD_SOCKET", net.home().socket()))
}

fn places(net: &Net) -> Vec<String> {
    let state = net.home().path("state").display().to_string();
    let pins = net.home().pins().display().to_string();
    ["--no-config", "--state-dir", &state, "--pin-dir", &pins].map(str::to_owned).to_vec()
}

/// In a place of its own, with all of /sys and /tmp that is prepared by this line of a shell first.
fn doctor_after(net: &Net, preparing: &str) -> Reply {
    let mut command = net.host().command("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &format!("{preparing}; exec \"$@\"")]);
    command.arg("sh").arg(binary()).arg("doctor").args(places(net)).args(["--iface", "eth0"]);
    Reply::of(command.env("FILTERD_SOCKET", net.home().socket()))
}

#[test]
fn doctor_without_problems_changes_nothing() {
    let net = Net::new();
    let told = doctor(&net, &["--iface", "eth0"]).succeeds();
    told.clone().says("interface eth0  veth, MTU ").says("its other end in another network namespace");
    told.clone()
        .says("features that filterd uses")
        .says("CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON are present");
    told.says("none runs").says("does not exist yet: filterd creates it").says("0 failed");
    assert_eq!(net.attached("eth0"), None);
    assert!(!net.home().path("state").exists() && !net.home().pins().exists());
}

/// Under `ip netns exec`, and for a container that shares the socket.
#[test]
fn doctor_reports_other_network_namespace() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    doctor(&net, &[])
        .succeeds()
        .says("answers at")
        .is_silent_about("another network namespace: it does not filter the interfaces here");
    let mut elsewhere = net.peer().command(&binary().display().to_string());
    elsewhere.arg("doctor").args(places(&net));
    let told = Reply::of(elsewhere.env("FILTERD_SOCKET", net.home().socket()));
    let pid = net.filterd(["status", "--json"]).succeeds().json()["pid"].clone();
    told.says("warn  daemon")
        .says("it is in another network namespace: it does not filter the interfaces here")
        .says(&format!("-> to check those: nsenter -t {pid} -n filterd doctor"));
}

#[test]
fn doctor_checks_enabled_interfaces_by_default() {
    let net = Net::new();
    net.host().ip("link add spare type veth peer name spared");
    doctor(&net, &[]).succeeds().says("no interface is configured").says("xdp eth0").is_silent_about("spare");
}

#[test]
fn an_interface_that_is_not_there_fails() {
    let net = Net::new();
    let told = doctor(&net, &["--iface", "eth9"]).exits(7);
    // Where a kernel has tunnels, each namespace has some of them as well.
    told.says("FAIL  interface eth9").says("there are lo, ").says("eth0").says("1 failed");
}

#[test]
fn the_interfaces_are_those_that_run_would_filter() {
    let net = Net::new();
    let config = net.home().write("f.yaml", "interfaces: [eth0, eth9]\n");
    let mut asked = net.host().command(&binary().display().to_string());
    asked.args(["doctor", "--config", &config.display().to_string()]);
    asked.env("FILTERD_SOCKET", net.home().socket());
    Reply::of(&mut asked)
        .exits(7)
        .says("interface eth0")
        .says("FAIL  interface eth9")
        .says("f.yaml is valid");
    net.home().write("f.yaml", "interfaces: [eth0]\nenforcee: true\n");
    let told = Reply::of(&mut asked).exits(7);
    told.says("FAIL  configuration").says("f.yaml:2:").says("enforce");
}

#[test]
fn doctor_shows_how_to_remove_foreign_program() {
    let net = Net::new();
    let foreign = ForeignProgram::attach(net.host(), "eth0");
    let told = doctor(&net, &["--iface", "eth0"]).succeeds();
    told.clone()
        .says("warn  xdp eth0")
        .says("works by TC beside it")
        .says(foreign.name)
        .says(&format!("id {}", foreign.id));
    told.says("ip link set dev eth0 xdpdrv off");
}

#[test]
fn shared_program_is_detached_from_one_interface() {
    let net = Net::with_links(2);
    let foreign = ForeignProgram::attach(net.host(), "eth1");
    let id = foreign.id.to_string();
    let also = ["net", "attach", "xdpdrv", "id", &id, "dev", "eth0"];
    assert!(net.host().command("bpftool").args(also).limited_status().expect("bpftool can be run").success());
    let sits_on = |interface: &str| net.host().ip(&format!("link show dev {interface}")).contains("prog/xdp");
    for interface in ["eth0", "eth1"] {
        assert!(sits_on("eth1"), "{interface} alone was asked about");
        let told = remedies(&net, interface);
        let [(taken, remedy)] = &told[..] else { panic!("{told:?}") };
        assert!(taken.contains(foreign.name), "{taken}");
        type_in(&net, remedy);
        assert!(!sits_on(interface), "{remedy}");
    }
}

/// With its dispatcher, under which several share an interface, and without: it falls back where the kernel refuses that.
#[test]
fn doctor_remedy_removes_libxdp_program() {
    let net = Net::new();
    type_in(&net, "xdp-filter load eth0 --mode skb");
    let told = remedies(&net, "eth0");
    let [(taken, remedy)] = &told[..] else { panic!("{told:?}") };
    assert!(taken.contains("xdp_dispatcher") || taken.contains("xdpfilt_"), "{taken}");
    type_in(&net, remedy);
    assert_eq!(remedies(&net, "eth0"), [], "nobody sits there any more");
    // As it attaches: by netlink, and so not as a link.
    let pin = pinned(&net, ForeignProgram::attach_as("xdp_dispatcher", net.host(), "eth0"));
    type_in(&net, &format!("bpftool net attach xdpdrv pinned {pin} dev eth0"));
    let told = remedies(&net, "eth0");
    let [(taken, remedy)] = &told[..] else { panic!("{told:?}") };
    assert!(taken.contains("xdp_dispatcher") && remedy.contains("xdp-loader unload eth0 --all"), "{told:?}");
    type_in(&net, remedy);
    assert_eq!(remedies(&net, "eth0"), []);
    fs::remove_file(pin).expect("it was pinned");
}

#[test]
fn filterd_itself_is_no_foreign_program() {
    let net = Net::with_filterd(&format!("block: [{ATTACKER}]"));
    let told = doctor(&net, &[]).succeeds();
    told.clone().says("xdp eth0").says(&attached_here(&net)).says("answers at");
    told.is_silent_about("no interface is configured");
}

fn attached_here(net: &Net) -> String {
    format!("filterd is attached here in {} mode", net.tc_mode())
}

/// Its remedies name no directories, and neither does who types them.
#[test]
fn doctor_uses_places_of_running_daemon() {
    let mut net = Net::new();
    net.home().write("drop.txt", "203.0.113.7\nnonsense\n");
    net.start("lists: [{name: drop, path: $HOME/drop.txt}]");
    let state = net.home().path("state").display().to_string();
    let config = net.home().path("filterd.yaml").display().to_string();
    let ask = |words: &[&str]| {
        net.host().entered(|| net.home().filterd([words, &["--state-dir", &state]].concat()))
    };
    ask(&["check"]).exits(7).says(&config).complains("nonsense");
    ask(&["doctor"])
        .succeeds()
        .says(&attached_here(&net))
        .says(&format!("pins of filterd at {}", net.home().pins().display()))
        .says(&format!("{config} is valid"));
}

#[test]
fn doctor_shows_pins_of_another_filterd() {
    let net = Net::with_filterd("");
    let home = harness::Home::new();
    let mut asked = net.host().command(&binary().display().to_string());
    asked.args(["doctor", "--no-config", "--iface", "eth0", "--pin-dir"]).arg(home.pins());
    let told = Reply::of(asked.env("FILTERD_SOCKET", home.socket())).exits(7);
    told.says("FAIL  xdp eth0").says("filterd_tc_root").says(&net.home().pins().display().to_string());
}

#[test]
fn a_killed_filterds_filter_is_still_at_work() {
    let mut net = Net::with_filterd("");
    net.end(nix::sys::signal::Signal::SIGKILL);
    let told = doctor(&net, &["--iface", "eth0"]).succeeds();
    told.says("filterd is attached here")
        .says("warn  daemon")
        .says("still attached to eth0")
        .says("filterd detach");
}

#[test]
fn doctor_includes_faults_of_the_daemon() {
    let net = Net::with_filterd("interfaces: [eth0, eth7]");
    doctor(&net, &[]).exits(7).says("FAIL  daemon").says("eth7");
}

#[test]
fn doctor_distinguishes_bridge_and_its_port() {
    let net = Net::new();
    net.host().ip_all("link add br0 type bridge\nlink set br0 up\nlink set eth0 master br0\n");
    let told = doctor(&net, &["--iface", "eth0", "--iface", "br0"]).succeeds();
    told.clone().says("a port of bridge br0").says("ok    xdp br0").says("ip link show master br0");
    told.says("containers").says("1 behind br0");
}

/// Each bond says of itself that it merges packets, and takes the filter all the same.
#[test]
fn a_bond_is_judged_by_its_parts() {
    let net = Net::with_links(2);
    let words = "link add bond0 type bond mode active-backup".split(' ');
    let mut added = net.host().command("ip");
    if !added.args(words).stderr(Stdio::null()).limited_status().expect("ip can be run").success() {
        println!("SKIPPED bonds: this kernel has none (bonding)");
        return;
    }
    net.host().ip("link set bond0 up");
    let alone = doctor(&net, &["--iface", "bond0"]).succeeds();
    alone.says("warn  interface bond0").says("it has no ports, so it receives nothing");
    for part in ["eth0", "eth1"] {
        net.host()
            .ip_all(&format!("link set {part} down\nlink set {part} master bond0\nlink set {part} up\n"));
    }
    let told = doctor(&net, &["--iface", "bond0", "--iface", "eth0"]).succeeds();
    told.clone().says("ok    interface bond0").is_silent_about("no ports").is_silent_about("merges packets");
    told.says("warn  interface eth0").says("a part of bond0").says("-> filterd run --iface bond0");
}

#[test]
fn doctor_points_to_the_shared_interface() {
    let net = Net::new();
    net.host().ip_all("link add shared link eth0 type macvlan mode bridge\nlink set shared up\n");
    doctor(&net, &["--iface", "shared"]).succeeds().says("filterd run --iface eth0");
}

#[test]
fn doctor_shows_how_to_enable_interface() {
    let net = Net::new();
    net.host().ip("link set eth0 down");
    let told = doctor(&net, &["--iface", "eth0"]).succeeds();
    told.says("warn  interface eth0").says("switched off").says("-> ip link set dev eth0 up");
}

/// What is not as it should be of this interface, and the command that mends it.
fn remedies(net: &Net, interface: &str) -> Vec<(String, String)> {
    let told = doctor(net, &["--iface", interface, "--json"]).json();
    let findings = told["findings"].as_array().expect("findings").iter();
    let bad = findings.filter(|one| one["health"] != "ok" && one["interface"] == interface);
    let words = |word: &serde_json::Value| word.as_str().unwrap_or_default().to_owned();
    bad.map(|one| (words(&one["message"]), words(&one["remedy"]))).collect()
}

/// Does what it is told to do: the command, or the one between backticks, or what stands behind `||` where that fails. By no
/// shell, which may have programs of its own.
fn type_in(net: &Net, remedy: &str) {
    let typed = |command: &str| {
        let mut words = command.split(' ');
        let mut command = net.host().command(words.next().unwrap_or_default());
        Reply::of(command.args(words))
    };
    let commands = remedy.split('`').nth(1).unwrap_or(remedy);
    let mut replies = commands.split(" || ").map(typed);
    let first = replies.next().expect("a command");
    if first.is_success() { first } else { replies.next().unwrap_or(first) }.succeeds();
}

/// Takes it off, and keeps it for whoever wants to attach it otherwise.
fn pinned(net: &Net, program: ForeignProgram) -> String {
    let pin = format!("/sys/fs/bpf/{}-{}", net.host().name(), program.name);
    type_in(net, &format!("bpftool prog pin id {} {pin}", program.id));
    pin
}

#[test]
fn doctor_remedies_fix_each_interface() {
    let net = Net::new();
    net.host().ip("link set eth0 down");
    let by_link = ForeignProgram::attach(net.host(), "eth0");
    let told = remedies(&net, "eth0");
    let [(off, raise), (taken, release)] = &told[..] else { panic!("{told:?}") };
    assert!(off.contains("switched off") && taken.contains(by_link.name), "{told:?}");
    type_in(&net, release);
    assert_eq!(remedies(&net, "eth0"), [(off.clone(), raise.clone())], "nobody sits there any more");
    type_in(&net, raise);
    assert_eq!(remedies(&net, "eth0"), [], "and it is on");
    // Whoever was attached by netlink, as `ip` does it, leaves by netlink; in either mode. The link is gone as a whole.
    let (name, pin) = (by_link.name, pinned(&net, by_link));
    for mode in ["xdpdrv", "xdpgeneric"] {
        type_in(&net, &format!("bpftool net attach {mode} pinned {pin} dev eth0"));
        let told = remedies(&net, "eth0");
        let [(taken, release)] = &told[..] else { panic!("{told:?}") };
        assert!(taken.contains(name) && release.contains("ip link set"), "{told:?}");
        type_in(&net, release);
        assert_eq!(remedies(&net, "eth0"), [], "{mode}");
    }
    fs::remove_file(pin).expect("it was pinned");
}

#[test]
fn doctor_remedy_mounts_bpf_file_system() {
    let net = Net::new();
    let unmounted = "while umount /sys/fs/bpf 2>/dev/null; do :; done";
    doctor_after(&net, unmounted).succeeds().says("warn  bpffs").says("only in this mount namespace");
    let mended = format!("{unmounted}; mount -t bpf bpf /sys/fs/bpf");
    doctor_after(&net, &mended)
        .succeeds()
        .says("warn  bpffs")
        .says("is mounted only in this mount namespace");
    let read_only = format!("{mended}; mount -o remount,ro /sys/fs/bpf");
    doctor_after(&net, &read_only).exits(7).says("FAIL  bpffs").says("read-only");
}

#[test]
fn full_disk_is_reported() {
    let net = Net::new();
    let state = net.home().path("state");
    fs::create_dir(&state).expect("a home can be written");
    let place = state.display();
    let full = format!(
        "mount -t tmpfs -o size=64k,mode=700 none {place}; head -c 65536 /dev/zero > {place}/live.redb.tmp"
    );
    doctor_after(&net, &full).exits(7).says("FAIL  state").says("full disk").says(&format!("df -h {place}"));
    let nearly = format!("mount -t tmpfs -o size=64k,mode=700 none {place}");
    doctor_after(&net, &nearly).succeeds().says("warn  state").says("64 KiB free");
}

#[test]
fn foreign_file_in_state_directory_is_reported() {
    let net = Net::new();
    let state = net.home().path("state");
    fs::create_dir(&state).expect("a home can be written");
    fs::write(state.join("notes.txt"), "precious").expect("a home can be written");
    let told = doctor(&net, &["--iface", "eth0"]).exits(7);
    told.says("FAIL  state").says("contains notes.txt, which is not filterd's").says("--state-dir");
}

#[test]
fn other_banning_services_are_reported() {
    let net = Net::new();
    let called = net.home().path("fail2ban-server");
    program::copied("/bin/sleep", &called);
    let mut other = Command::new(&called).arg("600").spawn().expect("it is a program");
    let told = doctor(&net, &["--iface", "eth0"]);
    let number = other.id();
    other.kill().expect("it is our child");
    other.limited_wait().expect("it is our child");
    let told = told.succeeds().says("warn  blocklists").says("fail2ban-client status");
    told.says(&format!("fail2ban runs (process {number})"));
}

#[test]
fn doctor_reports_missing_permissions() {
    let net = Net::new();
    let words = ["doctor", "--no-config", "--iface", "lo"];
    let told = net.home().filterd_as(65534, words).succeeds();
    told.clone().says("warn  capabilities").says("you lack CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON");
    told.clone().says("-> sudo filterd run").says("-> sudo filterd doctor");
    told.says("not checked without root: what the kernel was built with");
}

#[test]
fn programs_read_the_same_as_people() {
    let net = Net::new();
    let told = doctor(&net, &["--iface", "eth9", "--json"]).exits(7).json();
    assert_eq!((&told["version"], &told["fail"]), (&1.into(), &1.into()), "{told}");
    let findings = told["findings"].as_array().expect("findings");
    let failing: Vec<_> = findings.iter().filter(|finding| finding["health"] == "fail").collect();
    assert_eq!(
        (failing.len(), &failing[0]["interface"], &failing[0]["remedy"]),
        (1, &"eth9".into(), &"ip link".into())
    );
    let counted =
        ["ok", "warn", "fail"].map(|health| told[health].as_u64().expect("a number")).iter().sum::<u64>();
    assert_eq!(counted, findings.len() as u64);
}

/// What the filterd that runs was told, and where it has its things, is what counts.
#[test]
fn doctor_uses_state_of_running_daemon() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.configure("interfaces: [eth0, usb0]\nblock: [203.0.113.7]");
    net.filterd(["reload", "--accept", "usb0"]).succeeds();
    net.filterd(["status"]).succeeds();
    let mut asked = net.host().command(&binary().display().to_string());
    let told = Reply::of(asked.arg("doctor").env("FILTERD_SOCKET", net.home().socket())).succeeds();
    let state = net.home().path("state").display().to_string();
    told.says("ok    interface usb0")
        .says("which was accepted")
        .says(&format!("ok    state           {state}, "));
    // Of another one nobody has said so.
    net.configure("interfaces: [eth0, usb0, usb1]\nblock: [203.0.113.7]");
    let mut asked = net.host().command(&binary().display().to_string());
    let told = Reply::of(asked.arg("doctor").env("FILTERD_SOCKET", net.home().socket())).exits(7);
    told.says("ok    interface usb0").says("FAIL  interface usb1").says("1 failed");
}
