//! Allow wins always, wherever the block comes from; and when it ends, what it covered is blocked again.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net, Refusal, SavedGeneration, Talk, is_error, keeper_of};
use nix::sys::signal::Signal;
use serde_json::json;

/// Long enough for any machine to notice that a few seconds are over.
const SOON: Duration = Duration::from_secs(30);

/// As long as a grace period is made to take here.
const GRACE: Duration = Duration::from_millis(300);

const BLOCKED: &str = "block: [203.0.0.0/8, \"2001:db8::/32\"]";

#[test]
pub(super) fn allowed_address_passes_inside_blocked_prefix() {
    let net = Net::with_filterd(BLOCKED);
    net.filterd(["add", ATTACKER, ATTACKER6, "203.0.113.0/24"]).succeeds();
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    for (allowed, inside, beside) in [
        ("203.0.113.7", ["203.0.113.7"; 2], ["203.0.113.6", "203.0.113.8"]),
        ("203.0.113.0-203.0.113.9", ["203.0.113.0", "203.0.113.9"], ["203.0.112.255", "203.0.113.10"]),
        ("203.0.112.0/23", ["203.0.112.0", "203.0.113.255"], ["203.0.111.255", "203.0.114.0"]),
        ("2001:db8:bad::7", ["2001:db8:bad::7"; 2], ["2001:db8:bad::6", "2001:db8:bad::8"]),
        (
            "2001:db8:bad::/64",
            ["2001:db8:bad::", "2001:db8:bad:0:ffff::"],
            ["2001:db8:bac::", "2001:db8:bad:1::"],
        ),
        ("2001:db8::/33", ["2001:db8::", "2001:db8:7fff::1"], ["2001:db8:8000::", "2001:db8:ffff::"]),
    ] {
        net.filterd(["allow", "add", allowed]).succeeds();
        net.expect_each(inside).passes();
        net.expect_each(beside).dropped();
        net.filterd(["allow", "remove", allowed]).succeeds();
        net.expect_each(inside).dropped();
    }
    net.filterd(["allow", "add", "--wide", "0.0.0.0/0", "::/0"]).succeeds();
    net.expect_each([ATTACKER, ATTACKER6]).passes();
    assert!(net.counted("allowed") > 0);
}

#[test]
fn test_says_what_allows_and_what_would_block() {
    let net = Net::with_filterd(BLOCKED);
    net.filterd(["allow", "add", "203.0.113.0/28", "--ttl", "2h", "--note", "our office"]).succeeds();
    let allows = json!({"target": "203.0.113.0/28", "list": "manual-allow", "note": "our office"});
    let blocks = json!({"target": "203.0.0.0/8", "list": "config"});
    net.filterd(["test", ATTACKER, "--json"])
        .exits(1)
        .has(json!({"tested": [{"dropped": false, "because": [blocks], "allowed_by": [allows]}]}));
    net.filterd(["allow", "list"]).succeeds().says("our office");
    net.filterd(["list"]).succeeds().is_silent_about("our office");
    let list = json!({"name": "manual-allow", "allows": true});
    net.filterd(["status", "--json"]).succeeds().has(json!({"lists": [list]}));
    // What is blocked meanwhile is not said to be.
    net.filterd(["add", ATTACKER, "--json"]).exits(1).has(json!({"allowed": 1, "allowed_by": [allows]}));
    net.filterd(["add", "203.0.113.0/24", "--json"]).succeeds().has(json!({"allowed_by": [allows]}));
    net.filterd_reading(["add", "-", "--json"], "203.0.113.5\n192.0.2.1\n")
        .succeeds()
        .has(json!({"allowed": 1}));
    net.expect("192.0.2.1").dropped();
    net.expect(ATTACKER).passes();
}

#[test]
fn expired_allow_restores_the_block() {
    let net = Net::with_filterd(BLOCKED);
    // Each waits for a program, which an emulated processor checks for seconds.
    net.filterd(["allow", "add", ATTACKER, ATTACKER6, "203.0.114.0/24", "--ttl", "15s"]).succeeds();
    // The block of this one ends with its allow: at no moment is it dropped, since nobody wants it dropped alone.
    net.filterd(["add", BYSTANDER, "--ttl", "15s"]).succeeds();
    net.filterd(["allow", "add", BYSTANDER, "--ttl", "15s"]).succeeds();
    net.expect_each([ATTACKER, ATTACKER6, "203.0.114.9", BYSTANDER]).passes();
    net.expect(ATTACKER).then_within(SOON).dropped();
    net.expect(ATTACKER6).then_within(SOON).dropped();
    net.expect("203.0.114.9").then_within(SOON).dropped();
    net.expect(BYSTANDER).passes();
    net.filterd(["allow", "list"]).succeeds().is_silent_about("203.0");
}

/// Packets in flight are to have seen who left before it ended; not all who go on leaving.
#[test]
fn allow_expires_in_time_during_constant_changes() {
    let net = Net::with_filterd(BLOCKED);
    // Much is removed while one of them lasts.
    let slow = Refusal::delay(net.daemon().id(), "membarrier", 5 * GRACE);
    net.filterd(["allow", "add", ATTACKER, "--ttl", "2s"]).succeeds();
    let (socket, is_over) = (net.home().socket(), AtomicBool::new(false));
    let passes_still = thread::scope(|scope| {
        scope.spawn(|| {
            let mut talk = Talk::to(&socket);
            while !is_over.load(Ordering::Relaxed) {
                assert!(!is_error(&talk.add(BYSTANDER, "busy")));
                assert!(!is_error(&talk.remove(BYSTANDER)));
            }
        });
        let begun = Instant::now();
        let passes = || net.arrivals(0, &[ATTACKER.into()]) == [true];
        while passes() && begun.elapsed() < SOON {
            thread::sleep(Duration::from_millis(20));
        }
        let passes_still = passes();
        is_over.store(true, Ordering::Relaxed);
        passes_still
    });
    assert!(!passes_still, "its allow is over, and it passes");
    slow.end();
}

#[test]
fn allow_survives_kill_and_restart() {
    let mut net = Net::with_filterd(BLOCKED);
    net.filterd(["allow", "add", ATTACKER, "--note", "our office", "--list", "office"]).succeeds();
    net.filterd(["allow", "add", ATTACKER6, "203.0.114.0/24"]).succeeds();
    net.filterd(["allow", "remove", "203.0.114.0/24"]).succeeds();
    net.end(Signal::SIGKILL);
    net.expect_each([ATTACKER, ATTACKER6]).passes();
    net.start(BLOCKED);
    net.expect_each([ATTACKER, ATTACKER6]).passes();
    net.expect_each(["203.0.113.8", "203.0.114.9"]).dropped();
    let office = json!({"list": "office", "note": "our office"});
    net.filterd(["test", ATTACKER, "--json"]).exits(1).has(json!({"tested": [{"allowed_by": [office]}]}));
}

#[test]
fn remove_and_flush_leave_what_is_allowed_alone() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    net.filterd(["allow", "add", ATTACKER]).succeeds();
    net.filterd(["allow", "add", ATTACKER6, "--list", "office"]).succeeds();
    net.filterd(["remove", ATTACKER, ATTACKER6]).succeeds();
    net.filterd(["flush"]).succeeds();
    net.filterd(["add", ATTACKER, ATTACKER6, "--list", "ssh"]).exits(1);
    net.expect_each([ATTACKER, ATTACKER6]).passes();
    // One list does one thing.
    net.filterd(["allow", "add", BYSTANDER, "--list", "ssh"]).exits(5).complains("list \"ssh\" blocks: ");
    net.filterd(["add", BYSTANDER, "--list", "office"]).exits(5).complains("list \"office\" allows: ");
    net.filterd(["add", BYSTANDER, "--list", "manual-allow"]).exits(5);
    net.filterd(["allow", "add", BYSTANDER, "--list", "manual"]).exits(5);
    net.filterd(["remove", ATTACKER6, "--list", "office"]).exits(5);
    net.filterd(["list", "--list", "office"]).exits(2).complains("filterd allow list --list office");
    net.expect(BYSTANDER).passes();
    net.filterd(["flush", "--list", "office", "--json"]).succeeds().has(json!({"allows": true, "left": 1}));
    net.expect(ATTACKER6).dropped();
    net.expect(ATTACKER).passes();
    net.filterd(["allow", "remove", ATTACKER, "--strict", "--json"])
        .succeeds()
        .has(json!({"blocked_by": [{"target": ATTACKER, "list": "ssh"}]}));
    net.filterd(["allow", "remove", ATTACKER, "--strict"]).exits(4);
}

/// Whoever is blocked and allowed before, and neither or both after, is dropped at no moment between.
#[test]
fn reload_of_both_kinds_drops_nobody_in_between() {
    let both = "block: [203.0.113.0/24, \"2001:db8:bad::/48\"]\nallow: [203.0.113.7, \"2001:db8:bad::7\"]";
    let other =
        "block: [203.0.112.0/23, \"2001:db8:bac::/47\"]\nallow: [203.0.113.0/28, \"2001:db8:bad::/64\"]";
    let mut net = Net::with_filterd("");
    for config in [both, "", both, other, both] {
        let slow = Refusal::delay(net.daemon().id(), "membarrier", GRACE);
        net.configure(config);
        let home = net.home();
        let begun = Instant::now();
        thread::scope(|scope| {
            let reloading = scope.spawn(|| home.filterd(["reload"]).succeeds());
            while !reloading.is_finished() {
                let arrived = net.arrivals(0, &[ATTACKER.into(), ATTACKER6.into()]);
                assert_eq!(arrived, [true, true], "{config}: dropped on the way");
            }
        });
        assert!(begun.elapsed() >= GRACE, "{config}: it waited for nobody who was under way");
        slow.end();
        net.expect_each([ATTACKER, ATTACKER6]).passes();
        let is_blocked = !config.is_empty();
        let beside = net.expect_each(["203.0.113.99", "2001:db8:bad:7::1"]);
        if is_blocked {
            beside.dropped()
        } else {
            beside.passes()
        };
    }
    net.configure("block: [203.0.113.0/24, \"2001:db8:bad::/48\"]");
    net.filterd(["reload", "--json"]).succeeds().has(json!({"disallowed": 2}));
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.end(Signal::SIGTERM);
}

#[test]
fn allow_list_without_file_keeps_last_good_copy() {
    const LISTS: &str =
        "block: [203.0.113.0/24]\nlists: [{name: office, path: $HOME/office.txt, allow: true}]";
    let mut net = Net::new();
    let file = net.file("office.txt", &format!("{ATTACKER} # us\n192.0.2.0/24\n"));
    net.start(LISTS);
    net.expect(ATTACKER).passes();
    let begun = Instant::now();
    while SavedGeneration::read(net.home(), "current").is_none() {
        assert!(begun.elapsed() < SOON, "there is no copy");
        thread::sleep(Duration::from_millis(10));
    }
    fs::remove_file(&file).expect("it was there");
    net.filterd(["reload", "--json"]).exits(7).has(json!({"held_back": [{"list": "office"}]}));
    net.expect(ATTACKER).passes();
    net.end(Signal::SIGKILL);
    net.start(LISTS);
    net.expect(ATTACKER).passes();
    net.expect("203.0.113.8").dropped();
    net.filterd(["status"]).exits(7).says("list \"office\" was not updated");
    net.filterd(["reload", "--accept", "office"]).succeeds();
    net.expect(ATTACKER).dropped();
}

#[test]
fn list_can_change_between_block_and_allow() {
    let list = |allow| format!("lists: [{{name: office, path: $HOME/office.txt, allow: {allow}}}]");
    let mut net = Net::new();
    net.file("office.txt", &format!("{ATTACKER}\n{ATTACKER6}\n"));
    net.start(&list(false));
    net.filterd(["add", "203.0.113.0/24", "2001:db8:bad::/48"]).succeeds();
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.configure(&list(true));
    let diff = net.filterd(["diff", "--json"]).json();
    let entries: Vec<_> = diff["entries"].as_array().into_iter().flatten().collect();
    assert!(
        entries.iter().all(|entry| entry["comes"] == (entry["allows"] == true)) && entries.len() == 4,
        "{diff}"
    );
    net.filterd(["reload", "--json"]).succeeds().has(json!({"allowed": 2}));
    net.expect_each([ATTACKER, ATTACKER6]).passes();
    let office = json!({"target": ATTACKER, "list": "office"});
    net.filterd(["test", ATTACKER, "--json"]).exits(1).has(json!({"tested": [{"allowed_by": [office]}]}));
    net.configure(&list(false));
    net.filterd(["reload", "--json"]).succeeds().has(json!({"disallowed": 2}));
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    let lists = net.filterd(["status", "--json"]).succeeds().json()["lists"].clone();
    let office = lists.as_array().and_then(|lists| lists.iter().find(|list| list["name"] == "office"));
    assert!(office.is_some_and(|list| list["allows"].is_null()), "{lists}");
}

#[test]
fn another_filterd_takes_over_what_is_allowed() {
    let mut net = Net::with_filterd(BLOCKED);
    net.filterd(["allow", "add", ATTACKER, ATTACKER6]).succeeds();
    net.succeed(BLOCKED);
    net.expect_each([ATTACKER, ATTACKER6]).passes();
    net.expect_each(["203.0.113.8", "2001:db8:bad::8"]).dropped();
    net.filterd(["allow", "remove", ATTACKER]).succeeds();
    net.expect(ATTACKER).dropped();
}

#[test]
fn refused_reload_keeps_allowed_entries() {
    let net = Net::with_filterd(&format!("block: [203.0.113.0/24, 198.51.100.0/24]\nallow: [{ATTACKER}]"));
    let many: String = (0..8000).map(|host: u32| format!("- 10.0.{}.{}\n", host >> 8, host & 255)).collect();
    let other = format!("allow: [{BYSTANDER}]\nblock:\n- 203.0.113.0/24\n- 198.51.100.0/24\n{many}");
    net.configure(&other);
    let refusal = Refusal::of(keeper_of(net.daemon().id()), "bpf:error=ENOMEM");
    net.filterd(["reload"]).exits(8);
    net.expect(ATTACKER).passes();
    net.expect_each([BYSTANDER, "203.0.113.8"]).dropped();
    net.filterd(["allow", "list"]).says(ATTACKER).is_silent_about(BYSTANDER);
    refusal.end();
    net.filterd(["reload"]).succeeds();
    net.expect(BYSTANDER).passes();
    net.expect_each([ATTACKER, "203.0.113.8", "10.0.0.9"]).dropped();
}

#[test]
fn expiring_allow_is_listed_and_counted_per_table() {
    let net = Net::with_filterd(BLOCKED);
    let entries = || {
        let status = net.filterd(["status", "--json"]).json();
        let of = |name: &str| {
            let table = status["tables"].as_array().into_iter().flatten().find(|table| table["name"] == name);
            table
                .and_then(|table| table["entries"].as_u64())
                .unwrap_or_else(|| panic!("no {name} in {status}"))
        };
        [of("allowed ipv4 addresses"), of("allowed ipv6")]
    };
    let guarded = entries();
    net.filterd(["allow", "add", ATTACKER, "--ttl", "30m"]).succeeds();
    net.filterd(["allow", "add", "198.51.100.0/28", ATTACKER6]).succeeds();
    assert_eq!(entries(), [guarded[0] + 17, guarded[1] + 1]);
    net.filterd(["allow", "list", "--expiring", "1h"]).says(ATTACKER).is_silent_about("198.51.100");
    net.filterd(["allow", "list", "--expiring", "1m"]).complains("nothing is allowed that expires within");
}

#[test]
fn wide_allow_needs_the_wide_flag() {
    let net = Net::with_filterd("block: [203.0.113.0/24]");
    for wide in ["0.0.0.0/0", "128.0.0.0/1", "::/0", "2000::/15"] {
        net.filterd(["allow", "add", wide])
            .exits(5)
            .complains("every blocked source in it would pass")
            .complains("--wide");
    }
    net.expect(ATTACKER).dropped();
    net.filterd(["allow", "add", "0.0.0.0/0", "--wide"]).succeeds();
    net.expect(ATTACKER).passes();
    net.configure("block: [203.0.113.0/24]\nallow: [\"::/0\"]");
    net.filterd(["reload"])
        .succeeds()
        .complains("`allow:` contains ::/0, which is wider than a /16: no blocked source in it is dropped");
}
