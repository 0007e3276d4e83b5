//! What is not IP, what pretends to be, and what is IP in an unusual dress.

use filter_common::reason::Reason::{Address4, Malformed, NotIp, Other6, Unlisted};
use harness::{ATTACKER, ATTACKER6, BYSTANDER6, Frame};

use crate::judges::agree;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

#[test]
fn non_ip_passes() {
    agree(
        &["0.0.0.0/0", "::/0"],
        [
            (Frame::arp(ATTACKER), NotIp, "ARP"),
            (Frame::other(0x88cc, &[0; 46]), NotIp, "LLDP"),
            (Frame::other(0x8863, &[0; 46]), NotIp, "PPPoE"),
            (Frame::other(0x8847, &[0; 46]), NotIp, "MPLS"),
            (Frame::other(0x0026, &[0x42; 38]), NotIp, "a length instead of a type: spanning tree"),
            (Frame::other(0, &[]), NotIp, "nothing at all"),
            (Frame::other(0x0008, &[0x45; 46]), NotIp, "the type of IPv4 in the wrong byte order"),
        ],
    );
}

#[test]
fn a_header_that_contradicts_its_type_passes() {
    agree(
        &[ATTACKER, ATTACKER6],
        [
            (Frame::from(ATTACKER).claiming(IPV6), Malformed, "IPv4 that claims to be IPv6"),
            (Frame::from(ATTACKER6).claiming(IPV4), Malformed, "IPv6 that claims to be IPv4"),
            (Frame::from(ATTACKER).network_byte(0, 0x05), Malformed, "version 0"),
            (Frame::from(ATTACKER).network_byte(0, 0xf5), Malformed, "version 15"),
            (Frame::from(ATTACKER6).network_byte(0, 0x50), Malformed, "version 5"),
        ],
    );
}

#[test]
fn every_frame_of_listed_source_is_dropped() {
    agree(
        &[ATTACKER, ATTACKER6],
        [
            (Frame::from(ATTACKER).tcp(Frame::SYN), Address4, "TCP that opens"),
            (Frame::from(ATTACKER).tcp(Frame::ACK), Address4, "TCP that goes on"),
            (Frame::from(ATTACKER).echo_request(), Address4, "a ping"),
            (Frame::from(ATTACKER).fragment(0), Address4, "the first fragment"),
            (Frame::from(ATTACKER).fragment(185), Address4, "a later fragment"),
            (Frame::from(ATTACKER).options(10), Address4, "behind all the options there can be"),
            (Frame::from(ATTACKER).transport(132, vec![0; 12]), Address4, "SCTP"),
            (Frame::from(ATTACKER).payload(3000), Address4, "a jumbo frame"),
            (Frame::from(ATTACKER6).tcp(Frame::SYN), Other6, "TCP that opens"),
            (Frame::from(ATTACKER6).echo_request(), Other6, "a ping"),
            (Frame::from(ATTACKER6).fragment(185), Other6, "a later fragment"),
            (Frame::from(ATTACKER6).extension(0).extension(43).extension(60), Other6, "extension headers"),
            (Frame::from(ATTACKER6).payload(3000), Other6, "a jumbo frame"),
            (Frame::from(BYSTANDER6).extension(0).extension(60), Unlisted, "extension headers of others"),
        ],
    );
}
