use super::*;
use std::vec::Vec;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// A header from port 40000 to this one.
fn header(to: u16) -> [u8; 8] {
    let [high, low] = to.to_be_bytes();
    [0x9C, 0x40, high, low, 0, 8, 0, 0]
}

struct Frame(Vec<u8>);

impl Frame {
    fn tagged(tags: usize, kind: u16) -> Self {
        let mut bytes = std::vec![0; 12];
        (0..tags).for_each(|_| bytes.extend([0x81, 0, 0, 0]));
        bytes.extend(kind.to_be_bytes());
        Self(bytes)
    }

    /// An IPv4 packet with `options` words of options.
    fn four(tags: usize, options: u8, protocol: u8, flags: u16, payload: &[u8]) -> Self {
        let mut this = Self::tagged(tags, 0x0800);
        let length = 20 + 4 * u16::from(options) + payload.len() as u16;
        this.0.extend([0x45 + options, 0]);
        this.0.extend(length.to_be_bytes());
        this.0.extend([0, 0]);
        this.0.extend(flags.to_be_bytes());
        this.0.extend([64, protocol, 0, 0, 203, 0, 113, 7, 198, 51, 100, 1]);
        this.0.extend((0..4 * options).map(|_| 1));
        this.0.extend(payload);
        this
    }

    /// An IPv6 packet with these bytes after the fixed header.
    fn six(tags: usize, next: u8, behind: &[u8]) -> Self {
        let mut this = Self::tagged(tags, 0x86DD);
        this.0.extend([0x60, 0, 0, 0]);
        this.0.extend((behind.len() as u16).to_be_bytes());
        this.0.extend([next, 64]);
        this.0.extend([0x20; 32]);
        this.0.extend(behind);
        this
    }

    /// Pads a short frame to the Ethernet minimum, as drivers do.
    fn filled(mut self) -> Self {
        self.0.resize(self.0.len().max(60), 0);
        self
    }

    fn port(&self) -> Port {
        port(&&self.0[..])
    }
}

#[test]
fn the_port_is_found_behind_tags_and_options() {
    for (tags, options, protocol) in (0..=4)
        .flat_map(|tags| (0..=10).flat_map(move |options| [TCP, UDP].map(|kind| (tags, options, kind))))
    {
        let frame = Frame::four(tags, options, protocol, 0, &header(22));
        assert_eq!(frame.port(), Port::to(22), "{tags} tags, {options} options");
    }
}

#[test]
fn the_port_is_found_behind_extension_headers() {
    // Hop by hop, destination options, routing, a first fragment, authentication: each names the next.
    let (hop, to, route) = ([60, 0, 0, 0, 0, 0, 0, 0], [43, 0, 0, 0, 0, 0, 0, 0], [44, 0, 0, 0, 0, 0, 0, 0]);
    let (first, signed) = ([51, 0, 0, 1, 0, 0, 0, 1], [TCP, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let behind = [&hop[..], &to, &route, &first, &signed, &header(443)].concat();
    assert_eq!(Frame::six(1, 0, &behind).port(), Port::to(443));
    assert_eq!(Frame::six(0, UDP, &header(53)).port(), Port::to(53));
}

#[test]
fn only_the_first_fragment_has_a_port() {
    const MORE: u16 = 0x2000;
    assert_eq!(Frame::four(0, 0, UDP, MORE, &header(22)).port(), Port::to(22));
    assert_eq!(Frame::four(0, 0, UDP, MORE | 1, &header(22)).port(), Port::ELSEWHERE);
    assert_eq!(Frame::four(0, 0, UDP, 185, &header(22)).port(), Port::ELSEWHERE, "the last one");
    assert_eq!(Frame::four(0, 0, 1, 185, &header(22)).port(), Port::ELSEWHERE, "of whatever protocol");
    assert_eq!(Frame::six(0, 44, &[[UDP, 0, 0, 8, 0, 0, 0, 1], header(22)].concat()).port(), Port::ELSEWHERE);
    assert_eq!(Frame::six(0, 44, &[[UDP, 0, 0, 0, 0, 0, 0, 1], header(22)].concat()).port(), Port::to(22));
}

#[test]
fn short_packet_hides_port_despite_padding() {
    for length in 0..4 {
        assert_eq!(Frame::four(0, 0, TCP, 0x2000, &header(22)[..length]).filled().port(), Port::HIDDEN);
        assert_eq!(Frame::four(0, 0, TCP, 0, &header(22)[..length]).port(), Port::HIDDEN);
        assert_eq!(Frame::six(0, TCP, &header(22)[..length]).port(), Port::HIDDEN);
        assert_eq!(
            Frame::six(0, 44, &[&[TCP, 0, 0, 1, 0, 0, 0, 1], &header(22)[..length]].concat()).filled().port(),
            Port::HIDDEN
        );
    }
    assert_eq!(Frame::six(0, 0, &[TCP]).port(), Port::HIDDEN, "within an extension header");
    let endless = [[60, 0, 0, 0, 0, 0, 0, 0]; 20].concat();
    assert_eq!(Frame::six(0, 60, &endless).port(), Port::HIDDEN, "more headers than are looked behind");
}

#[test]
fn other_protocols_have_no_port() {
    for protocol in (0..=255).filter(|protocol| ![TCP, UDP].contains(protocol)) {
        assert_eq!(Frame::four(0, 0, protocol, 0, &header(22)).port(), Port::NONE, "{protocol}");
    }
    for protocol in [1, 2, 47, 50, 58, 59, 132] {
        assert_eq!(Frame::six(0, protocol, &header(22)).port(), Port::NONE, "{protocol}");
    }
}

/// Cuts frames anywhere and changes any byte of their headers. The function always returns an answer and
/// never reads beyond the frame.
#[test]
fn mutated_frames_never_read_out_of_bounds() {
    let frames = [
        Frame::four(2, 3, TCP, 0, &header(22)),
        Frame::six(1, 60, &[[TCP, 0, 0, 0, 0, 0, 0, 0], header(22)].concat()),
    ];
    for frame in frames {
        for at in 12..frame.0.len() {
            for value in 0..=255 {
                let mut changed = Frame(frame.0.clone());
                changed.0[at] = value;
                _ = changed.port();
            }
            let cut = Frame(frame.0[..at].to_vec()).port();
            assert!([Port::HIDDEN, Port::to(22)].contains(&cut), "cut at {at}: {cut:?}");
        }
    }
}
