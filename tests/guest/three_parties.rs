//! Two guests and a third party on one switch: one attacks, one is protected, and the third party's flow lives on.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use harness::{Namespace, unique_name};

use crate::card::{CARD, Card};
use crate::guest::Guest;
use crate::lan::{Lan, until};
use crate::machine::Machine;

const ATTACKER: Card = Card { name: "eth0", mac: "02:00:00:00:00:66", v4: "198.19.255.66", v6: "2001:2::66" };

/// Neither of the two guests.
const THIRD: &str = "198.19.255.3";

/// The server sends back what it gets.
const ECHO: u16 = 7;

/// Words of the third party's, before and after.
const WORDS: u32 = 50;

/// A guest that is attacked answers late.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn attack_does_not_disturb_third_party_flow() {
    let lan = Lan::new();
    let mut server = Machine::new("server", &lan).card(&CARD, 1, "").boot();
    let mut attacker = Machine::new("attacker", &lan).card(&ATTACKER, 1, "").boot();
    server.raise(&CARD, 1500);
    attacker.raise(&ATTACKER, 1500);
    server.start_filterd("--no-config --iface eth0");
    server.sh(&format!("nc -ll -p {ECHO} -e cat &"));
    let third = third_party(&lan);
    let mut flow = third.inside(connect);
    assert!(reaches(&mut attacker));
    attacker.sh(&format!("ping -q -i 0.01 {} >/dev/null &", CARD.v4));
    talk(&mut flow);
    server.filterd(&format!("add {}", ATTACKER.v4));
    talk(&mut flow);
    assert!(!reaches(&mut attacker));
    let before = dropped(&mut server);
    talk(&mut flow);
    assert!(dropped(&mut server) > before, "the attack goes on, and is counted");
    server.filterd(&format!("remove {}", ATTACKER.v4));
    until("the attacker is let in again", || reaches(&mut attacker));
    talk(&mut flow);
}

/// A namespace with a cable to the switch.
fn third_party(lan: &Lan) -> Namespace {
    let third = Namespace::new(unique_name());
    let switch = lan.switch().name();
    third.ip_all(&format!(
        "link add eth0 type veth peer name third netns {switch}\n\
         addr add {THIRD}/24 dev eth0\n\
         link set eth0 up\n"
    ));
    lan.switch().ip_all("link set third master wire up\n");
    third
}

fn connect() -> TcpStream {
    let server = SocketAddr::new(CARD.v4.parse().expect("an address"), ECHO);
    let mut flow = None;
    until("the server listens", || {
        flow = TcpStream::connect_timeout(&server, PATIENCE).ok();
        flow.is_some()
    });
    let flow = flow.expect("it listens");
    flow.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
    flow.set_nodelay(true).expect("words need not wait for each other");
    flow
}

/// Every word comes back, in order, over the one connection.
fn talk(flow: &mut TcpStream) {
    for word in 0..WORDS {
        flow.write_all(&word.to_be_bytes()).expect("the connection lives");
        let mut back = [0; 4];
        flow.read_exact(&mut back).expect("the server answers");
        assert_eq!(u32::from_be_bytes(back), word);
    }
}

/// Is the attacker's ping answered?
fn reaches(attacker: &mut Guest<'_>) -> bool {
    attacker.run(&format!("ping -c 1 -W 2 {} >/dev/null", CARD.v4)).code == 0
}

fn dropped(server: &mut Guest<'_>) -> u64 {
    let stats: serde_json::Value =
        serde_json::from_str(&server.filterd("stats --json")).expect("filterd speaks JSON");
    let reasons = stats["reasons"].as_array().expect("stats has reasons");
    let listed =
        reasons.iter().find(|reason| reason["reason"] == "ipv4_address").expect("a reason of its own");
    listed["packets"].as_u64().expect("packets are counted")
}
