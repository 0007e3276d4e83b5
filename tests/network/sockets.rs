//! Ordinary programs on both sides: what a blocked peer's own sockets see.

use harness::limited::LimitedListener;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, HOST, HOST6, Net};

/// For what must happen.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn datagrams_of_blocked_peer_are_dropped() {
    for (host, attacker, bystander) in [(HOST, ATTACKER, BYSTANDER), (HOST6, ATTACKER6, BYSTANDER6)] {
        let net = Net::with_filterd("");
        let server = net.host().inside(|| UdpSocket::bind(at(host, 5300)).expect("a free port"));
        server.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let send = |from: &str, word: &str| {
            let client = net.peer().inside(|| UdpSocket::bind(at(from, 0)).expect("a free port"));
            client.send_to(word.as_bytes(), at(host, 5300)).expect("sending needs nobody");
        };
        send(attacker, "hello");
        assert_eq!(hear(&server), (at(attacker, 0).ip(), "hello".to_owned()));
        net.filterd(["add", attacker]).succeeds();
        send(attacker, "let me in");
        send(bystander, "good day");
        assert_eq!(hear(&server), (at(bystander, 0).ip(), "good day".to_owned()));
        net.filterd(["remove", attacker]).succeeds();
        send(attacker, "thank you");
        assert_eq!(hear(&server), (at(attacker, 0).ip(), "thank you".to_owned()));
    }
}

#[test]
fn a_blocked_host_cannot_open_a_connection() {
    let net = Net::with_filterd("");
    let server = net.host().inside(|| TcpListener::bind(at(HOST, 4430)).expect("a free port"));
    net.peer().ip(&format!("route add {HOST}/32 dev eth0 src {ATTACKER}"));
    let connect = |patience| net.peer().inside(|| TcpStream::connect_timeout(&at(HOST, 4430), patience));
    net.filterd(["add", ATTACKER]).succeeds();
    let refused = connect(Duration::from_millis(300)).expect_err("nobody answers");
    assert_eq!(refused.kind(), ErrorKind::TimedOut);
    net.filterd(["remove", ATTACKER]).succeeds();
    let mut client = connect(PATIENCE).expect("somebody answers");
    client.write_all(b"hello").expect("the connection stands");
    let (mut served, _) = server.limited_accept().expect("it was opened");
    let mut word = [0; 5];
    served.read_exact(&mut word).expect("the word arrives");
    assert_eq!(&word, b"hello");
}

fn at(address: &str, port: u16) -> SocketAddr {
    let address: IpAddr = address.parse().expect("an address");
    SocketAddr::new(address, port)
}

fn hear(server: &UdpSocket) -> (IpAddr, String) {
    let mut word = [0; 64];
    let (length, from) = server.recv_from(&mut word).expect("somebody speaks");
    (from.ip(), String::from_utf8_lossy(&word[..length]).into_owned())
}
