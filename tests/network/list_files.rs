//! `lists: - {name, path}`: files of one target a line, with whatever else people write into them.

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net};

#[test]
fn comments_and_blank_lines_are_no_targets() {
    let net = with_list(
        "# a list\n; another way to say so\n\n   \n203.0.113.7 # him\n2001:db8:bad::/48 ; SBL123\n\t198.18.0.0/16\r\n",
    );
    net.expect_each([ATTACKER, ATTACKER6, "198.18.1.1"]).dropped();
    assert_eq!(rejected(&net), 0);
}

#[test]
fn rubbish_is_counted_and_the_rest_holds() {
    let net =
        with_list("203.0.113.7\n<html>\n203.0.113.300\n10.0.0.0/33\n\u{0}\u{1}\u{2}\n9-1\n2001:db8:bad::7\n");
    net.expect(ATTACKER).dropped();
    net.expect(ATTACKER6).dropped();
    let status = net.filterd(["status", "--json"]).exits(7).json();
    assert_eq!(list(&status)["rejected"], 5);
    net.filterd(["status"])
        .exits(7)
        .says("list \"drop\" is only partly in force")
        .says("5 of which were not understood");
}

#[test]
fn binary_file_blocks_nobody() {
    let mut net = Net::new();
    let bytes: Vec<u8> =
        (0..100_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(net.home().path("drop.txt"), bytes).expect("a home can be written");
    net.start("lists: [{name: drop, path: $HOME/drop.txt}]");
    net.filterd(["ping"]).succeeds();
    net.expect(ATTACKER).passes();
}

#[test]
fn a_line_without_end_is_one_bad_line() {
    let net = with_list(&format!("203.0.113.7\n{}\n198.51.100.7\n192.0.2.1\n", "1".repeat(8 << 20)));
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).dropped();
    assert_eq!(rejected(&net), 1);
}

#[test]
fn missing_list_is_reported_and_others_load() {
    let net = Net::with_filterd("block: [203.0.113.7]\nlists: [{name: drop, path: $HOME/nowhere.txt}]");
    net.expect(ATTACKER).dropped();
    let status = net.filterd(["status", "--json"]).exits(7).json();
    assert!(list(&status)["error"].as_str().expect("an error").contains("nowhere.txt"), "{status}");
}

#[test]
fn target_leaves_with_the_second_list() {
    let mut net = Net::new();
    net.file("one.txt", "203.0.113.7\n");
    net.file("two.txt", "203.0.113.7\n");
    net.start("lists: [{name: one, path: $HOME/one.txt}, {name: two, path: $HOME/two.txt}]");
    net.file("one.txt", "");
    net.filterd(["reload", "--accept", "one"]).succeeds();
    net.expect(ATTACKER).dropped();
    net.file("two.txt", "");
    net.filterd(["reload", "--accept", "two"]).succeeds();
    net.expect(ATTACKER).passes();
}

#[test]
fn command_line_cannot_remove_file_entries() {
    let net = with_list("203.0.113.7\n");
    let told = net.filterd(["remove", ATTACKER, "--json"]).exits(1).json();
    assert_eq!(told["held"][0]["lists"][0], "drop");
    net.expect(ATTACKER).dropped();
}

fn with_list(text: &str) -> Net {
    let mut net = Net::new();
    net.file("drop.txt", text);
    net.start("lists: [{name: drop, path: $HOME/drop.txt}]");
    net
}

fn rejected(net: &Net) -> u64 {
    let status = net.filterd(["status", "--json"]).succeeds().json();
    list(&status)["rejected"].as_u64().expect("a count")
}

fn list(status: &serde_json::Value) -> &serde_json::Value {
    let lists = status["lists"].as_array().expect("status tells of lists");
    lists.iter().find(|list| list["name"] == "drop").expect("and of this one")
}
