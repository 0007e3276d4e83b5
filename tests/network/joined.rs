//! Frames that the kernel has joined on their way: each counts as what it was on the wire.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use harness::limited::{LimitedCommand, LimitedListener};
use harness::{ATTACKER, Net};
use serde_json::Value;

const STREAM: usize = 4 << 20;

/// The sender counts the segments that it sends, and so does filterd.
#[test]
fn joined_frames_count_as_sent() {
    let net = Net::with_filterd("enforce: false\nblock: [203.0.113.7]");
    let listener = net.peer().entered(|| TcpListener::bind((ATTACKER, 4443))).expect("nobody else listens");
    let mut reader = net.host().entered(|| TcpStream::connect((ATTACKER, 4443))).expect("it passes");
    let (mut writer, _) = listener.limited_accept().expect("it came");
    let writing = thread::spawn(move || {
        writer.write_all(&vec![7; STREAM]).expect("it is read");
        writer.shutdown(Shutdown::Write).expect("it is open");
        writer
    });
    let mut read = Vec::new();
    reader.read_to_end(&mut read).expect("it comes");
    let _writer = writing.join().expect("it writes");
    assert_eq!(read.len(), STREAM);
    // The sender still knows its connection: the reader has not closed its side.
    let mut ss = net.peer().command("ss");
    let told = ss.args(["-tinH", "src", ATTACKER]).limited_output().expect("ss is there");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let number = |name: &str| -> u64 {
        let value = told.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix(':'));
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} in {told}"))
    };
    // What accepts a connection is not part of it yet, and has eight bytes of options more.
    let (segments, sent) = (number("segs_out") + 1, number("bytes_sent"));
    let counted = counted(&net);
    assert_eq!(counted["packets"], segments, "{told}");
    // Ethernet, IPv4, TCP with its timestamps.
    assert_eq!(counted["bytes"], segments * (14 + 20 + 32) + 8 + sent, "{told}");
    assert!(segments > 2_000, "{told}");
    let link = net.host().ip("-s -json link show eth0");
    let link: Value = serde_json::from_str(&link).expect("ip speaks JSON");
    let received = link[0]["stats64"]["rx"]["packets"].as_u64().expect("a number");
    assert!(
        received < segments,
        "nothing was joined, so this shows nothing: {received} frames, {segments} segments"
    );
}

/// What filterd counted of the listed sender.
fn counted(net: &Net) -> Value {
    let stats = net.filterd(["stats", "--json"]).succeeds().json();
    let mut reasons = stats["reasons"].as_array().expect("reasons").iter();
    let row = reasons.find(|row| row["reason"] == "ipv4_address" && row["verdict"] == "would_drop");
    row.expect("a row").clone()
}
