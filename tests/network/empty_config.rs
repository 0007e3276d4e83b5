//! What looks like an accident with a configuration is not taken for a wish: what was in force stays.

use harness::{ATTACKER, Net};
use serde_json::json;

const BLOCKING: &str = "interfaces: [eth0]\nblock: [203.0.113.7]\n";

#[test]
fn an_emptied_configuration_is_refused_and_everything_stays() {
    let net = Net::with_filterd(BLOCKING);
    for emptied in ["", "\n", "# block: [203.0.113.7]\n", "---\n"] {
        let file = net.file("filterd.yaml", emptied);
        net.filterd(["check".as_ref(), file.as_os_str()]).exits(3).complains("filterd.yaml:1:1: ");
        net.filterd(["reload"]).exits(3).complains("filterd.yaml:1:1").complains("interfaces: [eth0]");
    }
    net.expect(ATTACKER).dropped();
    net.filterd(["status"]).exits(7).says("the configuration is not in force").says("filterd check");
    // Whoever means it says it.
    net.configure("interfaces: [eth0]\nblock: []");
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).passes();
    net.filterd(["status"]).succeeds();
}

#[test]
fn reload_without_interfaces_is_refused() {
    let net = Net::with_filterd(BLOCKING);
    net.configure("interfaces: []\nblock: []\nenforce: false");
    net.filterd(["reload"]).exits(3).complains("no interface").complains("--iface eth0");
    net.expect(ATTACKER).dropped();
    net.filterd(["status"]).exits(7).says("no interface");
    net.configure(BLOCKING);
    net.filterd(["reload"]).succeeds();
    net.filterd(["status"]).succeeds();
}

#[test]
fn without_an_interface_filterd_does_not_start() {
    let net = Net::new();
    let file = net.file("filterd.yaml", "interfaces: []\n");
    net.filterd(["check".as_ref(), file.as_os_str()]).succeeds();
    net.another_filterd("interfaces: []\nblock: [203.0.113.7]").exits(3).complains("interfaces: [eth0]");
}

#[test]
fn pending_mode_is_reported_until_restart() {
    let net = Net::with_filterd("mode: native");
    const WAITS: &str = "mode: interfaces stay attached as they are until filterd restarts";
    net.configure("mode: tc");
    net.filterd(["diff"]).exits(1).says(WAITS);
    net.filterd(["reload"]).succeeds().complains(WAITS);
    net.filterd(["status"]).exits(7).says("the new `mode`").says("filterd restarts");
    // Nothing waits where it is put back.
    net.configure("mode: native");
    let settings = |verb: &str| net.filterd([verb, "--json"]).json()["settings"].clone();
    assert_eq!(settings("diff"), json!(["mode: native, with which filterd has started"]));
    assert_eq!(settings("reload"), json!(["mode: native now, with which filterd has started"]));
    net.filterd(["status"]).succeeds();
    net.filterd(["diff"]).succeeds();
}
