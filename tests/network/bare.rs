//! Interfaces whose frames have no Ethernet header: they begin with the packet.

use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use harness::limited::LimitedCommand;
use harness::{
    ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, Frame, GATEWAY, HOST, Namespace, Net, Tun, Watching,
};
use serde_json::json;

/// FAULTS: generic XDP attached there, and dropped nothing.
#[test]
fn tun_drops_listed_sources_of_both_families() {
    let mut net = Net::new();
    let tun = Tun::new(net.host(), "tun0");
    net.start("interfaces: [tun0]\nblock: [203.0.113.0/24]");
    net.filterd(["add", ATTACKER6]).succeeds();
    let packets: Vec<Frame> = [ATTACKER, BYSTANDER, ATTACKER6, BYSTANDER6].map(Frame::from).into();
    assert_eq!(tun.arrivals(&packets), [false, true, false, true]);
    assert_eq!((net.counted("ipv4_prefix"), net.counted("ipv6_other")), (1, 1));
    let tun0 = json!({"name": "tun0", "mode": net.tc_mode(), "reason": "its frames have no Ethernet header"});
    net.filterd(["status", "--json"]).succeeds().has(json!({"interfaces": [tun0]}));
    net.filterd(["remove", ATTACKER6]).succeeds();
    assert_eq!(tun.arrivals(&packets), [false, true, true, true]);
    net.stop();
    assert_eq!(tun.arrivals(&packets), [true; 4]);
}

/// Both kinds have a judge of their own, and a change holds for both when it is answered.
#[test]
fn tun_and_ethernet_are_filtered_together() {
    let mut net = Net::new();
    let tun = Tun::new(net.host(), "tun0");
    net.start("interfaces: [eth0, tun0]\nblock: [203.0.113.7]");
    for _ in 0..3 {
        net.filterd(["add", BYSTANDER]).succeeds();
        assert_eq!(tun.arrivals(&[BYSTANDER.into(), Frame::from(BYSTANDER).tcp(Frame::SYN)]), [false, false]);
        net.expect(BYSTANDER).dropped();
        net.filterd(["remove", BYSTANDER]).succeeds();
        assert_eq!(tun.arrivals(&[BYSTANDER.into(), ATTACKER.into()]), [true, false]);
        net.expect(BYSTANDER).passes();
    }
    net.configure("interfaces: [eth0, tun0]\nenforce: false\nblock: [203.0.113.7]");
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).passes();
    assert_eq!(tun.arrivals(&[ATTACKER.into()]), [true]);
}

/// Whoever watches sees frames as if they had an Ethernet header.
#[test]
fn drops_on_tun_are_watched() {
    let mut net = Net::new();
    let tun = Tun::new(net.host(), "tun0");
    net.start("interfaces: [tun0]\nblock: [203.0.113.7]");
    net.filterd(["add", ATTACKER6]).succeeds();
    let mut watching = Watching::of(&net, &["--drops"]);
    assert_eq!(tun.arrivals(&[ATTACKER.into(), ATTACKER6.into()]), [false, false]);
    for source in [ATTACKER, ATTACKER6] {
        let drop = watching.sees_a_drop();
        let told = ["source", "protocol", "interface"].map(|field| drop[field].as_str());
        assert_eq!(told, [source, "udp", "tun0"].map(Some), "{drop}");
        assert_eq!((drop["source_port"].as_u64(), drop["port"].as_u64()), (Some(54_321), Some(53)), "{drop}");
    }
}

#[test]
fn native_mode_is_refused_on_tun() {
    let net = Net::new();
    let _tun = Tun::new(net.host(), "tun0");
    let refused = net.another_filterd("interfaces: [tun0]\nmode: native").exits(8);
    refused.complains("its frames have no Ethernet header").complains("mode: auto");
}

/// Tunnels whose kernels receive a packet inside another: the outer one comes over `eth0`, which is not filtered here.
#[test]
fn tunnels_drop_listed_inner_sources() {
    for (kind, words, protocol, listed, other) in [
        ("ipip", "type ipip local 198.19.255.1 remote 198.19.255.254", 4, ATTACKER, BYSTANDER),
        ("sit", "type sit local 198.19.255.1 remote 198.19.255.254", 41, ATTACKER6, BYSTANDER6),
        ("gre", "type gre local 198.19.255.1 remote 198.19.255.254", 47, ATTACKER, BYSTANDER),
    ] {
        let mut net = Net::new();
        let mut added = net.host().command("ip");
        added.args(["link", "add", "tunnel0"]).args(words.split(' '));
        if !added.stderr(Stdio::null()).limited_status().expect("ip can be run").success() {
            println!("SKIPPED {kind}: this kernel has none");
            continue;
        }
        net.host().ip("link set tunnel0 up");
        net.start(&format!("interfaces: [tunnel0]\nblock: [{listed}]"));
        let before = net.counted("unlisted");
        let within = |source: &str| {
            let mut content = if kind == "gre" { vec![0, 0, 8, 0] } else { Vec::new() };
            content.extend(&Frame::from(source).bytes([6; 6])[14..]);
            Frame::from(GATEWAY).transport(protocol, content)
        };
        // The taps see the outer packet, so the inner ones are counted.
        let _outer = net.arrivals(0, &[within(listed), within(other)]);
        let dropped = net.counted(if listed == ATTACKER { "ipv4_address" } else { "ipv6_other" });
        assert_eq!((dropped, net.counted("unlisted") - before), (1, 1), "{kind}");
    }
}

/// The peer's `wg0` leads to the host's. Outer packets come over `eth0`, which is not filtered here.
#[test]
fn wireguard_drops_listed_inner_sources_and_destinations() {
    let mut net = Net::new();
    let mut added = net.host().command("ip");
    added.args(["link", "add", "wg0", "type", "wireguard"]);
    if !added.stderr(Stdio::null()).limited_status().expect("ip can be run").success() {
        println!("SKIPPED WireGuard: this kernel has none");
        return;
    }
    net.peer().ip("link add wg0 type wireguard");
    let ends = [net.host(), net.peer()];
    let keys = ends.map(|end| Key::new(end, net.home().path(&format!("{}.key", end.name()))));
    for (end, (own, other, address)) in
        ends.into_iter().zip([(&keys[0], &keys[1], GATEWAY), (&keys[1], &keys[0], HOST)])
    {
        let file = own.file.display();
        let public = &other.public;
        done(end.command("wg").args(
            format!("set wg0 listen-port 51820 private-key {file} peer {public} allowed-ips 0.0.0.0/0,::/0 endpoint {address}:51820")
                .split(' '),
        ));
    }
    net.host().ip_all(&format!(
        "addr add 10.9.0.1/24 dev wg0\naddr add fd09::1/64 dev wg0 nodad\nlink set wg0 up\n\
         route replace {ATTACKER}/32 dev wg0\nroute replace {BYSTANDER}/32 dev wg0\n\
         route replace {ATTACKER6}/128 dev wg0\nroute replace {BYSTANDER6}/128 dev wg0\n"
    ));
    net.peer()
        .ip_all("link set wg0 up\nroute replace 10.9.0.0/24 dev wg0\nroute replace fd09::/64 dev wg0\n");
    let list = "outbound_errors: false\nlists: [{name: c2, path: $HOME/c2.txt, direction: both}]";
    net.file("c2.txt", &format!("{ATTACKER}\n{ATTACKER6}\n"));
    net.start(&format!("interfaces: [wg0]\n{list}"));
    for (own, listed, other) in [("10.9.0.1", ATTACKER, BYSTANDER), ("fd09::1", ATTACKER6, BYSTANDER6)] {
        let bound = |end: &Namespace, address: &'static str| {
            let socket = end.inside(move || UdpSocket::bind((address, 53))).expect("the address is there");
            socket.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout can be set");
            socket
        };
        let ours = bound(net.host(), own);
        let [listed_socket, other_socket] = [listed, other].map(|address| bound(net.peer(), address));
        // In order: what is dropped would have come first.
        for socket in [&listed_socket, &other_socket] {
            socket.send_to(b"in", (own, 53)).expect("it is sent");
        }
        let mut bytes = [0; 8];
        let (_, from) = ours.recv_from(&mut bytes).expect("who is not listed gets through");
        assert_eq!(from.ip().to_string(), other);
        for address in [listed, other] {
            ours.send_to(b"out", (address, 53)).expect("it is sent");
        }
        other_socket.recv_from(&mut bytes).expect("the answer gets through");
        listed_socket.set_nonblocking(true).expect("it can be");
        assert!(listed_socket.recv_from(&mut bytes).is_err(), "{listed}");
    }
    assert_eq!((net.counted("ipv4_address"), net.counted("ipv6_other"), net.counted("outbound")), (1, 1, 2));
}

/// A key of WireGuard's, in a file.
struct Key {
    file: PathBuf,
    public: String,
}

impl Key {
    fn new(end: &Namespace, file: PathBuf) -> Self {
        let script = format!("umask 077; wg genkey >{0} && wg pubkey <{0}", file.display());
        let made = end.command("sh").args(["-c", &script]).limited_output().expect("sh can be run");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Self { file, public: String::from_utf8_lossy(&made.stdout).trim().to_owned() }
    }
}

fn done(command: &mut Command) {
    assert!(command.limited_status().expect("it can be run").success(), "{command:?}");
}

/// What this host sends over tun begins with the packet, too.
#[test]
fn own_flows_over_tun_get_replies() {
    let mut net = Net::new();
    let tun = Tun::new(net.host(), "tun0");
    net.host().ip_all(&format!(
        "addr add 10.9.0.1/24 dev tun0\nroute replace {ATTACKER}/32 dev tun0 src 10.9.0.1\n"
    ));
    net.start("interfaces: [tun0]\nmatch: new\nblock: [203.0.113.7]");
    let asker = net.host().entered(|| UdpSocket::bind(("10.9.0.1", 0))).expect("there are ports");
    asker.connect((ATTACKER, 53)).expect("there is a way");
    asker.send(b"who?").expect("it is sent");
    let ours = asker.local_addr().expect("it is bound").port();
    let from = |theirs: u16, ours: u16| {
        let mut datagram = [theirs.to_be_bytes(), ours.to_be_bytes(), 9_u16.to_be_bytes(), [0; 2]].concat();
        datagram.push(b'I');
        Frame::from(ATTACKER).to("10.9.0.1").transport(17, datagram)
    };
    assert_eq!(tun.arrivals(&[from(53, ours), from(54, ours), from(53, 7)]), [true, false, false]);
    net.stop();
}
