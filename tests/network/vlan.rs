//! VLAN tags: a listed source is dropped behind up to four of them, whatever their kind.

use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, Frame, Net};

#[test]
fn a_listed_source_is_dropped_behind_up_to_four_tags() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, ATTACKER6]).succeeds();
    for (listed, unlisted) in [(ATTACKER, BYSTANDER), (ATTACKER6, BYSTANDER6)] {
        for wrap in WRAPPINGS {
            net.expect(wrap(listed.into())).dropped();
            net.expect(wrap(unlisted.into())).passes();
        }
    }
}

#[test]
fn a_tagged_prefix_is_dropped_as_well() {
    let net = Net::with_filterd("");
    net.filterd(["add", "203.0.113.0/24", "2001:db8:bad::/48"]).succeeds();
    for wrap in WRAPPINGS {
        net.expect(wrap("203.0.113.200".into())).dropped();
        net.expect(wrap("2001:db8:bad:1::1".into())).dropped();
        net.expect(wrap("203.0.114.200".into())).passes();
        net.expect(wrap("2001:db8:bae:1::1".into())).passes();
    }
}

#[test]
fn behind_five_tags_nobody_looks_and_the_frame_passes() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER]).succeeds();
    let before = net.counted("too_many_tags");
    let five = Frame::from(ATTACKER).service_vlan(1).vlan(2).vlan(3).vlan(4).vlan(5);
    net.expect(five).passes();
    assert_eq!(net.counted("too_many_tags"), before + 1);
}

#[test]
fn tags_are_looked_behind_in_generic_mode_too() {
    let net = Net::with_filterd("mode: generic");
    net.filterd(["add", ATTACKER]).succeeds();
    for wrap in WRAPPINGS {
        net.expect(wrap(ATTACKER.into())).dropped();
        net.expect(wrap(BYSTANDER.into())).passes();
    }
}

/// The outermost tag first.
const WRAPPINGS: [fn(Frame) -> Frame; 8] = [
    |frame| frame,
    |frame| frame.vlan(100),
    |frame| frame.service_vlan(7),
    |frame| frame.service_vlan(7).vlan(100),
    |frame| frame.vlan(100).vlan(200),
    |frame| frame.vlan(1).vlan(2).vlan(3),
    |frame| frame.service_vlan(7).vlan(1).service_vlan(8).vlan(4094),
    |frame| frame.vlan(0).vlan(0).vlan(0).vlan(0),
];
