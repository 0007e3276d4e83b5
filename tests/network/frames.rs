//! Frames of every other kind: what is not IP passes, what cannot be read passes and is counted.

use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, Frame, Net};

#[test]
fn without_filterd_all_of_these_frames_arrive() {
    let net = Net::new();
    net.expect_each(PACKETS.map(|send| send(ATTACKER.into()))).passes();
    net.expect_each(PACKETS.map(|send| send(ATTACKER6.into()))).passes();
    net.expect_each((14..50).map(|length| Frame::from(ATTACKER).cut_at(length))).passes();
    net.expect(Frame::from(ATTACKER).service_vlan(1).vlan(2).vlan(3).vlan(4).vlan(5)).passes();
    net.expect(Frame::arp(ATTACKER)).passes();
}

#[test]
fn non_ip_passes_when_everything_is_blocked() {
    let net = Net::with_filterd("");
    net.filterd(["add", "0.0.0.0/0", "::/0", "--wide"]).succeeds();
    net.expect(Frame::arp(ATTACKER)).passes();
    for ethertype in [0x88cc, 0x8863, 0x8847, 0x888e, 0x0842] {
        net.expect(Frame::other(ethertype, &[0; 46])).passes();
    }
    net.expect(Frame::other(0x0026, &[0x42; 38])).passes();
}

#[test]
pub(super) fn a_listed_source_is_dropped_whatever_it_sends() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, ATTACKER6]).succeeds();
    for send in PACKETS {
        net.expect(send(ATTACKER.into())).dropped();
        net.expect(send(ATTACKER6.into())).dropped();
        net.expect(send(BYSTANDER.into())).passes();
        net.expect(send(BYSTANDER6.into())).passes();
    }
}

#[test]
pub(super) fn options_and_extension_headers_hide_no_source() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, ATTACKER6]).succeeds();
    net.expect(Frame::from(ATTACKER).options(10)).dropped();
    net.expect(Frame::from(ATTACKER6).extension(0).extension(60).extension(43)).dropped();
    net.expect(Frame::from(BYSTANDER6).extension(0).extension(60).extension(43)).passes();
}

#[test]
fn a_truncated_frame_passes_and_is_counted() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, ATTACKER6]).succeeds();
    for (listed, header) in [(ATTACKER, 14..34), (ATTACKER6, 14..54)] {
        let before = net.counted("malformed");
        let cut: Vec<Frame> = header.map(|length| Frame::from(listed).cut_at(length)).collect();
        assert!(net.arrivals(0, &cut).iter().all(|arrived| *arrived), "some were dropped");
        assert_eq!(net.counted("malformed") - before, cut.len() as u64);
        net.expect(Frame::from(listed).cut_at(54)).dropped();
    }
}

#[test]
fn a_frame_cut_within_its_tags_is_counted() {
    // Before TC, the kernel takes off the first tag, and drops a frame that ends before the type behind it.
    for (mode, shortest) in [("native", 14), ("tc", 20)] {
        let net = Net::with_filterd(&format!("mode: {mode}"));
        let whole = Frame::from(ATTACKER).service_vlan(1).vlan(2).vlan(3).vlan(4);
        let cut: Vec<Frame> = (14..50).map(|length| whole.clone().cut_at(length)).collect();
        net.arrivals(0, &cut);
        assert_eq!(net.counted("malformed"), 50 - shortest, "{mode}");
    }
}

#[test]
fn contradictory_frame_passes_and_is_counted() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER, ATTACKER6]).succeeds();
    let six_inside = Frame::from(ATTACKER).network_byte(0, 0x65);
    let four_inside = Frame::from(ATTACKER6).network_byte(0, 0x45);
    for liar in [six_inside, four_inside] {
        let before = net.counted("malformed");
        net.expect(liar).passes();
        assert_eq!(net.counted("malformed"), before + 1);
    }
}

#[test]
pub(super) fn jumbo_frames_are_judged_like_small_ones() {
    let mut net = Net::new().mtu(9000);
    net.start("");
    net.filterd(["add", ATTACKER, ATTACKER6]).succeeds();
    for payload in [1472, 3600, 8900] {
        net.expect(Frame::from(ATTACKER).payload(payload)).dropped();
        net.expect(Frame::from(ATTACKER6).payload(payload)).dropped();
        net.expect(Frame::from(BYSTANDER).payload(payload)).passes();
        net.expect(Frame::from(BYSTANDER6).payload(payload)).passes();
    }
}

#[test]
pub(super) fn neighbour_discovery_works_when_listed() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER6]).succeeds();
    net.expect(Frame::neighbour_solicitation(ATTACKER6)).passes();
    net.expect(Frame::neighbour_solicitation(ATTACKER6).hop_limit(254)).dropped();
}

const PACKETS: [fn(Frame) -> Frame; 8] = [
    |frame| frame,
    |frame| frame.payload(0),
    |frame| frame.tcp(Frame::SYN),
    |frame| frame.tcp(Frame::ACK),
    |frame| frame.tcp(Frame::SYN | Frame::ACK),
    |frame| frame.echo_request(),
    |frame| frame.fragment(0),
    |frame| frame.fragment(185),
];
