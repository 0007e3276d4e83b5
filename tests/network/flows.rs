//! `match: new`: what this host began is answered, whoever answers; what a listed source begins is dropped.

use std::fs;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Stdio;
use std::time::{Duration, Instant};

use harness::{ATTACKER, ATTACKER6, BYSTANDER, ForeignEgress, Frame, HOST, HOST6, Namespace, Net};
use nix::sys::signal::Signal;

const NEW: &str = "match: new\nblock: [203.0.113.7, \"2001:db8:bad::7\"]";
const ALL: &str = "block: [203.0.113.7, \"2001:db8:bad::7\"]";

const TCP: u8 = 6;
const UDP: u8 = 17;

/// DNS, QUIC and TCP: a question, and its answer, through real sockets.
#[test]
fn what_this_host_begins_is_answered_by_a_listed_source() {
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
    net.filterd(["status"])
        .succeeds()
        .says("Own flows (`match: new`: what is part of them passes)")
        .says("4 begun so far, beside 0 found open; at least 65,536 are remembered at a time")
        .says("UDP from its ports 32768-60999 that no service has");
}

#[test]
fn what_a_listed_source_begins_is_dropped_whatever_this_host_has_begun() {
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
fn a_ban_ends_what_the_banned_one_began_and_not_what_this_host_began() {
    let net = Net::with_filterd("match: new");
    let listener = net.host().entered(|| TcpListener::bind((HOST, 2222))).expect("nobody else listens");
    comes_as_a_bystander(&net);
    let came = net.peer().entered(|| TcpStream::connect((HOST, 2222))).expect("it is not listed yet");
    let theirs = came.local_addr().expect("it is connected");
    let _accepted = listener.accept().expect("it came");
    let server = net.peer().entered(|| TcpListener::bind((ATTACKER, 4443))).expect("nobody else listens");
    let mut went = net.host().entered(|| TcpStream::connect((ATTACKER, 4443))).expect("it listens");
    let (mut there, _) = server.accept().expect("it came");
    let ours = went.local_addr().expect("it is connected").port();

    net.filterd(["add", ATTACKER, &theirs.ip().to_string()]).succeeds();
    let from = |source: IpAddr, ports| Frame::from(source).transport(TCP, segment(ports));
    net.expect(from(theirs.ip(), (theirs.port(), 2222))).dropped();
    net.expect(from(went.peer_addr().expect("it is").ip(), (4443, ours))).passes();
    std::io::Write::write_all(&mut there, b"on").expect("it is connected");
    std::io::Read::read_exact(&mut went, &mut [0; 2]).expect("the flow of this host goes on");
}

#[test]
fn flows_that_were_open_before_are_known_for_what_they_are() {
    let mut net = Net::new();
    let listener = net.host().entered(|| TcpListener::bind((HOST, 2222))).expect("nobody else listens");
    comes_as_a_bystander(&net);
    let came = net.peer().entered(|| TcpStream::connect((HOST, 2222))).expect("it listens");
    let theirs = came.local_addr().expect("it is connected");
    let _accepted = listener.accept().expect("it came");
    let server = net.peer().entered(|| TcpListener::bind((ATTACKER6, 4443))).expect("nobody else listens");
    let went = net.host().entered(|| TcpStream::connect((ATTACKER6, 4443))).expect("it listens");
    let asker = host_udp(&net, ATTACKER, 53);

    net.start(&format!("match: new\nblock: [203.0.113.7, \"2001:db8:bad::7\", {}]", theirs.ip()));
    let ours = went.local_addr().expect("it is connected").port();
    net.filterd(["status"]).succeeds().says("0 begun so far, beside 2 found open");
    net.expect(Frame::from(ATTACKER6).transport(TCP, segment((4443, ours)))).passes();
    net.expect(Frame::from(ATTACKER).transport(UDP, datagram(53, port(&asker)))).passes();
    net.expect(Frame::from(theirs.ip()).transport(TCP, segment((theirs.port(), 2222)))).dropped();
    drop(server);
}

/// It is not told by ports: both may be any.
#[test]
fn who_came_stays_banned_when_the_service_is_gone_and_filterd_comes_or_is_told_of_match_new() {
    let mut net = Net::new();
    let listener = net.host().entered(|| TcpListener::bind((HOST, 50_022))).expect("nobody else listens");
    comes_as_a_bystander(&net);
    let came = net.peer().entered(|| TcpStream::connect((HOST, 50_022))).expect("it listens");
    let theirs = came.local_addr().expect("it is connected");
    let _accepted = listener.accept().expect("it came");
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
fn diff_names_only_those_who_began_themselves_and_then_all_of_them() {
    let net = Net::with_filterd("match: new");
    let listener = net.host().entered(|| TcpListener::bind((HOST, 2222))).expect("nobody else listens");
    comes_as_a_bystander(&net);
    let came = net.peer().entered(|| TcpStream::connect((HOST, 2222))).expect("it is not listed");
    let theirs = came.local_addr().expect("it is connected").ip();
    let _accepted = listener.accept().expect("it came");
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
fn a_service_on_a_port_of_the_ephemeral_range_begins_nothing() {
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
fn a_client_that_hears_everybody_begins_flows_however_long_it_has_lived() {
    let mut net = Net::new();
    let client = net.host().entered(|| UdpSocket::bind((HOST, 0))).expect("there are ports");
    net.start(NEW);
    client.send_to(b"who?", (ATTACKER, 5000)).expect("it is sent");
    net.expect(Frame::from(ATTACKER).transport(UDP, datagram(5000, port(&client)))).passes();
    net.expect(Frame::from(ATTACKER).transport(UDP, datagram(5001, port(&client)))).dropped();
}

#[test]
fn the_range_of_ports_that_the_kernel_gives_away_is_followed() {
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
fn what_this_host_begins_over_a_vlan_device_is_answered_and_nothing_else_from_there() {
    let net = Net::with_filterd(NEW);
    let add = |at: &Namespace| {
        let words = "link add link eth0 name eth0.7 type vlan id 7".split(' ');
        at.command("ip").args(words).stderr(Stdio::null()).status().expect("ip can be run").success()
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

#[test]
fn own_flows_outlive_a_kill_and_a_take_over_and_are_remembered_in_between() {
    let mut net = Net::with_filterd(NEW);
    let begin = |net: &Net, port| {
        let asker = host_udp(net, ATTACKER, port);
        asker.send(b"who?").expect("it is sent");
        (Frame::from(ATTACKER).transport(UDP, datagram(port, self::port(&asker))), asker)
    };
    let (before, _one) = begin(&net, 53);
    net.expect(before.clone()).passes();
    net.end(Signal::SIGKILL);
    let (between, _other) = begin(&net, 54);
    net.expect_each([before.clone(), between.clone()]).passes();
    net.start(NEW);
    net.succeed(NEW);
    let (after, _last) = begin(&net, 55);
    net.expect_each([before, between, after]).passes();
    net.expect(ATTACKER).dropped();
    assert_eq!(egress_programs(&net).len(), 1, "it is there once");
    net.end(Signal::SIGKILL);
    // Where interfaces have their filters, which no pin holds.
    let detach = ["detach", "--pin-dir", &net.home().pins().display().to_string()];
    net.host().entered(|| net.home().filterd(detach)).succeeds();
    assert_eq!(egress_programs(&net), [""; 0], "detach leaves nothing");
    assert!(!net.home().pins().exists());
}

/// Links are pins, and go from anywhere. A filter of `clsact` is no pin.
#[test]
fn detach_from_elsewhere_ends_all_drops_and_tells_what_it_cannot_reach() {
    let mut net = Net::with_filterd(NEW);
    net.end(Signal::SIGKILL);
    net.expect(ATTACKER).dropped();
    let detach = ["detach", "--pin-dir", &net.home().pins().display().to_string()];
    let reply = net.filterd(detach);
    net.expect(ATTACKER).passes();
    assert!(!net.home().pins().exists());
    if has_links(&net) {
        reply.succeeds().says("eth0: detached");
    } else {
        reply
            .exits(7)
            .says("eth0: detached")
            .complains("eth0: nothing is dropped any more")
            .complains("it is in another network namespace")
            .complains("`tc filter del dev eth0 egress`");
        assert_eq!(egress_programs(&net).len(), 1, "the one that it tells of");
        let mut remedy = net.host().command("tc");
        let done = remedy.args(["filter", "del", "dev", "eth0", "egress"]).status();
        assert!(done.expect("tc is there").success());
    }
    assert_eq!(egress_programs(&net), [""; 0]);
}

#[test]
fn a_reload_switches_answers_on_and_off() {
    let mut net = Net::with_filterd(ALL);
    let asker = host_udp(&net, ATTACKER, 53);
    let answer = Frame::from(ATTACKER).transport(UDP, datagram(53, port(&asker)));
    asker.send(b"who?").expect("it is sent");
    net.expect(answer.clone()).dropped();
    net.configure(NEW);
    net.filterd(["diff"])
        .exits(1)
        .says("match: new, what this host began itself would pass, whoever answers");
    net.filterd(["reload"]).succeeds();
    net.expect(answer.clone()).passes();
    net.configure(ALL);
    net.filterd(["reload"]).succeeds();
    net.expect(answer).dropped();
    assert_eq!(egress_programs(&net), [""; 0]);
    net.filterd(["status"]).succeeds().is_silent_about("Own flows");
    net.configure("match: nev");
    net.filterd(["reload"]).exits(3).complains("did you mean new?");
    net.stop();
}

#[test]
fn an_egress_program_that_somebody_has_taken_off_is_put_back_and_told() {
    let mut net = Net::with_filterd(NEW);
    net.forget_log();
    take_off(&net);
    net.filterd(["status"]).succeeds();
    net.wait_for_log("eth0: somebody has taken the egress program off it: attaching it again");
    let asker = host_udp(&net, ATTACKER, 53);
    asker.send(b"who?").expect("it is sent");
    net.expect(Frame::from(ATTACKER).transport(UDP, datagram(53, port(&asker)))).passes();
    net.stop();
    assert_eq!(egress_programs(&net), [""; 0]);
}

#[test]
fn what_was_begun_while_the_egress_program_was_off_is_answered_once_it_is_back() {
    let net = Net::with_filterd(NEW);
    net.daemon().signal(Signal::SIGSTOP);
    take_off(&net);
    let asker = host_udp(&net, ATTACKER, 53);
    asker.send(b"who?").expect("it is sent");
    let answer = Frame::from(ATTACKER).transport(UDP, datagram(53, port(&asker)));
    net.expect(answer.clone()).dropped();
    net.daemon().signal(Signal::SIGCONT);
    net.filterd(["status"]).succeeds();
    net.expect(answer).passes();
}

#[test]
fn pins_of_own_flows_that_somebody_removes_are_put_back_and_outlive_the_daemon() {
    let mut net = Net::with_filterd(NEW);
    let parts = ["egress", "egress/eth0", "flows-1", "ports-1"];
    for removed in [vec![""], parts[..1].to_vec(), parts[1..].to_vec()] {
        for part in &removed {
            let path = net.home().pins().join(part);
            let is_directory = fs::symlink_metadata(&path).expect("it is there").is_dir();
            let gone = if is_directory { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            gone.expect("they are ours");
        }
        net.forget_log();
        net.filterd(["status"]).succeeds();
        net.wait_for_log("they are put back");
        assert!(
            parts.iter().all(|part| fs::symlink_metadata(net.home().pins().join(part)).is_ok()),
            "{removed:?}"
        );
    }
    net.end(Signal::SIGKILL);
    let asker = host_udp(&net, ATTACKER, 53);
    asker.send(b"who?").expect("it is sent");
    net.expect(Frame::from(ATTACKER).transport(UDP, datagram(53, port(&asker)))).passes();
    net.start(NEW);
    assert_eq!(egress_programs(&net).len(), 1, "it is there once");
    net.stop();
    assert_eq!(egress_programs(&net), [""; 0]);
}

#[test]
fn what_others_have_on_what_is_sent_is_left_alone() {
    for by_link in [false, true] {
        let mut net = Net::new();
        if by_link && !has_links(&net) {
            println!("SKIPPED foreign link: this kernel has no TCX (6.6 has)");
            continue;
        }
        let other = ForeignEgress::attach(net.host(), by_link);
        net.start(NEW);
        assert_eq!(egress_programs(&net).len(), 2, "both are there");
        let asker = host_udp(&net, ATTACKER, 53);
        asker.send(b"who?").expect("it is sent");
        net.expect(Frame::from(ATTACKER).transport(UDP, datagram(53, port(&asker)))).passes();
        net.stop();
        assert_eq!(egress_programs(&net), [other.name], "by a link: {by_link}");
    }
}

fn host_udp(net: &Net, address: &str, port: u16) -> UdpSocket {
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

fn port(socket: &UdpSocket) -> u16 {
    socket.local_addr().expect("it is bound").port()
}

fn datagram(source: u16, destination: u16) -> Vec<u8> {
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

/// The names of all programs on what `eth0` sends, however they are attached.
fn egress_programs(net: &Net) -> Vec<String> {
    let mut programs = ForeignEgress::linked(net.host());
    let told = net.host().command("tc").args(["filter", "show", "dev", "eth0", "egress"]).output();
    let told = String::from_utf8_lossy(&told.expect("tc is there").stdout).into_owned();
    let named = |line: &str| Some(line.split(" name ").nth(1)?.split(' ').next()?.to_owned());
    programs.extend(told.lines().filter_map(named));
    programs
}

/// As somebody would who does not know whose it is.
fn take_off(net: &Net) {
    let pin = net.home().pins().join("egress/eth0");
    let mut command = if fs::symlink_metadata(&pin).expect("it is noted").is_symlink() {
        let mut tc = net.host().command("tc");
        tc.args(["qdisc", "del", "dev", "eth0", "clsact"]);
        tc
    } else {
        let mut bpftool = net.host().command("bpftool");
        bpftool.args(["link", "detach", "pinned"]).arg(pin);
        bpftool
    };
    let done = command.stdout(Stdio::null()).status();
    assert!(done.expect("it is there").success());
    assert_eq!(egress_programs(net), [""; 0]);
}

fn has_links(net: &Net) -> bool {
    use aya::programs::{SchedClassifier, TcAttachType};
    net.host().inside(|| SchedClassifier::query_tcx("eth0", TcAttachType::Egress)).is_ok()
}
