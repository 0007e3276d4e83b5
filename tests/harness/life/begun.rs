//! What this host begins itself: with `match: new` it is answered, whoever answers; and nothing else is.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use super::Life;
use super::host::is_usual;
use super::packets::{Packet, Sent};
use super::prefix::{Prefix, ip};
use super::wanted::During;
use crate::{Frame, HOST, HOST6};

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP6: u8 = 58;

/// Bytes before what a frame carries.
const ETHERNET: usize = 14;

/// So many are kept.
const MOST: usize = 12;

/// Asked again after so long, as programs do.
const PATIENCE: Duration = Duration::from_secs(20);

/// The port of somebody's service, and one that nobody here asks from.
const THEIRS: u16 = 53;
const NOT_OURS: u16 = 9;

/// A question that waits for its answer.
#[derive(Debug)]
pub struct Question {
    asked: IpAddr,
    ours: u16,
    socket: UdpSocket,
    sent: std::time::Instant,
}

impl Life {
    /// Mostly somebody who is listed is asked.
    pub(super) fn begin_something(&mut self) -> Vec<Prefix> {
        let target = self.world.relatives(&mut self.random, 1).into_iter().next();
        let asked = target.map(|target| ip(target.is_six, target.first));
        let Some(asked) =
            asked.filter(|asked| is_usual(*asked) && !self.reference.guards(Prefix::of(*asked)))
        else {
            return Vec::new();
        };
        self.note(format!("this host asks {asked}"));
        let socket = self.net.host().entered(|| UdpSocket::bind((own(asked), 0))).expect("there are ports");
        socket.connect(SocketAddr::new(asked, THEIRS)).expect("there is a way to everywhere");
        socket.send(b"who?").expect("it is sent");
        let ours = socket.local_addr().expect("it is bound").port();
        if self.questions.len() == MOST {
            self.questions.swap_remove(self.random.below(MOST));
        }
        self.questions.push(Question { asked, ours, socket, sent: std::time::Instant::now() });
        vec![Prefix::of(asked)]
    }

    /// Answers and what belongs to them, and packets of the same sources that are none.
    pub(super) fn judge_replies(&mut self) {
        for question in &mut self.questions {
            if question.sent.elapsed() > PATIENCE {
                // An answer that was refused is told here, once.
                let _ = question.socket.send(b"who?").or_else(|_| question.socket.send(b"who?"));
                question.sent = std::time::Instant::now();
            }
        }
        let packets = || self.questions.iter().flat_map(Question::packets);
        let frames: Vec<_> = packets().map(|(.., frame)| frame).collect();
        let begun = self.now();
        let arrived = self.net.arrivals(0, &frames);
        let during = self.frozen.map_or_else(|| During(begun, self.now()), |frozen| During(frozen, frozen));
        for ((packet, part, what, _), arrived) in packets().zip(arrived) {
            let passes = self.is_detached || (part == Part::Of && self.applied.only_new);
            let expected = if passes { Some(false) } else { self.reference.drops_packet(packet, during) };
            if expected == Some(arrived) {
                self.report_packet(packet.0, arrived, during, what);
            }
        }
        self.frames += frames.len();
    }
}

/// Is a packet part of what this host has begun?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Of,
    No,
}

impl Question {
    /// Whatever may come of it, with what the packet is.
    fn packets(&self) -> [(Packet, Part, &'static str, Frame); 7] {
        let Self { asked, ours, .. } = *self;
        let from = Frame::from(asked).to(own(asked));
        let later = |protocol| from.clone().transport(protocol, vec![0; 16]).fragment(100);
        let ping = from.clone().echo_request();
        [
            ((asked, Sent::Udp(ours)), Part::Of, "an answer to this host", self.answer(ours)),
            ((asked, Sent::Udp(NOT_OURS)), Part::No, "no answer", self.answer(NOT_OURS)),
            ((asked, Sent::Later(UDP)), Part::Of, "a later fragment of an answer", later(UDP)),
            ((asked, Sent::Later(TCP)), Part::No, "a later fragment over TCP", later(TCP)),
            ((asked, Sent::Other(0)), Part::Of, "an error about a question", self.error(ours)),
            ((asked, Sent::Other(0)), Part::No, "an error about no question", self.error(NOT_OURS)),
            ((asked, Sent::Other(0)), Part::No, "a ping", ping),
        ]
    }

    fn answer(&self, port: u16) -> Frame {
        let datagram = [THEIRS.to_be_bytes(), port.to_be_bytes(), [0, 8], [0, 0]].concat();
        Frame::from(self.asked).to(own(self.asked)).transport(UDP, datagram)
    }

    /// "Nobody listens there", of a datagram that was sent from this port.
    fn error(&self, port: u16) -> Frame {
        let Self { asked, .. } = *self;
        let datagram = [port.to_be_bytes(), THEIRS.to_be_bytes(), [0, 8], [0, 0]].concat();
        let quoted = Frame::from(own(asked)).to(&asked.to_string()).transport(UDP, datagram);
        let quoted = &quoted.bytes([0; 6])[ETHERNET..];
        let (protocol, unreachable) = if asked.is_ipv4() { (ICMP, [3, 3]) } else { (ICMP6, [1, 4]) };
        let error = [&unreachable[..], &[0; 6], quoted].concat();
        Frame::from(asked).to(own(asked)).transport(protocol, error)
    }
}

fn own(peer: IpAddr) -> &'static str {
    if peer.is_ipv4() { HOST } else { HOST6 }
}
