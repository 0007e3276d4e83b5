use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};

use super::*;

fn between(found: &[PeerConnection], ours: SocketAddr, theirs: SocketAddr) -> Option<PeerConnection> {
    let is_it =
        |one: &&PeerConnection| (one.ours, one.peer, one.theirs) == (ours.port(), theirs.ip(), theirs.port());
    found.iter().find(is_it).copied()
}

/// The result must stay correct after the listener is closed, and for any port.
#[test]
fn opening_end_is_found_in_both_families() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let listener = TcpListener::bind(address).unwrap();
        let mut went = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut came, _) = listener.accept().unwrap();
        drop(listener);
        let (here, there) = (went.local_addr().unwrap(), went.peer_addr().unwrap());
        let expect = |went: Option<bool>, came: Option<bool>, when: &str| {
            let found = connections(Protocol::Tcp).unwrap();
            let own = |ours, theirs| between(&found, ours, theirs).map(|one| one.is_own);
            assert_eq!((own(here, there), own(there, here)), (went, came), "{when}: {found:?}");
        };
        expect(Some(true), Some(false), "nothing said");
        went.write_all(b"hello").unwrap();
        came.read_exact(&mut [0; 5]).unwrap();
        came.write_all(b"hi").unwrap();
        went.read_exact(&mut [0; 2]).unwrap();
        expect(Some(true), Some(false), "something said");
        // Fills the queues: more is sent than received, and more is waiting than sent.
        for stream in [&mut went, &mut came] {
            stream.set_nonblocking(true).unwrap();
            while stream.write(&[0; 65536]).is_ok() {}
        }
        expect(Some(true), Some(false), "full");
        let mut buffer = vec![0; 1 << 20];
        let mut drain = |stream: &mut TcpStream| while stream.read(&mut buffer).is_ok_and(|read| read > 0) {};
        went.shutdown(std::net::Shutdown::Write).unwrap();
        expect(Some(true), Some(false), "one closes behind much that waits");
        came.shutdown(std::net::Shutdown::Write).unwrap();
        expect(Some(true), Some(false), "and so does the other");
        drain(&mut came);
        expect(Some(true), Some(false), "and one is heard");
    }
}

#[test]
fn udp_socket_on_kernel_chosen_port_is_own() {
    let (one, other) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    one.connect(other.local_addr().unwrap()).unwrap();
    let (here, there) = (one.local_addr().unwrap(), other.local_addr().unwrap());
    let found = connections(Protocol::Udp).unwrap();
    assert_eq!(between(&found, here, there).map(|one| one.is_own), Some(true), "{found:?}");
    assert!(!found.iter().any(|one| one.ours == there.port()), "it hears everybody: {found:?}");
}

#[test]
fn listener_on_requested_port_is_a_service() {
    let given = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = given.local_addr().unwrap().port();
    assert!(!services().unwrap().contains(&port), "the kernel chose it");
    assert!(UdpPorts::look().unwrap().begins(port));
    drop(given);
    let asked_for = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    assert!(services().unwrap().contains(&port), "it was asked for");
    assert!(!UdpPorts::look().unwrap().begins(port));
    asked_for.connect("127.0.0.1:9").unwrap();
    assert!(!services().unwrap().contains(&port), "it hears one only");
    let six = UdpSocket::bind(("::1", port)).unwrap();
    assert!(services().unwrap().contains(&port));
    drop(six);
}

#[test]
fn uncertain_connection_counts_as_the_peers() {
    let ports = ports::tests::usual(51820);
    let told = |ours, other: Option<(&str, u16)>| ReportedSocket {
        ours,
        other: other.map(|(address, port)| (address.parse().unwrap(), port)),
        opened: OpenedBy::Untold,
    };
    let told = [
        told(50_022, None),
        told(50_022, Some(("192.0.2.50", 443))),
        told(50_000, Some(("192.0.2.50", 443))),
        told(50_001, Some(("192.0.2.50", 40_000))),
        told(22, Some(("192.0.2.50", 443))),
        told(51_820, Some(("192.0.2.50", 443))),
    ];
    let own = |protocol| -> Vec<bool> { of(protocol, &told, &ports).iter().map(|one| one.is_own).collect() };
    assert_eq!(own(Protocol::Tcp), [false, true, false, false, true]);
    assert_eq!(own(Protocol::Udp), [true, true, true, false, false]);
}

/// A kernel without the module answered only "no such file or directory".
#[test]
fn missing_socket_diagnostics_names_the_module() {
    const PROTOCOL: usize = 17;
    let asked = SocketQuery { protocol: Protocol::Udp, states: StateFlags::all(), filter: &[] };
    let mut request = asked.request(AF_INET);
    assert_eq!(request[PROTOCOL], IPPROTO_UDP as u8);
    // No kernel reports sockets of a protocol that does not exist.
    request[PROTOCOL] = 253;
    let error = exchange(&request, &mut Vec::new()).unwrap_err();
    let told = asked.explained(error).to_string();
    assert_eq!(told, "the kernel module udp_diag is not loaded: modprobe udp_diag");
    let other = asked.explained(io::Error::other("something else"));
    assert_eq!(other.to_string(), "something else");
}
