//! VLAN tags: a listed source is dropped behind up to four of them, whatever their kind, or eight whose id is 0. Frames with
//! more are dropped, whoever sent them.

use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, Frame, Net};

#[test]
pub(super) fn listed_source_is_dropped_behind_four_tags() {
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

/// FAULTS P11: the kernel takes off any number of tags whose id is 0, and answers.
#[test]
fn priority_tags_hide_no_listed_source() {
    for mode in ["native", "tc"] {
        let net = Net::with_filterd(&format!("mode: {mode}"));
        net.filterd(["add", ATTACKER, ATTACKER6]).succeeds();
        for tags in [1, 4, 5, 8, 9, 12] {
            net.expect(priorities(ATTACKER, tags)).dropped();
            net.expect(priorities(ATTACKER6, tags)).dropped();
        }
        for tags in [5, 8] {
            net.expect(priorities(BYSTANDER, tags)).passes();
            net.expect(priorities(BYSTANDER6, tags)).passes();
        }
    }
}

#[test]
pub(super) fn frames_with_too_many_tags_drop_and_count() {
    let mut net = Net::new();
    let too_many = || {
        let ids = Frame::from(BYSTANDER).service_vlan(1).vlan(2).vlan(3).vlan(4).vlan(5);
        [priorities(BYSTANDER, 9), priorities(BYSTANDER6, 9), ids]
    };
    // Linux 7.3 itself drops those with nine tags.
    let without_filterd = net.arrivals(0, &too_many());
    net.start("");
    net.expect_each(too_many()).dropped();
    assert_eq!((net.counted("too_many_tags"), net.spared("too_many_tags")), (3, 0));
    net.configure("enforce: false");
    net.filterd(["reload"]).succeeds();
    assert_eq!(net.arrivals(0, &too_many()), without_filterd);
    assert_eq!((net.counted("too_many_tags"), net.spared("too_many_tags")), (3, 3));
}

#[test]
fn tags_are_looked_behind_in_native_mode_too() {
    let net = Net::with_filterd("mode: native");
    net.filterd(["add", ATTACKER]).succeeds();
    for wrap in WRAPPINGS {
        net.expect(wrap(ATTACKER.into())).dropped();
        net.expect(wrap(BYSTANDER.into())).passes();
    }
}

/// Behind so many tags that carry a priority and no id.
fn priorities(source: &str, tags: usize) -> Frame {
    (0..tags).fold(Frame::from(source), |frame, number| frame.tag([0x8100, 0x88a8][number % 2], 0xE000))
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
