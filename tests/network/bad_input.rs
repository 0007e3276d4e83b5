//! Mistyped commands: the right exit code, and nothing changed. What they print is in the tables of `filter-daemon/src/command/tests`.

use harness::{ATTACKER, BYSTANDER, Net};

#[test]
fn a_malformed_target_is_named_and_exits_2() {
    let net = Net::with_filterd("");
    for verb in ["add", "remove", "test"] {
        net.filterd([verb, "203.0.113.300"]).exits(2).complains("203.0.113.300").says_nothing();
    }
    for targets in [[ATTACKER, "203.0.113.300"], [BYSTANDER, "203.0.113.7/24"]] {
        net.filterd(["add"].into_iter().chain(targets)).exits(2);
    }
    for input in ["<html>\n", &"\u{7f}\n".repeat(100_000)] {
        net.filterd_reading(["add", "-"], input).exits(2).complains("stdin:1:");
    }
    net.filterd_reading(["add", "-"], "").succeeds();
    for words in [
        &["ad", ATTACKER][..],
        &["add"],
        &["add", ATTACKER, "--tll", "1s"],
        &["list", "--family", "5"],
        &["test"],
    ] {
        net.filterd(words).exits(2).says_nothing();
    }
    net.filterd(["list"]).succeeds().says_nothing();
    net.expect_each([ATTACKER, BYSTANDER]).passes();
}

#[test]
fn bad_input_line_is_reported_and_others_apply() {
    let net = Net::with_filterd("");
    let input = "203.0.113.300\n203.0.113.7\n<html>\n";
    net.filterd_reading(["add", "-"], input).exits(7).complains("stdin:1:").complains("stdin:3:");
    net.expect(ATTACKER).dropped();
    net.filterd(["test", ATTACKER]).exits(0);
    net.filterd(["test", BYSTANDER]).exits(1);
    net.filterd(["test", ATTACKER, BYSTANDER]).exits(1);
}
