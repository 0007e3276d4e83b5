//! `match: new`: what this host began is answered, whoever answers; what a listed source begins is dropped.

use harness::limited::{LimitedCommand, LimitedListener};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Stdio;
use std::time::{Duration, Instant};

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Frame, HOST, HOST6, Namespace, Net};

pub(super) const NEW: &str = "match: new\nblock: [203.0.113.7, \"2001:db8:bad::7\"]";
pub(super) const ALL: &str = "block: [203.0.113.7, \"2001:db8:bad::7\"]";

const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

/// DNS, QUIC and TCP: a question, and its answer, through real sockets.
#[test]
pub(super) fn listed_source_may_answer_own_flows() {
    let net = Net::with_filterd(NEW);
    for (address, port) in [(ATTACKER, 53), (ATTACKER6, 443)] {
        let responder = net.peer().entered(|| UdpSocket::bind((address, port))).expect("nobody else listens");
        let asker = host_udp(&net, address, port);
        asker.send(b"who?").expect("it is sent");
        let (_, whence) = responder.recv_from(&mut [0; 8]).expect("it arrives");
        responder.send_to(b"I", whence).expect("it is sent");
        assert_eq!(asker.recv(&mut [0; 8]).expect("the answer of a listed source passes"), 1);

        let listener =
            net.peer().entered(|| TcpListener::bind((address, 4443))).expect("nobody else listens");
        net.host().entered(|| TcpStream::connect((address, 4443))).expect("a listed source answers");
        drop(listener);
    }
    assert!(net.counted("reply") >= 4, "they are counted");
    let words = "but replies to connections this host started pass (`match: new`)\n";
    net.filterd(["test", ATTACKER]).succeeds().says(words);
    net.filterd(["test", BYSTANDER]).exits(1).is_silent_about("answers");
    assert_eq!(net.filterd(["test", ATTACKER, "--json"]).succeeds().json()["replies_pass"], true);
    net.filterd(["status"])
        .succeeds()
        .says("Own flows (`match: new`: their packets pass)")
        .says("4 started so far, 0 found open; at least 65,536 are remembered at a time")
        .says("UDP from its ports 32768-60999 without a service");
}

#[test]
fn flow_begun_by_listed_source_is_dropped() {
    let net = Net::with_filterd(NEW);
    let asker = host_udp(&net, ATTACKER, 53);
    asker.send(b"who?").expect("it is sent");
    let ours = port(&asker);
    ping(&net, ATTACKER, 9);
    let frame = |protocol, content| Frame::from(ATTACKER).transport(protocol, content);
    let part = [
        frame(UDP, datagram(53, ours)),
        frame(1, echo(0, 9)),
        Frame::from(BYSTANDER).transport(1, unreachable(ours)),
        frame(UDP, vec![0; 16]).fragment(100),
        frame(UDP, datagram(53, ours)).options(3).vlan(7),
    ];
    net.expect_each(part).passes();
    let own = [
        frame(UDP, datagram(53, ours + 1)),
        frame(UDP, datagram(54, ours)),
        frame(1, echo(8, 9)),
        frame(1, echo(0, 10)),
        frame(1, unreachable(ours + 1)),
        Frame::from(ATTACKER).tcp(Frame::SYN),
        Frame::from(ATTACKER).tcp(Frame::ACK),
        frame(TCP, vec![0; 24]).fragment(100),
        Frame::from(ATTACKER6).echo_request(),
    ];
    net.expect_each(own).dropped();
}

/// The peer is a gateway, which is guarded, unless it comes as somebody else.
fn comes_as_a_bystander(net: &Net) {
    net.peer().ip(&format!("route add {HOST}/32 dev eth0 src {BYSTANDER}"));
}

#[test]
fn ban_ends_flows_of_peer_but_not_ours() {
    let net = Net::with_filterd("match: new");
    let listener = net.host().entered(|| TcpListener::bind((HOST, 2222))).expect("nobody else listens");
    comes_as_a_bystander(&net);
    let came = net.peer().entered(|| TcpStream::connect((HOST, 2222))).expect("it is not listed yet");
    let theirs = came.local_addr().expect("it is connected");
    let _accepted = listener.limited_accept().expect("it came");
    let server = net.peer().entered(|| TcpListener::bind((ATTACKER, 4443))).expect("nobody else listens");
    let mut went = net.host().entered(|| TcpStream::connect((ATTACKER, 4443))).expect("it listens");
    let (mut there, _) = server.limited_accept().expect("it came");
    let ours = went.local_addr().expect("it is connected").port();

    net.filterd(["add", ATTACKER, &theirs.ip().to_string()]).succeeds();
    let from = |source: IpAddr, ports| Frame::from(source).transport(TCP, segment(ports));
    net.expect(from(theirs.ip(), (theirs.port(), 2222))).dropped();
    net.expect(from(went.peer_addr().expect("it is").ip(), (4443, ours))).passes();
    std::io::Write::write_all(&mut there, b"on").expect("it is connected");
    std::io::Read::read_exact(&mut went, &mut [0; 2]).expect("the flow of this host goes on");
}

#[test]
fn flows_open_before_start_are_classified() {
    let mut net = Net::new();
    let listener = net.host().entered(|| TcpListener::bind((HOST, 2222))).expect("nobody else listens");
    comes_as_a_bystander(&net);
    let came = net.peer().entered(|| TcpStream::connect((HOST, 2222))).expect("it listens");
    let theirs = came.local_addr().expect("it is connected");
    let _accepted = listener.limited_accept().expect("it came");
    let server = net.peer().entered(|| TcpListener::bind((ATTACKER6, 4443))).expect("nobody else listens");
    let went = net.host().entered(|| TcpStream::connect((ATTACKER6, 4443))).expect("it listens");
    let asker = host_udp(&net, ATTACKER, 53);

    net.start(&format!("match: new\nblock: [203.0.113.7, \"2001:db8:bad::7\", {}]", theirs.ip()));
    let ours = went.local_addr().expect("it is connected").port();
    net.filterd(["status"]).succeeds().says("0 started so far, 2 found open");
    net.expect(Frame::from(ATTACKER6).transport(TCP, segment((4443, ours)))).passes();
    net.expect(Frame::from(ATTACKER).transport(UDP, datagram(53, port(&asker)))).passes();
    net.expect(Frame::from(theirs.ip()).transport(TCP, segment((theirs.port(), 2222)))).dropped();
    drop(server);
}

/// It is not told by ports: both may be any.
#[test]
fn banned_client_stays_banned_without_its_service() {
    let mut net = Net::new();
    let listener = net.host().entered(|| TcpListener::bind((HOST, 50_022))).expect("nobody else listens");
    comes_as_a_bystander(&net);
    let came = net.peer().entered(|| TcpStream::connect((HOST, 50_022))).expect("it listens");
    let theirs = came.local_addr().expect("it is connected");
    let _accepted = listener.limited_accept().expect("it came");
    drop(listener);
    let server = net.peer().entered(|| TcpListener::bind((ATTACKER, 50_443))).expect("nobody else listens");
    let went = net.host().entered(|| TcpStream::connect((ATTACKER, 50_443))).expect("it listens");
    let ours = went.local_addr().expect("it is connected").port();
    let is_known = |net: &Net, when: &str| {
        println!("{when}");
        net.expect(Frame::from(theirs.ip()).transport(TCP, segment((theirs.port(), 50_022)))).dropped();
        net.expect(Frame::from(ATTACKER).transport(TCP, segment((50_443, ours)))).passes();
    };
    let [new, all] = [NEW, ALL].map(|words| words.replace("2001:db8:bad::7", &theirs.ip().to_string()));
    net.start(&new);
    is_known(&net, "a start");
    net.succeed(&new);
    is_known(&net, "a take-over");
    net.configure(&all);
    net.filterd(["reload"]).succeeds();
    net.configure(&new);
    net.filterd(["diff"]).exits(1);
    net.filterd(["reload"]).succeeds();
    is_known(&net, "a reload");
    drop(server);
}

/// And whom of those in touch with this host a reload would cut is told by it.
#[test]
fn diff_names_exactly_peers_that_began() {
    let net = Net::with_filterd("match: new");
    let listener = net.host().entered(|| TcpListener::bind((HOST, 2222))).expect("nobody else listens");
    comes_as_a_bystander(&net);
    let came = net.peer().entered(|| TcpStream::connect((HOST, 2222))).expect("it is not listed");
    let theirs = came.local_addr().expect("it is connected").ip();
    let _accepted = listener.limited_accept().expect("it came");
    let server = net.peer().entered(|| TcpListener::bind((ATTACKER, 4443))).expect("nobody else listens");
    let went = net.host().entered(|| TcpStream::connect((ATTACKER, 4443))).expect("it listens");
    let listed = format!("block: [203.0.113.7, {theirs}]");
    net.configure(&format!("match: new\n{listed}"));
    net.filterd(["diff"]).exits(1).says("tcp port 2222 here").is_silent_about("4443");
    net.filterd(["reload"]).succeeds();
    net.configure(&listed);
    net.filterd(["diff"]).exits(1).says("4443").is_silent_about("tcp port 2222 here");
    drop((server, went));
}

/// What a service sends from a port that the kernel might have given away is an answer, and begins nothing.
#[test]
fn service_on_ephemeral_port_begins_no_flow() {
    let mut net = Net::new();
    let service = net.host().entered(|| UdpSocket::bind((HOST, 51_820))).expect("nobody else listens");
    net.start(NEW);
    service.send_to(b"hm", (ATTACKER, 5000)).expect("it is sent");
    let fixed = net.host().entered(|| UdpSocket::bind((HOST, 123))).expect("nobody else listens");
    fixed.send_to(b"when?", (ATTACKER, 123)).expect("it is sent");
    net.expect(Frame::from(ATTACKER).transport(UDP, datagram(5000, 51_820))).dropped();
    net.expect(Frame::from(ATTACKER).transport(UDP, datagram(123, 123))).dropped();
}

/// The kernel says whether a port was asked for by its number: who lets it choose cannot be a service that others know.
#[test]
fn unconnected_client_begins_flows_at_any_age() {
    let mut net = Net::new();
    let client = net.host().entered(|| UdpSocket::bind((HOST, 0))).expect("there are ports");
    net.start(NEW);
    client.send_to(b"who?", (ATTACKER, 5000)).expect("it is sent");
    net.expect(Frame::from(ATTACKER).transport(UDP, datagram(5000, port(&client)))).passes();
    net.expect(Frame::from(ATTACKER).transport(UDP, datagram(5001, port(&client)))).dropped();
}

#[test]
fn changed_ephemeral_port_range_is_followed() {
    let mut net = Net::with_filterd(NEW);
    net.host().set("ipv4/ip_local_reserved_ports", "20000-20998");
    net.host().set("ipv4/ip_local_port_range", "20000 20999");
    wait_for_ports(&net, "20000-20999");
    let asker = host_udp(&net, ATTACKER, 53);
    assert_eq!(port(&asker), 20_999);
    asker.send(b"who?").expect("it is sent");
    let reserved = net.host().entered(|| UdpSocket::bind((HOST, 20_500))).expect("nobody has it");
    reserved.connect((ATTACKER, 53)).expect("there is a way");
    reserved.send(b"who?").expect("it is sent");
    let answer = |port| Frame::from(ATTACKER).transport(UDP, datagram(53, port));
    net.expect(answer(20_999)).passes();
    net.expect(answer(20_500)).dropped();
    net.stop();
}

/// The tag of what is sent lies beside the packet, that of the answer may be in it.
#[test]
fn own_flows_over_vlan_device_get_replies() {
    let net = Net::with_filterd(NEW);
    let add = |at: &Namespace| {
        let words = "link add link eth0 name eth0.7 type vlan id 7".split(' ');
        at.command("ip").args(words).stderr(Stdio::null()).limited_status().expect("ip can be run").success()
    };
    if !add(net.host()) {
        println!("SKIPPED VLAN devices: this kernel has none (8021q)");
        return;
    }
    assert!(add(net.peer()), "the same kernel");
    net.host().ip_all("addr add 192.0.2.1/24 dev eth0.7\nlink set eth0.7 up\n");
    net.peer().ip_all(&format!(
        "addr add 192.0.2.2/24 dev eth0.7\nlink set eth0.7 up\naddr add {ATTACKER}/32 dev eth0.7\n"
    ));
    net.host().ip(&format!("route add {ATTACKER}/32 via 192.0.2.2"));
    let responder = net.peer().entered(|| UdpSocket::bind((ATTACKER, 53))).expect("nobody else listens");
    let asker = net.host().entered(|| UdpSocket::bind(("192.0.2.1", 0))).expect("there are ports");
    asker.connect((ATTACKER, 53)).expect("there is a way");
    asker.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout can be set");
    asker.send(b"who?").expect("it is sent");
    let (_, whence) = responder.recv_from(&mut [0; 8]).expect("it arrives");
    responder.send_to(b"I", whence).expect("it is sent");
    assert_eq!(asker.recv(&mut [0; 8]).expect("the answer of a listed source passes"), 1);
    let of =
        |theirs, ours| Frame::from(ATTACKER).to("192.0.2.1").transport(UDP, datagram(theirs, ours)).vlan(7);
    net.expect(of(53, port(&asker))).passes();
    net.expect(of(54, port(&asker))).dropped();
}

pub(super) fn host_udp(net: &Net, address: &str, port: u16) -> UdpSocket {
    let own = if address.contains(':') { HOST6 } else { HOST };
    let socket = net.host().entered(|| UdpSocket::bind((own, 0))).expect("there are ports");
    socket.connect(SocketAddr::new(address.parse().expect("an address"), port)).expect("there is a way");
    socket.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout can be set");
    socket
}

/// Until `status` says that flows are begun from these.
fn wait_for_ports(net: &Net, expected: &str) {
    let begun = Instant::now();
    loop {
        let told = net.filterd(["status", "--json"]).succeeds().json();
        if told["flows"]["ports"] == expected {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{told}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub(super) fn port(socket: &UdpSocket) -> u16 {
    socket.local_addr().expect("it is bound").port()
}

pub(super) fn datagram(source: u16, destination: u16) -> Vec<u8> {
    [source.to_be_bytes(), destination.to_be_bytes(), [0, 8], [0, 0]].concat()
}

fn segment((source, destination): (u16, u16)) -> Vec<u8> {
    let mut segment = datagram(source, destination);
    segment.extend([0, 0, 0, 0, 5 << 4, Frame::ACK, 0, 0, 0, 0, 0, 0]);
    segment
}

fn echo(kind: u8, number: u16) -> Vec<u8> {
    let [high, low] = number.to_be_bytes();
    vec![kind, 0, 0, 0, high, low, 0, 1]
}

/// "Nobody listens where you sent this to": a question of this host's to the attacker's port 53.
fn unreachable(ours: u16) -> Vec<u8> {
    let ip = |text: &str| text.parse::<std::net::Ipv4Addr>().expect("an address").octets();
    let mut error = vec![3, 3, 0, 0, 0, 0, 0, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, UDP, 0, 0];
    error.extend([ip(HOST), ip(ATTACKER)].concat());
    error.extend(datagram(ours, 53));
    error
}

/// Sends an echo request with this number.
fn ping(net: &Net, address: &str, number: u16) {
    use nix::sys::socket::{
        AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, socket,
    };
    let own = net
        .host()
        .inside(|| socket(AddressFamily::Inet, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::Icmp));
    let own = own.expect("root may have raw sockets");
    let to = SockaddrIn::from(std::net::SocketAddrV4::new(address.parse().expect("an address"), 0));
    let sent = sendto(std::os::fd::AsRawFd::as_raw_fd(&own), &echo(8, number), &to, MsgFlags::empty());
    sent.expect("it is sent");
}
