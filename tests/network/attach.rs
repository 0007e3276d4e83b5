//! How the filter gets onto an interface, and whom it meets there.

use harness::{ATTACKER, BYSTANDER, ForeignProgram, Net};

/// The kernel's numbers for the modes.
const NATIVE: u8 = 1;
const GENERIC: u8 = 2;

#[test]
fn native_mode_is_used_where_supported() {
    let net = Net::with_filterd("");
    let there = net.attached("eth0").expect("attached");
    assert_eq!(there["mode"], NATIVE);
    let status = net.filterd(["status", "--json"]).succeeds().json();
    assert_eq!(status["interfaces"][0]["mode"], "native");
}

#[test]
fn generic_mode_filters_as_well() {
    let mut net = Net::new();
    net.start_with("", &["--mode", "generic"]);
    assert_eq!(net.attached("eth0").expect("attached")["mode"], GENERIC);
    let status = net.filterd(["status", "--json"]).succeeds().json();
    assert_eq!(status["interfaces"][0]["mode"], "generic");
    net.filterd(["add", ATTACKER]).succeeds();
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
    net.stop();
    net.expect(ATTACKER).passes();
}

#[test]
fn the_log_says_which_mode_it_became() {
    let net = Net::with_filterd("");
    let log = net.daemon().log();
    assert!(log.contains("eth0") && log.contains("native"), "{log}");
}

#[test]
fn auto_mode_falls_back_to_generic() {
    let mut net = Net::new();
    net.start("interfaces: [eth0, lo]");
    let status = net.filterd(["status", "--json"]).succeeds().json();
    assert_eq!(status["interfaces"][0]["mode"], "native");
    assert_eq!(status["interfaces"][1]["mode"], "generic");
    net.wait_for_log("lo: fell back to generic mode");
}

#[test]
fn unavailable_native_mode_is_refused() {
    let net = Net::new();
    net.another_filterd("interfaces: [lo]\nmode: native")
        .exits(8)
        .complains("lo")
        .complains("--mode generic");
    assert_eq!(net.attached("lo"), None);
}

#[test]
fn foreign_program_is_named_and_kept() {
    let net = Net::new();
    let foreign = ForeignProgram::attach(net.host(), "eth0");
    let refused = net.another_filterd("block: [203.0.113.7]");
    refused.exits(8).complains("eth0").complains(foreign.name).complains(&foreign.id.to_string());
    assert_eq!(net.attached("eth0").expect("still there")["prog"]["id"], foreign.id);
    net.expect(ATTACKER).passes();
}

#[test]
fn generic_mode_does_not_bypass_foreign_program() {
    let net = Net::new();
    let foreign = ForeignProgram::attach(net.host(), "eth0");
    net.another_filterd("mode: generic").exits(8).complains(foreign.name);
    assert_eq!(net.attached("eth0").expect("still there")["prog"]["id"], foreign.id);
}
