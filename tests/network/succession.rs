//! One filterd after the other, again and again: none of them finds the place still taken, and none leaves nobody behind.

use harness::{ATTACKER, BYSTANDER, Net};

const TIMES: usize = 30;

#[test]
fn unattached_daemon_can_always_be_taken_over() {
    let mut net = Net::new();
    net.start("interfaces: [eth9]\nblock: [203.0.113.7]");
    for _ in 0..TIMES {
        net.succeed("interfaces: [eth9]\nblock: [203.0.113.7]");
    }
    net.filterd(["status"]).exits(7).says("NOTHING IS DROPPED");
    net.succeed("interfaces: [eth0]\nblock: [203.0.113.7]");
    net.expect(ATTACKER).dropped();
}

#[test]
fn stopped_daemon_can_always_be_followed() {
    let mut net = Net::with_filterd("block: [203.0.113.7]");
    for _ in 0..TIMES {
        net.stop_and_start_at_once("block: [203.0.113.7]");
        net.expect(ATTACKER).dropped();
    }
    net.expect(BYSTANDER).passes();
}

#[test]
fn daemon_keeping_its_filter_can_be_followed() {
    let keeping = "block: [203.0.113.7]\non_exit: keep";
    let mut net = Net::with_filterd(keeping);
    for _ in 0..TIMES {
        net.stop_and_start_at_once(keeping);
        net.expect(ATTACKER).dropped();
    }
}

#[test]
fn ended_daemon_leaves_no_filter_attached() {
    let links = 8;
    let mut net = Net::with_links(links);
    let names: Vec<_> = (0..links).map(|link| format!("eth{link}")).collect();
    let config = format!("interfaces: [{}]\nblock: [203.0.113.7]", names.join(", "));
    for _ in 0..15 {
        net.start(&config);
        net.stop();
        let passed: Vec<_> = (0..links).rev().map(|link| net.arrivals(link, &[ATTACKER.into()])[0]).collect();
        assert_eq!(passed, vec![true; links], "by interface, the last one first");
    }
}
