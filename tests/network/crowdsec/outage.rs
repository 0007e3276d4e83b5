//! LAPI is gone for hours, and comes back with other content.

use std::collections::HashSet;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::{config, enforced, key, wait_for};
use harness::lapi::{LapiAnswer, LapiDecision, ScriptedLapi};
use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, Net, OtherTime, SOON};

const HOUR: Duration = Duration::from_secs(3600);
const FOR_TWO_HOURS: i64 = 2 * 3600;
const FOR_ONE_HOUR: i64 = 3600;

/// LAPI hangs up without a word from here on. filterd is killed, and another one begins that much later.
#[track_caller]
fn without_lapi(net: &mut Net, lapi: &ScriptedLapi, config: &str, later: Duration) {
    lapi.answer_always(LapiAnswer::words(""));
    net.end(Signal::SIGKILL);
    net.lives_in(OtherTime::later(later));
    net.start(config);
    wait_for(net, "LAPI is gone", |told| !told["error"].is_null());
}

#[test]
fn decisions_end_in_time_without_lapi() {
    let mut net = Net::new();
    let lapi = ScriptedLapi::begin(&net);
    lapi.add(LapiDecision::new(1, ATTACKER));
    lapi.add(LapiDecision::new(2, ATTACKER6).lasting(FOR_ONE_HOUR));
    lapi.add(LapiDecision::new(3, BYSTANDER));
    let config = config(&lapi.url(), &key(&net), "");
    net.start(&config);
    enforced(&net, 3);
    net.expect_each([ATTACKER, ATTACKER6, BYSTANDER]).dropped();
    without_lapi(&mut net, &lapi, &config, 2 * HOUR);
    net.expect(ATTACKER6).passes();
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    net.filterd(["status"]).exits(7).says("its 2 entries remain in force until they end");
    net.filterd(["list", "--expiring", "2h1m"]).succeeds().says(ATTACKER).says(BYSTANDER);
    net.filterd(["list", "--expiring", "1h50m"]).succeeds().is_silent_about(ATTACKER);
    // LAPI has one of the decisions still, does not know of the other, and has a new one.
    lapi.delete_silently(|_| true);
    lapi.add_silently([
        LapiDecision::new(3, BYSTANDER).lasting(FOR_TWO_HOURS),
        LapiDecision::new(4, BYSTANDER6),
    ]);
    lapi.recover();
    net.filterd(["reload"]).succeeds();
    enforced(&net, 2);
    net.expect_each([BYSTANDER, BYSTANDER6]).dropped();
    net.expect(ATTACKER6).passes();
    // A single answer without a decision does not end it.
    net.expect(ATTACKER).dropped();
    lapi.delete(3);
    enforced(&net, 1);
    net.expect(BYSTANDER).then_within(SOON).passes();
    net.expect_each([ATTACKER, BYSTANDER6]).dropped();
    // Its own end does, and the new one counts from when it came.
    without_lapi(&mut net, &lapi, &config, 5 * HOUR);
    net.expect_each([ATTACKER, ATTACKER6, BYSTANDER]).passes();
    net.expect(BYSTANDER6).dropped();
    without_lapi(&mut net, &lapi, &config, 7 * HOUR);
    net.expect(BYSTANDER6).passes();
}

/// How long each of the short decisions lasts.
const SHORT: u64 = 2;

#[test]
fn short_decisions_are_enforced_to_their_end() {
    let mut net = Net::new();
    let lapi = ScriptedLapi::begin(&net);
    net.start(&config(&lapi.url(), &key(&net), ""));
    enforced(&net, 0);
    // They begin at four phases of a second.
    let begun = Instant::now();
    let senders: Vec<IpAddr> = (1..=4).map(|last| IpAddr::from([192, 0, 2, last])).collect();
    let mut ends: Vec<(IpAddr, Instant)> = Vec::new();
    let mut dropped = HashSet::new();
    let mut passed = HashSet::new();
    while passed.len() < senders.len() {
        let phase = begun.elapsed().as_millis() as usize / 250;
        while ends.len() <= phase && ends.len() < senders.len() {
            let sender = senders[ends.len()];
            let number = ends.len() as u64;
            ends.push((sender, Instant::now() + Duration::from_secs(SHORT)));
            lapi.add(LapiDecision::new(number, &sender.to_string()).lasting(SHORT as i64));
        }
        let arrived = net.send_from(&senders);
        let now = Instant::now();
        for (sender, end) in &ends {
            match arrived.contains(sender) {
                false => _ = dropped.insert(*sender),
                true if dropped.contains(sender) && passed.insert(*sender) => {
                    assert!(now >= *end, "{sender} passes {} ms before its end", (*end - now).as_millis());
                }
                true => {}
            }
        }
        assert!(begun.elapsed() < SOON, "dropped {dropped:?}, passed {passed:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
