//! A device that is deleted and made again while filterd looks elsewhere: neither its name nor its number proves that it
//! is the same one.

use std::time::Duration;

use harness::{ATTACKER, BYSTANDER, Net};
use nix::sys::signal::Signal;

const SOON: Duration = Duration::from_secs(30);

#[test]
fn recreated_device_with_same_index_is_filtered() {
    let mut net = Net::with_links(2);
    net.start("interfaces: [eth0, eth1]\nblock: [203.0.113.7]");
    let index = index_of(&net, "eth1");
    net.daemon().signal(Signal::SIGSTOP);
    net.host().ip("link del eth1");
    net.host().ip(&format!("link add eth1 index {index} type veth peer name other"));
    assert_eq!(index_of(&net, "eth1"), index);
    net.daemon().signal(Signal::SIGCONT);
    wait_until_attached(&net, "eth1");
    net.expect(ATTACKER).dropped();
}

#[test]
fn recreated_only_device_drops_packets() {
    let mut net = Net::new();
    net.start("block: [203.0.113.7]");
    let (index, peer) = (index_of(&net, "eth0"), net.peer().name().to_owned());
    net.daemon().signal(Signal::SIGSTOP);
    net.host().ip("link del eth0");
    net.host().ip_all(&format!(
        "link add eth0 index {index} numtxqueues 1 numrxqueues 1 type veth peer name eth0 netns {peer} numtxqueues 1 numrxqueues 1\nlink set eth0 up\n"
    ));
    net.peer().ip("link set eth0 up");
    net.daemon().signal(Signal::SIGCONT);
    wait_until_attached(&net, "eth0");
    let status = net.filterd(["status", "--json"]).succeeds().json();
    assert_eq!(status["interfaces"][0]["mode"], net.tc_mode(), "{status}");
    let net = net.with_a_new_wire();
    net.expect(ATTACKER).then_within(SOON).dropped();
    net.expect(BYSTANDER).passes();
}

fn index_of(net: &Net, interface: &str) -> u64 {
    let links = net.host().ip(&format!("-json link show {interface}"));
    let links: serde_json::Value = serde_json::from_str(&links).expect("ip speaks JSON");
    links[0]["ifindex"].as_u64().expect("a number")
}

#[track_caller]
fn wait_until_attached(net: &Net, interface: &str) {
    let begun = std::time::Instant::now();
    while net.attached(interface).is_none() {
        let status = net.filterd(["status"]);
        assert!(begun.elapsed() < SOON, "nothing is attached to {interface}, but {status}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
