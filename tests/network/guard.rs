//! The guard: what this host needs is never blocked, whatever anybody names, and nothing else is let through for it.

use harness::limited::LimitedListener;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use harness::{ATTACKER, BYSTANDER, GATEWAY, GATEWAY6, HOST, HOST6, Net, Random, few_or};
use nix::sys::signal::Signal;
use serde_json::json;

/// Long enough for any machine.
const SOON: Duration = Duration::from_secs(30);

const EVERYTHING: &str = "block: [0.0.0.0/0, \"::/0\"]";

#[test]
fn add_of_guarded_address_is_refused_with_reason() {
    let net = Net::with_filterd("");
    for (needed, why) in [
        (HOST, "this host's own address on eth0"),
        (HOST6, "this host's own address on eth0"),
        (GATEWAY, "a gateway of this host"),
        (GATEWAY6, "a gateway of this host"),
    ] {
        net.filterd(["add", needed]).exits(5).complains(needed).complains(why);
        let allowed_by = json!({"list": "guard", "note": why});
        net.filterd(["test", needed, "--json"])
            .exits(1)
            .has(json!({"tested": [{"allowed_by": [allowed_by]}]}));
    }
    net.filterd(["list"]).succeeds().is_silent_about("198.19.255");
    net.expect_each([GATEWAY, GATEWAY6, HOST]).passes();
    // Whatever else was named is blocked all the same.
    let guarded = json!({"address": GATEWAY, "why": "a gateway of this host"});
    net.filterd(["add", GATEWAY, ATTACKER, "--json"])
        .exits(7)
        .has(json!({"entered": 1, "refused": 1, "guarded": [guarded]}));
    net.expect(ATTACKER).dropped();
    net.filterd_reading(["add", "-"], &format!("{GATEWAY}\n{BYSTANDER}\n")).exits(7);
    net.expect(BYSTANDER).dropped();
    net.filterd_reading(["add", "-"], &format!("{GATEWAY}\n")).exits(5);
    net.expect(GATEWAY).passes();
}

#[test]
fn fully_guarded_prefix_is_refused() {
    let mut net = Net::new();
    for own in ["203.0.113.60/32", "203.0.113.61/32", "2001:db8:bad::60/128", "2001:db8:bad::61/128"] {
        net.host().ip(&format!("addr add {own} dev eth0"));
    }
    net.start("");
    for whole in ["203.0.113.60/31", "2001:db8:bad::60/127"] {
        net.filterd(["add", whole]).exits(5).complains("61 was not blocked");
    }
    net.filterd(["list"]).succeeds().is_silent_about("/");
    let own = json!([{"address": "203.0.113.60"}]);
    net.filterd(["add", "203.0.113.60/31", ATTACKER, "--json"])
        .exits(7)
        .has(json!({"refused": 1, "guarded": own}));
    net.filterd(["add", "203.0.113.60/30", "--json"]).succeeds().has(json!({"around": own}));
    net.expect_each([ATTACKER, "203.0.113.62"]).dropped();
    net.expect_each(["203.0.113.60", "203.0.113.61"]).passes();
}

#[test]
pub(super) fn prefix_is_blocked_around_guarded_addresses() {
    let net = Net::with_filterd("");
    let around = json!([
        {"target": "198.19.255.0/24", "address": GATEWAY, "why": "a gateway of this host"},
        {"target": "2001:2::/64", "address": HOST6, "why": "this host's own address on eth0"},
    ]);
    net.filterd(["add", "198.19.255.0/24", "2001:2::/64", "--json"])
        .succeeds()
        .has(json!({"around": around}));
    net.expect_each(["198.19.255.253", "198.19.255.255", "198.19.255.0", "2001:2::2", "2001:2::fd"])
        .dropped();
    net.expect_each([GATEWAY, GATEWAY6, HOST, HOST6]).passes();
    net.filterd(["remove", "198.19.255.0/24"]).succeeds();
    // A range is the prefixes it makes.
    net.filterd(["add", "198.19.255.253-198.19.255.254"]).exits(7).complains("198.19.255.254");
    net.expect("198.19.255.253").dropped();
    net.expect(GATEWAY).passes();
}

#[test]
fn guard_list_cannot_be_taken_or_ended() {
    let net = Net::with_filterd("");
    net.filterd(["allow", "list"]).succeeds().says(GATEWAY);
    for words in [
        ["add", ATTACKER, "--list", "guard"].as_slice(),
        &["allow", "add", ATTACKER, "--list", "guard"],
        &["allow", "remove", GATEWAY, "--list", "guard"],
        &["flush", "--list", "guard"],
    ] {
        net.filterd(words).exits(5).complains("cannot change list \"guard\" by command");
    }
    net.filterd(["allow", "remove", GATEWAY]).exits(1);
    net.filterd(["flush"]).succeeds();
    net.configure("lists: [{name: guard, path: $HOME/guard.txt}]");
    net.filterd(["reload"]).exits(3).complains("guard");
    let list = json!({"name": "guard", "kind": "host"});
    net.filterd(["status", "--json"]).exits(7).has(json!({"lists": [list]}));
    net.filterd(["add", GATEWAY]).exits(5);
}

#[test]
fn very_wide_block_needs_the_wide_flag() {
    let net = Net::with_filterd("");
    for wide in ["0.0.0.0/0", "128.0.0.0/1", "::/0", "2000::/15"] {
        net.filterd(["add", wide]).exits(5).complains("--wide");
    }
    net.filterd(["list"]).succeeds().is_silent_about("/");
    net.expect(ATTACKER).passes();
    net.filterd(["add", "0.0.0.0/0", "::/0", "--wide"]).succeeds();
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    net.expect_each([GATEWAY, GATEWAY6, HOST, HOST6]).passes();
}

/// At a start, at a take-over, and after a kill: no frame of a gateway is dropped while everything else is.
#[test]
fn guarded_hosts_are_allowed_before_anything_blocks() {
    let mut net = Net::new();
    net.start(EVERYTHING);
    net.expect_each([GATEWAY, GATEWAY6, HOST]).passes();
    net.expect(ATTACKER).dropped();
    net.end(Signal::SIGKILL);
    net.expect_each([GATEWAY, GATEWAY6]).passes();
    net.start(EVERYTHING);
    net.expect_each([GATEWAY, GATEWAY6]).passes();
    net.expect(ATTACKER).dropped();
    net.configure("block: []");
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).passes();
    net.configure(EVERYTHING);
    net.filterd(["reload"])
        .succeeds()
        .complains("`block:` contains 0.0.0.0/0, which is wider than a /8")
        .complains("list \"config\" contains ")
        .complains("they are guarded and pass: ");
    net.expect_each([GATEWAY, GATEWAY6]).passes();
    net.expect(ATTACKER).dropped();
}

#[test]
fn guard_follows_addresses_routes_nameservers_and_sessions() {
    let mut net = Net::new();
    let run = net.lives_with_its_own_run();
    run.ask_names_of(&["203.0.113.53"]);
    net.start("block: [203.0.113.0/24, \"2001:db8:bad::/48\"]");
    net.expect("203.0.113.53").passes();
    net.expect_each(["203.0.113.54", "203.0.113.60", "203.0.113.61", "2001:db8:bad::60"]).dropped();
    net.host().ip("addr add 203.0.113.60/32 dev eth0");
    net.host().ip("addr add 2001:db8:bad::60/128 dev eth0 nodad");
    net.host().ip("route add 192.0.2.0/24 via 203.0.113.61 dev eth0 onlink");
    run.ask_names_of(&["203.0.113.54"]);
    run.login("alice", "203.0.113.7");
    for needed in ["203.0.113.60", "2001:db8:bad::60", "203.0.113.61", "203.0.113.54", "203.0.113.7"] {
        net.expect(needed).then_within(SOON).passes();
    }
    net.expect("203.0.113.53").then_within(SOON).dropped();
    net.filterd(["add", "203.0.113.7"]).exits(5).complains("alice is logged in from it");
    net.host().ip("addr del 203.0.113.60/32 dev eth0");
    net.host().ip("addr del 2001:db8:bad::60/128 dev eth0");
    net.host().ip("route del 192.0.2.0/24");
    run.logout("alice");
    for gone in ["203.0.113.60", "2001:db8:bad::60", "203.0.113.61", "203.0.113.7"] {
        net.expect(gone).then_within(SOON).dropped();
    }
}

/// As fail2ban does: whoever tries passwords has a connection open to sshd, and is not logged in.
#[test]
fn open_connection_does_not_prevent_a_ban() {
    let mut net = Net::new();
    let run = net.lives_with_its_own_run();
    net.start("");
    let sshd = net.host().inside(|| TcpListener::bind((HOST, 22)).expect("nobody else listens"));
    net.peer().ip(&format!("route add {HOST}/32 dev eth0 src {ATTACKER}"));
    let _open = net.peer().inside(|| TcpStream::connect((HOST, 22)).expect("it listens"));
    let (_accepted, from) = sshd.limited_accept().expect("it came");
    assert_eq!(from.ip().to_string(), ATTACKER);
    net.filterd(["add", ATTACKER, "--ttl", "1h"]).succeeds();
    net.expect(ATTACKER).dropped();
    // The same host with somebody logged in from it is another matter, at the very next moment.
    net.filterd(["remove", ATTACKER]).succeeds();
    run.login("root", ATTACKER);
    net.filterd(["add", ATTACKER, "--ttl", "1h"]).exits(5).complains("root is logged in from it");
    net.expect(ATTACKER).passes();
}

/// Where neither logind nor utmp knows of it, too: `ssh HOST filterd add …` has no terminal.
#[test]
fn user_cannot_ban_own_ssh_peer() {
    let mut net = Net::new();
    net.lives_with_its_own_run();
    net.start("");
    let sshd = net.host().inside(|| TcpListener::bind((HOST, 22)).expect("nobody else listens"));
    net.peer().ip(&format!("route add {HOST}/32 dev eth0 src {ATTACKER}"));
    let open = net.peer().inside(|| TcpStream::connect((HOST, 22)).expect("it listens"));
    let (accepted, from) = sshd.limited_accept().expect("it came");
    let (port, other) = (from.port(), from.port() ^ 1);
    let asked_by = |port: u16, words: &[&str]| {
        let told = format!("SSH_CONNECTION={ATTACKER} {port} {HOST} 22");
        net.home().filterd_where(&told, words)
    };
    // Of what is told and not so, nothing is believed.
    asked_by(other, &["add", ATTACKER]).succeeds();
    net.expect(ATTACKER).dropped();
    net.filterd(["remove", ATTACKER]).succeeds();
    asked_by(port, &["add", ATTACKER]).exits(5).complains("a user of filterd is logged in from it by SSH");
    asked_by(port, &["add", "203.0.113.0/24", "--json"])
        .succeeds()
        .has(json!({"around": [{"address": ATTACKER}]}));
    net.expect(ATTACKER).passes();
    net.expect("203.0.113.8").dropped();
    drop((open, accepted));
    net.expect(ATTACKER).then_within(SOON).dropped();
}

/// The same as in memory, where there are ten thousand (`daemon/guard/tests`).
#[test]
fn random_lists_cut_no_needed_host_unannounced() {
    let mut net = Net::new();
    let (run, mut random) = (net.lives_with_its_own_run(), Random(7));
    net.start("");
    let service = net.host().inside(|| TcpListener::bind((HOST, 2222)).expect("nobody else listens"));
    let peers = [ATTACKER, BYSTANDER];
    let come = peers.map(|peer| {
        net.peer().ip(&format!("route replace {HOST}/32 dev eth0 src {peer}"));
        net.peer().inside(|| TcpStream::connect((HOST, 2222)).expect("it listens"))
    });
    let came = [(); 2].map(|()| service.limited_accept().expect("it came"));
    for round in 0..few_or(6, 20) {
        let [session, resolver, own] =
            [60, 70, 80].map(|first| format!("203.0.113.{}", first + random.below(4)));
        run.login("root", &session);
        run.ask_names_of(&[&resolver]);
        net.host().ip(&format!("addr add {own}/32 dev eth0"));
        let all = [
            HOST,
            GATEWAY,
            &session,
            &resolver,
            &own,
            "0.0.0.0/0",
            "::/0",
            "203.0.113.0/24",
            ATTACKER,
            BYSTANDER,
            HOST6,
            "2001:2::/48",
        ];
        let some = |random: &mut Random| {
            let words = all.iter().filter(|_| random.below(3) == 0).map(|word| format!("\"{word}\""));
            words.collect::<Vec<_>>().join(", ")
        };
        net.file("drop.txt", &some(&mut random).replace(", ", "\n").replace('"', ""));
        let block = some(&mut random);
        net.configure(&format!("block: [{block}]\nlists: [{{name: drop, path: $HOME/drop.txt, include_wide: true, max_shrink: 100%}}]"));
        let arrives = || net.arrivals(0, &peers.map(Into::into));
        let before = arrives();
        let told = net.filterd(["diff", "--json"]).json();
        let cut = told["cut"].as_array().cloned().unwrap_or_default();
        let named = peers.map(|peer| cut.iter().any(|cut| cut["address"] == peer));
        net.filterd(["reload"]).succeeds();
        net.expect_each([HOST, GATEWAY, GATEWAY6, HOST6, &session, &resolver]).passes();
        net.expect(own.as_str()).then_within(SOON).passes();
        let after = arrives();
        let is_cut = [0, 1].map(|peer| before[peer] && !after[peer]);
        assert_eq!(named, is_cut, "round {round}: {told}");
        net.host().ip(&format!("addr del {own}/32 dev eth0"));
    }
    drop((come, came));
}
