//! What is true of two configurations is true of every moment between them.

use std::thread;
use std::time::{Duration, Instant};

use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, Net, Random, Refusal};
use serde_json::Value;

/// As long as a grace period is made to take here.
const GRACE: Duration = Duration::from_millis(500);

#[test]
fn removals_wait_for_packets_in_flight() {
    for (before, after) in [
        ("block: [203.0.113.7]", "block: [198.51.100.0/24]"),
        ("block: [203.0.113.0/24]", "block: [198.51.100.7]"),
        ("block: [\"2001:db8:bad::/48\"]", "block: [\"2001:db8:900d::/56\"]"),
        ("block: [\"2001:db8:bad::7\"]", "block: [\"2001:db8:900d::/64\"]"),
    ] {
        let net = Net::with_filterd(before);
        let is_six = before.contains(':') && before.contains("2001");
        let [leaves, comes] = if is_six { [ATTACKER6, BYSTANDER6] } else { [ATTACKER, BYSTANDER] };
        net.expect(leaves).dropped();
        let slow = Refusal::delay(net.daemon().id(), "membarrier", GRACE);
        net.configure(after);
        let home = net.home();
        let begun = Instant::now();
        let overlapped = thread::scope(|scope| {
            let reloading = scope.spawn(|| home.filterd(["reload"]).succeeds());
            let mut overlapped = 0;
            while !reloading.is_finished() {
                let arrived = net.arrivals(0, &[comes.into(), leaves.into()]);
                assert_ne!(arrived, [true, true], "{before}: both passed");
                overlapped += usize::from(arrived == [false, false]);
            }
            overlapped
        });
        assert!(begun.elapsed() >= GRACE, "{before}: it waited for nobody who was under way");
        slow.end();
        assert!(overlapped > 0, "{before} and {after}: no packet met both");
        net.expect(comes).dropped();
        net.expect(leaves).passes();
    }
}

#[test]
fn source_passed_by_both_configurations_always_passes() {
    let mut net = Net::new();
    let mut random = Random(41);
    let mut crowd = |also: &str| {
        let addresses = random.addresses(30_000);
        let begin = format!("{also}\n");
        addresses.iter().fold(begin, |text, address| text + &address.to_string() + "\n")
    };
    net.file("counted.txt", &crowd("198.51.100.0/24\n2001:db8:900d::/48\n"));
    net.file("dropped.txt", &crowd("203.0.113.0/24\n2001:db8:bad::/48\n"));
    // One lists the bystanders and drops nobody; the other drops, and does not list them.
    let configs = [
        "enforce: false\nlists: [{name: drop, path: $HOME/counted.txt}]",
        "enforce: true\nlists: [{name: drop, path: $HOME/dropped.txt}]",
    ];
    net.start(configs[0]);
    let home = net.home();
    thread::scope(|scope| {
        let reloading = scope.spawn(|| {
            for config in configs.iter().cycle().skip(1).take(21) {
                home.write("filterd.yaml", config);
                home.filterd(["reload"]).succeeds();
            }
        });
        while !reloading.is_finished() {
            net.expect_each((0..50).flat_map(|_| [BYSTANDER, BYSTANDER6])).passes();
        }
    });
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
}

/// The list that goes and the one that comes in its place are both there for a while, and both are called as people call them.
#[test]
fn reload_reports_removed_list_by_its_old_name() {
    let config = |more: &str| format!("lists: [{{name: drop, path: $HOME/drop.txt{more}}}]");
    let mut net = Net::new();
    net.file("drop.txt", &format!("{ATTACKER}\n"));
    net.start(&config(""));
    for more in [", ports: [22]", ", allow: true"] {
        net.configure(&config(more));
        let slow = Refusal::delay(net.daemon().id(), "membarrier", 2 * GRACE);
        let home = net.home();
        let both = thread::scope(|scope| {
            let reloading = scope.spawn(|| home.filterd(["reload"]).succeeds());
            let mut both = 0;
            while !reloading.is_finished() {
                let export = home.filterd(["export", "--format", "json"]).succeeds().output;
                let test = home.filterd(["test", ATTACKER, "--json"]).json();
                let lists = home.filterd(["lists", "--json"]).json();
                let status = home.filterd(["status"]).output;
                for told in [&export, &test.to_string(), &lists.to_string(), &status] {
                    assert!(!told.contains("removed"), "{more}: {told}");
                }
                assert_eq!(named(&lists), 1, "a name stands there once: {lists}");
                let because = test["tested"][0]["because"].as_array().map_or(0, Vec::len);
                let files = test["tested"][0]["files"].as_array().map_or(0, Vec::len);
                assert_eq!(because.min(1), files, "who has it is told to be a file: {test}");
                both += usize::from(export.matches("\"list\":\"drop\"").count() == 2);
                let entries = home.filterd(["list", "--list", "drop", "--json"]).output;
                assert!(entries.contains(ATTACKER) || more.contains("allow"), "{entries}");
            }
            both
        });
        slow.end();
        assert!(both > 0, "{more}: nobody has seen both");
    }
}

/// How many lists of the answer are called so.
fn named(lists: &Value) -> usize {
    let all = lists["lists"].as_array().expect("there are some");
    all.iter().filter(|list| list["name"] == "drop").count()
}
