//! A card that many servers have, rather than a veth pair: queues, large frames, and what a driver refuses.

use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6};

use crate::card::CARD;
use crate::guest::{Guest, Told};
use crate::lan::{JUMBO, Lan};
use crate::machine::Machine;

/// What a ping usually carries, and what only fits a large frame.
const USUAL: usize = 56;
const LARGE: usize = JUMBO - 100;

const QUEUES: usize = 4;

/// So many that no queue is left out.
const MANY: usize = 64;

#[test]
fn every_queue_drops_exactly_the_listed() {
    let lan = Lan::new();
    let mut guest = Machine::new("queues", &lan).cpus(QUEUES).card(&CARD, QUEUES, "").boot();
    guest.raise(&CARD, 1500);
    guest.start_filterd("--no-config --iface eth0 --mode native");
    let attackers: Vec<String> = (1..=MANY).map(|host| format!("203.0.113.{host}")).collect();
    let bystanders: Vec<String> = (1..=MANY).map(|host| format!("198.51.100.{host}")).collect();
    let everybody: Vec<&str> = attackers.iter().chain(&bystanders).map(String::as_str).collect();
    assert_eq!(CARD.answers(&mut guest, &everybody, USUAL), everybody);
    guest.filterd(&format!("add {}", attackers.join(" ")));
    assert_eq!(CARD.answers(&mut guest, &everybody, USUAL), bystanders);
    guest.filterd(&format!("remove {}", attackers.join(" ")));
    assert_eq!(CARD.answers(&mut guest, &everybody, USUAL), everybody);
    assert_eq!(busy_queues(&mut guest), QUEUES);
}

#[test]
fn filter_attaches_in_native_mode() {
    let lan = Lan::new();
    let mut guest = Machine::new("native", &lan).card(&CARD, 1, "").boot();
    guest.raise(&CARD, 1500);
    let Told { text, .. } = guest.run("filterd doctor --no-config --iface eth0");
    assert!(text.contains("-> ethtool -K eth0 rx-gro-hw off") && !text.contains("only its host"), "{text}");
    guest.start_filterd("--no-config --iface eth0");
    guest.filterd(&format!("add {ATTACKER} {ATTACKER6}"));
    let answered = CARD.answers(&mut guest, &[ATTACKER, BYSTANDER, ATTACKER6, BYSTANDER6], USUAL);
    assert_eq!(answered, [BYSTANDER, BYSTANDER6]);
    assert!(is_native(&mut guest));
}

/// The driver learned to show programs a frame in several pieces in Linux 6.3.
#[test]
fn large_frames_filter_natively_or_log_why() {
    let lan = Lan::new();
    let mut guest = Machine::new("jumbo", &lan).card(&CARD, 1, "").boot();
    guest.raise(&CARD, JUMBO);
    guest.start_filterd("--no-config --iface eth0");
    let log = guest.log();
    assert_eq!(is_native(&mut guest), guest.is_linux(6, 3), "{log}");
    assert!(
        is_native(&mut guest) || log.contains("MTU (now 9000)") && log.contains("uses TC instead"),
        "{log}"
    );
    guest.filterd(&format!("add {ATTACKER} {ATTACKER6}"));
    let answered = CARD.answers(&mut guest, &[ATTACKER, BYSTANDER, ATTACKER6, BYSTANDER6], LARGE);
    assert_eq!(answered, [BYSTANDER, BYSTANDER6]);
}

/// A card whose offloads cannot be switched off hands the driver packets that it has put together.
#[test]
fn merging_card_is_refused_and_tc_filters() {
    let lan = Lan::new();
    let mut guest = Machine::new("merging", &lan).card(&CARD, 1, ",ctrl_guest_offloads=off").boot();
    guest.raise(&CARD, 1500);
    let Told { text, .. } = guest.run("filterd doctor --no-config --iface eth0");
    assert!(
        text.contains("merges packets (rx-gro-hw)") && text.contains("only its host can switch"),
        "{text}"
    );
    let Told { code, text } = guest.run("filterd --no-config --iface eth0 --mode native");
    assert!(code == 8 && text.contains("hardware GRO") && text.contains("--mode auto"), "{code}: {text}");
    guest.start_filterd("--no-config --iface eth0");
    assert!(!is_native(&mut guest) && guest.log().contains("hardware GRO"), "{}", guest.log());
    guest.filterd(&format!("add {ATTACKER}"));
    assert_eq!(CARD.answers(&mut guest, &[ATTACKER, BYSTANDER], USUAL), [BYSTANDER]);
}

/// By what the kernel says, not filterd. There is never a program in generic mode.
fn is_native(guest: &mut Guest<'_>) -> bool {
    let link = guest.sh("ip link show eth0");
    assert!(!link.contains("xdpgeneric"), "{link}");
    link.contains("prog/xdp")
}

/// How many of the card's queues have seen a frame.
fn busy_queues(guest: &mut Guest<'_>) -> usize {
    let interrupts = guest.sh("grep -E 'virtio[0-9]+-input' /proc/interrupts");
    let counts = |line: &str| line.split_whitespace().skip(1).take(QUEUES).any(|count| count != "0");
    interrupts.lines().filter(|line| counts(line)).count()
}
