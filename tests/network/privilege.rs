//! Who reads what the world writes can do nothing to the kernel, and who holds the kernel reads nothing.

use harness::limited::LimitedCommand;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use harness::{ATTACKER, BYSTANDER, Net, keeper_of};
use nix::sys::signal::Signal;

const CAP_NET_ADMIN: u64 = 1 << 12;
const CAP_PERFMON: u64 = 1 << 38;
const CAP_BPF: u64 = 1 << 39;
const KEEPERS: u64 = CAP_BPF | CAP_NET_ADMIN | CAP_PERFMON;

#[test]
fn daemon_has_no_capabilities_and_broker_three() {
    let net = Net::with_filterd("");
    let daemon = net.daemon().id();
    let keeper = keeper_of(daemon);
    for (process, who, has) in [(daemon, "the daemon", 0), (keeper, "its keeper", KEEPERS)] {
        for (set, expected) in [("CapEff", has), ("CapPrm", has), ("CapInh", 0), ("CapAmb", 0), ("CapBnd", 0)]
        {
            assert_eq!(number(process, set), expected, "{set} of {who}");
        }
        assert_eq!(line(process, "NoNewPrivs"), "1", "{who}");
        assert_eq!(line(process, "Uid").starts_with("0\t"), process == keeper, "{who}");
        assert_eq!(line(process, "Seccomp"), "2", "{who}");
        let limits = fs::read_to_string(format!("/proc/{process}/limits")).expect("it runs");
        let cores =
            limits.lines().find(|line| line.starts_with("Max core file size")).expect("it is limited");
        assert_eq!(cores.split_whitespace().nth(4), Some("0"), "{who}");
    }
}

#[test]
fn daemon_can_run_as_another_user() {
    let mut net = Net::new();
    net.readable_by_all();
    net.start_with("block: [203.0.113.7]", &["--user", "nobody"]);
    assert!(line(net.daemon().id(), "Uid").starts_with("65534"));
    assert!(line(keeper_of(net.daemon().id()), "Uid").starts_with('0'));
    net.expect(ATTACKER).dropped();
    // Room for more is made by the keeper.
    let many: String = (0..20_000).map(|host: u32| format!("10.0.{}.{}\n", host >> 8, host & 255)).collect();
    net.filterd_reading(["add", "-"], &many).succeeds();
    net.expect("10.0.20.20").dropped();
    net.filterd(["add", BYSTANDER, "2001:db8::/32", "198.18.0.0/16"]).succeeds();
    net.expect_each([BYSTANDER, "198.18.1.1", "2001:db8:1::1"]).dropped();
    net.filterd(["reload"]).succeeds();
    net.end(Signal::SIGKILL);
    net.start_with("", &["--user", "nobody"]);
    net.expect_each([BYSTANDER, "10.0.20.20"]).dropped();
    // And root again, once root has said that what is another user's is filterd's.
    net.end(Signal::SIGKILL);
    let state = net.home().path("state").display().to_string();
    let taken = net.host().command("chown").args(["-R", "0", &state]).limited_status();
    assert!(taken.expect("chown can be run").success());
    net.start("");
    net.expect_each([BYSTANDER, "10.0.20.20"]).dropped();
    net.stop();
    net.expect(BYSTANDER).passes();
}

/// As in the unit: `CapabilityBoundingSet=` has none of those by which root reads whatever there is.
const AS_IN_THE_UNIT: [&str; 3] = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search,-fowner"];

#[test]
fn restricted_root_finds_files_of_its_daemon() {
    let mut net = Net::new();
    net.readable_by_all();
    net.starts_through(AS_IN_THE_UNIT);
    net.start_with("", &["--user", "nobody"]);
    net.filterd(["add", ATTACKER]).succeeds();
    // Its socket and its state stay behind, and are another user's.
    net.end(Signal::SIGKILL);
    net.start_with("", &["--user", "nobody"]);
    net.expect(ATTACKER).dropped();
    let state = net.home().path("state");
    assert_eq!(fs::metadata(&state).expect("it is there").mode() & 0o777, 0o700);
    let places = ["--user", "nobody", "--state-dir", &state.display().to_string()];
    net.another_filterd_with("", &places).exits(6).complains("is in use by");
    let [command, arguments @ ..] = AS_IN_THE_UNIT;
    let mut reload = net.host().command(command);
    reload.args(arguments).arg(harness::binary()).args(["reload", "--socket"]).arg(net.home().socket());
    let reloaded = reload.limited_output().expect("setpriv can be run");
    assert!(reloaded.status.success(), "{reloaded:?}");
    // What root has written there is its daemon's afterwards, and a link in it is still a stranger's.
    net.end(Signal::SIGKILL);
    fs::write(state.join("pause.of-root"), "").expect("root may");
    net.start_with("", &["--user", "nobody"]);
    assert_eq!(fs::metadata(state.join("pause.of-root")).expect("it is there").uid(), 65534);
    net.expect(ATTACKER).dropped();
}

#[test]
fn a_start_without_rights_leaves_no_directories() {
    let mut net = Net::new();
    net.starts_through(["setpriv", "--bounding-set", "-bpf,-sys_admin"]);
    let (state, pins) = (net.home().path("new/state"), net.home().pins().to_owned());
    let places = ["--state-dir", &state.display().to_string(), "--pin-dir", &pins.display().to_string()];
    net.another_filterd_with("interfaces: [eth0]", &places).exits(8).complains("CAP_BPF");
    assert!(!net.home().path("new").exists(), "the state directory, and what leads to it");
    assert!(!pins.exists(), "and that of the pins");
}

#[test]
fn the_keeper_ends_with_its_daemon() {
    let mut net = Net::with_filterd("block: [203.0.113.7]");
    let keeper = keeper_of(net.daemon().id());
    net.end(Signal::SIGKILL);
    let begun = std::time::Instant::now();
    while fs::exists(format!("/proc/{keeper}")).unwrap_or(false) {
        assert!(begun.elapsed().as_secs() < 30, "it lives on");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    net.expect(ATTACKER).dropped();
}

#[test]
fn a_user_that_does_not_exist_is_refused() {
    let net = Net::new();
    net.another_filterd_with("", &["--user", "no-such-user"]).exits(2).complains("no such user");
}

fn line(process: u32, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.unwrap_or_else(|| panic!("no {name}")).trim().to_owned()
}

fn number(process: u32, name: &str) -> u64 {
    u64::from_str_radix(&line(process, name), 16).expect("a hexadecimal number")
}

#[test]
fn link_in_state_directory_changes_no_foreign_file() {
    let mut net = Net::new();
    net.readable_by_all();
    net.start_with("", &["--user", "nobody"]);
    net.end(Signal::SIGTERM);
    let secret = net.file("secret", "root's own");
    let state = net.home().path("state");
    symlink(&secret, state.join("live.redb.old")).expect("a link can be made");
    let state = state.display().to_string();
    net.another_filterd_with("", &["--user", "nobody", "--state-dir", &state])
        .exits(3)
        .complains("live.redb.old is not safe to use: it is a link");
    assert_eq!(fs::metadata(&secret).expect("it is there").uid(), 0);
}

#[test]
fn start_without_root_is_refused() {
    let net = Net::new();
    let place = net.home().path("of-root");
    fs::create_dir(&place).expect("a home can be written");
    fs::set_permissions(&place, Permissions::from_mode(0o755)).expect("it is ours");
    let socket = place.join("control.sock").display().to_string();
    let words = ["run", "--iface", "eth0", "--no-config", "--socket", &socket];
    let told = net.home().filterd_as(65534, words).exits(6).complains("Permission denied");
    told.complains("start filterd as root (`sudo filterd --iface eth0`)");
}

#[test]
fn open_file_limit_is_raised_or_reported() {
    let mut net = Net::new();
    net.starts_through(["sh", "-c", r#"ulimit -S -n 20; exec "$0" "$@""#]);
    net.start(&format!("block: [{ATTACKER}]"));
    net.expect(ATTACKER).dropped();
    net.stop();
    // Root could take more than it was given, but for this.
    let few = r#"ulimit -n 20; exec "$0" "$@""#;
    net.starts_through(["setpriv", "--bounding-set=-sys_resource", "sh", "-c", few]);
    let told = net.another_filterd("").exits(8).complains("filterd may open only 20 files, but needs 128");
    told.complains("`ulimit -n 4096`").complains("LimitNOFILE=65536");
}
