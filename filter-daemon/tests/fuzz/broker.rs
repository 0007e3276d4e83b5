//! The line between the daemon and the broker, at both ends: a message, or the other end is held to be gone.

use std::fs::File;
use std::io::Write;

use filterd::kernel::broker::line::BrokerSocket;
use filterd::kernel::broker::request::{Reply, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::hold::Reader;
use crate::words;

/// The longest message, whatever its length.
const FIXED: usize = 256 * 1024;
const PER_BYTE: usize = 64;

#[test]
fn bytes_to_broker_are_request_or_error() {
    let read = read_as::<Request>;
    Reader { name: "broker", words: &words::BROKER, fixed: FIXED, per_byte: PER_BYTE, read }.holds();
}

#[test]
fn broker_bytes_are_an_answer_or_error() {
    let read = read_as::<Reply>;
    Reader { name: "broker", words: &words::BROKER, fixed: FIXED, per_byte: PER_BYTE, read }.holds();
}

fn read_as<T: Serialize + DeserializeOwned>(input: &[u8]) {
    let (mut line, other) = BrokerSocket::pair().expect("sockets can be had");
    let mut other = File::from(other);
    other.write_all(input).expect("the line takes it");
    drop(other);
    let Ok(Some((message, None))) = line.receive::<T>() else { return };
    let written = serde_json::to_vec(&message).expect("what was read can be written");
    let (mut line, other) = BrokerSocket::pair().expect("sockets can be had");
    File::from(other).write_all(&written).expect("the line takes it");
    let again = line.receive::<T>().expect("and read again").expect("it is not empty").0;
    assert_eq!(serde_json::to_vec(&again).ok(), Some(written), "and is the same");
}
