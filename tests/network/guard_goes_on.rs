//! The guard beyond the filterd that found it: after a restart, a kill and a take-over, before anybody asks again.

use harness::limited::LimitedListener;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use harness::{ATTACKER, GATEWAY, HOST, Net, Traffic};
use nix::sys::signal::Signal;

/// Long enough for any machine.
const SOON: Duration = Duration::from_secs(30);

const EVERYTHING: &str = "block: [0.0.0.0/0, \"::/0\"]";

/// `ssh HOST filterd add …` from the attacker's host: both ends of its connection, and what sshd says of it.
fn asks_by_ssh(net: &Net) -> ([TcpStream; 2], String) {
    let sshd = net.host().inside(|| TcpListener::bind((HOST, 22)).expect("nobody else listens"));
    net.peer().ip(&format!("route add {HOST}/32 dev eth0 src {ATTACKER}"));
    let open = net.peer().inside(|| TcpStream::connect((HOST, 22)).expect("it listens"));
    let (accepted, from) = sshd.limited_accept().expect("it came");
    ([open, accepted], format!("SSH_CONNECTION={ATTACKER} {} {HOST} 22", from.port()))
}

#[test]
fn ssh_peer_stays_guarded_after_restart() {
    let mut net = Net::new();
    net.lives_with_its_own_run();
    net.start("");
    let (connection, told) = asks_by_ssh(&net);
    net.home().filterd_where(&told, ["add", "203.0.113.0/24"]).succeeds().says("still pass: 203.0.113.7");
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        net.end(signal);
        net.start("block: [203.0.113.7]");
        net.expect("203.0.113.8").dropped();
        net.expect(ATTACKER).passes();
    }
    net.succeed("block: [203.0.113.7]");
    net.filterd(["add", ATTACKER]).exits(5).complains("a user of filterd is logged in from it by SSH");
    net.expect(ATTACKER).passes();
    net.end(Signal::SIGKILL);
    drop(connection);
    // Of somebody who is gone nothing is believed.
    net.start("block: [203.0.113.7]");
    net.expect(ATTACKER).then_within(SOON).dropped();
}

/// Not one frame of the gateway is dropped, and of nobody else one passes, while one filterd follows another.
#[test]
fn a_take_over_guards_before_it_publishes_anything() {
    let mut net = Net::with_filterd(EVERYTHING);
    let traffic = Traffic::begin(net.host(), net.peer(), ATTACKER, GATEWAY);
    for _ in 0..3 {
        net.succeed(EVERYTHING);
    }
    traffic.end().is_flawless();
    net.filterd(["add", GATEWAY]).exits(5).complains("a gateway of this host");
}
