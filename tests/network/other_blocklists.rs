//! Who else blocks by address, as `filterd doctor` finds it in the kernel. Only here: guests have neither.

use harness::home::binary;
use harness::{Namespace, Net, Reply};

fn doctor(host: &Namespace) -> Reply {
    let mut command = host.command(&binary().display().to_string());
    Reply::of(command.args(["doctor", "--no-config", "--iface", "eth0", "--socket", "/nowhere/control.sock"]))
}

fn nft(host: &Namespace, words: &str) -> Reply {
    Reply::of(host.command("nft").args(words.split(' '))).succeeds()
}

#[test]
fn a_set_of_nftables_is_told_with_the_command_that_takes_it_over() {
    let net = Net::new();
    let host = net.host();
    doctor(host).succeeds().is_silent_about("nftables");
    nft(host, "add table inet filter");
    nft(host, "add set inet filter ports { type inet_service ; }");
    doctor(host).succeeds().is_silent_about("nftables");
    nft(host, "add set inet filter bad { type ipv4_addr ; }");
    nft(host, "add element inet filter bad { 203.0.113.7 }");
    let told = doctor(host)
        .succeeds()
        .says("warn  blocklists")
        .says("table inet filter keeps sets of addresses: bad");
    told.says("-> nft -j list set inet filter bad | filterd import -");
}

#[test]
fn what_it_says_takes_over_a_set_does_so() {
    let net = Net::with_filterd("");
    let host = net.host();
    nft(host, "add table inet filter");
    nft(host, "add set inet filter bad { type ipv4_addr ; }");
    nft(host, "add element inet filter bad { 203.0.113.7 }");
    let said = nft(host, "-j list set inet filter bad").output;
    net.filterd_reading(["import", "-"], &said).succeeds();
    net.expect(harness::ATTACKER).dropped();
}

#[test]
fn a_set_of_ipset_is_told_with_how_many_it_has() {
    let net = Net::new();
    let host = net.host();
    let ipset = |words: &str| Reply::of(host.command("ipset").args(words.split(' '))).succeeds();
    ipset("create bans hash:ip");
    ipset("add bans 203.0.113.7");
    ipset("add bans 203.0.113.8");
    ipset("create doors bitmap:port range 1-100");
    let told = doctor(host).succeeds().says("warn  blocklists").is_silent_about("doors");
    told.says("ipset keeps addresses: bans (2)").says("-> ipset save bans | filterd import -");
}
