use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};

use super::*;

fn between(found: &[Connection], ours: SocketAddr, theirs: SocketAddr) -> Option<Connection> {
    let is_it =
        |one: &&Connection| (one.ours, one.peer, one.theirs) == (ours.port(), theirs.ip(), theirs.port());
    found.iter().find(is_it).copied()
}

/// The result must stay correct after the listener is closed, and for any port.
#[test]
fn the_end_that_opened_a_connection_is_told_in_both_families_and_at_any_time() {
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
fn an_udp_socket_is_this_hosts_if_the_kernel_chose_its_port() {
    let (one, other) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    one.connect(other.local_addr().unwrap()).unwrap();
    let (here, there) = (one.local_addr().unwrap(), other.local_addr().unwrap());
    let found = connections(Protocol::Udp).unwrap();
    assert_eq!(between(&found, here, there).map(|one| one.is_own), Some(true), "{found:?}");
    assert!(!found.iter().any(|one| one.ours == there.port()), "it hears everybody: {found:?}");
}

#[test]
fn a_service_is_who_hears_everybody_on_a_port_that_it_asked_for() {
    let given = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = given.local_addr().unwrap().port();
    assert!(!services().unwrap().contains(&port), "the kernel chose it");
    assert!(Ports::look().unwrap().begins(port));
    drop(given);
    let asked_for = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    assert!(services().unwrap().contains(&port), "it was asked for");
    assert!(!Ports::look().unwrap().begins(port));
    asked_for.connect("127.0.0.1:9").unwrap();
    assert!(!services().unwrap().contains(&port), "it hears one only");
    let six = UdpSocket::bind(("::1", port)).unwrap();
    assert!(services().unwrap().contains(&port));
    drop(six);
}

#[test]
fn where_the_kernel_does_not_tell_rather_an_own_one_is_taken_for_anothers() {
    let ports = ports::tests::usual(51820);
    let told = |ours, other: Option<(&str, u16)>| Told {
        ours,
        other: other.map(|(address, port)| (address.parse().unwrap(), port)),
        opened: Opened::Untold,
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
fn a_kernel_that_cannot_tell_of_sockets_is_told_with_the_module_that_it_lacks() {
    const PROTOCOL: usize = 17;
    let asked = Asked { protocol: Protocol::Udp, states: StateFlags::all(), filter: &[] };
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
