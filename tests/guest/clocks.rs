//! What nobody does to the machine on which stories run: its clock is set, and it sleeps, while a filterd runs.

use harness::{ATTACKER, ATTACKER6, BYSTANDER};

use crate::card::CARD;
use crate::guest::{Guest, Told};
use crate::lan::{Lan, until};
use crate::machine::Machine;

const USUAL: usize = 56;

/// Listed, too.
const OTHER: &str = "203.0.113.8";

const EVERYBODY: [&str; 4] = [ATTACKER, OTHER, ATTACKER6, BYSTANDER];

/// What a filterd lives through is told to it by the time since boot alone.
#[test]
fn changed_clock_moves_no_expiry() {
    let lan = Lan::new();
    let mut guest = filtered("set", &lan);
    guest.filterd(&format!("add {ATTACKER} --ttl 1h"));
    guest.filterd(&format!("add {ATTACKER6}"));
    guest.sh("date -s '2036-01-01 00:00:00'");
    guest.filterd(&format!("add {OTHER} --ttl 3s"));
    until("three seconds are over, ten years later by the clock", || answers(&mut guest).contains(&OTHER));
    guest.sh("date -s '2001-01-01 00:00:00'");
    guest.filterd(&format!("add {OTHER} --ttl 3s"));
    until("three seconds are over, years before filterd began", || answers(&mut guest).contains(&OTHER));
    assert_eq!(answers(&mut guest), [OTHER, BYSTANDER], "an hour is not over");
    assert!(guest.filterd("list --expiring 61m").contains(ATTACKER));
    // The next one, in the same boot, goes by the time since boot, too, whatever the clock says.
    guest.sh("kill -9 $(pidof filterd); while pidof filterd >/dev/null; do :; done");
    guest.sh("date -s '2020-01-01 00:00:00'");
    start(&mut guest);
    assert_eq!(answers(&mut guest), [OTHER, BYSTANDER]);
    assert!(guest.filterd("list --expiring 61m").contains(ATTACKER));
    let Told { code, text } = guest.run("filterd status");
    assert_eq!(code, 0, "{text}");
}

/// `sleep 30` goes by a time that stands still while the machine sleeps. Its card, a virtio one, forgets the filter meanwhile,
/// and its kernel does not know.
#[test]
fn entry_expired_during_sleep_is_gone_afterwards() {
    let lan = Lan::new();
    let mut guest = filtered("sleeping", &lan);
    guest.filterd(&format!("add {ATTACKER6}"));
    guest.sh("{ sleep 30; touch /tmp/awake; } &");
    guest.filterd(&format!("add {ATTACKER} --ttl 30s"));
    guest.filterd("pause 30s");
    guest.sh("echo +35 >/sys/class/rtc/rtc0/wakealarm && echo mem >/sys/power/state");
    until("the entry and the pause are over", || answers(&mut guest) == [ATTACKER, OTHER, BYSTANDER]);
    let Told { code, .. } = guest.run("test -e /tmp/awake");
    assert_ne!(code, 0, "the machine was awake for half a minute: this told nothing of its sleep");
    let kernel = guest.sh("dmesg");
    assert!(kernel.contains("PM: suspend exit"), "it did not sleep:\n{kernel}");
    let Told { code, text } = guest.run("filterd status");
    assert_eq!(code, 0, "{text}");
    guest.filterd(&format!("add {OTHER}"));
    assert_eq!(answers(&mut guest), [ATTACKER, BYSTANDER], "and it is as it was");
}

/// A machine with a filterd that drops nothing yet.
fn filtered<'lan>(name: &'static str, lan: &'lan Lan) -> Guest<'lan> {
    let mut guest = Machine::new(name, lan).card(&CARD, 1, "").boot();
    guest.raise(&CARD, 1500);
    start(&mut guest);
    assert_eq!(answers(&mut guest), EVERYBODY);
    guest
}

fn start(guest: &mut Guest<'_>) {
    guest.start_filterd("--no-config --iface eth0 --state-dir /tmp/state");
}

/// Who of everybody is answered.
fn answers(guest: &mut Guest<'_>) -> Vec<&'static str> {
    CARD.answers(guest, &EVERYBODY, USUAL)
}
