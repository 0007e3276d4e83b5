//! Both families at once: none waits for the other's table.

use std::fmt::Write;
use std::net::IpAddr;

use harness::{BYSTANDER, BYSTANDER6, Net, Random};

#[test]
fn many_of_both_families_go_in_one_command() {
    let net = Net::with_filterd("");
    let (four, six) = (Random(21).addresses(100_000), networks(5_000));
    net.filterd_reading(["add", "-"], &(lines(&four) + &lines(&six))).succeeds();
    all_are_dropped(&net, &[&four[..2000], &six].concat());
    let tables = net.filterd(["status", "--json"]).succeeds().json()["tables"].clone();
    assert_eq!((&tables[0]["entries"], &tables[2]["entries"]), (&100_000.into(), &5_000.into()), "{tables}");
}

#[test]
fn large_ipv4_list_does_not_delay_ipv6() {
    let net = Net::with_filterd("");
    let (four, six) = (Random(22).addresses(100_000), networks(500));
    net.filterd_reading(["add", "-"], &lines(&four)).succeeds();
    net.filterd_reading(["add", "-", "--list", "six"], &lines(&six)).succeeds();
    all_are_dropped(&net, &[&four[..2000], &six].concat());
    net.filterd(["flush", "--list", "six"]).succeeds();
    assert_eq!(net.send_from(&six).len(), six.len());
}

#[test]
fn many_of_both_families_leave_in_one_command() {
    let mut net = Net::new();
    let (four, six) = (Random(23).addresses(100_000), networks(5_000));
    net.file("both.txt", &(lines(&six) + &lines(&four)));
    net.start("lists: [{name: both, path: $HOME/both.txt, include_special: true}]");
    all_are_dropped(&net, &[&four[..2000], &six].concat());
    net.file("both.txt", &(lines(&six[1..]) + &lines(&four[..1])));
    net.filterd(["reload", "--accept", "both"]).succeeds();
    net.expect_each([four[0], six[1], six[4_999]]).dropped();
    net.expect_each([four[1], four[99_999], six[0]]).passes();
}

/// Single addresses, one in each of so many /64s in a row.
fn networks(count: u32) -> Vec<IpAddr> {
    let address = |number: u32| format!("2001:db8:{:x}:{:x}::7", 0x100 + (number >> 16), number & 0xffff);
    (0..count).map(|number| address(number).parse().expect("an address")).collect()
}

fn lines(addresses: &[IpAddr]) -> String {
    addresses.iter().fold(String::new(), |mut text, address| {
        writeln!(text, "{address}").expect("a string can be written");
        text
    })
}

#[track_caller]
fn all_are_dropped(net: &Net, sources: &[IpAddr]) {
    let passed = net.send_from(sources);
    assert!(passed.is_empty(), "{} of {} passed", passed.len(), sources.len());
    net.expect_each([BYSTANDER, BYSTANDER6]).passes();
}
