//! One lock for each place: whoever comes second is told who is there, and changes nothing.

use harness::limited::LimitedCommand;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown, lchown, symlink};
use std::path::Path;

use harness::{ATTACKER, Daemon, Net, Talk, binary, program};
use nix::sys::signal::Signal;
use rustix::thread::{Uid, set_thread_res_uid};
use serde_json::json;

const BLOCKING: &str = "block: [203.0.113.7]";

#[test]
fn second_daemon_is_refused_and_first_continues() {
    let net = Net::with_filterd(BLOCKING);
    let pid = format!("process {}", net.daemon().id());
    let (socket, home) = (net.home().socket().display().to_string(), net.home());
    let places = [
        ("--pin-dir", home.pins().to_owned(), "the pin directory"),
        ("--state-dir", home.path("state"), "the state directory"),
        ("--socket", home.socket(), "the control socket"),
    ];
    for (flag, path, name) in places {
        let path = path.display().to_string();
        let reply = net.another_filterd_with("interfaces: [eth9]", &[flag, &path]);
        let reply = reply.exits(6).complains(name).complains(&path).complains(&pid).complains(&socket);
        reply.complains(flag).complains("--take-over");
        net.expect(ATTACKER).dropped();
        net.filterd(["add", "192.0.2.77"]).succeeds();
        net.expect("192.0.2.77").dropped();
        net.filterd(["remove", "192.0.2.77"]).succeeds();
        net.expect("192.0.2.77").passes();
    }
}

/// Its keeper has the lock of the pins: whoever were told of that process and ended it would leave a filter without a filterd.
#[test]
fn daemon_is_named_instead_of_its_broker() {
    let net = Net::new();
    let renamed = net.home().path("blocker");
    program::copied(binary(), &renamed);
    let mut command = net.host().command("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(renamed).args(net.arguments(BLOCKING));
    let daemon = Daemon::start(&mut command, net.home());
    let pins = net.home().pins().display().to_string();
    let reply = net.another_filterd_with("interfaces: [eth9]", &["--pin-dir", &pins]).exits(6);
    let socket = net.home().socket().display().to_string();
    reply.complains(&format!("blocker (process {}, which listens at {socket})", daemon.id()));
    daemon.end(Signal::SIGTERM);
}

/// Nobody waits for a socket that will not come back: who does is killed after half a minute.
#[test]
fn daemon_with_removed_socket_is_reported_at_once() {
    let net = Net::with_filterd(BLOCKING);
    let (socket, home) = (net.home().socket(), net.home());
    fs::remove_file(&socket).expect("root may");
    let end = format!("`sudo kill {}`", net.daemon().id());
    let places =
        [("--socket", socket), ("--state-dir", home.path("state")), ("--pin-dir", home.pins().to_owned())];
    for (flag, path) in places {
        let path = path.display().to_string();
        let reply = net.another_filterd_with("interfaces: [eth9]", &[flag, &path]).exits(6);
        reply.complains("its socket was removed").complains(&end).is_silent_about("status`");
    }
    let path = home.socket().display().to_string();
    let reply = net.another_filterd_with("interfaces: [eth9]", &["--take-over", "--socket", &path]);
    reply.exits(6).complains(&end);
    net.expect(ATTACKER).dropped();
}

#[test]
fn detach_spares_running_filter_and_removes_leftovers() {
    let mut net = Net::with_filterd(BLOCKING);
    let pins = net.home().pins().display().to_string();
    let pid = format!("process {}", net.daemon().id());
    for socket in [net.home().socket(), "/nowhere/control.sock".into()] {
        let socket = socket.display().to_string();
        let reply = net.filterd(["detach", "--pin-dir", &pins, "--socket", &socket]);
        reply.exits(5).complains(&pid).complains("stop it");
        net.expect(ATTACKER).dropped();
    }
    // Who may not look is not told that there is nothing.
    net.home()
        .filterd_as(65534, ["detach", "--pin-dir", &pins])
        .exits(6)
        .complains("not permitted to look into");
    net.end(Signal::SIGKILL);
    net.expect(ATTACKER).dropped();
    net.filterd(["detach", "--pin-dir", &pins]).succeeds().says("eth0: detached");
    net.expect(ATTACKER).passes();
}

#[test]
fn detach_takes_nothing_but_filterds_own_pins() {
    let mut net = Net::with_filterd(BLOCKING);
    // A home directory, with names in it such as pins have.
    let home = net.home().path("precious");
    fs::DirBuilder::new().mode(0o700).recursive(true).create(home.join("links")).expect("root may");
    ["root", "links/eth0", "letters"]
        .iter()
        .for_each(|name| fs::write(home.join(name), "dear").expect("root may"));
    net.filterd(["detach", "--pin-dir", &home.display().to_string()]).exits(2).complains("BPF file system");
    ["root", "links/eth0", "letters"]
        .iter()
        .for_each(|name| assert!(home.join(name).exists(), "{name} is gone"));
    let link = net.home().path("link");
    symlink(net.home().pins(), &link).expect("a link can be made");
    net.filterd(["detach", "--pin-dir", &link.display().to_string()]).exits(2).complains("not a directory");
    // Among the pins, what others have put there.
    let pins = net.home().pins().to_owned();
    let foreign = pins.join("somebody-elses");
    fs::DirBuilder::new().mode(0o700).create(&foreign).expect("root may");
    net.end(Signal::SIGKILL);
    let reply = net.filterd(["detach", "--pin-dir", &pins.display().to_string()]).succeeds();
    reply.says("eth0: detached").complains("somebody-elses");
    net.expect(ATTACKER).passes();
    assert_eq!(names_in(&pins), ["somebody-elses"]);
}

#[test]
fn other_filterd_on_interface_is_recognised() {
    let mut net = Net::with_filterd(BLOCKING);
    let pins = net.home().pins().display().to_string();
    let pid = format!("process {}", net.daemon().id());
    let refused = net.another_filterd(BLOCKING).exits(6).complains(&pid).complains(&pins);
    refused.complains("--take-over").is_silent_about("ip link");
    net.end(Signal::SIGKILL);
    let detach = format!("filterd detach --pin-dir {pins}");
    net.another_filterd(BLOCKING).exits(8).complains(&detach).is_silent_about("ip link");
    net.expect(ATTACKER).dropped();
    net.filterd(detach.split(' ').skip(1)).succeeds();
    net.another_filterd("interfaces: [eth9]\nblock: nonsense").exits(3);
    net.expect(ATTACKER).passes();
}

#[test]
fn detach_reports_findings_without_circular_advice() {
    let mut net = Net::with_filterd(BLOCKING);
    let pins = net.home().pins().to_owned();
    let detach = |net: &Net, pins: &Path| net.filterd(["detach", "--pin-dir", &pins.display().to_string()]);
    // Where all have theirs.
    let all = pins.parent().expect("they are in a directory");
    detach(&net, all).exits(2).complains("no pins of filterd").is_silent_about("filterd detach");
    net.expect(ATTACKER).dropped();
    fs::set_permissions(&pins, fs::Permissions::from_mode(0o755)).expect("root may");
    detach(&net, &pins).exits(8).complains("chmod 0700").is_silent_about("filterd detach");
    fs::set_permissions(&pins, fs::Permissions::from_mode(0o700)).expect("root may");
    net.end(Signal::SIGKILL);
    detach(&net, &pins).succeeds().says("eth0: detached");
    fs::DirBuilder::new().mode(0o700).create(&pins).expect("root may");
    detach(&net, &pins).succeeds().says("nothing to detach");
}

#[test]
fn only_root_may_end_it_over_the_socket() {
    let mut net = Net::new();
    net.readable_by_all();
    net.start_with(BLOCKING, &["--user", "nobody"]);
    let socket = net.home().socket();
    for verb in ["HandOver", "TakeOver"] {
        let answer = as_nobody(|| Talk::to(&socket).ask(verb, &json!({})));
        assert_eq!(answer["error"], "io.filterd.PermissionDenied", "{verb}: {answer}");
    }
    let pong = as_nobody(|| Talk::to(&socket).ask("Ping", &json!({})));
    assert!(pong["parameters"]["pid"].is_number(), "{pong}");
    net.expect(ATTACKER).dropped();
}

/// Does something in a thread of another user.
fn as_nobody<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    let nobody = || {
        let nobody = Uid::from_raw(65534);
        set_thread_res_uid(nobody, nobody, nobody).expect("root may become anybody");
        act()
    };
    std::thread::scope(|scope| scope.spawn(nobody).join().expect("it does not panic"))
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("it is there").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Where the BPF file system is everybody's, a local user can be first.
#[test]
fn taken_pin_directory_is_reported_with_owner() {
    let net = Net::new();
    let (pins, elsewhere) = (net.home().pins().to_owned(), net.home().path("elsewhere"));
    let shown = pins.display().to_string();
    let refused = || net.another_filterd_with("interfaces: [eth0]", &["--pin-dir", &shown]).exits(8);
    DirBuilder::new().mode(0o700).create(&pins).expect("we are root");
    chown(&pins, Some(65_534), None).expect("we are root");
    let away = format!("mv -T {shown} {shown}-taken");
    refused().complains("it belongs to user nobody (uid 65534)").complains(&away).is_silent_about("chown");
    std::fs::remove_dir(&pins).expect("it is empty");
    // A link, by which a chmod would reach what it leads to.
    std::fs::create_dir(&elsewhere).expect("a home can be written");
    symlink(&elsewhere, &pins).expect("a link can be made");
    lchown(&pins, Some(65_534), None).expect("we are root");
    refused().complains("it is a link to").complains("nobody").complains(&away).is_silent_about("chmod");
    assert!(elsewhere.exists(), "nothing was changed");
    // What is told does it.
    let moved = {
        let mut shell = net.host().command("sh");
        shell.arg("-c").arg(&away).limited_status()
    };
    assert!(moved.expect("a shell can be run").success());
    std::fs::remove_file(format!("{shown}-taken")).expect("it was moved there");
}
