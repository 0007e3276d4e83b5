//! Configurations: what they say is so from the first packet, and what is wrong in them is told at once.

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net, Reply};
use nix::sys::signal::Signal;

#[test]
fn configured_block_applies_from_the_first_packet() {
    let net = Net::with_filterd("block: [203.0.113.7, 198.18.0.0/16, \"2001:db8:bad::/48\"]");
    net.expect_each([ATTACKER, "198.18.3.4", ATTACKER6]).dropped();
    net.expect(BYSTANDER).passes();
}

#[test]
fn ranges_are_understood_in_a_config() {
    let net = Net::with_filterd("block: [203.0.113.3-203.0.113.9]");
    net.expect(ATTACKER).dropped();
    net.expect("203.0.113.10").passes();
}

#[test]
fn no_config_is_needed() {
    let net = Net::new();
    net.another_filterd("block: 7").exits(3);
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER]).succeeds();
    net.expect(ATTACKER).dropped();
}

#[test]
fn invalid_yaml_is_refused() {
    check("block: [203.0.113.7\n").exits(3);
    check("\u{7}\u{1b}[31m").exits(3);
    check(&"[".repeat(100_000)).exits(3);
    check(&"a: b\n".repeat(200_000)).exits(3);
}

#[test]
fn filterd_does_not_start_with_a_bad_config() {
    let net = Net::new();
    net.another_filterd("interfaces: [eth0]\nblock: [203.0.113.300]").exits(3).complains(":2:9");
    assert_eq!(net.attached("eth0"), None);
}

/// The usual one may be another, and what is said of it is then said of something that nobody asked about.
#[test]
fn check_names_the_file_it_assumes() {
    const USUAL: &str = "checking /etc/filterd/filterd.yaml: ";
    let mut net = Net::with_filterd("block: [203.0.113.7]");
    net.filterd(["check"]).succeeds().says("block: 1 target").is_silent_about(USUAL);
    net.daemon().signal(Signal::SIGSTOP);
    let told = net.filterd(["check", "--timeout", "1s"]);
    let file = net.file("other.yaml", "interfaces: [eth0]\n");
    let named = net.filterd(["check".as_ref(), file.as_os_str(), "--timeout".as_ref(), "1s".as_ref()]);
    net.daemon().signal(Signal::SIGCONT);
    told.complains(&format!("cannot ask filterd for its configuration, {USUAL}cannot reach filterd"));
    named.succeeds().is_silent_about(USUAL);
    net.stop();
    net.filterd(["check"]).is_silent_about(USUAL);
}

fn check(config: &str) -> Reply {
    let net = Net::new();
    let file = net.file("filterd.yaml", config);
    net.filterd(["check".as_ref(), file.as_os_str()])
}
