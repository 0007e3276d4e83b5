//! `--ttl`: a block that ends by itself.

use std::time::Duration;

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net};

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
fn what_has_no_ttl_stays() {
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
fn a_ttl_that_is_no_time_is_refused() {
    let net = Net::with_filterd("");
    for nonsense in ["soon", "-1s", "5 parsecs", ""] {
        net.filterd(["add", ATTACKER, &format!("--ttl={nonsense}")]).exits(2);
    }
    net.expect(ATTACKER).passes();
}
