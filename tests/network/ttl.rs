//! `--ttl`: a block that ends by itself.

use std::time::Duration;

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::changed_kind::wait_for_copies;

/// Long enough for any machine to notice that two seconds are over.
const SOON: Duration = Duration::from_secs(30);

#[test]
fn an_expired_address_passes_again() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, ATTACKER6, "192.0.2.64/26", "--ttl", "3s"]).succeeds();
    net.expect(ATTACKER).dropped().then_within(SOON).passes();
    net.expect(ATTACKER6).then_within(SOON).passes();
    net.expect("192.0.2.100").then_within(SOON).passes();
    net.filterd(["test", ATTACKER]).exits(1);
    net.filterd(["list"]).succeeds().is_silent_about(ATTACKER);
}

#[test]
fn entry_without_ttl_stays() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER]).succeeds();
    net.filterd(["add", BYSTANDER, "--ttl", "1s"]).succeeds();
    net.expect(BYSTANDER).then_within(SOON).passes();
    net.expect(ATTACKER).dropped();
}

#[test]
fn adding_again_extends_and_never_shortens() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "--ttl", "1s"]).succeeds();
    net.filterd(["add", ATTACKER, "--ttl", "1h"]).succeeds();
    let told = net.filterd(["add", ATTACKER, "--ttl", "1s", "--json"]).succeeds().says("--shorten").json();
    assert_eq!((&told["changed"], &told["longer"][0]["target"]), (&0.into(), &ATTACKER.into()));
    net.filterd(["add", ATTACKER, BYSTANDER, "--ttl", "1s"]).succeeds();
    net.expect(BYSTANDER).then_within(SOON).passes();
    net.expect(ATTACKER).dropped();
}

#[test]
fn test_says_until_when() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "--ttl", "2h", "--note", "knocked on 23 doors"]).succeeds();
    let answer = net.filterd(["test", ATTACKER, "--json"]).exits(0).json();
    let entry = &answer["tested"][0]["because"][0];
    let [since, until] = ["since", "until"].map(|time| entry[time].as_u64().expect("a time"));
    assert!((7200..=7201).contains(&(until - since)), "times are full seconds, and it ends with one");
    assert_eq!(entry["note"], "knocked on 23 doors");
}

#[test]
fn soon_expiring_entries_are_listed_in_order() {
    let net = Net::with_filterd("block: [192.0.2.99]");
    net.filterd(["add", "192.0.2.9", "--ttl", "30m"]).succeeds();
    net.filterd(["add", "2001:db8:9::/48", "--ttl", "10m", "--list", "ssh"]).succeeds();
    net.filterd(["add", ATTACKER, "192.0.2.64/26", "--ttl", "20m"]).succeeds();
    net.filterd(["add", BYSTANDER, "--ttl", "2h"]).succeeds();
    net.filterd(["add", ATTACKER6]).succeeds();
    let listed = |words: &[&str]| {
        let words = ["list", "--json", "--expiring"].iter().chain(words);
        let answer = net.filterd(words).succeeds().output;
        let entry = |line: &str| serde_json::from_str::<Value>(line).expect("a line is an object");
        let target = |line: &str| entry(line)["target"].as_str().expect("it has one").to_owned();
        answer.lines().map(target).collect::<Vec<_>>()
    };
    assert_eq!(listed(&["1h"]), ["2001:db8:9::/48", "192.0.2.64/26", ATTACKER, "192.0.2.9"]);
    assert_eq!(
        listed(&["1h", "--list", "manual", "--family", "4"]),
        ["192.0.2.64/26", ATTACKER, "192.0.2.9"]
    );
    assert_eq!(listed(&["15m"]), ["2001:db8:9::/48"]);
    assert!(listed(&["1m"]).is_empty());
    net.filterd(["list", "--expiring", "soon"]).exits(2);
}

#[test]
fn author_of_entry_survives_restart() {
    let mut net = Net::with_filterd("block: [192.0.2.99]");
    net.filterd(["add", ATTACKER, "--ttl", "1h"]).succeeds();
    for _ in 0..2 {
        let told = net.filterd(["list", "--list", "manual", "--json"]).succeeds().json();
        let by = told["by"].as_str().expect("it is told").to_owned();
        assert!(by.ends_with("root (filterd add)"), "{by}");
        let by = |address: &str| {
            let tested = net.filterd(["test", address, "--json"]).succeeds().json();
            tested["tested"][0]["because"][0]["by"].clone()
        };
        assert!(by(ATTACKER).as_str().is_some_and(|by| by.ends_with("root (filterd add)")));
        assert_eq!(by("192.0.2.99"), Value::Null);
        net.stop();
        net.start("block: [192.0.2.99]");
    }
}

#[test]
fn expired_file_entry_does_not_return() {
    let mut net = Net::new();
    net.file("seen.txt", ATTACKER);
    let lists = |ttl| format!("lists: [{{name: seen, path: $HOME/seen.txt, ttl: {ttl}}}]");
    net.start(&lists("2s"));
    net.expect(ATTACKER).then_within(SOON).passes();
    // Somebody appends a line.
    net.file("seen.txt", &format!("{ATTACKER}\n{BYSTANDER}\n"));
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).passes();
    net.expect(BYSTANDER).then_within(SOON).passes();
    net.filterd(["status", "--json"]).succeeds().has(json!({"lists": [{"name": "seen", "expired": 2}]}));
    // With another time all of it begins anew.
    net.configure(&lists("1h"));
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).dropped();
    net.filterd(["list", "--expiring", "1h", "--list", "seen"]).succeeds().says(ATTACKER);
    net.expect(BYSTANDER).dropped();
    net.filterd(["status"]).succeeds().is_silent_about("expired");
}

/// What was allowed for a while and is dropped again says why.
#[test]
fn test_reports_expired_allow_of_file() {
    let mut net = Net::new();
    net.file("partners.txt", ATTACKER);
    net.start(
        "block: [203.0.113.0/24]\nlists: [{name: partners, path: $HOME/partners.txt, allow: true, ttl: 2s}]",
    );
    net.expect(ATTACKER).then_within(SOON).dropped();
    let over = json!({"target": ATTACKER, "list": "partners", "allows": true});
    let tested = json!({"because": [{"list": "config"}], "expired": [over]});
    net.filterd(["test", ATTACKER, "--json"]).succeeds().has(json!({"tested": [tested]}));
    net.filterd(["test", "203.0.113.8", "--json"]).succeeds().is_silent_about("expired");
}

/// Whatever the reason that the file is read again for: that the time of what it names is over stays so.
#[test]
fn diff_does_not_announce_expired_entries() {
    let mut net = Net::new();
    let list = |more: &str| format!("lists: [{{name: seen, path: $HOME/seen.txt, ttl: 5s{more}}}]");
    net.file("seen.txt", &format!("{ATTACKER}\n{BYSTANDER}\n"));
    net.start(&list(""));
    net.expect(ATTACKER).then_within(SOON).passes();
    net.expect(BYSTANDER).then_within(SOON).passes();
    net.configure(&list(", include_special: true"));
    let entries = |net: &Net| net.filterd(["diff", "--json"]).exits(1).json()["entries"].clone();
    assert_eq!(entries(&net), Value::Null);
    net.filterd(["reload", "--json"]).succeeds().has(json!({"entered": 0, "left": 0}));
    // One that is new comes, and another goes from those that are over.
    net.file("seen.txt", &format!("{ATTACKER}\n192.0.2.77\n"));
    let entry = |target: &str, comes: bool| json!({"list": "seen", "target": target, "comes": comes});
    assert_eq!(entries(&net), json!([entry("192.0.2.77", true)]));
    net.filterd(["reload", "--json"]).succeeds().has(json!({"entered": 1, "left": 0}));
    // What is over is none of those that stay: one that goes is told beside it.
    net.file("seen.txt", &format!("{ATTACKER}\n"));
    assert_eq!(entries(&net), json!([entry("192.0.2.77", false)]));
    // With another time all of it begins anew.
    net.configure(&list("").replace("5s", "1h"));
    let found = net.filterd(["diff", "--json"]).exits(1);
    found.has(json!({"lists": [{"come": 1, "go": 1}], "entries": [entry(ATTACKER, true)]}));
}

/// It is a new list for the filter, and the same for who wrote it.
#[test]
fn list_with_other_ports_keeps_expiries() {
    let mut net = Net::new();
    let list = |more: &str| format!("lists: [{{name: seen, path: $HOME/seen.txt, ttl: 15s{more}}}]");
    let but = |port: u16| list(&format!(", except_ports: [{port}]"));
    let file = net.file("seen.txt", ATTACKER);
    net.start(&list(""));
    net.expect(ATTACKER).then_within(SOON).passes();
    net.file("seen.txt", &format!("{ATTACKER}\n{BYSTANDER}\n"));
    net.configure(&but(443));
    net.filterd(["diff", "--json"]).exits(1).says(BYSTANDER).is_silent_about(ATTACKER);
    net.filterd(["reload"]).succeeds();
    let times = |net: &Net| {
        let entry = net.filterd(["list", "--json"]).succeeds().says(BYSTANDER).json();
        (entry["since"].as_u64(), entry["until"].as_u64())
    };
    let came = times(&net);
    std::thread::sleep(Duration::from_secs(2));
    net.configure(&but(444));
    net.filterd(["reload"]).succeeds();
    assert_eq!(times(&net), came);
    net.expect(BYSTANDER).dropped();
    net.expect(ATTACKER).passes();
    // No file says any more what is on it, and it goes on.
    std::fs::remove_file(file).expect("it was there");
    net.configure(&but(445));
    net.filterd(["reload"]).exits(7).complains("seen.txt: there is no such file");
    assert_eq!(times(&net), came);
    net.expect(BYSTANDER).then_within(SOON).passes();
    net.filterd(["status", "--json"]).exits(7).has(json!({"lists": [{"name": "seen", "expired": 2}]}));
    net.configure(&but(446));
    net.filterd(["reload", "--json"]).exits(7).has(json!({"entered": 0, "left": 0}));
    net.expect(ATTACKER).passes();
    net.expect(BYSTANDER).passes();
}

/// Its file is missing: what the copy says is there as long as the configuration says, as it would be after a start.
#[test]
fn held_back_list_takes_new_ttl_at_once() {
    let mut net = Net::new();
    let list = |ttl: &str| format!("lists: [{{name: seen, path: $HOME/seen.txt{ttl}}}]");
    let file = net.file("seen.txt", ATTACKER);
    net.start(&list(", ttl: 1h"));
    net.expect(ATTACKER).dropped();
    wait_for_copies(&net, "block");
    std::fs::remove_file(file).expect("it was there");
    let until =
        |net: &Net| net.filterd(["list", "--json"]).succeeds().says(ATTACKER).json()["until"].as_u64();
    net.configure(&list(""));
    for verb in ["diff", "reload"] {
        let no_ttl = json!({"settings": ["list seen: no ttl: what is on it stays"]});
        net.filterd([verb, "--json"]).exits(7).has(no_ttl);
    }
    assert_eq!(until(&net), None);
    net.end(Signal::SIGKILL);
    net.start(&list(""));
    assert_eq!(until(&net), None);
    net.configure(&list(", ttl: 3s"));
    let other = json!({"settings": ["list seen: ttl 3 s, counted anew from now on"]});
    net.filterd(["reload", "--json"]).exits(7).has(other);
    net.expect(ATTACKER).then_within(SOON).passes();
    net.filterd(["status"]).exits(7).says("all of it has expired since");
    // What is over begins anew with another time, from its copy, too.
    net.configure(&list(", ttl: 2h"));
    net.filterd(["reload"]).exits(7);
    net.expect(ATTACKER).dropped();
}

#[test]
fn since_time_of_file_entry_survives_restart() {
    let mut net = Net::new();
    net.file("drop.txt", ATTACKER);
    let config = "lists: [{name: drop, path: $HOME/drop.txt}]";
    net.start(config);
    let since = |net: &Net| net.filterd(["list", "--json"]).succeeds().json()["since"].as_u64();
    let before = since(&net);
    net.stop();
    net.start(config);
    assert_eq!((since(&net), before.is_some()), (before, true));
}

/// A list was long there for good; then its entries are to end. Whoever is killed right after that has promised it.
#[test]
fn new_ttl_of_list_survives_restart() {
    let mut net = Net::new();
    net.file("drop.txt", ATTACKER);
    let lists = |more| format!("lists: [{{name: drop, path: $HOME/drop.txt{more}}}]");
    net.start(&lists(""));
    let entry = |net: &Net| net.filterd(["list", "--json"]).succeeds().json();
    let came = entry(&net)["since"].as_u64().expect("it came");
    // A few seconds go by.
    std::thread::sleep(Duration::from_secs(3));
    net.configure(&lists(", ttl: 1h"));
    net.filterd(["reload"]).succeeds();
    let until = entry(&net)["until"].as_u64();
    assert!(until > Some(came + 3600 + 1), "all of it counts anew: {until:?}, came {came}");
    net.end(Signal::SIGKILL);
    net.start(&lists(", ttl: 1h"));
    let not_earlier = |until: Option<u64>| until.map(|until| until..=until + 2).expect("it ends");
    let still = |net: &Net| entry(net)["until"].as_u64().expect("it ends");
    assert!(not_earlier(until).contains(&still(&net)), "{} after {until:?}", still(&net));
    // So it is where the configuration is changed while nobody is there.
    net.end(Signal::SIGKILL);
    net.start(&lists(", ttl: 2h"));
    let longer = entry(&net)["until"].as_u64();
    assert!(longer > Some(came + 7200 + 1), "{longer:?}, came {came}");
    net.stop();
    net.start(&lists(", ttl: 2h"));
    assert!(not_earlier(longer).contains(&still(&net)), "{} after {longer:?}", still(&net));
    assert_eq!(entry(&net)["since"].as_u64(), Some(came));
}

#[test]
fn a_ttl_that_is_no_time_is_refused() {
    let net = Net::with_filterd("");
    for nonsense in ["soon", "-1s", "5 parsecs", ""] {
        net.filterd(["add", ATTACKER, &format!("--ttl={nonsense}")]).exits(2);
    }
    net.expect(ATTACKER).passes();
}
