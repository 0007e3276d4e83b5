//! FAULTS T10: README promises that no listed packet passes while filterd is reloaded, killed or replaced, and that a stop
//! removes the filter unless `on_exit: keep` is set. Both are tested here under a flood from one listed source.

use nix::sys::signal::Signal;

use harness::{ATTACKER, BYSTANDER, Net, Traffic};

const BLOCKING: &str = "block: [203.0.113.7]";
const KEEPING: &str = "block: [203.0.113.7]\non_exit: keep";

#[test]
fn no_listed_packet_passes_while_filterd_is_replaced() {
    let mut net = Net::with_filterd(BLOCKING);
    let traffic = begin(&net);
    for config in
        ["block: [203.0.113.0/24]", "interfaces: [eth0]\nblock: [203.0.113.7, 10.0.0.0/8]", BLOCKING]
    {
        net.configure(config);
        net.filterd(["reload"]).succeeds();
    }
    for _ in 0..3 {
        net.end(Signal::SIGKILL);
        net.start(BLOCKING);
        net.succeed(BLOCKING);
    }
    traffic.end().is_flawless();
}

#[test]
fn stopping_removes_the_filter_unless_kept() {
    let mut net = Net::with_filterd(KEEPING);
    let traffic = begin(&net);
    for _ in 0..3 {
        net.stop();
        net.start(KEEPING);
    }
    traffic.end().is_flawless();
    // Said for once, it counts more than what is configured.
    net.stop();
    net.start_with(KEEPING, &["--on-exit", "detach"]);
    net.expect(ATTACKER).dropped();
    assert!(net.stop().success());
    net.expect(ATTACKER).passes();
    net.start(BLOCKING);
    net.expect(ATTACKER).dropped();
    net.stop();
    net.expect(ATTACKER).passes();
}

fn begin(net: &Net) -> Traffic {
    net.expect(ATTACKER).dropped();
    Traffic::begin_gently(net.host(), net.peer(), ATTACKER, BYSTANDER)
}
