//! FAULTS T10: README promises that there is never a gap, and says where there is one. Each of its words, under a flood of one
//! who is listed.

use nix::sys::signal::Signal;

use harness::{ATTACKER, BYSTANDER, Net, Traffic};

const README: &str = include_str!("../../README.md");

const BLOCKING: &str = "block: [203.0.113.7]";
const KEEPING: &str = "block: [203.0.113.7]\non_exit: keep";

/// Whoever changes a word of it changes what the stories below tell.
#[test]
fn readme_promises_what_is_told_here() {
    let promise = "Not on reload, not in a crash and the start after it, not with `--take-over`. \
                   (A filterd that is stopped takes its filter off, unless its configuration says `on_exit: keep`.)";
    assert!(README.contains(&format!("- **Never a gap.** {promise}\n")));
    assert_eq!(README.to_lowercase().matches("never a gap").count(), 1, "nothing else is said of it");
}

#[test]
fn not_on_reload_not_in_a_crash_and_the_start_after_it_not_with_take_over() {
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
fn a_stop_takes_the_filter_off_unless_it_is_to_be_kept() {
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
