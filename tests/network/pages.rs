//! Somebody's million goes in pages: between two of them others are served. Answers are counted, and waits compared with
//! the whole, so that no machine is too slow for this. Time without a processor does not count, so that none is too busy.

use std::fmt::Write;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::thread;
use std::time::{Duration, Instant};

use harness::{ATTACKER, BYSTANDER, Net, Talk, children_of, is_error};
use serde_json::{Value, json};

/// So many others must be served meanwhile, at least. There are hundreds of pages.
const SERVED: usize = 20;

/// Nobody waits for so large a part of what somebody else asked for, however fast the machine is.
const A_THIRD: f64 = 1.0 / 3.0;

#[test]
fn reload_of_millions_delays_no_one() {
    let mut net = Net::new();
    let (text, sample) = spread(1_500_000);
    net.file("crowd.txt", &text);
    net.start("durable: false");
    net.configure("durable: false\nlists: [{name: crowd, path: $HOME/crowd.txt, include_special: true}]");
    others_during(&net, "Reload", json!({})).were_served();
    assert!(net.send_from(&sample).is_empty(), "all are dropped");
    net.configure("durable: false");
    others_during(&net, "Reload", json!({})).were_served();
    assert_eq!(net.send_from(&sample).len(), sample.len(), "none is dropped");
    net.expect(ATTACKER).passes();
}

#[test]
fn reload_removing_a_consecutive_million_delays_no_one() {
    let mut net = Net::new();
    let mut text = String::with_capacity(16 << 20);
    for host in 0..1_000_000 {
        writeln!(text, "11.{}.{}.{}", host >> 16, host >> 8 & 255, host & 255)
            .expect("a string can be written");
    }
    net.file("crowd.txt", &text);
    net.start("durable: false\nlists: [{name: crowd, path: $HOME/crowd.txt}]");
    net.expect_each(["11.0.0.0", "11.15.66.63"]).dropped();
    net.configure("durable: false");
    others_during(&net, "Reload", json!({})).were_served();
    net.expect_each(["11.0.0.0", "11.15.66.63"]).passes();
}

#[test]
fn flush_of_two_million_delays_no_one() {
    let net = Net::with_filterd("durable: false");
    let (text, sample) = spread(2_000_000);
    net.filterd_reading(["add", "-", "--list", "crowd"], &text).succeeds();
    others_during(&net, "Flush", json!({ "list": "crowd" })).were_served();
    assert_eq!(net.send_from(&sample).len(), sample.len(), "none is dropped");
}

#[test]
fn growth_of_large_ipv6_table_delays_no_one() {
    let net = Net::with_filterd("durable: false");
    let net64 = |number: u32| format!("2001:{:x}:{:x}:1::/64", 0x1000 + (number >> 16), number & 0xffff);
    let text: String = (0..500_000).map(|number| net64(number) + "\n").collect();
    net.filterd_reading(["add", "-", "--list", "crowd"], &text).succeeds();
    // As many more as fit, so that the next ones make the table grow. So few as are let into its margin would not even wait for that.
    let room = table(&net, "capacity") - table(&net, "entries");
    let text: String = (500_000..500_000 + room as u32 - 5).map(|number| net64(number) + "\n").collect();
    net.filterd_reading(["add", "-", "--list", "crowd"], &text).succeeds();
    let before = table(&net, "bytes");
    let more: Vec<_> = (1_500_000..1_500_500).map(net64).collect();
    let others = others_during(&net, "Add", json!({ "targets": more, "list": "crowd" }));
    assert!(table(&net, "bytes") > before, "the table grew");
    others.were_served();
    let inside = |number| net64(number).replace("::/64", "::9");
    net.expect_each(
        [inside(0), inside(500_000 + room as u32 - 6), inside(1_500_499)].iter().map(String::as_str),
    )
    .dropped();
}

/// So many addresses all over the internet, a line each and in order, and some of them.
fn spread(count: u32) -> (String, Vec<IpAddr>) {
    let address = |number: u32| Ipv4Addr::from_bits(0x0100_0000 + number * (2_000_000_000 / count));
    let mut text = String::with_capacity(count as usize * 16);
    for number in 0..count {
        writeln!(text, "{}", address(number)).expect("a string can be written");
    }
    let some = (0..count).step_by(count as usize / 2000);
    (text, some.map(|number| address(number).into()).collect())
}

/// What others got while something large was done.
#[derive(Clone, Copy, Debug)]
struct Others {
    /// How often another client got a target in and out again.
    served: usize,
    /// The longest that it waited once for anything but a processor, of all the time that it took.
    longest_wait: f64,
}

impl Others {
    /// They were served again and again, not before it and after it only.
    #[track_caller]
    fn were_served(self) {
        println!("{self:?}");
        assert!(self.served >= SERVED && self.longest_wait < A_THIRD, "{self:?}");
    }
}

/// Asks for something large, and meanwhile for something small as often as it is answered.
fn others_during(net: &Net, method: &str, parameters: Value) -> Others {
    let socket = net.home().socket();
    let (mut one, mut other) = (Talk::to(&socket), Talk::to(&socket));
    thread::scope(|scope| {
        let begun = Instant::now();
        let doing = scope.spawn(move || one.ask(method, &parameters));
        let (mut served, mut longest) = (0, Duration::ZERO);
        while !doing.is_finished() {
            let (asked, before) = (Instant::now(), without_a_processor(net));
            let answers = [other.add(BYSTANDER, "others"), other.remove(BYSTANDER)];
            assert!(!answers.iter().any(is_error), "{answers:?}");
            let waited = asked.elapsed();
            longest = longest.max(waited.saturating_sub(without_a_processor(net).saturating_sub(before)));
            served += usize::from(!doing.is_finished());
        }
        let longest_wait = longest.as_secs_f64() / begun.elapsed().as_secs_f64();
        let done = doing.join().expect("clients do not panic");
        assert!(!is_error(&done), "{done}");
        Others { served, longest_wait }
    })
}

/// How long the threads of filterd and of this test were ready to run, and others ran.
fn without_a_processor(net: &Net) -> Duration {
    let daemon = net.daemon().id();
    let processes = children_of(daemon).expect("it runs").into_iter().chain([daemon, std::process::id()]);
    let delay = |thread: fs::DirEntry| {
        // Nanoseconds on a processor, and nanoseconds before one was free. A thread may have ended meanwhile.
        let said = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        said.split_whitespace()
            .nth(1)
            .and_then(|delay| delay.parse().ok())
            .map_or(Duration::ZERO, Duration::from_nanos)
    };
    let threads = processes.filter_map(|process| fs::read_dir(format!("/proc/{process}/task")).ok());
    threads.flatten().flatten().map(delay).sum()
}

/// A number of the table of IPv6.
fn table(net: &Net, number: &str) -> u64 {
    let status = net.filterd(["status", "--json"]).succeeds().json();
    status["tables"][2][number].as_u64().expect("a number")
}
