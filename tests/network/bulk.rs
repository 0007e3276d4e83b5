//! Large lists: everybody on them is dropped, and nobody else.

use std::collections::HashSet;
use std::fmt::Write;
use std::net::IpAddr;
use std::thread;

use harness::{BYSTANDER, Net, Random};

#[test]
fn a_hundred_thousand_from_a_list_file() {
    let (listed, unlisted) = populations();
    let mut net = Net::new();
    net.file("drop.txt", &lines(&listed));
    net.start("lists: [{name: drop, path: $HOME/drop.txt, include_special: true}]");
    only_these_are_dropped(&net, &listed, &unlisted);
}

#[test]
fn a_hundred_thousand_from_standard_input() {
    let (listed, unlisted) = populations();
    let net = Net::with_filterd("");
    assert_eq!(net.send_from(&listed).len(), listed.len(), "all of them arrive before");
    let reply = net.filterd_reading(["add", "-", "--json"], &lines(&listed)).succeeds().json();
    assert_eq!(reply["entered"], listed.len());
    only_these_are_dropped(&net, &listed, &unlisted);
    let (gone, kept) = listed.split_at(listed.len() / 2);
    net.filterd_reading(["remove", "-"], &lines(gone)).succeeds();
    only_these_are_dropped(&net, kept, gone);
    net.filterd(["flush"]).succeeds();
    assert_eq!(net.send_from(&listed).len(), listed.len(), "all of them arrive again");
}

#[test]
pub(super) fn growing_table_drops_exactly_the_listed() {
    let mut all = Random(4).addresses(102_000);
    let (unlisted, listed) = (all.split_off(101_000), all.split_off(100_000));
    let net = Net::with_filterd("");
    net.filterd_reading(["add", "-"], &lines(&listed)).succeeds();
    let home = net.home();
    thread::scope(|scope| {
        let growing = scope.spawn(|| {
            for part in all.chunks(20_000) {
                // Beside the flood an emulated guest has little time left for filterd.
                home.filterd_reading(["add", "-", "--timeout", "1min"], &lines(part)).succeeds();
            }
        });
        while !growing.is_finished() {
            only_these_are_dropped(&net, &listed, &unlisted);
        }
    });
    only_these_are_dropped(&net, &[listed, all].concat(), &unlisted);
}

#[test]
fn loaded_entries_equal_listed_ones() {
    let listed = Random(3).addresses(20_000);
    let net = Net::with_filterd("");
    net.filterd_reading(["add", "-"], &lines(&listed)).succeeds();
    let told = net.filterd(["list", "--json"]).succeeds().json_lines();
    let told: HashSet<String> =
        told.iter().map(|line| line["target"].as_str().expect("a target").to_owned()).collect();
    assert_eq!(told, listed.iter().map(IpAddr::to_string).collect());
}

#[test]
fn ten_thousand_ipv6_networks_of_mixed_lengths() {
    let mut random = Random(6);
    let networks: Vec<(String, IpAddr)> = (0..10_000).map(|_| network(&mut random)).collect();
    let text: String = networks.iter().fold(String::new(), |text, (network, _)| text + network + "\n");
    let net = Net::with_filterd("");
    net.filterd_reading(["add", "-"], &text).succeeds();
    let inside: Vec<IpAddr> = networks.iter().map(|(_, address)| *address).collect();
    assert_eq!(net.send_from(&inside), HashSet::new());
    let unlisted: Vec<IpAddr> = inside.iter().map(|address| elsewhere(*address)).collect();
    assert_eq!(net.send_from(&unlisted).len(), unlisted.len());
}

/// A hundred thousand to block, and twice as many others.
fn populations() -> (Vec<IpAddr>, Vec<IpAddr>) {
    let mut all = Random(2).addresses(300_000);
    let unlisted = all.split_off(100_000);
    (all, unlisted)
}

#[track_caller]
fn only_these_are_dropped(net: &Net, listed: &[IpAddr], unlisted: &[IpAddr]) {
    let through = net.send_from(listed);
    assert!(
        through.is_empty(),
        "{} listed sources passed, one of them {:?}",
        through.len(),
        through.iter().next()
    );
    let arrived = net.send_from(unlisted);
    let lost: Vec<_> = unlisted.iter().filter(|source| !arrived.contains(source)).collect();
    assert!(lost.is_empty(), "{} unlisted sources were dropped, one of them {:?}", lost.len(), lost[0]);
}

fn lines(addresses: &[IpAddr]) -> String {
    let mut text = String::with_capacity(addresses.len() * 16);
    for address in addresses {
        writeln!(text, "{address}").expect("a string can be written");
    }
    text
}

/// A prefix of one of five lengths within 2000::/4, and an address in it.
fn network(random: &mut Random) -> (String, IpAddr) {
    let length = [40, 48, 56, 64, 128][(random.number() % 5) as usize];
    let bits = u128::from(random.number()) << 64 | u128::from(random.number());
    let address = (bits >> 4) | 2 << 124;
    let network = address & (u128::MAX << (128 - length));
    (format!("{}/{length}", std::net::Ipv6Addr::from_bits(network)), IpAddr::V6(address.into()))
}

/// The same place in 3000::/4, where nobody is listed.
fn elsewhere(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() | 1 << 124).into()),
        IpAddr::V4(_) => address,
    }
}

#[test]
fn a_table_grows_while_others_add_and_remove() {
    let net = Net::with_filterd("durable: false");
    let addresses = Random(5).addresses(400_000);
    let lines: String = addresses.iter().map(|address| format!("{address}\n")).collect();
    let home = net.home();
    thread::scope(|scope| {
        scope.spawn(|| home.filterd_reading(["add", "-", "--list", "many"], &lines).succeeds());
        for turn in 0..200 {
            let address = format!("198.18.{}.{}", turn / 100, turn % 100);
            home.filterd(["add", &address]).succeeds();
            if turn % 2 == 1 {
                home.filterd(["remove", &address]).succeeds();
            }
        }
    });
    let status = net.filterd(["status", "--json"]).succeeds().json();
    let listed = net.filterd(["list", "--json"]).succeeds().json_lines().len();
    assert_eq!(status["tables"][0]["entries"], listed, "{status}");
    let passed = net.send_from(&addresses[..4000]);
    assert!(passed.is_empty(), "{} of 4000 passed", passed.len());
    net.expect_each(["198.18.0.0", "198.18.1.98"]).dropped();
    net.expect_each(["198.18.0.1", "198.18.1.99", BYSTANDER]).passes();
    let log = net.daemon().log();
    assert!(log.matches("new table with room for").count() > 3, "{log}");
}
