//! What filterd tells of itself: `list`, `status`, `stats`, `test`, `ping`.

use filter_common::reason::Reason;
use filter_common::target::Target;
use harness::{ATTACKER, ATTACKER6, BYSTANDER, Frame, Net};
use serde_json::{Value, json};

#[test]
fn list_tells_every_target_once_for_each_list() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.filterd(["add", ATTACKER, ATTACKER6, "198.18.0.0/16", "--list", "ssh"]).succeeds();
    let entries = net.filterd(["list", "--json"]).succeeds().json_lines();
    let attackers: Vec<_> = entries.iter().filter(|entry| entry["target"] == ATTACKER).collect();
    assert_eq!((entries.len(), attackers.len()), (4, 2));
}

#[test]
fn list_of_many_pages_is_complete_and_ordered() {
    let net = Net::with_filterd("lists: [{name: crowd, path: $HOME/crowd.txt}]");
    let hosts = (0..5_000).map(|host: u32| format!("203.0.{}.{}", host >> 8, host & 255));
    let prefixes = (0..10_000).map(|net: u32| format!("11.{}.{}.0/24", net >> 8, net & 255));
    let nets64 = (0..5_000).map(|net| format!("2001:db8:0:{net:x}::/64"));
    let crowd: Vec<_> = hosts.chain(prefixes).chain(nets64).collect();
    net.file("crowd.txt", &crowd.join("\n"));
    net.filterd(["reload"]).succeeds();
    let told = net.filterd(["list", "--json"]).succeeds().json_lines();
    let target = |entry: &Value| entry["target"].as_str().and_then(|word| word.parse::<Target>().ok());
    let told: Vec<_> = told.iter().filter_map(target).collect();
    assert_eq!(told.len(), crowd.len());
    assert!(told.is_sorted());
}

#[test]
fn list_can_be_narrowed() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.filterd(["add", ATTACKER6, "198.18.0.0/16", "--list", "ssh"]).succeeds();
    net.filterd(["list", "--family", "6"]).succeeds().says(ATTACKER6).is_silent_about("198.18");
    net.filterd(["list", "--family", "4"]).succeeds().says(ATTACKER).is_silent_about("2001:");
    net.filterd(["list", "--list", "ssh"]).succeeds().says(ATTACKER6).is_silent_about(ATTACKER);
}

#[test]
fn test_shows_covering_entries_longest_first() {
    let net = Net::with_filterd("block: [203.0.113.0/24]");
    net.filterd(["add", ATTACKER, "203.0.0.0/16", "--list", "ssh", "--note", "rude"]).succeeds();
    let answer = net.filterd(["test", ATTACKER, "--json"]).exits(0).json();
    let because = answer["tested"][0]["because"].as_array().expect("a list");
    let targets: Vec<_> = because.iter().map(|entry| entry["target"].as_str().expect("a target")).collect();
    assert_eq!(targets, [ATTACKER, "203.0.113.0/24", "203.0.0.0/16"]);
    assert_eq!(because[0]["list"], "ssh");
    assert_eq!(because[0]["note"], "rude");
}

#[test]
fn test_and_the_filter_agree() {
    let net = Net::with_filterd("block: [203.0.113.0/24, \"2001:db8:bad::/48\"]");
    for address in [ATTACKER, ATTACKER6] {
        net.filterd(["test", address]).exits(0);
        net.expect(address).dropped();
    }
    for address in [BYSTANDER, "203.0.112.255", "2001:db8:bae::1"] {
        net.filterd(["test", address]).exits(1);
        net.expect(address).passes();
    }
}

#[test]
fn stats_counts_each_packet_under_its_reason() {
    let net = Net::with_filterd(
        "block: [203.0.113.7, 198.18.0.0/16, \"2001:db8:1:1::/64\", \"2001:db8:bad::/48\"]",
    );
    let five_tags = Frame::from(ATTACKER).vlan(1).vlan(2).vlan(3).vlan(4).vlan(5);
    for (frame, reason) in [
        (Frame::from(ATTACKER), "ipv4_address"),
        (Frame::from("198.18.0.9"), "ipv4_prefix"),
        (Frame::from("2001:db8:1:1::9"), "ipv6_64"),
        (Frame::from(ATTACKER6), "ipv6_other"),
        (Frame::from(BYSTANDER), "unlisted"),
        (Frame::from(ATTACKER).cut_at(20), "malformed"),
        (five_tags, "too_many_tags"),
    ] {
        let before = net.counted(reason);
        net.arrivals(0, &vec![frame; 5]);
        assert_eq!(net.counted(reason), before + 5, "{reason}");
    }
    let before = net.counted("not_ip");
    net.expect(Frame::arp(ATTACKER)).passes();
    assert!(net.counted("not_ip") > before);
}

#[test]
fn status_shows_state_and_table_sizes() {
    let net = Net::with_filterd("block: [203.0.113.7, 198.18.0.0/16]");
    net.filterd(["add", ATTACKER6]).succeeds();
    let status = net.filterd(["status", "--json"]).succeeds().json();
    assert_eq!(status["version"], 1);
    assert_eq!(status["pid"], net.daemon().id());
    assert_eq!(status["enforce"], true);
    assert_eq!(status["interfaces"][0]["name"], "eth0");
    let entries: u64 = status["tables"]
        .as_array()
        .expect("tables")
        .iter()
        .map(|one| one["entries"].as_u64().expect("a count"))
        .sum();
    assert!(entries >= 3, "{status}");
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    let eth0 = json!({"name": "eth0", "mode": net.tc_mode()});
    net.filterd(["status", "--json"]).succeeds().has(json!({"targets": 3, "interfaces": [eth0]}));
}

#[test]
fn stats_says_of_every_reason_what_it_means() {
    let net = Net::with_filterd("");
    let text = net.filterd(["stats"]).succeeds().output;
    let rows = net.filterd(["stats", "--json"]).succeeds().json();
    let rows = rows["reasons"].as_array().expect("there are rows");
    for reason in Reason::ALL {
        let (name, meaning) = (reason.name(), reason.meaning());
        let of_it: Vec<_> = rows.iter().filter(|row| row["reason"] == name).collect();
        assert!(!of_it.is_empty() && of_it.iter().all(|row| row["meaning"] == meaning), "{name}: {of_it:?}");
        let is_told = |line: &str| line.contains(&format!(" {name} ")) && line.ends_with(meaning);
        assert!(text.lines().any(is_told), "{name}, which is {meaning}, in\n{text}");
    }
}

#[test]
fn ping_answers() {
    let net = Net::with_filterd("");
    net.filterd(["ping"]).succeeds();
    let pong = net.filterd(["ping", "--json"]).succeeds().json();
    assert_eq!(pong["pid"], net.daemon().id());
}

#[test]
fn json_output_is_only_json() {
    let net = Net::with_filterd("");
    for words in [
        &["add", ATTACKER, "--json"][..],
        &["remove", ATTACKER, "--json"],
        &["flush", "--json"],
        &["status", "--json"],
        &["stats", "--json"],
        &["ping", "--json"],
        &["reload", "--json"],
    ] {
        assert!(net.filterd(words).succeeds().json().is_object());
    }
}
