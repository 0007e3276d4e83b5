//! Several interfaces under one filterd.

use std::time::Duration;

use harness::{ATTACKER, BYSTANDER, ForeignProgram, Net, Reply};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

#[test]
fn block_holds_on_every_interface() {
    let mut net = Net::with_links(2);
    net.start("interfaces: [eth0, eth1]");
    net.filterd(["add", ATTACKER]).succeeds();
    for interface in ["eth0", "eth1"] {
        net.expect(ATTACKER).on(interface).dropped();
        net.expect(BYSTANDER).on(interface).passes();
    }
    net.filterd(["remove", ATTACKER]).succeeds();
    for interface in ["eth0", "eth1"] {
        net.expect(ATTACKER).on(interface).passes();
    }
}

#[test]
fn interfaces_can_be_named_on_the_command_line() {
    let mut net = Net::with_links(2);
    net.start_with("block: [203.0.113.7]", &["--iface", "eth1"]);
    net.expect(ATTACKER).on("eth0").dropped();
    net.expect(ATTACKER).on("eth1").dropped();
}

#[test]
fn unnamed_interface_is_untouched() {
    let mut net = Net::with_links(2);
    net.start("interfaces: [eth1]\nblock: [203.0.113.7]");
    net.expect(ATTACKER).on("eth0").passes();
    net.expect(ATTACKER).on("eth1").dropped();
    assert_eq!(net.attached("eth0"), None);
}

#[test]
fn both_interfaces_are_detached_at_the_end() {
    let mut net = Net::with_links(2);
    net.start("interfaces: [eth0, eth1]\nblock: [203.0.113.7]");
    net.stop();
    for interface in ["eth0", "eth1"] {
        assert_eq!(net.attached(interface), None);
        net.expect(ATTACKER).on(interface).passes();
    }
}

#[test]
fn status_names_each_with_its_mode() {
    let mut net = Net::with_links(2);
    net.start("interfaces: [eth0, eth1]");
    let status = net.filterd(["status", "--json"]).succeeds().json();
    let interfaces = status["interfaces"].as_array().expect("a list");
    let named: Vec<_> = interfaces.iter().map(|one| one["name"].as_str().expect("a name")).collect();
    assert_eq!(named, ["eth0", "eth1"]);
    assert!(interfaces.iter().all(|one| one["mode"] == net.tc_mode()), "{status}");
}

#[test]
fn absent_interface_is_awaited() {
    let mut net = Net::with_links(2);
    net.host().ip("link set eth1 down");
    net.host().ip("link set eth1 name later");
    net.start("interfaces: [eth0, eth1]\nblock: [203.0.113.7]");
    net.wait_for_log("eth1 does not exist yet");
    net.filterd(["status", "--json"])
        .exits(7)
        .has(mode("eth1", "none"))
        .says("eth1 is not filtered: there is no interface eth1");
    net.expect(ATTACKER).dropped();
    net.host().ip("link set later name eth1");
    net.raise(&["eth1"]);
    net.wait_for_log("eth1 attached after a gap");
    net.expect(ATTACKER).on("eth1").dropped();
    net.expect(BYSTANDER).on("eth1").passes();
}

#[test]
fn the_only_interface_may_be_late_too() {
    let mut net = Net::new();
    net.start("interfaces: [eth9]");
    net.filterd(["status", "--json"]).exits(7).has(mode("eth9", "none"));
    net.filterd(["add", ATTACKER, "--json"]).exits(7).has(json!({"idle": "nothing_attached"}));
    net.host().ip("link set eth0 down");
    net.host().ip("link set eth0 name eth9");
    net.wait_for_log("eth9 attached after a gap");
    net.filterd(["status", "--json"]).succeeds().has(mode("eth9", net.tc_mode()));
}

#[test]
fn recreated_interface_is_filtered_again() {
    let mut net = Net::with_links(2);
    net.start("interfaces: [eth0, eth1]\nblock: [203.0.113.7]");
    for _ in 0..3 {
        net.host().ip("link del eth1");
        net.wait_for_log("eth1 disappeared");
        net.filterd(["status", "--json"]).exits(7).has(mode("eth1", "none"));
        net.expect(ATTACKER).dropped();
        net.host().ip("link add eth1 type veth peer name other");
        net.wait_for_log("eth1 attached after a gap");
        assert!(net.attached("eth1").is_some());
        net.forget_log();
    }
    let status = net.filterd(["status", "--json"]).succeeds().json();
    assert_eq!(status["interfaces"][1]["gaps"], 3, "{status}");
}

/// Its link is deleted with it, as if another process had detached the filter.
#[test]
fn deleted_interface_is_no_tampering() {
    let mut net = Net::with_links(2);
    net.start("interfaces: [eth0, eth1]\nblock: [203.0.113.7]");
    for _ in 0..30 {
        // The first two changes make filterd look while the interface is deleted.
        net.host().ip_all("link set eth1 down\nlink set eth0 txqueuelen 999\nlink del eth1\n");
        net.wait_for_log("eth1 disappeared");
        net.host().ip_all("link add eth1 type veth peer name other\n");
        net.wait_for_log("eth1 attached after a gap");
        let log = net.daemon().log();
        assert!(!log.contains("another process") && !log.contains("tampered"), "{log}");
        net.forget_log();
    }
}

#[test]
fn renamed_interface_stays_filtered() {
    let mut net = Net::with_links(2);
    net.start("interfaces: [eth0, eth1]\nblock: [203.0.113.7]");
    net.host().ip("link set eth1 down");
    net.host().ip("link set eth1 name lan0");
    net.wait_for_log("eth1 was renamed to lan0");
    assert!(net.attached("lan0").is_some());
    net.filterd(["status", "--json"])
        .succeeds()
        .has(mode("eth1", net.tc_mode()))
        .says("its name is now lan0");
    net.host().ip("link set lan0 name eth1");
    net.raise(&["eth1"]);
    net.expect(ATTACKER).on("eth1").dropped();
}

#[test]
fn interface_moved_to_namespace_stays_filtered() {
    let mut net = Net::with_links(2);
    if net.tc_mode() == "clsact" {
        println!(
            "SKIPPED moves between namespaces: the kernel removes filters of clsact there (links of TCX stay, Linux 6.6)"
        );
        return;
    }
    net.start("interfaces: [eth0, eth1]");
    let peer = net.peer().name().to_owned();
    // Before Linux 6.2 only what is down could be renamed.
    net.host()
        .ip_all(&format!("link set eth1 down\nlink set eth1 name moved\nlink set moved netns {peer}\n"));
    net.wait_for_log("was moved to another network namespace");
    assert!(net.peer().attached("moved").is_some());
}

#[test]
fn occupied_interface_is_reported_and_other_filtered() {
    let mut net = Net::with_links(2);
    let foreign = ForeignProgram::attach(net.host(), "eth1");
    net.start("interfaces: [eth0, eth1]\nmode: native\nblock: [203.0.113.7]");
    net.wait_for_log(foreign.name);
    net.filterd(["status", "--json"]).exits(7).has(mode("eth1", "none"));
    net.expect(ATTACKER).dropped();
    net.filterd(["add", BYSTANDER, "--json"]).succeeds().has(json!({"except": ["eth1"]}));
    net.filterd(["test", BYSTANDER, "--json"]).succeeds().has(json!({"tested": [{"except": ["eth1"]}]}));
    net.expect(BYSTANDER).dropped();
    net.expect(BYSTANDER).on("eth1").passes();
    assert_eq!(net.attached("eth1").expect("still there")["prog"]["id"], foreign.id);
}

#[test]
fn interface_stays_filtered_through_down_and_up() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.host().ip("link set eth0 down");
    net.raise(&["eth0"]);
    net.expect(BYSTANDER).passes();
    net.expect(ATTACKER).dropped();
}

/// What became of the one that had its name is not its own story.
#[test]
fn interface_that_takes_another_name_loses_nothing() {
    let mut net = Net::with_links(2);
    net.start("interfaces: [eth0, eth1]\nblock: [203.0.113.7]");
    net.host().ip_all(
        "link set eth1 down\nlink set eth1 name lan0\nlink add eth1 type veth peer name other\nlink set eth1 up\n",
    );
    net.wait_for_log("another interface is now named eth1");
    net.wait_for_log("eth1 attached after a gap");
    let status =
        net.filterd(["status", "--json"]).has(mode("eth1", net.tc_mode())).has(mode("lan0", net.tc_mode()));
    has_no_gap(&status);
}

#[test]
fn interface_name_with_dot_works() {
    let mut net = Net::with_links(2);
    net.host().ip_all("link set eth1 down\nlink set eth1 name eth1.100\n");
    net.raise(&["eth1.100"]);
    let config = "interfaces: [eth0, eth1.100]\nblock: [203.0.113.7]";
    net.start(config);
    net.expect(ATTACKER).on("eth1").dropped();
    net.filterd(["status", "--json"]).succeeds().has(mode("eth1.100", net.tc_mode()));
    net.end(Signal::SIGKILL);
    net.expect(ATTACKER).on("eth1").dropped();
    net.filterd(["status"]).exits(6).complains("still attached to eth0, eth1.100");
    net.start(config);
    has_no_gap(&net.filterd(["status", "--json"]).succeeds());
    net.configure("interfaces: [eth0]\nblock: [203.0.113.7]");
    net.filterd(["reload", "--json"]).succeeds().has(json!({"detached": ["eth1.100"]}));
    net.expect(ATTACKER).on("eth1").passes();
    net.configure(config);
    net.filterd(["reload"]).succeeds();
    net.end(Signal::SIGKILL);
    let pins = net.home().pins().display().to_string();
    // Filters of `clsact` can be reached from here only.
    net.host().entered(|| net.filterd(["detach", "--pin-dir", &pins])).succeeds().says("eth1.100");
    assert_eq!(net.attached("eth1.100"), None);
}

/// Filters of clsact can be removed only in the network namespace of their interface.
#[test]
fn detach_names_filter_out_of_reach() {
    let mut net = Net::with_links(1);
    net.start("interfaces: [eth0]\nblock: [203.0.113.7]");
    net.expect(ATTACKER).dropped();
    net.end(Signal::SIGKILL);
    let detach = net.filterd(["detach", "--pin-dir", &net.home().pins().display().to_string()]);
    if net.tc_mode() == "clsact" {
        detach.exits(7).complains("the filter stays").complains("tc filter del dev eth0 ingress");
    } else {
        detach.succeeds();
        assert_eq!(net.attached("eth0"), None);
    }
    // Where the filter stays, the kernel takes its judge away a moment later.
    net.expect(ATTACKER).then_within(Duration::from_secs(10)).passes();
}

/// The interface is filtered in this mode, as a status says it in JSON.
fn mode(interface: &str, mode: &str) -> Value {
    json!({"interfaces": [{"name": interface, "mode": mode}]})
}

/// No interface of this status has lost its filter.
#[track_caller]
fn has_no_gap(status: &Reply) {
    let interfaces = status.json()["interfaces"].as_array().cloned().expect("interfaces");
    assert!(interfaces.iter().all(|interface| interface["gaps"] == 0), "{status}");
}
