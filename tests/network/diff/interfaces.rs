//! What `diff` says of interfaces, and what a reload then does.

use harness::limited::LimitedListener;
use std::net::TcpListener;

use harness::{ATTACKER, ForeignProgram, HOST, Net};
use serde_json::Value;

use super::connect_from;

/// Whatever the configuration says of interfaces: what a reload holds back, `diff` does not call detached, nor what is not
/// there attached; and nobody is cut for the sake of an interface that is not there.
#[test]
fn diff_predicts_interfaces_as_reload_does() {
    let mut net = Net::with_links(4);
    net.start("interfaces: [eth0]\nmode: native\nblock: [192.0.2.77]");
    let listener = net.host().entered(|| TcpListener::bind((HOST, 2222))).expect("nobody else listens");
    let came = net.peer().entered(|| connect_from(ATTACKER, 2222));
    let _accepted = listener.limited_accept().expect("it came");
    net.configure("interfaces: [eth0]\nmode: native\nblock: [203.0.113.7]");
    net.filterd(["reload"]).succeeds();
    let _foreign = ForeignProgram::attach(net.host(), "eth3");
    for (interfaces, code, held_back) in [
        ("[ehh0]", 7, 1),
        ("[eth0, usb0]", 7, 0),
        ("[eth1]", 0, 0),
        ("[eth0, eth1, eth2]", 0, 0),
        ("[eth1, usb0]", 7, 2),
        ("[eth0, eth3]", 7, 2),
        ("[lan2, eth0]", 0, 0),
        ("[eth0]", 0, 0),
    ] {
        if interfaces.contains("lan2") {
            net.host().ip_all("link set eth2 down\nlink set eth2 name lan2\nlink set lan2 up\n");
        }
        net.configure(&format!("interfaces: {interfaces}\nmode: native\nblock: [203.0.113.7]"));
        let would = net.filterd(["diff", "--json"]).json();
        let told = net.filterd(["diff"]);
        let reloaded = net.filterd(["reload", "--json"]).exits(code).json();
        assert_eq!(would["attach"], reloaded["attached"], "{interfaces}: {would}");
        assert_eq!(would["detach"], reloaded["detached"], "{interfaces}: {would}");
        let changes = !(reloaded["attached"].is_null() && reloaded["detached"].is_null());
        let told = told.exits(if code == 7 { 7 } else { i32::from(changes) });
        // A new interface may be the one by which somebody comes.
        assert_eq!(would["cuts"], i32::from(!would["attach"].is_null()), "{interfaces}: {would}");
        let names = |found: &Value| {
            let faults = found["faults"].as_array().cloned().unwrap_or_default();
            let first = |fault: &Value| fault["message"].as_str()?.split(' ').next().map(str::to_owned);
            faults.iter().map(|fault| first(fault).expect("a name")).collect::<Vec<_>>()
        };
        assert_eq!(names(&would), names(&reloaded), "{interfaces}");
        assert_eq!(
            told.output
                .matches("would still be filtered, although the configuration no longer lists it")
                .count(),
            0
        );
        assert_eq!(
            told.complaint
                .matches("would still be filtered, although the configuration no longer lists it")
                .count(),
            held_back,
            "{interfaces}"
        );
    }
    drop(came);
}

/// Whether a driver takes the filter is known when it is asked; what the kernel says without that is told before, and nothing
/// is promised. The loopback has no driver that runs programs.
#[test]
fn diff_promises_no_untested_interface() {
    let mut net = Net::with_links(2);
    let on =
        |interfaces: &str, mode: &str| format!("interfaces: {interfaces}\nmode: {mode}\nblock: [192.0.2.77]");
    net.start(&on("[eth0]", "native"));
    net.configure(&on("[eth0, eth1]", "native"));
    net.filterd(["diff"]).exits(1).says("would try to attach to eth1 in native mode\n");
    net.configure(&on("[eth0, lo]", "native"));
    let told = net.filterd(["diff"]);
    if tells_what_drivers_run() {
        told.exits(7).says("nothing would change\n").complains(
            "lo would not be filtered: `mode` is native, but the kernel says that its driver does not support XDP",
        );
    } else {
        told.exits(1).says("would try to attach to lo in native mode\n");
    }
    net.filterd(["reload"]).exits(7).complains("lo is not filtered: cannot attach to lo in native mode");
    // Who has refused would refuse again, unless he is asked for something else.
    net.filterd(["diff"])
        .exits(7)
        .says("nothing would change\n")
        .complains("lo would not be filtered: cannot");
    for (mode, how) in
        [("auto", "in native mode if its driver can, by TC on veth and elsewhere"), ("tc", "by TC")]
    {
        net.configure(&on("[eth0, lo]", mode));
        net.filterd(["diff"]).exits(1).says(&format!("would try to attach to lo {how}\n"));
    }
    let found = net.filterd(["diff", "--json"]).exits(1).json();
    assert_eq!((&found["attach"][0], &found["attach_mode"]), (&"lo".into(), &"tc".into()));
    net.filterd(["reload"]).succeeds().says("attached to lo\n");
}

/// Linux does since 6.3.
fn tells_what_drivers_run() -> bool {
    let kernel = nix::sys::utsname::uname().expect("a kernel has a name");
    let release = kernel.release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map(|number| number.parse().unwrap_or(0));
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (6, 3)
}
