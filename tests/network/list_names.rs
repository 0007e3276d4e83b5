//! Names of lists: whose they are, how many there may be, and when they are forgotten.

use std::collections::BTreeSet;

use harness::{ATTACKER, BYSTANDER, Net, Talk, is_error};

/// The most lists there may be.
const MOST: usize = 1000;

#[test]
fn a_configured_name_belongs_to_the_configuration_even_while_the_list_is_empty() {
    let mut net = Net::new();
    net.file("drop.txt", "# nobody today\n");
    net.start("lists: [{name: drop, path: $HOME/drop.txt}, {name: later, path: $HOME/later.txt}]");
    for name in ["drop", "later"] {
        net.filterd(["add", BYSTANDER, "--list", name]).exits(5).complains(name);
        net.expect(BYSTANDER).passes();
    }
    net.file("drop.txt", &format!("{ATTACKER}\n"));
    net.filterd(["reload"]);
    net.expect(ATTACKER).dropped();
    net.filterd(["flush"]).succeeds();
    net.expect(ATTACKER).dropped();
}

#[test]
fn nobody_adds_to_a_reserved_name() {
    let net = Net::with_filterd("");
    for name in ["config", "guard", "config-allow", "manual-allow"] {
        net.filterd(["add", ATTACKER, "--list", name]).exits(5).complains(name);
    }
    net.expect(ATTACKER).passes();
    net.configure("block: [203.0.113.7]");
    net.filterd(["reload"]).succeeds();
    net.filterd(["flush"]).succeeds();
    net.expect(ATTACKER).dropped();
}

#[test]
fn no_list_file_is_called_as_a_reserved_name() {
    let net = Net::with_filterd("");
    for name in ["config", "manual", "guard", "config-allow", "manual-allow"] {
        net.configure(&format!("lists: [{{name: {name}, path: $HOME/drop.txt}}]"));
        net.filterd(["reload"]).exits(3).complains(name);
    }
}

#[test]
fn a_list_gone_from_the_configuration_is_gone_from_status() {
    let mut net = Net::new();
    net.file("drop.txt", "203.0.113.7\n");
    net.start("lists: [{name: drop, path: $HOME/drop.txt}]");
    assert!(names(&net).contains("drop"));
    net.configure("lists: []");
    net.filterd(["reload"]).succeeds();
    assert!(!names(&net).contains("drop"));
    assert_eq!(net.filterd(["list", "--list", "drop"]).succeeds().output, "");
}

#[test]
fn a_live_list_with_nothing_in_it_is_forgotten() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    assert!(names(&net).contains("ssh"));
    net.filterd(["remove", ATTACKER]).succeeds();
    assert!(!names(&net).contains("ssh"));
}

#[test]
fn ten_thousand_names_that_come_and_go_leave_nothing_behind() {
    let net = Net::with_filterd("durable: false");
    let mut client = Talk::to(&net.home().socket());
    for name in 0..10_000 {
        let added = client.add(ATTACKER, &format!("name-{name}"));
        assert!(!is_error(&added), "{added}");
        client.remove(ATTACKER);
    }
    assert!(names(&net).len() <= 2, "{} lists", names(&net).len());
    net.expect(ATTACKER).passes();
    net.filterd(["add", ATTACKER, "--list", "name-10000"]).succeeds();
    net.expect(ATTACKER).dropped();
}

#[test]
fn one_list_too_many_is_refused_and_the_others_stay() {
    let net = Net::with_filterd("durable: false");
    let mut client = Talk::to(&net.home().socket());
    let refused = (0..=MOST).find_map(|name| {
        let answer = client.add(&format!("10.0.{}.{}", name >> 8, name & 255), &format!("name-{name}"));
        is_error(&answer).then_some((name, answer))
    });
    let (accepted, answer) = refused.expect("the last one is refused");
    assert!((MOST - 4..=MOST).contains(&accepted), "{accepted} lists");
    assert!(answer.to_string().contains("1,000"), "{answer}");
    net.expect_each(["10.0.0.0", "10.0.3.0"]).dropped();
    net.expect(BYSTANDER).passes();
    net.filterd(["add", BYSTANDER, "--list", "one-more"]).exits(5);
    net.expect(BYSTANDER).passes();
    net.filterd(["add", BYSTANDER, "--list", "name-7"]).succeeds();
    net.filterd(["flush", "--list", "name-8"]).succeeds();
    net.filterd(["add", ATTACKER, "--list", "one-more"]).succeeds();
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    assert!(names(&net).len() <= MOST);
}

fn names(net: &Net) -> BTreeSet<String> {
    let status = net.filterd(["status", "--json"]).succeeds().json();
    let lists = status["lists"].as_array().expect("status has lists");
    lists.iter().map(|list| list["name"].as_str().expect("a name").to_owned()).collect()
}
