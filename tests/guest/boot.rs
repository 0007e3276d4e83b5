//! A machine that is attacked while it boots.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use harness::{ATTACKER, BYSTANDER};
use serde_json::Value;

use crate::card::CARD;
use crate::guest::Guest;
use crate::lan::{Lan, until};
use crate::machine::Machine;
use crate::ping::Ping;

/// Between one knock and the next.
const PAUSE: Duration = Duration::from_millis(5);

#[test]
fn early_start_filters_the_first_packet() {
    let lan = Lan::new();
    lan.introduce(&CARD);
    let [attacker, bystander] = [ATTACKER, BYSTANDER].map(|from| lan.ping(from, CARD.v4, 56));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| knock(&[&attacker, &bystander], &is_over));
        let stop = Stop(&is_over);
        let mut guest = Machine::new("boot", &lan).card(&CARD, 1, "").boot();
        guest.sh(&format!("echo 'block: [{ATTACKER}]' >/tmp/filterd.yaml"));
        guest.start_filterd("--iface eth0 --config /tmp/filterd.yaml");
        assert_eq!(guest.taken_in(&CARD), 0);
        guest.raise(&CARD, 1500);
        until("the bystander is answered", || bystander.is_answered());
        drop(stop);
        until("filterd has judged every packet that ever came in", || {
            judged(&mut guest) == guest.taken_in(&CARD)
        });
        assert!(!attacker.is_answered());
    });
}

/// Ends the knocking, also when the story fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn knock(pings: &[&Ping], is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        pings.iter().for_each(|ping| ping.send_again());
        thread::sleep(PAUSE);
    }
}

/// All packets that filterd has counted, for whatever reason.
fn judged(guest: &mut Guest<'_>) -> u64 {
    let stats: Value = serde_json::from_str(&guest.filterd("stats --json")).expect("filterd speaks JSON");
    let reasons = stats["reasons"].as_array().expect("stats has reasons");
    reasons.iter().filter_map(|reason| reason["packets"].as_u64()).sum()
}
