//! Since when an entry is on its list: kept as long as its file goes on naming it, and known no better than the last good
//! copy can tell after a restart.

use harness::{ATTACKER, Net};
use nix::sys::signal::Signal;
use serde_json::Value;

const CONFIG: &str = "lists: [{name: drop, path: $HOME/drop.txt}]";
const LATER: &str = "192.0.2.9";

fn entry(net: &Net, target: &str) -> Value {
    let entries = net.filterd(["list", "--json"]).succeeds().json_lines();
    let entry = entries.into_iter().find(|entry| entry["target"] == target);
    entry.unwrap_or_else(|| panic!("{target} is on no list"))
}

/// Waits until the clock shows another second, so that what comes now is told apart from what was there.
fn into_the_next_second(net: &Net, than: u64) {
    net.filterd(["add", "198.18.0.1", "--list", "clock"]).succeeds();
    while entry(net, "198.18.0.1")["since"].as_u64() <= Some(than) {
        net.filterd(["flush", "--list", "clock"]).succeeds();
        net.filterd(["add", "198.18.0.1", "--list", "clock"]).succeeds();
    }
}

#[test]
fn file_entries_keep_since_times_through_reloads() {
    let mut net = Net::new();
    net.file("drop.txt", "203.0.113.7\n");
    net.start(CONFIG);
    let first = entry(&net, ATTACKER);
    let since = first["since"].as_u64().unwrap();
    assert_eq!(first["or_before"], true, "it was there when filterd began");
    into_the_next_second(&net, since);
    net.file("drop.txt", "203.0.113.7\n192.0.2.9\n");
    net.filterd(["reload"]).succeeds();
    let later = entry(&net, LATER);
    assert_eq!(entry(&net, ATTACKER)["since"], since);
    assert!(later["since"].as_u64() > Some(since) && later["or_before"].is_null(), "{later}");
    net.filterd(["test", ATTACKER]).succeeds().says("or before");
    net.end(Signal::SIGKILL);
    net.start(CONFIG);
    // The copy knows since when the file is as it is.
    for target in [ATTACKER, LATER] {
        let again = entry(&net, target);
        let since_again = again["since"].as_u64();
        assert!(since_again > Some(since) && since_again <= later["since"].as_u64(), "{again}");
        assert_eq!(again["or_before"], true);
    }
}

#[test]
fn list_with_new_ports_keeps_since_times() {
    let mut net = Net::new();
    net.file("drop.txt", "203.0.113.7\n");
    net.start(CONFIG);
    let since = entry(&net, ATTACKER)["since"].as_u64().unwrap();
    into_the_next_second(&net, since);
    net.file("drop.txt", "203.0.113.7\n192.0.2.9\n");
    net.configure("lists: [{name: drop, path: $HOME/drop.txt, ports: [22]}]");
    net.filterd(["reload"]).succeeds();
    assert_eq!(entry(&net, ATTACKER)["since"], since);
    assert!(entry(&net, LATER)["since"].as_u64() > Some(since));
}
