//! How the filter gets onto an interface, and whom it meets there.

use std::fs;
use std::time::Duration;

use aya::programs::links::FdLink;
use aya::programs::{Xdp, XdpMode};
use aya_obj::programs::XdpAttachType;

use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, ForeignIngress, ForeignProgram, Net, Reply};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// The kernel's number for native XDP.
const NATIVE: u8 = 1;

#[test]
fn native_mode_runs_in_the_driver() {
    let mut net = Net::with_filterd("mode: native");
    assert_eq!(net.attached("eth0").expect("attached")["mode"], NATIVE);
    has(&net, "native", "the configuration demands it");
    net.wait_for_log("eth0 attached, because the configuration demands it");
}

#[test]
fn tc_filters_as_well() {
    let mut net = Net::new();
    net.start_with("", &["--mode", "tc"]);
    assert_eq!(net.host().xdp("eth0"), None, "no XDP program");
    has(&net, net.tc_mode(), "the configuration demands it");
    net.filterd(["add", ATTACKER]).succeeds();
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
    net.stop();
    net.expect(ATTACKER).passes();
}

/// Native XDP costs a veth pair most of its TCP throughput.
#[test]
fn auto_uses_tc_on_veth() {
    let mut net = Net::new();
    net.start("interfaces: [eth0, lo]");
    assert_eq!(net.host().xdp("eth0"), None, "no XDP program");
    let interfaces = status(&net)["interfaces"].clone();
    assert_eq!(interfaces[0]["reason"], "native XDP slows down TCP on veth");
    assert_eq!(interfaces[1]["reason"], "the driver has no XDP, or refuses it");
    assert_eq!(interfaces[1]["mode"], net.tc_mode());
    net.wait_for_log("cannot attach to lo in native mode");
}

#[test]
fn unavailable_native_mode_is_refused() {
    let net = Net::new();
    net.another_filterd("interfaces: [lo]\nmode: native").exits(8).complains("lo").complains("--mode auto");
    assert_eq!(net.attached("lo"), None);
}

/// A service with the former name must not end.
#[test]
fn generic_mode_means_tc_and_warns() {
    let mut net = Net::with_filterd("mode: generic\nblock: [203.0.113.7]");
    const WARNING: &str = "`mode: generic` now means `mode: tc`";
    has(&net, net.tc_mode(), "the configuration demands it");
    net.expect(ATTACKER).dropped();
    net.wait_for_log(WARNING);
    net.filterd(["check"]).succeeds().complains(WARNING);
    net.filterd(["status"]).succeeds().says(WARNING).says("write `mode: tc`");
}

#[test]
fn foreign_xdp_program_is_named_and_kept() {
    let net = Net::new();
    let foreign = ForeignProgram::attach(net.host(), "eth0");
    let refused = net.another_filterd("mode: native\nblock: [203.0.113.7]");
    refused.exits(8).complains("eth0").complains(foreign.name).complains(&foreign.id.to_string());
    assert_eq!(net.attached("eth0").expect("still there")["prog"]["id"], foreign.id);
    net.expect(ATTACKER).passes();
}

#[test]
fn tc_filters_beside_a_foreign_xdp_program() {
    let mut net = Net::new();
    let foreign = ForeignProgram::attach(net.host(), "eth0");
    net.start("block: [203.0.113.7]");
    has(&net, net.tc_mode(), &format!("another XDP program is attached (id {})", foreign.id));
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
    assert_eq!(net.attached("eth0").expect("still there")["prog"]["id"], foreign.id);
}

/// As filterd attached before it had TC.
fn make_link_generic(net: &Net) {
    let (root, pin) = (net.home().pins().join("root"), net.home().pins().join("links/eth0"));
    net.host().take_off("eth0", &pin);
    fs::remove_file(&pin).expect("it is pinned");
    net.host().inside(|| {
        let mut program = Xdp::from_pin(root, XdpAttachType::Interface).expect("it is pinned");
        let id = program.attach("eth0", XdpMode::Skb).expect("nobody else is there");
        let link = program.take_link(id).expect("it is attached");
        FdLink::try_from(link).expect("it is a link").pin(pin).expect("the place is free");
    });
}

#[test]
fn generic_link_of_earlier_filterd_becomes_tc_without_a_gap() {
    let mut net = Net::with_filterd("mode: native\nblock: [203.0.113.7]");
    net.end(Signal::SIGKILL);
    make_link_generic(&net);
    net.expect(ATTACKER).dropped();
    net.start("block: [203.0.113.7]");
    net.wait_for_log(&format!("eth0: attached in {} mode now, without a gap", net.tc_mode()));
    assert_eq!(net.host().xdp("eth0"), None);
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
    net.filterd(["status", "--json"]).succeeds().has(json!({"interfaces": [{"gaps": 0}]}));
    net.stop();
    net.expect(ATTACKER).passes();
}

/// CVE-2026-99127: with `mode: auto`, a veth is filtered by TC.
#[test]
fn native_mode_on_large_veth_warns() {
    let mut net = Net::new();
    net.peer().ip("link set eth0 mtu 9000");
    net.host().ip("link set eth0 mtu 9000");
    net.start("mode: native");
    const WARNING: &str = "eth0 is a veth with MTU 9000 in native mode";
    net.wait_for_log(WARNING);
    net.filterd(["status"]).succeeds().says(WARNING).says("write `mode: auto`");
    net.stop();
    net.start("");
    net.filterd(["status"]).succeeds().is_silent_about("MTU");
}

/// The filter comes first, whoever was there before. Programs of others judge what it passes.
#[test]
fn foreign_programs_of_tc_are_kept_and_still_work() {
    for by_link in [true, false] {
        let mut net = Net::new();
        if by_link && net.tc_mode() == "clsact" {
            println!("SKIPPED foreign link: this kernel has no TCX (6.6 has)");
            continue;
        }
        let foreign = ForeignIngress::drop_ipv4(net.host(), by_link);
        net.start(&format!("block: [203.0.113.7, \"{ATTACKER6}\"]"));
        net.expect_each([ATTACKER, ATTACKER6, BYSTANDER]).dropped();
        net.expect(BYSTANDER6).passes();
        // The kernel itself may send a frame, such as a router solicitation.
        let counted = (net.counted("ipv4_address"), net.counted("unlisted"));
        assert!(counted.0 == 1 && counted.1 >= 2, "by a link: {by_link}: {counted:?}");
        net.stop();
        net.expect(BYSTANDER).dropped();
        net.expect(ATTACKER6).passes();
        drop(foreign);
    }
}

/// `tc qdisc del` removes a filter of `clsact`, and no link of TCX. The kernel tells filterd, which does not wait for its next
/// look, every five seconds.
#[test]
fn deleted_qdisc_leaves_at_most_a_short_gap() {
    let mut net = Net::with_filterd("block: [203.0.113.7]");
    if net.tc_mode() == "tcx" {
        tc(&net, "qdisc add dev eth0 clsact").succeeds();
    }
    tc(&net, "qdisc del dev eth0 clsact").succeeds();
    if net.tc_mode() == "tcx" {
        net.expect(ATTACKER).dropped();
        net.filterd(["status", "--json"]).succeeds().has(json!({"interfaces": [{"gaps": 0}]}));
    } else {
        net.expect(ATTACKER).then_within(Duration::from_secs(3)).dropped();
        net.wait_for_log("another process detached the filter");
        net.filterd(["status", "--json"]).succeeds().has(json!({"interfaces": [{"gaps": 1}]}));
    }
}

fn tc(net: &Net, words: &str) -> Reply {
    Reply::of(net.host().command("tc").args(words.split(' ')))
}

fn status(net: &Net) -> Value {
    net.filterd(["status", "--json"]).succeeds().json()
}

#[track_caller]
fn has(net: &Net, mode: &str, reason: &str) {
    let eth0 = &status(net)["interfaces"][0];
    assert_eq!(json!([eth0["mode"], eth0["reason"]]), json!([mode, reason]), "{eth0}");
}
