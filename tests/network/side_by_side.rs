//! Several filterds on one machine.

use harness::{ATTACKER, Net};

#[test]
fn two_in_different_namespaces_know_nothing_of_each_other() {
    let left = Net::with_filterd("");
    let mut right = Net::with_filterd("");
    left.filterd(["add", ATTACKER]).succeeds();
    left.expect(ATTACKER).dropped();
    right.expect(ATTACKER).passes();
    right.filterd(["add", ATTACKER]).succeeds();
    left.filterd(["remove", ATTACKER]).succeeds();
    left.expect(ATTACKER).passes();
    right.expect(ATTACKER).dropped();
    right.stop();
    left.filterd(["add", ATTACKER]).succeeds();
    left.expect(ATTACKER).dropped();
}

#[test]
fn a_second_one_on_the_same_interface_is_refused_and_the_first_stays() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    let there = net.attached("eth0").expect("the first one is there");
    let name = there["prog"]["name"].as_str().expect("programs have names").to_owned();
    let id = there["prog"]["id"].to_string();
    net.another_filterd("").exits(6).complains("eth0").complains(&name).complains(&id);
    assert_eq!(net.attached("eth0"), Some(there));
    net.expect(ATTACKER).dropped();
}
