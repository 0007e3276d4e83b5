//! Containers behind a bridge, with ports published as Docker does it: packets for them never meet the host's own rules for
//! what comes in. Whoever is blocked at the uplink reaches none of them.

use harness::limited::LimitedCommand;
use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

use harness::{ATTACKER, BYSTANDER, HOST, Namespace, Net};

/// The container's address, and the port that is published as its port 80.
const CONTAINER: &str = "172.18.0.2";
const PUBLISHED: u16 = 8080;

/// Nothing takes so long on a link that is up.
const SILENCE: Duration = Duration::from_secs(2);

/// A container's namespace on a bridge of the host, which forwards to it.
struct Container {
    service: UdpSocket,
    _namespace: Namespace,
}

impl Container {
    fn start(net: &Net) -> Self {
        let host = net.host();
        let namespace = Namespace::new(format!("{}-box", host.name()));
        host.ip_all(&format!(
            "link add docker0 type bridge\n\
             addr add 172.18.0.1/16 dev docker0\n\
             link set docker0 up\n\
             link add box type veth peer name eth0 netns {}\n\
             link set box master docker0 up\n",
            namespace.name()
        ));
        namespace.ip_all(&format!(
            "link set lo up\nlink set eth0 up\naddr add {CONTAINER}/16 dev eth0\nroute add default via 172.18.0.1\n"
        ));
        let rules = format!(
            "add table ip published; add chain ip published in {{ type nat hook prerouting priority dstnat; }}; \
             add rule ip published in udp dport {PUBLISHED} dnat to {CONTAINER}:80"
        );
        host.set("ipv4/ip_forward", "1");
        succeeds(host.command("nft").arg(rules));
        let service = namespace.inside(|| UdpSocket::bind((CONTAINER, 80))).expect("the address is its own");
        service.set_read_timeout(Some(SILENCE)).expect("a time that is not 0");
        Self { service, _namespace: namespace }
    }

    /// Does the container hear who sends to the published port from there?
    fn hears(&self, net: &Net, source: &str) -> bool {
        let sender = net.peer().inside(|| UdpSocket::bind((source, 0))).expect("the peer speaks for it");
        sender.send_to(source.as_bytes(), (HOST, PUBLISHED)).expect("the link is up");
        let mut heard = [0; 64];
        self.service.recv_from(&mut heard).is_ok_and(|(length, from)| {
            assert_eq!(from.ip().to_string(), source, "nobody else sends");
            &heard[..length] == source.as_bytes()
        })
    }
}

fn succeeds(command: &mut Command) {
    let output = command.limited_output().expect("it is there");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn blocked_source_reaches_no_container() {
    let net = Net::with_filterd("");
    let container = Container::start(&net);
    assert!(container.hears(&net, ATTACKER), "the port is published");
    net.filterd(["add", ATTACKER]).succeeds();
    assert!(!container.hears(&net, ATTACKER), "he is dropped before anything is translated");
    assert!(container.hears(&net, BYSTANDER), "and nobody else is");
    net.filterd(["remove", ATTACKER]).succeeds();
    assert!(container.hears(&net, ATTACKER));
}
