//! filterd is killed while it begins to enforce decisions.

use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use super::{NOBODY, config, enforced, key, wait_for};
use harness::lapi::{LapiDecision, ScriptedLapi};
use harness::{Net, Random, until};

const DECISIONS: u64 = 2000;
const ROUNDS: usize = 5;

/// The addresses that `filterd list` names.
fn listed(net: &Net) -> Vec<IpAddr> {
    let entries = net.filterd(["list", "--json"]).succeeds().json_lines();
    let word = |entry: &Value| entry["target"].as_str().expect("it is text").to_owned();
    entries.iter().map(|entry| word(entry).parse().expect("it is an address")).collect()
}

#[test]
fn listed_decisions_survive_a_kill_at_any_moment() {
    let seed = 46;
    println!("seed {seed}");
    let mut random = Random(seed);
    // The first kill comes when all are enforced. The others come at some moment before.
    let (mut longest, mut parts) = (None, 0);
    for round in 0..ROUNDS {
        let mut net = Net::new();
        let lapi = ScriptedLapi::begin(&net);
        let config = config(&lapi.url(), &key(&net), "");
        net.start(&config);
        // Each has a note of its own, so each is a change of its own.
        lapi.add_silently((0..DECISIONS).map(|number| {
            let address = format!("10.9.{}.{}", number >> 8, number & 255);
            LapiDecision::new(number, &address).by_scenario(&format!("scenario {number}"))
        }));
        lapi.streams();
        net.filterd(["reload"]).succeeds();
        until(|| !lapi.streams().is_empty(), "LAPI is not asked");
        let asked = Instant::now();
        match longest {
            Some(longest) => thread::sleep(Duration::from_millis(random.below(longest) as u64)),
            None => {
                enforced(&net, DECISIONS);
                longest = Some(asked.elapsed().as_millis() as usize);
            }
        }
        let delay = asked.elapsed().as_millis();
        let named = listed(&net);
        // Nothing is promised before it is on disk. Entries reach the disk in the order in which they take effect.
        let promised = wait_for(&net, "what is listed is on disk", |told| {
            told["enforced"].as_u64() >= Some(named.len() as u64)
        });
        net.end(Signal::SIGKILL);
        let promised = promised["enforced"].as_u64().expect("it is a count");
        let first = named.len();
        println!("round {round}: {first} are listed after {delay} ms, {promised} enforced at the kill");
        parts += usize::from(promised > 0 && promised < DECISIONS);
        net.start(NOBODY);
        let passed = net.send_from(&named);
        assert!(passed.is_empty(), "{} of {} pass: {passed:?}", passed.len(), named.len());
        let kept = listed(&net);
        assert!(kept.len() as u64 >= promised, "{} of {promised} are kept", kept.len());
        assert!(net.send_from(&kept).is_empty(), "what is listed is dropped");
    }
    println!("{parts} of {ROUNDS} kills came in the middle");
}
