//! Decisions are enforced although the disk is full, and are on disk when it has room again.

use std::net::IpAddr;

use nix::sys::signal::Signal;

use super::{NOBODY, config, enforced, key, wait_for};
use harness::lapi::{LapiDecision, ScriptedLapi};
use harness::{ATTACKER, BYSTANDER, BYSTANDER6, Net, SOON, SmallDisk, until};

/// As many as a busy host bans in a day.
const MANY: u64 = 3000;

/// The senders of the decisions 100, 101, …
fn senders() -> Vec<IpAddr> {
    (0..MANY as u16)
        .map(|number| number.to_be_bytes())
        .map(|[high, low]| IpAddr::from([10, 7, high, low]))
        .collect()
}

#[test]
fn full_disk_unblocks_and_loses_nothing() {
    let mut net = Net::new();
    let disk = SmallDisk::of_state(net.home());
    let lapi = ScriptedLapi::begin(&net);
    lapi.add(LapiDecision::new(1, ATTACKER));
    let config = config(&lapi.url(), &key(&net), "");
    net.start(&config);
    enforced(&net, 1);
    disk.fill();
    let senders = senders();
    for (number, sender) in (100..).zip(&senders) {
        lapi.add(LapiDecision::new(number, &sender.to_string()));
    }
    enforced(&net, 1 + MANY);
    assert_eq!(net.send_from(&senders).len(), 0, "what is enforced is dropped");
    net.filterd(["status"]).exits(7).says("would be lost in a restart").says("free some space there");
    net.expect(ATTACKER).dropped();
    disk.make_room();
    net.wait_for_log("live entries are on disk again");
    net.filterd(["status"]).succeeds();
    net.end(Signal::SIGKILL);
    net.start(NOBODY);
    net.expect(ATTACKER).dropped();
    assert_eq!(net.send_from(&senders).len(), 0, "nothing that was on disk is lost");
    // The disk fills again, and a kill comes before it has room.
    net.end(Signal::SIGKILL);
    net.start(&config);
    enforced(&net, 1 + MANY);
    disk.fill();
    lapi.add(LapiDecision::new(2, BYSTANDER6));
    lapi.delete(1);
    net.expect(BYSTANDER6).then_within(SOON).dropped();
    enforced(&net, 1 + MANY);
    net.expect(ATTACKER).then_within(SOON).passes();
    until(
        || net.filterd(["status"]).output.contains("would be lost in a restart"),
        "it is not told that the disk is full",
    );
    net.end(Signal::SIGKILL);
    net.start(NOBODY);
    assert_eq!(net.send_from(&senders).len(), 0, "what was on disk is in force");
    net.filterd(["status"]).exits(7).says("were not all on disk when filterd ended");
    net.end(Signal::SIGKILL);
    // LAPI tells again what the disk never had.
    net.start(&config);
    wait_for(&net, "LAPI answers", |told| told["decided"] == 1 + MANY && told["enforced"] == 1 + MANY);
    net.expect(BYSTANDER6).dropped();
    assert_eq!(net.send_from(&senders).len(), 0);
    net.expect(BYSTANDER).passes();
}
