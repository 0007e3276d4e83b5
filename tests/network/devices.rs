//! Devices that have no driver of their own, above `eth0`: each is filtered by TC.

use std::process::Stdio;

use harness::limited::LimitedCommand;
use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, Frame, Net};
use serde_json::json;

/// A device that receives what comes over `eth0`: its name, the commands of `ip` that make it, and what its frames wear.
struct Device {
    name: &'static str,
    made: &'static str,
    wear: fn(Frame) -> Frame,
}

const DEVICES: [Device; 4] = [
    Device {
        name: "br0",
        made: "link add br0 type bridge\nlink set eth0 master br0\nlink set br0 up\n",
        wear: |frame| frame,
    },
    Device {
        name: "eth0.7",
        made: "link add link eth0 name eth0.7 type vlan id 7\nlink set eth0.7 up\n",
        wear: |frame| frame.vlan(7),
    },
    Device {
        name: "shared",
        made: "link add shared link eth0 type macvlan mode passthru\nlink set shared up\n",
        wear: |frame| frame,
    },
    Device {
        name: "bond0",
        made: "link add bond0 type bond mode active-backup\nlink set eth0 down\nlink set eth0 master bond0\nlink set bond0 up\nlink set eth0 up\n",
        wear: |frame| frame,
    },
];

#[test]
fn devices_above_a_card_are_filtered_by_tc() {
    for Device { name, made, wear } in DEVICES {
        let mut net = Net::new();
        let (first, rest) = made.split_once('\n').expect("several commands");
        let mut added = net.host().command("ip");
        added.args(first.split(' ')).stderr(Stdio::null());
        if !added.limited_status().expect("ip can be run").success() {
            println!("SKIPPED {name}: this kernel has no such devices ({first})");
            continue;
        }
        net.host().ip_all(rest);
        net.raise(&["eth0"]);
        net.start(&format!("interfaces: [{name}]\nmode: tc"));
        net.expect_each([ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6].map(|source| wear(source.into())))
            .passes();
        net.filterd(["add", ATTACKER, ATTACKER6]).succeeds();
        net.expect_each([ATTACKER, ATTACKER6].map(|source| wear(source.into()))).dropped();
        net.expect_each([BYSTANDER, BYSTANDER6].map(|source| wear(source.into()))).passes();
        let filtered = json!({"name": name, "mode": net.tc_mode(), "gaps": 0});
        net.filterd(["status", "--json"]).succeeds().has(json!({"interfaces": [filtered]}));
        net.stop();
        net.expect(wear(ATTACKER.into())).passes();
    }
}

/// The kernel takes a tag off before TC sees the frame, and puts it beside it.
#[test]
fn card_below_a_vlan_device_is_filtered_behind_the_tag() {
    let net = Net::with_filterd("mode: tc\nblock: [203.0.113.7]");
    let mut added = net.host().command("ip");
    added.args("link add link eth0 name eth0.7 type vlan id 7".split(' ')).stderr(Stdio::null());
    if !added.limited_status().expect("ip can be run").success() {
        println!("SKIPPED VLAN devices: this kernel has none (8021q)");
        return;
    }
    net.host().ip("link set eth0.7 up");
    net.expect(Frame::from(ATTACKER).vlan(7)).dropped();
    net.expect(Frame::from(BYSTANDER).vlan(7)).passes();
}
