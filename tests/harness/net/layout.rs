//! How host and peer are joined, and what they are called, as `ip` is told: a line each.

use crate::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, GATEWAY, GATEWAY6, HOST, HOST6, Namespace};

const HOST_MAC: &str = "02:00:00:00:00:01";
const PEER_MAC: &str = "02:00:00:00:00:02";

/// Said inside the host: so many links `eth0`, `eth1`, … to this peer.
pub fn of_host(links: usize, peer: &Namespace) -> String {
    let joined: String = (0..links).map(|link| join(link, peer)).collect();
    joined + &raised(links) + &settled(HOST, HOST6, PEER_MAC)
}

/// Said inside the peer.
pub fn of_peer(links: usize) -> String {
    raised(links) + &settled(GATEWAY, GATEWAY6, HOST_MAC) + &visitors()
}

fn raised(links: usize) -> String {
    (0..links).map(|link| format!("link set eth{link} up\n")).collect()
}

/// A veth pair with one queue, so that frames keep their order.
fn join(link: usize, peer: &Namespace) -> String {
    let (peer, one) = (peer.name(), "numtxqueues 1 numrxqueues 1");
    format!(
        "link add eth{link} {one} address {HOST_MAC} type veth peer name eth{link} netns {peer} {one} address {PEER_MAC}\n"
    )
}

/// Gives the end `eth0` its addresses, and a way to everywhere else that asks nobody for directions.
fn settled(v4: &str, v6: &str, neighbour: &str) -> String {
    let (next, next6) = if v4 == HOST { (GATEWAY, GATEWAY6) } else { (HOST, HOST6) };
    format!(
        "link set lo up\n\
         addr add {v4}/24 dev eth0\n\
         addr add {v6}/64 dev eth0 nodad\n\
         neigh add {next} lladdr {neighbour} dev eth0 nud permanent\n\
         neigh add {next6} lladdr {neighbour} dev eth0 nud permanent\n\
         route add default via {next}\n\
         route add ::/0 via {next6}\n"
    )
}

/// Those whom the peer speaks for.
fn visitors() -> String {
    let v4 = [ATTACKER, BYSTANDER].map(|own| format!("addr add {own}/32 dev eth0\n"));
    let v6 = [ATTACKER6, BYSTANDER6].map(|own| format!("addr add {own}/128 dev eth0 nodad\n"));
    [v4, v6].concat().concat()
}
