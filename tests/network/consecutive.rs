//! Addresses in a row find their places as well as any others, whatever key a table gets.

use std::fmt::Write;

use harness::{BYSTANDER6, Net, few_or};
use nix::sys::signal::Signal;

/// Just as many as a table of this size may hold.
const CROWD: u32 = 125_000;

#[test]
fn consecutive_ipv6_addresses_need_no_extra_room() {
    let mut net = Net::new();
    let mut text = String::new();
    for number in 0..CROWD {
        writeln!(text, "2001:db8:bad::{:x}:{:x}", number >> 16, number & 0xffff).expect("it can be written");
    }
    net.file("row.txt", &text);
    let config = "lists: [{name: row, path: $HOME/row.txt}]";
    net.start(config);
    // Each start has other keys, and some keys refused addresses in a row.
    for start in 0..few_or(5, 20) {
        let status = net.filterd(["status", "--json"]).succeeds().json();
        let table = &status["tables"][2];
        assert_eq!(table["entries"], CROWD, "{table}");
        let bytes = table["bytes"].as_u64().expect("a number");
        assert!(bytes < 12 * u64::from(CROWD), "start {start}: {table}");
        net.expect_each(["2001:db8:bad::", "2001:db8:bad::1:e847"]).dropped();
        net.expect_each(["2001:db8:bad::1:e848", "2001:db8:bad::2:0", BYSTANDER6]).passes();
        net.end(Signal::SIGKILL);
        net.start(config);
    }
}
