//! `ipv6_prefix`: a ban of one IPv6 address blocks its whole prefix, and is still the ban of that address.

use harness::{BYSTANDER6, Net};
use nix::sys::signal::Signal;
use serde_json::json;

const ONE: &str = "2001:db8:bad:1::1";
const OTHER: &str = "2001:db8:bad:1::2";
/// In the same /64, and on no list.
const BESIDE: &str = "2001:db8:bad:1:a:b:c:d";
/// In the /64 next to it.
const NEXT: &str = "2001:db8:bad:2::1";

const WIDENED: &str = "lists: [{name: sshd, ipv6_prefix: 64}]";

#[test]
fn ban_blocks_64_until_last_address_expires() {
    let mut net = Net::with_filterd(WIDENED);
    net.filterd(["add", ONE, "--list", "sshd", "--ttl", "2s", "--note", "brute force"]).succeeds();
    net.filterd(["add", OTHER, "--list", "sshd"]).succeeds();
    net.expect_each([ONE, OTHER, BESIDE]).dropped();
    net.expect_each([NEXT, BYSTANDER6]).passes();
    net.filterd(["list"]).says(OTHER).is_silent_about("/64");
    let by = json!({"target": OTHER, "blocks": "2001:db8:bad:1::/64", "list": "sshd"});
    net.filterd(["test", BESIDE, "--json"]).succeeds().has(json!({"tested": [{"because": [by]}]}));
    net.wait_for_log("expired");
    net.expect_each([ONE, OTHER, BESIDE]).dropped();
    net.filterd(["remove", ONE, "--list", "sshd"]).exits(1).complains(&format!(
        "{ONE} is still blocked: held by {OTHER} (blocks 2001:db8:bad:1::/64) of list `sshd`"
    ));
    net.filterd(["remove", OTHER]).succeeds();
    net.expect_each([ONE, OTHER, BESIDE]).passes();
    // What is added without a list's name is not widened: nobody has said so.
    net.filterd(["add", ONE]).succeeds();
    net.expect(ONE).dropped();
    net.expect(BESIDE).passes();
}

#[test]
fn widening_survives_restart_and_follows_key() {
    let mut net = Net::with_filterd(WIDENED);
    net.filterd(["add", ONE, "--list", "sshd"]).succeeds();
    net.end(Signal::SIGKILL);
    net.start(WIDENED);
    net.expect_each([ONE, BESIDE]).dropped();
    net.configure("block: []");
    let given = json!({"settings": ["list sshd: IPv6 is blocked as it is given"]});
    net.filterd(["diff", "--json"]).has(given);
    net.filterd(["reload"]).succeeds();
    net.expect(ONE).dropped();
    net.expect_each([BESIDE, NEXT]).passes();
    net.configure("lists: [{name: sshd, ipv6_prefix: 48}]");
    net.filterd(["reload"]).succeeds();
    net.expect_each([ONE, BESIDE, NEXT]).dropped();
    net.expect(BYSTANDER6).passes();
    net.filterd(["list"]).says(ONE);
    net.succeed(WIDENED);
    net.expect_each([ONE, BESIDE]).dropped();
    net.expect(NEXT).passes();
    net.filterd(["flush", "--list", "sshd"]).succeeds();
    net.expect_each([ONE, BESIDE]).passes();
}

#[test]
fn widened_list_file_still_honours_allow() {
    let mut net = Net::new();
    net.file("feed.txt", &format!("{ONE}\n{OTHER}\n"));
    net.start(&format!(
        "allow: ['{BESIDE}']\nlists: [{{name: feed, path: $HOME/feed.txt, ipv6_prefix: 64}}]"
    ));
    net.expect_each([ONE, OTHER, "2001:db8:bad:1::3"]).dropped();
    net.expect_each([BESIDE, NEXT]).passes();
    net.file("feed.txt", &format!("{OTHER}\n{NEXT}\n"));
    net.filterd(["reload"]).succeeds();
    net.expect_each([ONE, OTHER, NEXT]).dropped();
    net.configure("lists: [{name: feed, path: $HOME/feed.txt}]");
    net.filterd(["reload"]).succeeds();
    net.expect_each([OTHER, NEXT]).dropped();
    net.expect_each([ONE, BESIDE]).passes();
    let status = net.filterd(["status", "--json"]).json();
    let entries = status["lists"].as_array().into_iter().flatten().find(|list| list["name"] == "feed");
    assert_eq!(entries.expect("it is there")["targets"], 2);
}

#[test]
fn widening_reload_blocks_nothing_around_removed_entries() {
    let mut net = Net::new();
    net.file("feed.txt", &format!("{ONE}\n{NEXT}\n"));
    net.start("lists: [{name: feed, path: $HOME/feed.txt}]");
    net.file("feed.txt", &format!("{ONE}\n"));
    net.configure("lists: [{name: feed, path: $HOME/feed.txt, ipv6_prefix: 64, max_shrink: 100%}]");
    let reloaded = net.filterd(["reload", "--json"]).json();
    assert_eq!(reloaded["entered"], 1, "the prefix of the one that stays: {reloaded}");
    net.expect_each([ONE, BESIDE]).dropped();
    net.expect(NEXT).passes();
}

#[test]
fn add_reports_width_and_test_names_entries_once() {
    let net = Net::with_filterd(WIDENED);
    let widened = json!({"widened": {"count": 1, "length": 64}});
    net.filterd(["add", ONE, "--list", "sshd", "--json"]).succeeds().has(widened.clone());
    net.filterd(["add", OTHER, "203.0.113.7", "2001:db8:bad:2::/64", "--list", "sshd", "--json"])
        .succeeds()
        .has(widened);
    net.filterd(["add", "203.0.113.8", "--list", "sshd", "--json"]).succeeds().is_silent_about("widened");
    let prefix = "2001:db8:bad:1::/64";
    let tested = net.filterd(["test", prefix, "--json"]).succeeds().json();
    assert_eq!(tested["tested"][0]["because"].as_array().map(Vec::len), Some(2), "{tested}");
    assert!(tested["tested"][0]["within"].is_null(), "{tested}");
    let removed = net.filterd(["remove", prefix, "--json"]).exits(1).json();
    assert_eq!(removed["held"][0]["by"].as_array().map(Vec::len), Some(2), "{removed}");
    // Around this host's own address the rest of its /64 is blocked.
    net.filterd(["add", "2001:2::7", "--list", "sshd", "--json"])
        .succeeds()
        .has(json!({"around": [{"address": "2001:2::1"}]}));
}
