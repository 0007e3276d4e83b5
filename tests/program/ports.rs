//! Lists with ports: how far a port is looked for.

use filter_common::ports::{Clause, Range};
use filter_common::reason::Reason::{LaterFragment, Other6, OtherPort};
use harness::{ATTACKER6, Frame};

use crate::judges::agree_on_ports;

const UDP: u8 = 17;

/// The most extension headers behind which a port is found.
const MOST: usize = 7;

#[test]
fn eighth_extension_header_may_tell_a_later_fragment() {
    let ssh = Clause::new(false, [Range::new(22, 22).expect("it is a port")]).expect("it is one range");
    let behind = |headers: usize| (0..headers).fold(Frame::from(ATTACKER6), |frame, _| frame.extension(60));
    let to = |frame: Frame, port: u16| {
        let [high, low] = port.to_be_bytes();
        frame.transport(UDP, vec![0xC0, 0, high, low, 0, 8, 0, 0])
    };
    agree_on_ports(
        ssh,
        &[ATTACKER6],
        [
            (to(behind(MOST), 22), Other6, "behind seven a port is found"),
            (to(behind(MOST), 443), OtherPort, "and another one passes"),
            (to(behind(MOST + 1), 443), Other6, "eight hide it"),
            (to(behind(MOST).fragment(100), 22), LaterFragment, "the eighth tells that there is none"),
            (to(behind(MOST).fragment(0), 443), Other6, "the eighth is of a first fragment, and hides it"),
            (to(behind(MOST + 1).fragment(100), 443), Other6, "the ninth is not looked at"),
        ],
    );
}
