//! Private and other special ranges in list files: a feed that names them cuts nobody off from his own network.

use harness::{ATTACKER, ATTACKER6, Net};
use nix::sys::signal::Signal;
use serde_json::json;

const NEIGHBOURS: [&str; 5] = ["10.1.2.3", "192.168.7.7", "100.64.9.9", "169.254.1.1", "fd00::7"];

const FEED: &str = "lists: [{name: feed, path: $HOME/feed.txt}]";
const MEANT: &str = "lists: [{name: feed, path: $HOME/feed.txt, include_special: true}]";

#[test]
fn feed_with_private_ranges_blocks_none_of_them() {
    let mut net = Net::new();
    net.home().write(
        "feed.txt",
        "203.0.113.7\n10.0.0.0/8\n192.168.7.7\n100.64.0.0-100.64.255.255\nfc00::/7\n2001:db8:bad::/48\n",
    );
    net.start(FEED);
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.expect_each(NEIGHBOURS).passes();
    net.filterd(["status", "--json"]).succeeds().has(json!({"lists": [{"name": "feed", "special": 4}]}));
    net.filterd(["test", "10.1.2.3"]).exits(1);
}

#[test]
fn prefix_is_blocked_around_special_ranges() {
    let mut net = Net::new();
    net.home().write("feed.txt", "0.0.0.0/0\n::/0\n");
    net.start("lists: [{name: feed, path: $HOME/feed.txt, include_wide: true}]");
    net.expect_each([ATTACKER, ATTACKER6, "9.255.255.255", "11.0.0.0"]).dropped();
    net.expect_each(NEIGHBOURS).passes();
}

#[test]
fn special_ranges_can_be_enabled_and_disabled() {
    let mut net = Net::new();
    net.home().write("feed.txt", "10.0.0.0/8\n192.168.7.7\n100.64.9.9\n169.254.1.1\nfd00::/64\n");
    net.start(FEED);
    net.expect_each(NEIGHBOURS).passes();
    net.configure(MEANT);
    net.filterd(["reload"]).succeeds();
    net.expect_each(NEIGHBOURS).dropped();
    net.configure(FEED);
    net.filterd(["reload"]).succeeds().complains("5 special ranges or parts of them");
    net.expect_each(NEIGHBOURS).passes();
}

#[test]
fn special_ranges_from_the_operator_are_accepted() {
    let net = Net::with_filterd("block: [10.1.2.3]");
    net.filterd(["add", "192.168.7.7", "fd00::7"]).succeeds();
    net.expect_each(["10.1.2.3", "192.168.7.7", "fd00::7"]).dropped();
}

/// A file that nobody has touched is read again where the configuration reads it otherwise.
#[test]
fn reports_about_lines_follow_the_configuration() {
    const TAKEN: &str = "lists: [{name: feed, path: $HOME/feed.txt, include_wide: true}]";
    let told = "1 line was not understood";
    let mut net = Net::new();
    net.home().write("feed.txt", "203.0.113.7\n203.0.113.8\n203.0.113.9\n64.0.0.0/7\n");
    net.start(FEED);
    net.filterd(["status"]).succeeds().says(told);
    net.configure(TAKEN);
    net.filterd(["reload"]).succeeds();
    net.expect("65.0.0.1").dropped();
    net.filterd(["status"]).succeeds().is_silent_about(told);
    net.end(Signal::SIGKILL);
    net.start(TAKEN);
    net.filterd(["status"]).succeeds().is_silent_about(told);
    net.configure(FEED);
    net.filterd(["reload"]).succeeds().complains(told);
    net.expect("65.0.0.1").passes();
    net.filterd(["status"]).succeeds().says(told);
}

/// What was left out is told beside what was not understood, whether that is much or little, and also of what is held back.
#[test]
fn omitted_special_ranges_are_reported_when_held_back() {
    let net = Net::with_filterd("");
    let told = "special ranges in 2 targets, left out";
    net.file("feed.txt", "203.0.113.7\n10.0.0.0/8\nrubbish\nrubbish\n127.0.0.1\n");
    net.configure(FEED);
    net.filterd(["reload"])
        .exits(7)
        .complains("list \"feed\" is only partly in force")
        .complains("list \"feed\": 2 special ranges or parts of them");
    for words in ["status", "lists"] {
        net.filterd([words]).exits(7).says(told);
    }
    net.expect(ATTACKER).dropped();
    net.file("feed.txt", "203.0.113.7\n10.0.0.0/8\nrubbish\n127.0.0.1\n203.0.113.8\n203.0.113.9\n");
    net.filterd(["reload"])
        .succeeds()
        .complains("1 line was not understood")
        .complains("list \"feed\": 2 special ranges or parts of them");
    net.file("feed.txt", "");
    net.filterd(["reload"]).exits(7).complains("list \"feed\" was not updated");
    for words in ["status", "lists"] {
        net.filterd([words]).exits(7).says(told);
    }
}
