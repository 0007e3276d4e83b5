//! Names of lists: whose they are, how many there may be, and when they are forgotten.

use std::collections::BTreeSet;
use std::ops::Range;
use std::thread;

use nix::sys::signal::Signal;
use serde_json::json;

use harness::{ATTACKER, BYSTANDER, Net, Talk, is_error};

/// The most lists there may be that commands fill, and as many that the configuration names.
const MOST: usize = 1000;

/// Lists that have one address in common.
const MANY: usize = 200;

/// Clients who ask at once.
const THREADS: usize = 8;

#[test]
fn configured_name_is_reserved_while_list_is_empty() {
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
fn reserved_name_takes_no_entries() {
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
fn list_file_cannot_take_reserved_name() {
    let net = Net::with_filterd("");
    for name in ["config", "manual", "guard", "config-allow", "manual-allow"] {
        net.configure(&format!("lists: [{{name: {name}, path: $HOME/drop.txt}}]"));
        net.filterd(["reload"]).exits(3).complains(name);
    }
}

#[test]
fn removed_list_disappears_from_status() {
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
fn empty_live_list_is_forgotten() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    assert!(names(&net).contains("ssh"));
    net.filterd(["remove", ATTACKER]).succeeds();
    assert!(!names(&net).contains("ssh"));
}

#[test]
fn names_that_come_and_go_leave_nothing_behind() {
    let net = Net::with_filterd("durable: false");
    let mut client = Talk::to(&net.home().socket());
    for name in 0..2 * MOST {
        let added = client.add(ATTACKER, &format!("name-{name}"));
        assert!(!is_error(&added), "{added}");
        client.remove(ATTACKER);
    }
    assert!(names(&net).len() <= 2, "{} lists", names(&net).len());
    net.expect(ATTACKER).passes();
    net.filterd(["add", ATTACKER, "--list", "one-more"]).succeeds();
    net.expect(ATTACKER).dropped();
}

#[test]
fn excess_live_list_is_refused() {
    let net = Net::with_filterd("durable: false");
    let mut client = Talk::to(&net.home().socket());
    let refused = (0..=MOST).find_map(|name| {
        let answer = client.add(&format!("10.0.{}.{}", name >> 8, name & 255), &format!("name-{name}"));
        is_error(&answer).then_some((name, answer))
    });
    let (accepted, answer) = refused.expect("the last one is refused");
    assert_eq!(accepted, MOST, "{answer}");
    assert!(answer.to_string().contains("as many live lists as there may be (1,000)"), "{answer}");
    net.expect_each(["10.0.0.0", "10.0.3.0"]).dropped();
    net.expect(BYSTANDER).passes();
    net.filterd(["add", BYSTANDER, "--list", "one-more"]).exits(5);
    net.expect(BYSTANDER).passes();
    net.filterd(["add", BYSTANDER, "--list", "name-7"]).succeeds();
    net.filterd(["flush", "--list", "name-8"]).succeeds();
    net.filterd(["add", ATTACKER, "--list", "one-more"]).succeeds();
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    let own = ["config", "guard", "manual"];
    assert_eq!(names(&net).iter().filter(|name| !own.contains(&name.as_str())).count(), MOST);
}

/// As many lists as a configuration may name leave no less room for those that commands fill: somebody may have to be blocked,
/// or allowed, at once.
#[test]
fn configured_lists_leave_room_for_live_lists() {
    let mut net = Net::new();
    net.file("drop.txt", "192.0.2.77\n");
    let lists = (0..MOST).map(|name| format!("- {{name: name-{name}, path: $HOME/drop.txt}}\n"));
    let config = format!("lists:\n{}", lists.collect::<String>());
    net.start(&config);
    for is_again in [false, true] {
        net.filterd(["add", ATTACKER]).succeeds();
        net.filterd(["add", BYSTANDER, "--list", "ssh"]).succeeds();
        net.expect_each([ATTACKER, BYSTANDER]).dropped();
        net.filterd(["allow", "add", BYSTANDER]).succeeds();
        net.filterd(["allow", "add", ATTACKER, "--list", "office"]).succeeds();
        net.expect_each([ATTACKER, BYSTANDER]).passes();
        if !is_again {
            net.filterd(["flush"]).succeeds();
            net.filterd(["allow", "remove", ATTACKER, BYSTANDER]).succeeds();
            net.end(Signal::SIGKILL);
            net.start(&config);
        }
    }
}

/// Each list that names an address once cost a walk over all others that do, and a restart with many had no end.
#[test]
fn address_on_many_lists_survives_restart_once() {
    let mut net = Net::with_filterd("");
    let socket = net.home().socket();
    let is_done = |name: usize, method: &str| {
        let mut client = Talk::to(&socket);
        let asked = match method {
            "Add" => client.add(ATTACKER, &format!("name-{name}")),
            _ => client.ask(method, &json!({ "list": format!("name-{name}") })),
        };
        !is_error(&asked)
    };
    // Several at once, since each waits for the disk.
    let done = |names: Range<usize>, method| {
        thread::scope(|scope| {
            let ask = |thread| {
                let own = names.clone().skip(thread).step_by(THREADS);
                let is_done = &is_done;
                scope.spawn(move || own.filter(|name| is_done(*name, method)).collect::<Vec<_>>())
            };
            let threads: Vec<_> = (0..THREADS).map(ask).collect();
            let done = threads.into_iter().flat_map(|thread| thread.join().expect("it only asks"));
            done.collect::<BTreeSet<_>>()
        })
    };
    assert_eq!(done(0..MANY, "Add").len(), MANY);
    let before = names(&net);
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        net.end(signal);
        net.start("");
        net.expect(ATTACKER).dropped();
        assert_eq!(names(&net), before, "after {signal}");
    }
    net.filterd(["test", ATTACKER]).succeeds().says("DROPPED").says("`name-0`").says("`name-199`");
    // As many lists as there are, it is one address.
    net.filterd(["status"])
        .succeeds()
        .says("Protected as configured: packets from 1 target on eth0 are dropped");
    net.wait_for_log(&format!("dropping packets on eth0 ({}) targets=1", net.tc_mode()));
    done(0..MANY - 1, "Flush");
    net.expect(ATTACKER).dropped();
    done(MANY - 1..MANY, "Flush");
    net.expect(ATTACKER).passes();
    assert!(names(&net).iter().all(|name| !name.starts_with("name-")), "what nothing is on is forgotten");
}

/// The same limit for whoever writes the configuration, said where it stands.
#[test]
fn excess_configured_list_is_reported_with_its_line() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    let lists: String = (0..=MOST).fold("lists:\n".to_owned(), |text, name| {
        text + &format!("- {{name: name-{name}, path: $HOME/drop.txt}}\n")
    });
    net.configure(&lists);
    net.filterd(["reload"]).exits(3).complains("filterd.yaml:1002:").complains("this is list 1001");
    net.expect(ATTACKER).dropped();
}

fn names(net: &Net) -> BTreeSet<String> {
    let status = net.filterd(["status", "--json"]).succeeds().json();
    let lists = status["lists"].as_array().expect("status has lists");
    lists.iter().map(|list| list["name"].as_str().expect("a name").to_owned()).collect()
}
