//! Mistyped commands: a clear error, the right exit code, and nothing changed.

use harness::{ATTACKER, Net};

#[test]
fn a_malformed_target_is_named_and_exits_2() {
    let net = Net::with_filterd("");
    for nonsense in [
        "203.0.113",
        "203.0.113.300",
        "203.0.113.7/33",
        "203.0.113.7/",
        "/24",
        "2001:db8::/129",
        "2001:db8:::1",
        "example.org",
        "203.0.113.9-203.0.113.3",
        "203.0.113.3-2001:db8::1",
        "203.0.113.07",
        "0x7f000001",
        "203.0.113.7 198.51.100.7",
        "🦀",
        "",
    ] {
        net.filterd(["add", nonsense]).exits(2).complains(nonsense).says_nothing();
        net.filterd(["remove", nonsense]).exits(2).complains(nonsense);
        net.filterd(["test", nonsense]).exits(2).complains(nonsense);
    }
    net.filterd(["list"]).succeeds().is_silent_about("203.0.113");
}

#[test]
fn host_bits_are_told_with_what_was_probably_meant() {
    let net = Net::with_filterd("");
    net.filterd(["add", "203.0.113.7/24"]).exits(2).complains("203.0.113.0/24");
    net.filterd(["add", "2001:db8::7/64"]).exits(2).complains("2001:db8::/64");
    net.expect(ATTACKER).passes();
}

#[test]
fn one_bad_target_among_good_ones_and_nothing_is_changed() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, "203.0.113.300"]).exits(2).complains("203.0.113.300");
    net.expect(ATTACKER).passes();
}

#[test]
fn a_bad_line_of_standard_input_is_told_by_number_and_the_rest_is_done() {
    let net = Net::with_filterd("");
    let input = "203.0.113.300\n203.0.113.7\n<html>\n";
    net.filterd_reading(["add", "-"], input)
        .exits(7)
        .complains("stdin:1:")
        .complains("stdin:3:")
        .complains("<html>");
    net.expect(ATTACKER).dropped();
}

#[test]
fn standard_input_without_a_single_target_exits_2() {
    let net = Net::with_filterd("");
    net.filterd_reading(["add", "-"], "<html>\n").exits(2).complains("stdin:1:");
    net.filterd_reading(["add", "-"], &"\u{7f}\n".repeat(100_000)).exits(2).complains("100,000");
    net.filterd_reading(["add", "-"], "").succeeds();
}

#[test]
fn unknown_verbs_and_flags_exit_2() {
    let net = Net::with_filterd("");
    for words in [
        &["ad", ATTACKER][..],
        &["add"],
        &["add", ATTACKER, "--tll", "1s"],
        &["list", "--family", "5"],
        &["test"],
    ] {
        net.filterd(words).exits(2).says_nothing();
    }
}

#[test]
fn test_answers_yes_and_no_by_its_exit_code() {
    let net = Net::with_filterd("block: [203.0.113.0/24]");
    net.filterd(["test", ATTACKER]).exits(0).says("203.0.113.0/24");
    net.filterd(["test", "198.51.100.7"]).exits(1);
    net.filterd(["test", ATTACKER, "198.51.100.7"]).exits(1);
}
