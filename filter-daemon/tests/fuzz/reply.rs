//! The client's end of the wire: a line is an answer that is written as it was read, a refusal, or what answers is no filterd.

use filterd::control::client::{self, ClientError};
use filterd::control::wire::{Add, Flush, HandOver, List, Method, Ping, Reload, Remove, Stats, Status, Test};
use filterd::text::printable;

use crate::hold::Reader;
use crate::words;

const FIXED: usize = 256 * 1024;
const PER_BYTE: usize = 512;

#[test]
fn daemon_line_is_answer_refusal_or_error() {
    Reader { name: "reply", words: &words::WIRE, fixed: FIXED, per_byte: PER_BYTE, read }.holds();
}

fn read(input: &[u8]) {
    read_as::<Add>(input);
    read_as::<Remove>(input);
    read_as::<Test>(input);
    read_as::<List>(input);
    read_as::<Flush>(input);
    read_as::<Status>(input);
    read_as::<Stats>(input);
    read_as::<Reload>(input);
    read_as::<Ping>(input);
    read_as::<HandOver>(input);
}

fn read_as<M: Method>(input: &[u8]) {
    match client::answer::<M>(input) {
        Ok(answer) => {
            let written = serde_json::to_vec(&answer).expect("what was read can be written");
            let again = client::answer::<M>(&written).expect("and read again");
            assert_eq!(serde_json::to_vec(&again).ok(), Some(written), "and is the same");
        }
        Err(ClientError::Failed(_)) => {}
        Err(error) => {
            let told = error.to_string();
            assert!(told.len() < 2000 && printable::line(&told) == told, "{told:?}");
        }
    }
}
