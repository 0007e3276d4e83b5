//! Decisions that block on some ports.

use std::time::Instant;

use nix::sys::signal::Signal;

use super::{config, enforced, key, wait_for};
use crate::ports::to;
use harness::lapi::{LapiAnswer, LapiDecision, ScriptedLapi};
use harness::{ATTACKER, BYSTANDER, Net, SOON, until};

const TCP: u8 = 6;

#[track_caller]
fn blocks_only(net: &Net, blocked: &[u16], others: &[u16]) {
    for port in blocked {
        net.expect(to(ATTACKER, TCP, *port)).dropped();
    }
    for port in others {
        net.expect(to(ATTACKER, TCP, *port)).passes();
    }
}

/// Lets 500 decisions be in force on these ports.
fn begin(ports: &str) -> (Net, ScriptedLapi, String) {
    let mut net = Net::new();
    let lapi = ScriptedLapi::begin(&net);
    lapi.add(LapiDecision::new(1, ATTACKER));
    lapi.add_silently(
        (2..=500).map(|number| LapiDecision::new(number, &format!("10.0.{}.{}", number >> 8, number & 255))),
    );
    let with = config(&lapi.url(), &key(&net), "PORTS");
    net.start(&with.replace("PORTS", ports));
    enforced(&net, 500);
    (net, lapi, with)
}

#[test]
fn decisions_block_on_the_ports_of_their_lapi() {
    let (mut net, lapi, with) = begin(", ports: [22, 8000-8100]");
    blocks_only(&net, &[22, 8000], &[80, 443]);
    net.filterd(["test", ATTACKER]).says("crowdsec-cscli-only-22-8000_8100");
    let lists = net.filterd(["lists"]).succeeds().output;
    assert!(lists.contains("crowdsec-cscli-only-22-8000_8100  remote"), "{lists}");
    // Port 22 stays blocked while all move to another list, also where LAPI does not answer.
    lapi.answer_always(LapiAnswer::forbidden());
    net.configure(&with.replace("PORTS", ", except_ports: [443]"));
    net.filterd(["diff"]).exits(1).says("crowdsec main: it would block on all but port 443");
    net.filterd(["reload"]).succeeds().says("crowdsec main: it blocks on all but port 443 from now on");
    let moved = |entries: u64, list: &str| {
        net.filterd(["lists", "--json"]).json()["lists"]
            .as_array()
            .is_some_and(|lists| lists.iter().any(|one| one["name"] == list && one["entries"] == entries))
    };
    let begun = Instant::now();
    while moved(500, "crowdsec-cscli-only-22-8000_8100") || !moved(500, "crowdsec-cscli-except-443") {
        net.expect(to(ATTACKER, TCP, 22)).dropped();
        assert!(begun.elapsed() < SOON, "{}", net.filterd(["lists"]));
    }
    blocks_only(&net, &[22, 80], &[443]);
    // A start with other ports moves what the journal has.
    net.end(Signal::SIGKILL);
    net.start(&with.replace("PORTS", ""));
    blocks_only(&net, &[22, 80], &[]);
    let told = wait_for(&net, "LAPI fails", |told| !told["error"].is_null());
    assert_eq!(told["unconfirmed"], 500, "{told}");
    net.expect(to(ATTACKER, TCP, 443)).then_within(SOON).dropped();
    lapi.recover();
    enforced(&net, 500);
    lapi.delete(1);
    enforced(&net, 499);
    net.expect(ATTACKER).passes();
    net.expect(BYSTANDER).passes();
    let lists = net.filterd(["lists"]).succeeds().output;
    assert!(!lists.contains("-only-") && !lists.contains("-except-"), "{lists}");
}

/// Found by an outsider: after a restart, lists with ports that the file did not name any more had no owner. They blocked
/// until each decision ended, and nothing said so.
#[test]
fn outsider_start_without_crowdsec_releases_lists_with_ports() {
    let (mut net, lapi, with) = begin(", ports: [22]");
    net.end(Signal::SIGKILL);
    net.start(&with.replace("PORTS", ", ports: [443]"));
    enforced(&net, 500);
    // They leave the old list last.
    net.expect(to(ATTACKER, TCP, 22)).then_within(SOON).passes();
    blocks_only(&net, &[443], &[22]);
    lapi.delete(1);
    enforced(&net, 499);
    blocks_only(&net, &[], &[22, 443]);
    net.end(Signal::SIGKILL);
    net.start("");
    until(|| !net.filterd(["lists"]).succeeds().output.contains("crowdsec-"), "they stay without an owner");
    assert!(net.filterd(["list", "--json"]).succeeds().output.is_empty());
}
