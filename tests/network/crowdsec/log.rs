//! From a line in a log to a dropped packet.

use std::time::{Duration, Instant};

use super::{config, enforced, wait_for};
use harness::lapi::{Lapi, LapiSetup};
use harness::{ATTACKER, BYSTANDER, Net};

const LONGEST: Duration = Duration::from_secs(30);

#[test]
fn guesses_in_a_log_block_their_sender() {
    if !Lapi::is_here() {
        println!("SKIPPED a real LAPI: there is no crowdsec");
        return;
    }
    let mut net = Net::new();
    let log = net.file("auth.log", "");
    let lapi = Lapi::begin_with(&net, LapiSetup { log: Some(&log), ..LapiSetup::default() });
    net.start(&config(&lapi.url(), &lapi.key(), ""));
    enforced(&net, 0);
    net.expect_each([ATTACKER, BYSTANDER]).passes();
    lapi.log_guesses_from(ATTACKER);
    let logged = Instant::now();
    // This question moves no cursor.
    while !lapi.ask_as_bouncer("/v1/decisions").to_string().contains(ATTACKER) {
        assert!(logged.elapsed() < LONGEST, "CrowdSec bans nobody; its log:\n{}", lapi.log());
    }
    let banned = Instant::now();
    net.expect(ATTACKER).then_within(LONGEST).dropped();
    println!(
        "banned {} ms after the line in the log, dropped {} ms after the ban",
        (banned - logged).as_millis(),
        banned.elapsed().as_millis()
    );
    net.expect(BYSTANDER).passes();
    // Its guesses fill the buckets of two scenarios.
    wait_for(&net, "all is enforced", |told| {
        told["decided"].as_u64() > Some(0) && told["enforced"] == told["decided"]
    });
    net.filterd(["test", ATTACKER])
        .succeeds()
        .says("of list `crowdsec-crowdsec`")
        .says("added by CrowdSec main: crowdsecurity/ssh-bf");
}
