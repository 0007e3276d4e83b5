use core::cell::RefCell;
use std::collections::BTreeMap;
use std::vec;
use std::vec::Vec;

use super::*;

const US: u32 = 0xC000_0201;
const PEER: u32 = 0xCB00_7107;
const US6: u128 = 0x2001_0db8_0000_0000_0000_0000_0000_0001;
const PEER6: u128 = 0x2001_0db8_0bad_0000_0000_0000_0000_0007;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

#[derive(Default)]
struct Flows(RefCell<BTreeMap<Key, u64>>);

impl Memory for Flows {
    fn last(&self, key: &Key) -> Option<u64> {
        self.0.borrow().get(key).copied()
    }

    fn note(&self, key: &Key, now: u64) {
        self.0.borrow_mut().insert(*key, now);
    }
}

impl Flows {
    fn sends_at(&self, frame: &[u8], now: u64) -> bool {
        record(&frame, self, |port| port >= 32768, || now)
    }

    fn hears_at(&self, frame: &[u8], now: u64) -> bool {
        is_reply(&frame, self, || now)
    }

    fn sends(frame: &[u8]) -> Self {
        let this = Self::default();
        this.sends_at(frame, 7);
        this
    }

    fn hears(&self, frame: &[u8]) -> bool {
        self.hears_at(frame, 8)
    }
}

fn ethernet(tags: usize, kind: u16, packet: Vec<u8>) -> Vec<u8> {
    let mut frame = vec![0; 12];
    (0..tags).for_each(|_| frame.extend([0x81, 0, 0, 5]));
    frame.extend(kind.to_be_bytes());
    frame.extend(packet);
    frame
}

fn packet4(ends: [u32; 2], protocol: u8, words: usize, fragment: u16, content: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45 + words as u8, 0, 0, 0, 0, 0];
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0]);
    packet.extend(ends.iter().flat_map(|end| end.to_be_bytes()));
    packet.extend(vec![1; 4 * words]);
    packet.extend(content);
    packet
}

/// Takes extension headers as pairs: the number, and the length beyond the first eight bytes in units of
/// eight bytes.
fn packet6(ends: [u128; 2], protocol: u8, headers: &[(u8, u8)], content: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, 0, headers.first().map_or(protocol, |first| first.0), 64];
    packet.extend(ends.iter().flat_map(|end| end.to_be_bytes()));
    for (at, (kind, length)) in headers.iter().enumerate() {
        let next = headers.get(at + 1).map_or(protocol, |next| next.0);
        // The second byte of a fragment header is reserved.
        packet.extend([next, *length, 0, 0, 0, 0, 0, 0]);
        let more = if *kind == 51 { 4 * (usize::from(*length) + 2) - 8 } else { 8 * usize::from(*length) };
        packet.extend(vec![0; more]);
    }
    packet.extend(content);
    packet
}

fn later6(ends: [u128; 2], protocol: u8) -> Vec<u8> {
    let mut packet = packet6(ends, protocol, &[(44, 0)], &[0; 16]);
    packet[43] = 8;
    packet
}

fn ports(source: u16, destination: u16) -> Vec<u8> {
    [source.to_be_bytes(), destination.to_be_bytes(), [0, 8], [0, 0]].concat()
}

fn segment(source: u16, destination: u16, flags: u8) -> Vec<u8> {
    let mut segment = ports(source, destination);
    segment.extend([0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
    segment
}

fn echo(kind: u8, id: u16) -> Vec<u8> {
    let [high, low] = id.to_be_bytes();
    vec![kind, 0, 0, 0, high, low, 0, 1]
}

fn out4(protocol: u8, content: &[u8]) -> Vec<u8> {
    ethernet(0, 0x0800, packet4([US, PEER], protocol, 0, 0, content))
}

fn in4(protocol: u8, content: &[u8]) -> Vec<u8> {
    ethernet(0, 0x0800, packet4([PEER, US], protocol, 0, 0, content))
}

fn out6(protocol: u8, content: &[u8]) -> Vec<u8> {
    ethernet(0, 0x86DD, packet6([US6, PEER6], protocol, &[], content))
}

fn in6(protocol: u8, content: &[u8]) -> Vec<u8> {
    ethernet(0, 0x86DD, packet6([PEER6, US6], protocol, &[], content))
}

fn error4(kind: u8, from: u32, quoted: &[u8]) -> Vec<u8> {
    let content = [&[kind, 0, 0, 0, 0, 0, 0, 0], quoted].concat();
    ethernet(0, 0x0800, packet4([from, US], 1, 0, 0, &content))
}

fn error6(kind: u8, from: u128, quoted: &[u8]) -> Vec<u8> {
    let content = [&[kind, 0, 0, 0, 0, 0, 0, 0], quoted].concat();
    ethernet(0, 0x86DD, packet6([from, US6], 58, &[], &content))
}

/// (what is sent, what comes in, whether it is part of the flow, why)
#[test]
fn replies_are_distinguished_from_new_flows() {
    let cases: Vec<(Vec<u8>, Vec<u8>, bool, &str)> = vec![
        (out4(6, &segment(40000, 443, SYN)), in4(6, &segment(443, 40000, SYN | ACK)), true, "an answer"),
        (out4(6, &segment(40000, 443, SYN)), in4(6, &segment(443, 40000, ACK)), true, "what follows"),
        (out4(6, &segment(40000, 443, SYN)), in4(6, &segment(443, 40000, SYN)), false, "it begins itself"),
        (out4(6, &segment(40000, 443, SYN)), in4(6, &segment(443, 40001, ACK)), false, "another port"),
        (out4(6, &segment(40000, 443, SYN)), in4(6, &segment(80, 40000, ACK)), false, "another service"),
        (out4(6, &segment(40000, 443, SYN)), in4(17, &ports(443, 40000)), false, "another protocol"),
        (out4(6, &segment(22, 40000, SYN | ACK)), in4(6, &segment(40000, 22, ACK)), false, "they began"),
        (out4(6, &segment(22, 40000, ACK)), in4(6, &segment(40000, 22, ACK)), false, "they began"),
        (out4(17, &ports(40000, 53)), in4(17, &ports(53, 40000)), true, "DNS"),
        (out4(17, &ports(40000, 53)), in4(17, &ports(53, 53)), false, "to another port"),
        (out4(17, &ports(53, 40000)), in4(17, &ports(40000, 53)), false, "a service answers"),
        (out4(1, &echo(8, 9)), in4(1, &echo(0, 9)), true, "a ping of ours"),
        (out4(1, &echo(8, 9)), in4(1, &echo(0, 8)), false, "another one's"),
        (out4(1, &echo(8, 9)), in4(1, &echo(8, 9)), false, "their ping, whatever its number"),
        (out4(1, &echo(0, 9)), in4(1, &echo(0, 9)), false, "we answered"),
        (out4(47, &[0; 20]), in4(47, &[0; 20]), false, "GRE is no flow"),
        (out6(6, &segment(40000, 443, SYN)), in6(6, &segment(443, 40000, ACK)), true, "IPv6"),
        (out6(17, &ports(40000, 443)), in6(17, &ports(443, 40000)), true, "QUIC"),
        (out6(58, &echo(128, 9)), in6(58, &echo(129, 9)), true, "a ping of ours"),
        (out6(58, &echo(128, 9)), in6(58, &echo(128, 9)), false, "a ping of theirs"),
        (out6(6, &segment(40000, 443, SYN)), in4(6, &segment(443, 40000, ACK)), false, "another family"),
    ];
    for (sent, heard, expected, why) in cases {
        assert_eq!(Flows::sends(&sent).hears(&heard), expected, "{why}");
    }
}

#[test]
fn icmp_error_belongs_to_the_quoted_flow() {
    const ROUTER: u32 = 0x0A00_0001;
    let ours = packet4([US, PEER], 6, 2, 0, &segment(40000, 443, SYN)[..8]);
    let flows = Flows::sends(&out4(6, &segment(40000, 443, SYN)));
    for (kind, expected) in [(3, true), (11, true), (12, true), (5, false), (13, false)] {
        assert_eq!(flows.hears(&error4(kind, ROUTER, &ours)), expected, "kind {kind}");
    }
    let theirs = packet4([US, PEER], 6, 0, 0, &segment(22, 40000, ACK)[..8]);
    assert!(!flows.hears(&error4(3, ROUTER, &theirs)), "it quotes a flow that the peer began");
    let reversed = packet4([PEER, US], 6, 0, 0, &segment(443, 40000, ACK)[..8]);
    assert!(!flows.hears(&error4(3, ROUTER, &reversed)), "we have not sent what it quotes");
    let error_of_error = error4(3, ROUTER, &ours)[14..].to_vec();
    assert!(!flows.hears(&error4(3, ROUTER, &error_of_error)));
    let later = packet4([US, PEER], 6, 0, 100, &[0; 8]);
    assert!(flows.hears(&error4(11, ROUTER, &later)), "a fragment of ours");

    let ours = packet6([US6, PEER6], 58, &[(60, 1)], &echo(128, 9));
    let flows = Flows::sends(&out6(58, &echo(128, 9)));
    for (kind, expected) in [(1, true), (2, true), (3, true), (4, true), (5, false), (0, false)] {
        assert_eq!(flows.hears(&error6(kind, 7, &ours)), expected, "kind {kind}");
    }
}

#[test]
fn later_fragment_belongs_to_any_flow_with_sender() {
    let flows = Flows::sends(&out4(17, &ports(40000, 53)));
    let later = |protocol| ethernet(0, 0x0800, packet4([PEER, US], protocol, 0, 185, &[0; 16]));
    assert!(flows.hears(&later(17)) && !flows.hears(&later(6)));
    let first = |ports: &[u8]| ethernet(0, 0x0800, packet4([PEER, US], 17, 0, 0x2000, ports));
    assert!(flows.hears(&first(&ports(53, 40000))) && !flows.hears(&first(&ports(53, 40001))));
    assert!(!flows.hears(&first(&[])), "a first fragment without its ports");
    let flows = Flows::sends(&out6(17, &ports(40000, 53)));
    let later = |protocol| ethernet(0, 0x86DD, later6([PEER6, US6], protocol));
    assert!(flows.hears(&later(17)) && !flows.hears(&later(6)));
    let begun = Flows::default();
    assert!(!begun.sends_at(&ethernet(0, 0x0800, packet4([US, PEER], 6, 0, 3, &segment(1, 2, SYN))), 7));
}

#[test]
fn ports_are_found_after_tags_options_extension_headers() {
    let (ask, answer) = (ports(40000, 53), ports(53, 40000));
    for tags in 0..=8 {
        for words in 0..=10 {
            let sent = ethernet(tags, 0x0800, packet4([US, PEER], 17, words, 0, &ask));
            let heard = ethernet(tags, 0x0800, packet4([PEER, US], 17, words, 0, &answer));
            assert!(Flows::sends(&sent).hears(&heard), "{tags} tags, {words} words");
        }
        let headers = [(0, 0), (60, 2), (43, 1), (51, 4), (44, 0), (60, 0), (60, 1), (0, 31)];
        for most in 0..=headers.len() {
            let sent = ethernet(tags, 0x86DD, packet6([US6, PEER6], 17, &headers[..most], &ask));
            let heard = ethernet(tags, 0x86DD, packet6([PEER6, US6], 17, &headers[..most], &answer));
            let expected = most < headers.len();
            assert_eq!(Flows::sends(&sent).hears(&heard), expected, "{tags} tags, {most} headers");
        }
    }
    assert!(
        !Flows::sends(&ethernet(9, 0x0800, packet4([US, PEER], 17, 0, 0, &ask))).hears(&in4(17, &answer))
    );
}

#[test]
fn truncated_frames_belong_to_no_flow() {
    let flows = Flows::sends(&out4(6, &segment(40000, 443, SYN)));
    let whole = in4(6, &segment(443, 40000, ACK));
    for end in 0..whole.len() {
        assert_eq!(flows.hears(&whole[..end]), end >= 14 + 20 + 16, "cut at {end}");
    }
    let mut wrong = whole.clone();
    wrong[14] = 0x44;
    assert!(!flows.hears(&wrong), "a header shorter than there is");
}

#[test]
fn flow_expires_without_sent_packets() {
    let minute = 60 * SECOND;
    for (sent, heard, age) in [
        (out4(17, &ports(40000, 53)), in4(17, &ports(53, 40000)), 3 * minute),
        (out4(1, &echo(8, 9)), in4(1, &echo(0, 9)), 3 * minute),
        (out4(6, &segment(40000, 443, SYN)), in4(6, &segment(443, 40000, ACK)), 5 * 24 * 60 * minute),
    ] {
        let flows = Flows::default();
        assert!(flows.sends_at(&sent, minute));
        assert!(flows.hears_at(&heard, minute + age) && !flows.hears_at(&heard, minute + age + 1));
        assert!(flows.hears_at(&heard, 0), "another processor may be ahead");
    }
}

#[test]
fn sending_renews_flow_once_a_second() {
    let flows = Flows::default();
    let (begins, goes_on) = (out4(6, &segment(40000, 443, SYN)), out4(6, &segment(40000, 443, ACK)));
    let last = || flows.0.borrow().values().copied().collect::<Vec<_>>();
    assert!(flows.sends_at(&begins, SECOND) && last() == [SECOND; 2]);
    assert!(!flows.sends_at(&goes_on, 2 * SECOND - 1) && last() == [SECOND; 2]);
    assert!(!flows.sends_at(&goes_on, 2 * SECOND) && last() == [2 * SECOND; 2]);
    let late = 2 * SECOND + TCP_AGE + 1;
    assert!(!flows.sends_at(&goes_on, late) && last() == [2 * SECOND; 2], "what is over does not come back");
    assert!(flows.sends_at(&begins, late) && last() == [late; 2], "unless it begins anew");
}

/// A service may start to listen on a port while a flow from it continues.
#[test]
fn known_flow_continues_from_listening_port() {
    let flows = Flows::default();
    let frame = &out4(17, &ports(40000, 443))[..];
    record(&frame, &flows, |_| true, || SECOND);
    record(&frame, &flows, |_| false, || 3 * SECOND);
    assert!(flows.hears_at(&in4(17, &ports(443, 40000)), 3 * SECOND + OTHER_AGE));
    let other = Flows::default();
    assert!(!record(&frame, &other, |_| false, || SECOND) && other.0.borrow().is_empty());
}
