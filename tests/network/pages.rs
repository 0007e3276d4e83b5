//! Somebody's million goes in pages: between two of them others are served. Nothing here is timed; answers are counted.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::thread;

use harness::{ATTACKER, BYSTANDER, Net, Random, Talk, is_error};
use serde_json::{Value, json};

/// So many others must be served meanwhile, at least. There are hundreds of pages.
const SERVED: usize = 20;

#[test]
fn others_are_served_while_a_reload_adds_and_removes_a_million_and_a_half() {
    let mut net = Net::new();
    // Sorted, so that next to nothing is done between reading the file and changing the filter.
    let mut addresses = Random(31).addresses(1_500_000);
    addresses.sort();
    let text = addresses.iter().fold(String::new(), |mut text, address| {
        writeln!(text, "{address}").expect("a string can be written");
        text
    });
    net.file("crowd.txt", &text);
    net.start("durable: false");
    net.configure("durable: false\nlists: [{name: crowd, path: $HOME/crowd.txt}]");
    let served = served_while_reloading(&net, Some(&net.home().path("crowd.txt")));
    assert!(
        served >= SERVED,
        "{served} were served after the file had been read and before the reload was done"
    );
    assert!(net.send_from(&addresses[..2000]).is_empty(), "all are dropped");
    net.configure("durable: false");
    let served = served_while_reloading(&net, None);
    assert!(served >= SERVED, "{served} were served while a million and a half were released");
    assert_eq!(net.send_from(&addresses[..2000]).len(), 2000, "none is dropped");
    net.expect(ATTACKER).passes();
}

#[test]
fn others_are_served_while_a_reload_removes_a_million_in_a_row() {
    let mut net = Net::new();
    let mut text = String::with_capacity(16 << 20);
    for host in 0..1_000_000 {
        writeln!(text, "10.{}.{}.{}", host >> 16, host >> 8 & 255, host & 255)
            .expect("a string can be written");
    }
    net.file("crowd.txt", &text);
    net.start("durable: false\nlists: [{name: crowd, path: $HOME/crowd.txt}]");
    net.expect_each(["10.0.0.0", "10.15.66.63"]).dropped();
    net.configure("durable: false");
    let served = served_while_reloading(&net, None);
    assert!(served >= SERVED, "{served} were served while a million in a row were released");
    net.expect_each(["10.0.0.0", "10.15.66.63"]).passes();
}

#[test]
fn others_are_served_while_a_flush_releases_half_a_million() {
    let net = Net::with_filterd("durable: false");
    let addresses = Random(32).addresses(500_000);
    let text = addresses.iter().fold(String::new(), |text, address| text + &address.to_string() + "\n");
    net.filterd_reading(["add", "-", "--list", "crowd"], &text).succeeds();
    let served = served_while(&net, ("Flush", json!({ "list": "crowd" })), || true);
    assert!(served >= SERVED, "{served} were served while half a million were released");
    assert_eq!(net.send_from(&addresses[..2000]).len(), 2000, "none is dropped");
}

#[test]
fn others_are_served_while_a_large_ipv6_table_grows() {
    let net = Net::with_filterd("durable: false");
    let net64 = |number: u32| format!("2001:{:x}:{:x}:1::/64", 0x1000 + (number >> 16), number & 0xffff);
    let text: String = (0..500_000).map(|number| net64(number) + "\n").collect();
    net.filterd_reading(["add", "-", "--list", "crowd"], &text).succeeds();
    // As many more as fit, so that the next ones make the table grow, and nothing else is waited for. A few would not even
    // wait for that.
    let room = table(&net, "capacity") - table(&net, "entries");
    let text: String = (500_000..500_000 + room as u32 - 5).map(|number| net64(number) + "\n").collect();
    net.filterd_reading(["add", "-", "--list", "crowd"], &text).succeeds();
    let before = table(&net, "bytes");
    let more: Vec<_> = (1_500_000..1_500_500).map(net64).collect();
    let served = served_while(&net, ("Add", json!({ "targets": more, "list": "crowd" })), || true);
    assert!(table(&net, "bytes") > before, "the table grew");
    assert!(served >= SERVED, "{served} were served while the table grew");
    net.expect_each(["2001:1000:0:1::9", "2001:1009:27c0:1::9"]).dropped();
}

/// Counts the answers that others got between a reload's first page and its answer. It begins when the file was read.
fn served_while_reloading(net: &Net, file: Option<&Path>) -> usize {
    let is_open = |path: &Path| {
        let files = fs::read_dir(format!("/proc/{}/fd", net.daemon().id())).expect("it runs");
        files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|target| target == path))
    };
    let mut was_open = file.is_none();
    served_while(net, ("Reload", json!({})), || {
        let Some(path) = file else { return true };
        let is_open = is_open(path);
        was_open |= is_open;
        was_open && !is_open
    })
}

/// Counts how often another client got a target in and out again while this was done, from when `has_begun` says so.
fn served_while(net: &Net, request: (&str, Value), mut has_begun: impl FnMut() -> bool) -> usize {
    let socket = net.home().socket();
    let (mut one, mut other) = (Talk::to(&socket), Talk::to(&socket));
    let (method, parameters) = request;
    thread::scope(|scope| {
        let doing = scope.spawn(move || one.ask(method, &parameters));
        let mut served = 0;
        while !doing.is_finished() {
            let counts = has_begun();
            let answers = [other.add(BYSTANDER, "others"), other.remove(BYSTANDER)];
            assert!(!answers.iter().any(is_error), "{answers:?}");
            served += usize::from(counts && !doing.is_finished());
        }
        let done = doing.join().expect("clients do not panic");
        assert!(!is_error(&done), "{done}");
        served
    })
}

/// A number of the table of IPv6.
fn table(net: &Net, number: &str) -> u64 {
    let status = net.filterd(["status", "--json"]).succeeds().json();
    status["tables"][2][number].as_u64().expect("a number")
}
