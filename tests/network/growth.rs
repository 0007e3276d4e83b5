//! A table grows while the first of another kind comes: the growth goes on, and everything can still leave.

use std::fmt::Write;
use std::thread;
use std::time::Duration;

use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, Frame, Net};

const SOON: Duration = Duration::from_secs(30);

/// So many addresses that filling a larger table takes a while.
const CROWD: u32 = 1_001_300;

/// So many more than there is room for: few enough that they are let in while the larger table is made.
const MORE: u64 = 1_000;

#[test]
fn the_first_ipv6_prefix_while_a_table_grows() {
    while_growing(&[&["add", "2001:db8:bad::/48"]]);
}

#[test]
fn the_first_ipv4_prefix_while_a_table_grows() {
    while_growing(&[&["add", "198.18.0.0/16"]]);
}

#[test]
fn several_kinds_can_change_while_table_grows() {
    while_growing(&[
        &["add", "2001:db8:bad:1::/64"],
        &["add", "198.18.0.0/16"],
        &["add", "2001:db8:bad::/48"],
        &["add", "2001:db8:bad::/56"],
    ]);
}

/// One by one, before, while and after the larger table is filled: what came is in it, and what went is not.
#[test]
pub(super) fn addresses_come_and_go_while_a_table_grows() {
    const EACH: u32 = 60;
    let mut net = Net::new();
    net.file("crowd.txt", &crowd());
    net.start("durable: false\nlists: [{name: crowd, path: $HOME/crowd.txt}]");
    let named =
        |net: u32, hosts: u32| (0..hosts).map(move |host| format!("10.{net}.{}.{}", host >> 8, host & 255));
    let lines = |net, hosts| named(net, hosts).map(|line| line + "\n").collect::<String>();
    let home = net.home();
    home.filterd_reading(["add", "-"], &lines(1, EACH)).succeeds();
    let (room, too_many) = (room(&net), too_many(&net));
    thread::scope(|scope| {
        let growing = scope
            .spawn(|| home.filterd_reading(["add", "-", "--list", "more"], &lines(3, too_many)).succeeds());
        for (came, went) in named(2, EACH).zip(named(1, EACH)) {
            home.filterd(["add", &came]).succeeds();
            home.filterd(["remove", &went]).succeeds();
        }
        growing.join().expect("it is answered");
    });
    assert!(self::room(&net) > room, "the table has grown from its room for {room} entries");
    net.expect_each(named(2, EACH).map(|address| Frame::from(address.as_str()))).dropped();
    net.expect_each(named(1, EACH).map(|address| Frame::from(address.as_str()))).passes();
    net.expect_each(["11.0.0.9", "11.7.0.0", "10.3.7.207"]).dropped();
}

/// The verbs are asked while the larger table is filled; afterwards all that came can be removed, or ends by itself.
fn while_growing(verbs: &[&[&str]]) {
    let mut net = Net::new();
    net.file("crowd.txt", &crowd());
    net.start("durable: false\nlists: [{name: crowd, path: $HOME/crowd.txt}]");
    net.filterd(["add", ATTACKER, "--ttl", "10s"]).succeeds();
    let (room, too_many) = (room(&net), too_many(&net));
    let more: String = (0..too_many).map(|host| format!("172.16.{}.{}\n", host >> 8, host & 255)).collect();
    let home = net.home();
    thread::scope(|scope| {
        let growing = scope.spawn(|| home.filterd_reading(["add", "-", "--list", "more"], &more).succeeds());
        thread::sleep(Duration::from_millis(5));
        for verb in verbs {
            home.filterd(*verb).succeeds();
        }
        growing.join().expect("it is answered");
    });
    assert!(self::room(&net) > room, "the table has grown from its room for {room} entries");
    for verb in verbs {
        net.filterd(["test", inside(verb[1])]).exits(0);
        net.expect(inside(verb[1])).dropped();
    }
    net.expect_each(["11.0.0.9", "11.7.0.0", "172.16.7.207"]).dropped();
    for verb in verbs.iter().rev() {
        // 1 says that a wider one, which is removed later, still holds it.
        assert!(matches!(net.filterd(["remove", verb[1]]).code(), Some(0 | 1)));
    }
    net.filterd(["remove", "172.16.0.9"]).succeeds();
    net.expect_each(verbs.iter().map(|verb| inside(verb[1]))).passes();
    net.expect_each(["172.16.0.9", BYSTANDER, BYSTANDER6, "198.18.1.1", ATTACKER6]).passes();
    net.expect(ATTACKER).then_within(SOON).passes();
    net.filterd(["add", BYSTANDER]).succeeds();
    net.expect(BYSTANDER).dropped();
}

/// More addresses than there is room for beside those that are in the table.
fn too_many(net: &Net) -> u32 {
    (room(net) - number(net, "entries") + MORE) as u32
}

/// For how many addresses the table has room.
fn room(net: &Net) -> u64 {
    number(net, "capacity")
}

/// A number of the table of addresses.
fn number(net: &Net, name: &str) -> u64 {
    let status = net.filterd(["status", "--json"]).json();
    let tables = status["tables"].as_array().expect("there are tables");
    let addresses = tables.iter().find(|table| table["name"] == "ipv4 addresses");
    addresses.and_then(|table| table[name].as_u64()).expect("one is of addresses")
}

fn inside(prefix: &str) -> &str {
    match prefix {
        "198.18.0.0/16" => "198.18.1.1",
        "2001:db8:bad:1::/64" => "2001:db8:bad:1::9",
        _ => "2001:db8:bad::9",
    }
}

fn crowd() -> String {
    let mut text = String::with_capacity(16 << 20);
    for host in 0..CROWD {
        writeln!(text, "11.{}.{}.{}", host >> 16, host >> 8 & 255, host & 255)
            .expect("a string can be written");
    }
    text
}
