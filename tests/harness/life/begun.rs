//! What this host begins itself: with `match: new` it is answered, whoever answers; and nothing else is.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use super::Life;
use super::host::is_usual;
use super::prefix::{Prefix, ip};
use super::wanted::During;
use crate::{Frame, HOST, HOST6};

const UDP: u8 = 17;

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
        let Some(asked) = asked.filter(|asked| is_usual(*asked) && !self.reference.guards(Prefix::of(*asked)))
        else {
            return Vec::new();
        };
        self.note(format!("this host asks {asked}"));
        let own = if asked.is_ipv4() { HOST } else { HOST6 };
        let socket = self.net.host().entered(|| UdpSocket::bind((own, 0))).expect("there are ports");
        socket.connect(SocketAddr::new(asked, THEIRS)).expect("there is a way to everywhere");
        socket.send(b"who?").expect("it is sent");
        let ours = socket.local_addr().expect("it is bound").port();
        if self.questions.len() == MOST {
            self.questions.swap_remove(self.random.below(MOST));
        }
        self.questions.push(Question { asked, ours, socket, sent: std::time::Instant::now() });
        vec![Prefix::of(asked)]
    }

    /// Answers, and packets of the same sources that are none.
    pub(super) fn judge_replies(&mut self) {
        for question in &mut self.questions {
            if question.sent.elapsed() > PATIENCE {
                // An answer that was refused is told here.
                let _ = question.socket.send(b"who?");
                question.sent = std::time::Instant::now();
            }
        }
        let answers = self.questions.iter().map(|question| answer(question, question.ours));
        let others = self.questions.iter().map(|question| answer(question, NOT_OURS));
        let frames: Vec<_> = answers.chain(others).collect();
        let begun = self.now();
        let arrived = self.net.arrivals(0, &frames);
        let during = self.frozen.map_or_else(|| During(begun, self.now()), |frozen| During(frozen, frozen));
        self.frames += frames.len();
        let asked = self.questions.iter().map(|question| question.asked);
        let (count, sources) = (self.questions.len(), asked.clone().chain(asked));
        for (place, (source, arrived)) in sources.zip(arrived).enumerate() {
            let passes = self.is_detached || (place < count && self.applied.only_new);
            let expected = if passes { Some(false) } else { self.reference.drops(source, during) };
            if expected == Some(arrived) {
                let what = if place < count { "an answer to this host" } else { "no answer" };
                self.report_packet(source, arrived, during, what);
            }
        }
    }
}

fn answer(question: &Question, port: u16) -> Frame {
    let host = if question.asked.is_ipv4() { HOST } else { HOST6 };
    let datagram = [THEIRS.to_be_bytes(), port.to_be_bytes(), [0, 8], [0, 0]].concat();
    Frame::from(question.asked).to(host).transport(UDP, datagram)
}
