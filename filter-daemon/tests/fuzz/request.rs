//! The daemon's end of the wire: a line is a request that is written as it was read and then checked, or it is refused briefly.

use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use filterd::control::parse;
use filterd::control::wire::{Answers, Envelope, Failure, Method};

use crate::hold::Reader;
use crate::words;

const FIXED: usize = 256 * 1024;

/// A value of JSON where the parameters come first, and prefixes out of ranges.
const PER_BYTE: usize = 2048;

#[test]
fn client_line_is_request_or_short_refusal() {
    Reader { name: "request", words: &words::WIRE, fixed: FIXED, per_byte: PER_BYTE, read }.holds();
}

fn read(input: &[u8]) {
    match parse::message(input) {
        Err(refusal) => is_brief(&refusal, input.len()),
        Ok(message) => {
            let mut checks = Checks;
            let given = pin!(message.give(&mut checks)).poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(given, Poll::Ready(Ok(()))), "nothing is waited for");
        }
    }
}

struct Checks;

impl Answers for Checks {
    async fn answer<M: Method>(&mut self, parameters: M) -> io::Result<()> {
        let line = serde_json::to_vec(&Envelope { method: M::NAME, came_by: None, parameters: &parameters })?;
        let again = parse::message(&line).expect("what was read can be written and read");
        assert_eq!(Some(again), parse::message(&line).ok(), "and is the same");
        if let Err(refusal) = parameters.check() {
            is_brief(&refusal, line.len());
        }
        Ok(())
    }
}

/// At most what ten words of the input may take, each of them cut.
fn is_brief(refusal: &Failure, length: usize) {
    let message = &refusal.explanation().message;
    assert!(message.len() < 4096, "{} bytes told of {length}", message.len());
    assert!(!message.contains(|unseen: char| unseen != '\n' && unseen.is_control()), "{message:?}");
}
