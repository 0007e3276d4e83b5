//! What the kernel refuses happens not at all, and once it is well again nothing of the trouble is left.

use std::fs;
use std::time::Duration;

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net, Refusal, keeper_of};
use nix::sys::signal::Signal;

const SOON: Duration = Duration::from_secs(30);

/// No memory for maps and programs.
const NO_MEMORY: &str = "bpf:error=ENOMEM";

#[test]
fn failed_reload_keeps_filter_attached() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.file("large.txt", &many());
    net.configure("enforce: false\nblock: [203.0.113.7]\nlists: [{name: large, path: $HOME/large.txt}]");
    let refusal = Refusal::of(keeper_of(net.daemon().id()), NO_MEMORY);
    net.filterd(["reload"]).exits(8);
    net.expect(ATTACKER).dropped();
    refusal.end();
    // What is published next carries the settings that are in force, and not those that were refused.
    net.filterd(["add", "198.18.0.0/16", "2001:db8:bad::/48"]).succeeds();
    net.expect_each([ATTACKER, "198.18.1.1", ATTACKER6]).dropped();
    net.expect(BYSTANDER).passes();
    says_what_it_does(&net, true);
    net.filterd(["status"]).exits(7).says("the configuration is not in force");
}

#[test]
fn failed_reload_works_once_kernel_recovers() {
    let net = Net::with_filterd("enforce: false\nblock: [203.0.113.7]");
    net.file("large.txt", &many());
    net.configure("block: [203.0.113.7]\nlists: [{name: large, path: $HOME/large.txt}]");
    let refusal = Refusal::of(keeper_of(net.daemon().id()), NO_MEMORY);
    net.filterd(["reload"]).exits(8);
    net.expect(ATTACKER).passes();
    net.filterd(["test", ATTACKER]).exits(1);
    refusal.end();
    says_what_it_does(&net, false);
    net.filterd(["reload"]).succeeds();
    net.expect_each([ATTACKER, "11.0.0.9"]).dropped();
    says_what_it_does(&net, true);
}

#[test]
fn refused_setting_stays_unchanged() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.configure("enforce: false\nblock: [203.0.113.7]");
    let refusal = Refusal::of(keeper_of(net.daemon().id()), NO_MEMORY);
    net.filterd(["reload"]).exits(8);
    net.expect(ATTACKER).dropped();
    net.filterd(["test", ATTACKER]).exits(0);
    refusal.end();
    says_what_it_does(&net, true);
    net.filterd(["add", "198.18.0.0/16"]).succeeds();
    net.expect_each([ATTACKER, "198.18.1.1"]).dropped();
    says_what_it_does(&net, true);
}

#[test]
fn removals_work_while_setting_is_refused() {
    let net = Net::with_filterd("block: [192.0.2.77]");
    net.filterd(["add", ATTACKER, "--ttl", "3s"]).succeeds();
    net.filterd(["add", BYSTANDER]).succeeds();
    net.configure("enforce: false\nblock: [192.0.2.77]");
    let refusal = Refusal::of(keeper_of(net.daemon().id()), NO_MEMORY);
    net.filterd(["reload"]).exits(8);
    net.filterd(["remove", BYSTANDER]).succeeds();
    net.expect(BYSTANDER).passes();
    net.expect(ATTACKER).then_within(SOON).passes();
    refusal.end();
    net.filterd(["add", "198.18.0.0/16"]).succeeds();
    net.expect_each(["192.0.2.77", "198.18.1.1"]).dropped();
    net.expect_each([ATTACKER, BYSTANDER]).passes();
}

#[test]
fn reload_is_atomic_under_every_kernel_refusal() {
    let before = "block: [203.0.113.7, 11.0.1.0/24]";
    let after = "enforce: true\nblock: [198.51.100.7, \"2001:db8:bad::/48\", 11.0.0.0/20]";
    let net = Net::with_filterd(before);
    for call in 1..=8 {
        net.configure(after);
        let refusal = Refusal::of(keeper_of(net.daemon().id()), &format!("{NO_MEMORY}:when={call}"));
        let reply = net.filterd(["reload"]);
        if reply.is_success() {
            net.expect_each([BYSTANDER, ATTACKER6, "11.0.1.9", "11.0.2.9"]).dropped();
            net.expect(ATTACKER).passes();
        } else {
            reply.exits(8);
            net.expect_each([ATTACKER, "11.0.1.9"]).dropped();
            net.expect_each([BYSTANDER, ATTACKER6, "11.0.2.9"]).passes();
        }
        refusal.end();
        net.filterd(["reload"]).succeeds();
        net.expect_each([BYSTANDER, ATTACKER6, "11.0.1.9", "11.0.2.9"]).dropped();
        net.expect(ATTACKER).passes();
        net.configure(before);
        net.filterd(["reload"]).succeeds();
        net.expect_each([ATTACKER, "11.0.1.9"]).dropped();
        net.expect_each([BYSTANDER, ATTACKER6, "11.0.2.9"]).passes();
    }
}

/// Each is refused at another call, before anything is to be seen and in the midst of it. Whatever is refused is as it was:
/// packets, entries, copies, the difference; and no trial is left.
#[test]
fn widening_and_trial_are_atomic_under_refusals() {
    const ONE: &str = "2001:db8:bad:1::1";
    const BESIDE: &str = "2001:db8:bad:1::2";
    let before = "lists: [{name: feed, path: $HOME/feed.txt}, {name: sshd, ipv6_prefix: 64}]";
    let after = "lists: [{name: feed, path: $HOME/feed.txt, ipv6_prefix: 48}, {name: sshd, ipv6_prefix: 56}]\n\
                 block: [203.0.113.7]";
    let mut net = Net::new();
    net.file("feed.txt", &format!("{ONE}\n"));
    net.start(before);
    net.filterd(["add", "2001:db8:5555:1::1", "--list", "sshd"]).succeeds();
    let (live, widened) = ("2001:db8:5555:1::2", "2001:db8:5555:2::1");
    let is_before = |net: &Net| {
        net.expect_each([ONE, live]).dropped();
        net.expect_each([BESIDE, widened, ATTACKER]).passes();
    };
    let told = |net: &Net| {
        let entries = net.filterd(["list", "--json"]).succeeds().output;
        (entries, net.filterd(["diff"]).exits(1).output, kept(net))
    };
    let mut refused = 0;
    for call in 1..=7 {
        is_before(&net);
        net.configure(after);
        let as_it_was = told(&net);
        let refusal = Refusal::of(keeper_of(net.daemon().id()), &format!("{NO_MEMORY}:when={call}"));
        let reply = net.filterd(["reload", "--confirm", "1h"]);
        refusal.end();
        if reply.is_success() {
            net.expect_each([ONE, BESIDE, live, widened, ATTACKER]).dropped();
            net.filterd(["confirm"]).succeeds();
            net.configure(before);
            net.filterd(["reload"]).succeeds();
        } else {
            reply.exits(8);
            refused += 1;
            is_before(&net);
            assert_eq!(told(&net), as_it_was, "call {call}");
            net.filterd(["confirm"]).exits(1).says("no reload is on trial");
        }
    }
    assert!(refused > 1, "nothing was refused in the midst of it");
    net.end(Signal::SIGKILL);
    net.start(before);
    is_before(&net);
}

/// What lies in the state directory for a start that finds nothing better, and of a trial.
fn kept(net: &Net) -> Vec<(String, String)> {
    let files = |directory: &str| {
        let read = fs::read_dir(net.home().path(directory)).expect("it is there").flatten();
        read.filter(|entry| !entry.file_name().to_string_lossy().starts_with("live.redb"))
            .filter(|entry| entry.path().is_file())
            .map(|entry| {
                let text = fs::read(entry.path()).expect("it is there");
                let text = String::from_utf8_lossy(&text).replace('\0', "");
                (entry.path().display().to_string(), text)
            })
            .collect::<Vec<_>>()
    };
    let mut kept = [files("state"), files("state/blobs")].concat();
    kept.sort();
    kept
}

#[test]
fn removals_work_after_refused_addition() {
    for first in ["198.18.0.0/16", "2001:db8:bad::/48", "2001:db8:bad:1::/64"] {
        let net = Net::with_filterd("");
        net.filterd(["add", ATTACKER, "--ttl", "3s"]).succeeds();
        net.filterd(["add", BYSTANDER]).succeeds();
        let refusal = Refusal::of(keeper_of(net.daemon().id()), NO_MEMORY);
        net.filterd(["add", first]).exits(8);
        net.filterd(["remove", BYSTANDER]).succeeds();
        net.expect(BYSTANDER).passes();
        net.expect(ATTACKER).then_within(SOON).passes();
        refusal.end();
        net.expect_each([ATTACKER, BYSTANDER, "198.18.1.1", ATTACKER6]).passes();
        assert!(net.filterd(["list"]).succeeds().says_nothing().is_success());
        net.filterd(["add", first, ATTACKER, ATTACKER6]).succeeds();
        net.expect_each([ATTACKER, ATTACKER6]).dropped();
    }
}

#[test]
fn refused_list_leaves_old_lists_unchanged() {
    let mut net = Net::new();
    net.file("drop.txt", "203.0.113.7\n2001:db8:bad::7\n");
    net.start("block: [198.51.100.7]\nlists: [{name: drop, path: $HOME/drop.txt}]");
    net.file("drop.txt", &many());
    net.configure("lists: [{name: drop, path: $HOME/drop.txt}]");
    let refusal = Refusal::of(keeper_of(net.daemon().id()), NO_MEMORY);
    net.filterd(["reload"]).exits(8);
    net.expect_each([ATTACKER, ATTACKER6, BYSTANDER]).dropped();
    net.expect("11.0.0.9").passes();
    net.filterd(["test", BYSTANDER]).exits(0).says("config");
    refusal.end();
    net.filterd(["reload"]).succeeds();
    net.expect("11.0.0.9").dropped();
    net.expect_each([ATTACKER, ATTACKER6, BYSTANDER]).passes();
}

/// More than the smallest tables hold.
fn many() -> String {
    (0..8000).map(|host: u32| format!("11.0.{}.{}\n", host >> 8, host & 255)).collect()
}

/// `test`, `stats` and `status` agree with the wire.
#[track_caller]
fn says_what_it_does(net: &Net, drops: bool) {
    let exit = i32::from(!drops);
    net.filterd(["test", ATTACKER]).exits(exit);
    for verb in ["stats", "status"] {
        assert_eq!(net.filterd([verb, "--json"]).json()["enforce"], drops, "{verb}");
    }
    let attacker = net.expect(ATTACKER);
    if drops {
        attacker.dropped()
    } else {
        attacker.passes()
    };
}
