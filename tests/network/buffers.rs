//! The buffers that the stack gets behind the filter are aligned: cloning another one ends some hosts (CVE-2026-99127).

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use harness::limited::LimitedListener;
use harness::{BYSTANDER, Buffers, GATEWAY, Net, Random};

const WRITES: usize = 10_000;
const LONGEST: usize = 20_000;

/// In native mode, Linux 6.18 has some that are not at MTU 9000: 24 of 67,333.
#[test]
fn buffers_stay_aligned_where_auto_filters() {
    for mtu in [1500, 9000] {
        let mut net = Net::new().mtu(mtu);
        net.host().ip_all("link set eth0 down\nlink set eth0 name buffers0\n");
        net.raise(&["buffers0"]);
        net.host().ip(&format!("route add default via {GATEWAY}"));
        net.start("interfaces: [buffers0]\nblock: [203.0.113.7]");
        let buffers = Buffers::of("buffers0");
        stream(&net);
        let [all, misaligned] = buffers.counted();
        assert!(all > 1_000, "this shows nothing: {all} buffers");
        assert_eq!(misaligned, 0, "of {all}, MTU {mtu}");
    }
}

/// The peer sends pieces of every length.
fn stream(net: &Net) {
    let listener = net.peer().entered(|| TcpListener::bind((BYSTANDER, 4443))).expect("nobody else listens");
    let mut reader = net.host().entered(|| TcpStream::connect((BYSTANDER, 4443))).expect("it passes");
    let (mut writer, _) = listener.limited_accept().expect("it came");
    writer.set_nodelay(true).expect("it is TCP");
    let writing = thread::spawn(move || {
        let (mut random, piece) = (Random(5), vec![7; LONGEST]);
        for _ in 0..WRITES {
            writer.write_all(&piece[..1 + random.below(LONGEST - 1)]).expect("it is read");
        }
    });
    let mut read = Vec::new();
    reader.read_to_end(&mut read).expect("it comes");
    writing.join().expect("it writes");
}
