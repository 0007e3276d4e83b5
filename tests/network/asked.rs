//! `filterd test`: of an address or a prefix, what the wire does, why, and what would have to be removed.

use std::path::PathBuf;
use std::time::Duration;

use aya::maps::{Array, Map, MapData};
use harness::{ATTACKER, ATTACKER6, Frame, Net};
use serde_json::json;

/// So long something may take that happens by itself.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn prefix_is_dropped_wholly_partly_or_not() {
    let net = Net::with_filterd("block: [203.0.113.0/25, 198.51.100.0/24, '2001:db8:bad::/48']");
    let verdict = |target: &str| {
        let tested = net.filterd(["test", target, "--json"]).json()["tested"][0].clone();
        assert!(tested["disagrees"].is_null(), "{tested}");
        (tested["dropped"] == true, tested["partly"] == true)
    };
    assert_eq!(verdict("203.0.113.0/24"), (false, true));
    assert_eq!(verdict("203.0.113.0/26"), (true, false));
    assert_eq!(verdict("203.0.113.128/25"), (false, false));
    assert_eq!(verdict("2001:db8::/32"), (false, true));
    net.filterd(["add", "203.0.113.128/25"]).succeeds();
    assert_eq!(verdict("203.0.113.0/24"), (true, false), "by two entries together");
    net.filterd(["allow", "add", "198.51.100.7"]).succeeds();
    assert_eq!(verdict("198.51.100.0/24"), (false, true));
    let tested = json!({"partly": true, "allowed_within": [{"target": "198.51.100.7"}]});
    net.filterd(["test", "198.51.100.0/24", "--json"]).exits(1).has(json!({"tested": [tested]}));
    assert_eq!(verdict("198.51.100.7/32"), (false, false));
    assert_eq!(verdict("0.0.0.0/0"), (false, true));
}

/// Each line that `test` prints is a command or says what to edit; whoever does all of it has it pass.
#[test]
fn commands_shown_by_test_unblock_the_target() {
    let mut net = Net::new();
    net.file("drop.txt", "203.0.113.7\n");
    net.start("lists: [{name: drop, path: $HOME/drop.txt}]");
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    net.filterd(["add", "203.0.113.0/24"]).succeeds();
    let tested = net.filterd(["test", ATTACKER]).succeeds();
    let tested = tested.says(
        "`filterd remove 203.0.113.0/24 203.0.113.7`; this unblocks all of 203.0.113.0/24, except what other entries block",
    );
    tested.says("remove 203.0.113.7 from ").says("drop.txt (list `drop`), then `filterd reload`");
    net.filterd(["remove", "203.0.113.0/24", ATTACKER]).exits(1);
    net.expect(ATTACKER).dropped();
    net.file("drop.txt", "# nobody\n");
    net.filterd(["reload", "--accept", "drop"]).succeeds();
    net.expect(ATTACKER).passes();
    net.filterd(["test", ATTACKER]).exits(1);
}

#[test]
fn test_reports_wrong_input_lines_with_answers() {
    let net = Net::with_filterd("block: [203.0.113.0/24]");
    let ask = |lines: &str| net.filterd_reading(["test", "-"], lines);
    ask("203.0.113.7\n203.0.113.0-203.0.113.255 # all\n").succeeds();
    ask("203.0.113.7\n192.0.2.99\n").exits(1);
    ask("").exits(2);
    ask("nonsense\n").exits(2);
    ask("203.0.113.7\nnonsense\n198.51.100.1\n").exits(7);
}

#[test]
fn test_reports_expired_file_entries() {
    let mut net = Net::new();
    net.file("seen.txt", "203.0.113.0/24\n");
    net.start("lists: [{name: seen, path: $HOME/seen.txt, ttl: 1s}]");
    net.expect(ATTACKER).then_within(PATIENCE).passes();
    let expired = json!({"target": "203.0.113.0/24", "list": "seen"});
    net.filterd(["test", ATTACKER, "--json"]).exits(1).has(json!({"tested": [{"expired": [expired]}]}));
}

/// The smallest table of IPv4 addresses, in bytes, and that of IPv6.
const TABLE4: usize = 34_888;
const TABLE6: usize = 36_960;

#[test]
fn test_rebuilds_an_altered_table_before_answering() {
    let mut net = Net::new();
    net.file("ssh.txt", "203.0.113.9\n");
    let config = format!(
        "block: [{ATTACKER}, '2001:db8:bad::/64']\nlists: [{{name: ssh, path: $HOME/ssh.txt, ports: [22]}}]"
    );
    net.start(&config);
    let ssh = || Frame::from("203.0.113.9").transport(6, [[0, 1], [0, 22], [0, 20], [0, 0]].concat());
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.expect(ssh()).dropped();
    for pin in tables(&net, &["addresses-", "c0_addresses-"]) {
        empty::<TABLE4>(pin);
    }
    for pin in tables(&net, &["six-"]) {
        empty::<TABLE6>(pin);
    }
    net.expect_each([ATTACKER, ATTACKER6]).passes();
    net.expect(ssh()).passes();
    // Each `test` looks at the tables first, finds that they were changed, and makes them anew.
    for target in [ATTACKER, "203.0.113.4/30", ATTACKER6, "2001:db8:bad::/64", "203.0.113.9"] {
        net.filterd(["test", target]).is_silent_about("DISAGREE").is_silent_about("passes");
    }
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.expect(ssh()).dropped();
    net.filterd(["status"]).exits(7).says("tampered with");
    net.succeed(&config);
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.filterd(["test", ATTACKER, "2001:db8:bad::/64"]).succeeds().is_silent_about("DISAGREE");
}

/// The pins of tables whose names begin so.
fn tables(net: &Net, names: &[&str]) -> Vec<PathBuf> {
    let tables = std::fs::read_dir(net.home().pins().join("tables")).expect("tables are pinned");
    let pins = tables.map(|entry| entry.expect("it can be read").path());
    let begins = |pin: &PathBuf| {
        let name = pin.file_name().unwrap_or_default().to_string_lossy();
        names.iter().any(|begin| name.starts_with(begin))
    };
    let found: Vec<_> = pins.filter(begins).collect();
    assert_eq!(found.len(), names.len(), "{found:?}");
    found
}

fn empty<const SIZE: usize>(pin: PathBuf) {
    let data = MapData::from_pin(&pin).expect("it is pinned");
    let table: Result<Array<_, [u8; SIZE]>, _> = Array::try_from(Map::Array(data));
    let mut table = table.unwrap_or_else(|error| panic!("{}: {error}", pin.display()));
    table.set(0, [0; SIZE], 0).expect("root may write maps");
}
