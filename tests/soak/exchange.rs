//! What is exported for ipset and nft is loaded by the real ones, and what they write is imported.

use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};

use harness::{ATTACKER, BYSTANDER, Net, Reply};

const ADDED: [&[&str]; 5] = [
    &["192.0.2.1", "--list", "ssh", "--ttl", "2h", "--note", "a \"b\" # c; \\d"],
    &["198.51.100.0/24", "2001:db8:bad::/48", "2001:db8::1", "--ttl", "40d"],
    &["192.0.2.0/24", "--list", "9-a_list_whose_name_is_32_letter"],
    &["0.0.0.0/0", "::/0", "--wide", "--list", "all"],
    &["192.0.2.1", "--note", "", "--list", "empty"],
];

/// In the host's namespace, with this on its standard input.
fn tool(net: &Net, words: &[&str], input: &str) -> Reply {
    let file = net.file("input", input);
    let mut command = net.host().command(words[0]);
    command
        .args(&words[1..])
        .stdin(std::fs::File::open(file).expect("it was written"))
        .stdout(Stdio::piped());
    Reply::of(&mut command).succeeds()
}

fn filled() -> Net {
    let net = Net::with_filterd("");
    for words in ADDED {
        net.filterd(["add"].iter().chain(words)).succeeds();
    }
    net.filterd(["allow", "add", "192.0.2.7", "--note", "ours"]).succeeds();
    net
}

/// Target, list and note of each entry but those that block everything.
fn entries(net: &Net) -> Vec<String> {
    let rows = ["list", "allow list"].map(|verb| {
        let words = verb.split(' ').chain(["--json"]);
        net.filterd(words).succeeds().json_lines()
    });
    let mut all: Vec<_> = rows
        .iter()
        .flatten()
        .filter(|row| row["list"] != "guard" && row["list"] != "all")
        .map(|row| format!("{} {} {}", row["target"], row["list"], row["note"]))
        .collect();
    all.sort();
    all
}

fn plain(entries: Vec<String>) -> Vec<String> {
    let name = |entry: String| entry.replace("\\\"", "'").replace(" \"\"", " null");
    entries.into_iter().map(name).collect()
}

#[test]
fn ipset_round_trip_keeps_entries() {
    let net = filled();
    let told = net.filterd(["export", "--format", "ipset"]).succeeds();
    assert!(told.complaint.contains("longer than ipset can count"), "{}", told.complaint);
    tool(&net, &["ipset", "restore"], &told.output);
    let saved = tool(&net, &["ipset", "save"], "").output;
    for (set, element) in [("ssh_4", "192.0.2.1 "), ("manual_6", "2001:db8:bad::/48"), ("all_6", "8000::/1")]
    {
        assert!(saved.contains(&format!("add {set} {element}")), "{saved}");
    }
    let before = plain(entries(&net));
    let other = Net::with_filterd("");
    other.filterd_reading(["import", "-", "--wide", "--include-special"], &saved).succeeds();
    // A name of 32 letters is too long for a set.
    let long = |entry: &String| !entry.contains("9-a");
    let after: Vec<_> = entries(&other).into_iter().filter(long).collect();
    assert_eq!(after, before.into_iter().filter(long).collect::<Vec<_>>());
}

#[test]
fn nft_round_trip_keeps_entries() {
    let net = filled();
    let text = net.filterd(["export", "--format", "nft"]).succeeds().output;
    tool(&net, &["nft", "-f", "-"], &text);
    tool(&net, &["nft", "-f", "-"], &text);
    let listed = tool(&net, &["nft", "-j", "list", "ruleset"], "").output;
    let before = plain(entries(&net));
    for text in [listed, text] {
        let other = Net::with_filterd("");
        other.filterd_reading(["import", "-", "--wide", "--include-special"], &text).succeeds();
        assert_eq!(plain(entries(&other)), before);
    }
}

/// What an operator has in the real ones.
const SETS: &str = "create bad hash:ip family inet timeout 3600 comment
add bad 203.0.113.7 timeout 600 comment \"ssh, again\"
add bad 198.51.100.7 timeout 0
create nets6 hash:net family inet6
add nets6 2001:db8:bad::/48
";
const RULES: &str = "table inet fw {
    set bad { type ipv4_addr; flags interval,timeout; elements = { 203.0.113.7 timeout 10m comment \"ssh, again\", 198.51.100.0/28 } }
    set nets6 { type ipv6_addr; flags interval; elements = { 2001:db8:bad::/48 } }
}
";

/// Yesterday's sets block here, and are the same sets again for whoever goes back.
#[test]
fn real_sets_drop_here_and_return_unchanged() {
    for (load, save, format, sets) in [
        (&["ipset", "restore"][..], &["ipset", "save"][..], "ipset", SETS),
        (&["nft", "-f", "-"][..], &["nft", "-j", "list", "ruleset"][..], "nft", RULES),
    ] {
        let (net, other, back) = (Net::with_filterd(""), Net::new(), Net::with_filterd(""));
        tool(&net, load, sets);
        let saved = tool(&net, save, "").output;
        net.filterd_reading(["import", "-"], &saved).succeeds();
        net.expect_each([ATTACKER, BYSTANDER, "2001:db8:bad::1"]).dropped();
        net.expect_each(["203.0.113.8", "198.51.100.16", "2001:db8:bae::1"]).passes();
        // What ends in so many seconds ends a second later if one is over meanwhile.
        let again =
            || net.filterd_reading(["import", "-", "--json"], &saved).succeeds().json()["changed"] == 0;
        assert!((0..3).any(|_| again()), "it changes something again and again");
        let exported = net.filterd(["export", "--format", format]).succeeds().output;
        tool(&other, load, &exported);
        let again = tool(&other, save, "").output;
        back.filterd_reading(["import", "-"], &again).succeeds();
        assert_eq!(entries(&back), entries(&net), "{format}: {again}");
        assert_eq!(
            ends(&back),
            ["203.0.113.7"],
            "{format}: what ends still ends, and nothing else does: {again}"
        );
        back.expect_each([ATTACKER, BYSTANDER, "2001:db8:bad::1"]).dropped();
    }
}

/// The targets that have an end, which is not far from that of the sets.
fn ends(net: &Net) -> Vec<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
    let rows = net.filterd(["list", "--json"]).succeeds().json_lines();
    let ends = |row: &&serde_json::Value| {
        row["until"].as_u64().is_some_and(|end| (now + 300..now + 660).contains(&end))
    };
    let target = |row: &serde_json::Value| row["target"].as_str().expect("a target").to_owned();
    rows.iter().filter(ends).map(target).collect()
}
