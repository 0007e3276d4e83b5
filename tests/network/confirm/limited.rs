//! Entries with an end, before a trial, in it and behind it.

use super::*;

/// What the configuration says of the list, and what is in its file.
type OnTrial = (&'static str, &'static str);

/// What a trial may make of a list of `OLD` and `NEW`.
const TRIALS: [OnTrial; 5] = [
    // Names go out of its file.
    ("lists: [{name: seen, path: $HOME/seen.txt, ttl: TTL}]", "198.51.100.9\n"),
    // It goes out of the configuration.
    ("block: [198.51.100.9]", "192.0.2.78\n192.0.2.77\n"),
    // It is called otherwise, and other names are in its file.
    ("lists: [{name: found, path: $HOME/seen.txt, ttl: TTL}]", "198.51.100.9\n"),
    // Everything counts anew, or nothing ends.
    ("lists: [{name: seen, path: $HOME/seen.txt, ttl: 5h}]", "192.0.2.78\n192.0.2.77\n"),
    ("lists: [{name: seen, path: $HOME/seen.txt}]", "192.0.2.78\n198.51.100.9\n"),
];

/// With a list whose second entry has come later than the first.
fn with_two(ttl: &str) -> Net {
    let mut net = Net::new();
    net.file("seen.txt", OLD);
    net.start(&before(ttl));
    // A busy machine may need longer than a short `ttl`.
    if ttl == "1h" {
        net.expect(OLD).dropped();
    }
    // Ends are full seconds.
    thread::sleep(Duration::from_millis(1100));
    net.file("seen.txt", &format!("{OLD}\n{NEW}\n"));
    net.filterd(["reload"]).succeeds();
    net
}

fn before(ttl: &str) -> String {
    TRIALS[0].0.replace("TTL", ttl)
}

/// It is tried, and rolled back.
fn tries((config, file): OnTrial, ttl: &str, net: &Net) {
    net.configure(&config.replace("TTL", ttl));
    net.file("seen.txt", file);
    net.filterd(["reload", "--confirm", "1h"]).succeeds();
    net.filterd(["rollback"]).succeeds();
}

/// What is on list `seen`, since when and until when.
fn ends(net: &Net) -> Vec<(String, Option<u64>, Option<u64>)> {
    let told = net.filterd(["list", "--list", "seen", "--json"]).succeeds().json_lines();
    let end =
        |one: &serde_json::Value| (one["target"].to_string(), one["since"].as_u64(), one["until"].as_u64());
    let mut ends: Vec<_> = told.iter().map(end).collect();
    ends.sort();
    ends
}

#[test]
fn rollback_keeps_every_expiry() {
    for on_trial in TRIALS {
        let net = with_two("1h");
        let had = ends(&net);
        assert!(had.len() == 2 && had[0].2 != had[1].2, "one came later: {had:?}");
        tries(on_trial, "1h", &net);
        assert_eq!(ends(&net), had, "{on_trial:?}");
        net.expect_each([OLD, NEW]).dropped();
        net.expect("198.51.100.9").passes();
    }
}

#[test]
fn entries_expired_before_trial_stay_expired_after_rollback() {
    for on_trial in TRIALS {
        let net = with_two("2s");
        net.expect_each([OLD, NEW]).then_within(PATIENCE).passes();
        tries(on_trial, "2s", &net);
        net.expect_each([OLD, NEW]).passes();
        net.filterd(["list", "--list", "seen"]).succeeds().says_nothing();
        net.filterd(["test", OLD]).exits(1).says("it has expired there");
        // It can be tried again, and is over still where it is read again.
        tries(on_trial, "2s", &net);
        net.expect_each([OLD, NEW]).passes();
    }
}

/// The next filterd rolls back what the one before has tried: when it begins, or when somebody says so.
#[test]
fn rollback_after_kill_keeps_every_expiry() {
    for (number, (config, file)) in TRIALS.into_iter().enumerate() {
        // Some are over before it starts.
        let length = if number % 2 == 0 { "1h" } else { "3s" };
        for ttl in ["1h", "2s"] {
            let mut net = with_two(ttl);
            if ttl == "2s" {
                net.expect_each([OLD, NEW]).then_within(PATIENCE).passes();
            }
            // In the trial some have no end, and then no copy says since when they are there.
            let until = |net: &Net| {
                ends(net).into_iter().map(|(target, _, until)| (target, until)).collect::<Vec<_>>()
            };
            let had = until(&net);
            let config = config.replace("TTL", ttl);
            net.configure(&config);
            net.file("seen.txt", file);
            net.filterd(["reload", "--confirm", length]).succeeds();
            net.end(Signal::SIGKILL);
            if length == "3s" {
                thread::sleep(Duration::from_secs(4));
            }
            net.start(&config);
            if length == "1h" {
                net.filterd(["rollback"]).succeeds();
            }
            assert_eq!(had.len(), if ttl == "1h" { 2 } else { 0 });
            for start in 0..2 {
                assert_eq!(until(&net), had, "{config}, start {start}");
                net.expect("198.51.100.9").passes();
                if ttl == "2s" {
                    net.filterd(["test", OLD]).exits(1).says("it has expired there");
                }
                // Nobody has said anything else since.
                net.end(Signal::SIGKILL);
                net.start(&config);
            }
        }
    }
}

#[test]
fn confirmed_trial_keeps_expiries_of_new_entries() {
    let mut net = with_two("1h");
    net.file("seen.txt", &format!("{OLD}\n{NEW}\n{ATTACKER}\n"));
    thread::sleep(Duration::from_millis(1100));
    net.filterd(["reload", "--confirm", "1h"]).succeeds();
    let had = ends(&net);
    assert_eq!(had.len(), 3);
    net.filterd(["confirm"]).succeeds();
    net.end(Signal::SIGKILL);
    net.file("seen.txt", &format!("{ATTACKER}\n{NEW}\n192.0.2.79\n{OLD}\n"));
    thread::sleep(Duration::from_millis(1100));
    net.start(&before("1h"));
    let again: Vec<_> = ends(&net).into_iter().filter(|one| !one.0.contains("192.0.2.79")).collect();
    assert_eq!(again, had);
}
