//! `ports:` and `except_ports:` of a list: what a listed source sends is dropped where the list guards, and nowhere else.

use std::time::{Duration, Instant};

use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, Frame, Net};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMP6: u8 = 58;
const SCTP: u8 = 132;
const LISTED: [&str; 2] = [ATTACKER, ATTACKER6];
const UNLISTED: [&str; 2] = [BYSTANDER, BYSTANDER6];
/// How long what the old configuration needed may stay; machines are slow.
const SOON: Duration = Duration::from_secs(30);
const LIST: &str = "203.0.113.7\n2001:db8:bad::7\n";

#[test]
pub(super) fn list_with_ports_drops_only_those() {
    let net = with_lists(&["ports: [22, 8000-8100]"], "");
    for protocol in [TCP, UDP] {
        for port in [22, 8000, 8042, 8100] {
            net.expect_each(LISTED.map(|from| to(from, protocol, port))).dropped();
            net.expect_each(UNLISTED.map(|from| to(from, protocol, port))).passes();
        }
        for port in [1, 21, 23, 443, 7999, 8101, 65_535] {
            net.expect_each(LISTED.map(|from| to(from, protocol, port))).passes();
        }
    }
    // The port it comes from says nothing.
    net.expect(Frame::from(ATTACKER).transport(TCP, segment(22, 443))).passes();
    net.expect_each(LISTED.map(|from| other(from, SCTP))).passes();
    net.expect_each([ATTACKER, ATTACKER6]).passes();
    assert!(net.counted("other_port") > 0, "they are counted");
    assert_eq!((net.counted("ipv4_address"), net.counted("ipv6_other")), (8, 8));
}

#[test]
fn a_list_with_except_ports_never_cuts_these() {
    let net = with_lists(&["except_ports: [80, 443]"], "");
    net.expect_each(LISTED.map(|from| to(from, TCP, 443))).passes();
    net.expect_each(LISTED.map(|from| to(from, UDP, 443))).passes();
    net.expect_each(LISTED.map(|from| to(from, TCP, 22))).dropped();
    // Whatever has no ports is dropped as well, but for what hosts on one link find each other by.
    net.expect_each(LISTED.map(|from| other(from, SCTP))).dropped();
    net.expect(other(ATTACKER, ICMP)).dropped();
    net.expect(other(ATTACKER6, ICMP6)).dropped();
    net.expect(Frame::neighbour_solicitation(ATTACKER6)).passes();
}

#[test]
fn tags_options_and_extensions_hide_no_port() {
    let net = with_lists(&["ports: [22]"], "");
    let hidden = |port| {
        [
            to(ATTACKER, TCP, port).options(10),
            to(ATTACKER, TCP, port).options(3).service_vlan(7).vlan(8),
            to(ATTACKER6, TCP, port).extension(0).extension(60).extension(43),
            to(ATTACKER6, TCP, port).extension(60).vlan(7),
        ]
    };
    net.expect_each(hidden(22)).dropped();
    net.expect_each(hidden(443)).passes();
}

#[test]
pub(super) fn later_fragments_pass_and_short_first_ones_drop() {
    let net = with_lists(&["ports: [22]", "except_ports: [443]"], "");
    let before = net.counted("later_fragment");
    net.expect_each(LISTED.map(|from| to(from, UDP, 22).fragment(100))).passes();
    assert_eq!(net.counted("later_fragment") - before, 2);
    net.expect_each(LISTED.map(|from| to(from, UDP, 22).fragment(0))).dropped();
    net.expect_each(LISTED.map(|from| Frame::from(from).transport(TCP, vec![0; 3]).fragment(0))).dropped();
    net.expect_each(UNLISTED.map(|from| Frame::from(from).transport(TCP, vec![0; 3]).fragment(0))).passes();
}

#[test]
fn packet_is_dropped_if_any_list_matches() {
    let net = with_lists(&["ports: [22]", "ports: [80]", "ports: [22]", ""], "");
    net.expect_each(LISTED.map(|from| to(from, TCP, 25))).dropped();
    net.home().write("list3.txt", "192.0.2.99\n");
    net.filterd(["reload", "--accept", "list3"]).succeeds();
    net.expect_each(LISTED.map(|from| to(from, TCP, 25))).passes();
    for port in [22, 80] {
        net.expect_each(LISTED.map(|from| to(from, TCP, port))).dropped();
    }
    // Of two lists with one clause the other one still has it.
    net.home().write("list0.txt", "192.0.2.99\n");
    net.filterd(["reload", "--accept", "list0"]).succeeds();
    net.expect_each(LISTED.map(|from| to(from, TCP, 22))).dropped();
    net.home().write("list2.txt", "192.0.2.99\n");
    net.filterd(["reload", "--accept", "list2"]).succeeds();
    net.expect_each(LISTED.map(|from| to(from, TCP, 22))).passes();
    net.expect_each(LISTED.map(|from| to(from, TCP, 80))).dropped();
    // What commands add is blocked on all ports.
    net.filterd(["add", ATTACKER, ATTACKER6]).succeeds();
    net.expect_each(LISTED.map(|from| to(from, TCP, 443))).dropped();
}

#[test]
fn prefixes_have_ports_as_well_as_addresses() {
    let net = with_lists(&["ports: [22]"], "");
    net.home().write(
        "list0.txt",
        "203.0.113.0/24\n198.51.0.0/16\n2001:db8:bad::/48\n2001:db9::/32\n203.0.115.0/30\n",
    );
    net.filterd(["reload", "--accept", "list0"]).succeeds();
    let inside = ["203.0.113.200", "198.51.7.7", "203.0.115.2", "2001:db8:bad:7::1", "2001:db9:1::1"];
    net.expect_each(inside.map(|from| to(from, TCP, 22))).dropped();
    net.expect_each(inside.map(|from| to(from, TCP, 443))).passes();
    let outside = ["203.0.114.200", "198.52.7.7", "203.0.115.4", "2001:db8:bae:7::1", "2001:dba:1::1"];
    net.expect_each(outside.map(|from| to(from, TCP, 22))).passes();
}

#[test]
fn allowed_source_passes_on_ports_of_lists() {
    let net = with_lists(&["ports: [22]"], "allow: [203.0.113.7]");
    net.expect(to(ATTACKER, TCP, 22)).passes();
    net.expect(to(ATTACKER6, TCP, 22)).dropped();
    net.filterd(["allow", "add", "2001:db8:bad::/48"]).succeeds();
    net.expect(to(ATTACKER6, TCP, 22)).passes();
    net.filterd(["test", ATTACKER]).exits(1);
    net.filterd(["allow", "remove", "2001:db8:bad::/48"]).succeeds();
    net.expect(to(ATTACKER6, TCP, 22)).dropped();
}

#[test]
fn list_can_gain_change_and_lose_ports() {
    let net = with_lists(&["ports: [22]"], "");
    for (clause, dropped, passing) in [
        ("ports: [80]", &[80][..], &[22, 443][..]),
        ("", &[22, 80, 443], &[]),
        ("except_ports: [443]", &[22, 80], &[443]),
        ("ports: [1-21, 23-65535]", &[80, 443], &[22]),
    ] {
        net.configure(&configuration(&[clause], ""));
        net.filterd(["reload"]).succeeds();
        for port in dropped {
            net.expect_each(LISTED.map(|from| to(from, TCP, *port))).dropped();
        }
        for port in passing {
            net.expect_each(LISTED.map(|from| to(from, TCP, *port))).passes();
        }
    }
}

/// Without a copy, as where it was in force in part or somebody removed the copies: it goes on under whatever name.
#[test]
fn changed_ports_keep_entries_without_file() {
    let mut net = Net::new();
    net.home().write("list0.txt", &format!("{LIST}rubbish\nrubbish\n"));
    net.start(&configuration(&["ports: [22]"], ""));
    net.filterd(["status"]).exits(7).says("only partly in force");
    std::fs::remove_file(net.home().path("list0.txt")).expect("it was just written");
    let with = |clause: &str, name: &str| {
        configuration(&[clause], "").replace("name: list0", &format!("name: {name}"))
    };
    for (clause, name, dropped, passing) in [
        ("ports: [80]", "list0", 80, 22),
        ("ports: [443]", "other", 443, 80),
        ("except_ports: [443]", "list0", 22, 443),
    ] {
        net.configure(&with(clause, name));
        let config = net.home().path("filterd.yaml");
        const WOULD: &str = "the 2 targets that were read before would remain in force";
        net.filterd(["check", config.to_str().expect("its path is text")]).exits(7);
        if name == "list0" && clause.starts_with("ports") {
            net.filterd(["check", config.to_str().expect("its path is text")]).exits(7).complains(WOULD);
        }
        net.filterd(["reload"]).exits(7).complains("2 targets that were read before remain in force");
        net.expect_each(LISTED.map(|from| to(from, TCP, dropped))).dropped();
        net.expect_each(LISTED.map(|from| to(from, TCP, passing))).passes();
    }
}

/// What one leaves open the other closes.
#[test]
fn complementary_clauses_block_everything() {
    let net = with_lists(&["ports: [22, 80]", "except_ports: [22, 80]"], "");
    net.expect_each([22, 80, 443].map(|port| to(ATTACKER, TCP, port))).dropped();
    assert_eq!(ports_of(&net, ATTACKER), Value::Null);
    net.filterd(["add", ATTACKER]).succeeds();
    let held = json!({"target": ATTACKER, "by": [{"list": "list0", "ports": "on ports 22, 80 only"}]});
    net.filterd(["remove", ATTACKER, "--json"]).exits(1).has(json!({"held": [held]}));
    net.home().write("list1.txt", "192.0.2.99\n");
    net.filterd(["reload", "--accept", "list1"]).succeeds();
    assert_eq!(ports_of(&net, ATTACKER), json!(["on ports 22, 80 only"]));
}

/// Both configurations have four clauses, and no one in common; with every kind of source in each set that is more maps than
/// a kernel lets a program reach, if each is to have labels.
#[test]
fn all_clauses_may_change_at_once() {
    const OTHERS: &str = "counters: lists
block: [192.0.2.7, 198.18.7.0/24, '2001:db8:77::7', '2001:dba::/32']
allow: [192.0.2.8, 198.18.8.0/24, '2001:db8:78::8', '2001:dbb::/32']
";
    let mut net = Net::new();
    for number in 0..4 {
        let every_kind = format!("{LIST}198.51.100.0/24\n2001:db9::/32\n");
        net.home().write(&format!("list{number}.txt"), &every_kind);
    }
    net.start(&configuration(&["ports: [1]", "ports: [2]", "ports: [3]", "ports: [4]"], OTHERS));
    let sources = [ATTACKER, ATTACKER6, "198.51.100.9", "2001:db9::9"];
    let to_each = |port| sources.map(|from| to(from, TCP, port));
    (1..5).for_each(|port| _ = net.expect_each(to_each(port)).dropped());
    let after = ["ports: [5]", "ports: [6]", "ports: [7]", "except_ports: [1, 2, 3, 4]"];
    net.configure(&configuration(&after, OTHERS));
    net.filterd(["reload"]).succeeds();
    (1..5).for_each(|port| _ = net.expect_each(to_each(port)).passes());
    (5..9).for_each(|port| _ = net.expect_each(to_each(port)).dropped());
    // Once the other clauses are gone, each has its counters again.
    let dropped = |name: &str| {
        let lists = net.filterd(["lists", "--json"]).succeeds().json();
        let rows = lists["lists"].as_array().expect("lists are told").clone();
        let row = rows.into_iter().find(|row| row["name"] == name).expect("it is there");
        row["hits"]["dropped"].as_u64().expect("it is counted")
    };
    let (before, begun) = (dropped("list1"), Instant::now());
    while dropped("list1") == before {
        assert!(begun.elapsed() < SOON, "what it drops is still not counted for it");
        net.expect_each(to_each(6)).dropped();
    }
}

#[test]
fn filterd_says_on_which_ports() {
    let net = with_lists(&["ports: [8000-8100, 22]"], "");
    const WHERE: &str = "on ports 22, 8000-8100 only";
    net.filterd(["list", "--json"]).succeeds().says(WHERE);
    let table = json!({"name": format!("ipv4 addresses {WHERE}")});
    net.filterd(["status", "--json"])
        .succeeds()
        .has(json!({"lists": [{"name": "list0", "ports": WHERE}], "tables": [table]}));
    let config = net.home().path("filterd.yaml");
    net.filterd(["check", config.to_str().expect("its path is text")]).succeeds().says(WHERE);
    net.configure(&configuration(&["except_ports: [443]"], ""));
    let all_but = json!({"lists": [{"name": "list0", "ports": "on all but port 443"}]});
    net.filterd(["diff", "--json"]).exits(1).has(all_but);
    assert_eq!(ports_of(&net, ATTACKER), json!([WHERE]));
    // On all ports: nothing is said of any.
    net.filterd(["add", ATTACKER]).succeeds();
    assert_eq!(ports_of(&net, ATTACKER), Value::Null);
    let held = json!({"target": ATTACKER, "ports": [WHERE], "lists": ["list0"]});
    net.filterd(["remove", ATTACKER, "--json"]).succeeds().has(json!({"held": [held]}));
}

#[test]
fn partly_covered_prefix_is_not_reported_dropped() {
    let net = with_lists(&["ports: [80]", "except_ports: [80]"], "");
    net.home().write("list0.txt", "203.0.113.0/24\n");
    net.filterd(["reload", "--accept", "list0"]).succeeds();
    let beside = || to("203.0.113.8", TCP, 25);
    net.expect(beside()).passes();
    let part = json!(["on port 80 only", "a part of it on all but port 80"]);
    assert_eq!(ports_of(&net, "203.0.113.0/24"), part);
    assert_eq!(ports_of(&net, ATTACKER), Value::Null);
    net.home().write("list1.txt", "203.0.113.0/24\n");
    net.filterd(["reload", "--accept", "list1"]).succeeds();
    net.expect(beside()).dropped();
    assert_eq!(ports_of(&net, "203.0.113.0/24"), Value::Null);
}

/// On port 22 alone it was blocked before an `add`, and is after a `remove`.
#[test]
fn ports_are_omitted_where_all_are_blocked() {
    let net = with_lists(&["ports: [22]"], "");
    net.filterd(["add", "203.0.113.0/24"]).succeeds();
    net.filterd(["allow", "add", "203.0.113.248/29"]).succeeds();
    let ports = |target: &str| {
        let told = net.filterd(["test", target, "--json"]).json();
        (told["tested"][0]["partly"].clone(), told["tested"][0]["ports"].clone())
    };
    assert_eq!(ports("203.0.113.0/24"), (true.into(), Value::Null));
    let around = ports("2001:db8:bad::/64");
    assert_eq!(
        around,
        (true.into(), serde_json::json!(["on port 22 only"])),
        "nothing of it is dropped on all"
    );
    net.filterd(["add", "2001:db8:bad::1"]).succeeds();
    let beside = serde_json::json!(["a part of it on port 22 only"]);
    assert_eq!(ports("2001:db8:bad::/64"), (true.into(), beside));
}

#[test]
fn add_and_remove_respect_ports_of_lists() {
    let net = with_lists(&["ports: [22]"], "");
    const WHERE: &str = "on port 22 only";
    net.home().write("list0.txt", "203.0.113.0/24\n");
    net.filterd(["reload", "--accept", "list0"]).succeeds();
    let by = json!({"target": "203.0.113.0/24", "list": "list0", "ports": WHERE});
    let added = net.filterd(["add", ATTACKER, "--ttl", "1h", "--json"]).succeeds();
    let told = added.has(json!({"entered": 1, "covered_by": [by]})).json();
    assert!(told["covered"].is_null() && told["longer"].is_null(), "{told}");
    net.expect(to(ATTACKER, TCP, 80)).dropped();
    let held = json!({"target": ATTACKER, "ports": [WHERE], "by": [by]});
    net.filterd(["remove", ATTACKER, "--json"]).succeeds().has(json!({"held": [held]}));
    net.expect(to(ATTACKER, TCP, 80)).passes();
    net.expect(to(ATTACKER, TCP, 22)).dropped();
    for verb in ["add", "remove"] {
        let blocked_by = json!({"blocked_by": [by]});
        net.filterd(["allow", verb, ATTACKER, "--json"]).succeeds().has(blocked_by);
    }
    // Whatever blocks it on all ports makes it a no.
    net.filterd(["add", "203.0.113.0/28"]).succeeds();
    net.filterd(["add", ATTACKER, "--json"]).succeeds().has(json!({"covered": 1}));
    let held = json!({"target": ATTACKER, "by": [{"target": "203.0.113.0/28"}]});
    net.filterd(["remove", ATTACKER, "--json"]).exits(1).has(json!({"held": [held]}));
}

/// On which ports the target is dropped; null if on all.
#[track_caller]
fn ports_of(net: &Net, target: &str) -> Value {
    let tested = net.filterd(["test", target, "--json"]).succeeds().json()["tested"][0].clone();
    assert_eq!(tested["dropped"], true, "{tested}");
    tested["ports"].clone()
}

#[test]
fn restart_applies_configured_ports() {
    let mut net = with_lists(&["ports: [22]"], "");
    net.end(Signal::SIGKILL);
    net.start(&configuration(&["ports: [22]"], ""));
    net.expect_each(LISTED.map(|from| to(from, TCP, 22))).dropped();
    net.expect_each(LISTED.map(|from| to(from, TCP, 443))).passes();
}

/// Lists of this text, each with what is said of its ports.
fn with_lists(clauses: &[&str], more: &str) -> Net {
    let mut net = Net::new();
    (0..clauses.len()).for_each(|number| _ = net.home().write(&format!("list{number}.txt"), LIST));
    net.start(&configuration(clauses, more));
    net
}

fn configuration(clauses: &[&str], more: &str) -> String {
    let lists = clauses.iter().enumerate().map(|(number, clause)| {
        let clause = if clause.is_empty() { String::new() } else { format!(", {clause}") };
        format!("  - {{name: list{number}, path: $HOME/list{number}.txt{clause}}}\n")
    });
    format!("{more}\nlists:\n{}", lists.collect::<String>())
}

pub(super) fn to(from: &str, protocol: u8, port: u16) -> Frame {
    Frame::from(from).transport(protocol, segment(40_000, port))
}

fn other(from: &str, protocol: u8) -> Frame {
    Frame::from(from).transport(protocol, segment(22, 22))
}

/// Enough of a header of TCP or UDP.
fn segment(from: u16, to: u16) -> Vec<u8> {
    let mut segment = [from.to_be_bytes(), to.to_be_bytes(), [0, 20], [0, 0]].concat();
    segment.extend([0, 0, 0, 0, 5 << 4, Frame::ACK, 0, 0, 0, 0, 0, 0]);
    segment
}
