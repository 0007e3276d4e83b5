//! What was sent is what is told: each counter, in packets and bytes, by interface, through restarts.

use std::time::{Duration, Instant};

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Frame, Net};
use nix::sys::signal::Signal;
use serde_json::Value;

const CONFIG: &str = "interfaces: [eth0, eth1]\nblock: [203.0.113.7, 198.18.0.0/16, \"2001:db8:bad::/48\"]";

/// Frames of a known mix, of many lengths: listed addresses, prefixes, IPv6, and unlisted ones.
fn mix(count: usize) -> Vec<Frame> {
    let one = |number: usize| {
        let frame = match number % 10 {
            0..4 => Frame::from(ATTACKER),
            4..6 => Frame::from("198.18.3.4"),
            6 => Frame::from(ATTACKER6),
            _ => Frame::from(BYSTANDER),
        };
        frame.payload(18 + number % 1200)
    };
    (0..count).map(one).collect()
}

fn bytes(frames: &[Frame], is_meant: impl Fn(usize) -> bool) -> u64 {
    let meant = frames.iter().enumerate().filter(|(number, _)| is_meant(number % 10));
    meant.map(|(_, frame)| frame.bytes([0; 6]).len() as u64).sum()
}

/// Packets and bytes of a reason's drops in a row of `stats`.
fn told(rows: &Value, reason: &str, verdict: &str, interface: Option<&str>) -> (u64, u64) {
    let is_meant = |row: &&Value| {
        row["reason"] == reason
            && row["verdict"] == verdict
            && interface.is_none_or(|name| row["interface"] == name)
    };
    let rows: Vec<_> = rows.as_array().expect("there are rows").iter().filter(is_meant).collect();
    assert!(rows.len() <= 1, "{rows:?}");
    let number = |row: &Value, field: &str| row[field].as_u64().expect("it is a number");
    rows.first().map_or((0, 0), |row| (number(row, "packets"), number(row, "bytes")))
}

fn of_ipv6(rows: &Value, verdict: &str, interface: Option<&str>) -> (u64, u64) {
    told(rows, "ipv6_other", verdict, interface)
}

#[test]
fn counters_are_exact_through_kill_and_restart() {
    let mut net = Net::with_links(2);
    net.start(CONFIG);
    let (first, second) = (mix(7_000), mix(3_000));
    let arrived = [net.arrivals(0, &first), net.arrivals(1, &second)];
    let passed = arrived.iter().flatten().filter(|arrived| **arrived).count();
    assert_eq!(passed, 3_000);
    let began = net.filterd(["status", "--json"]).succeeds().json()["started"].as_u64().expect("a moment");
    let since = net.filterd(["stats", "--json"]).succeeds().json()["packets_since"].as_u64();
    assert!(since.is_some_and(|since| began.abs_diff(since) < 10), "{since:?} of {began}");
    let holds = |net: &Net| {
        let stats = net.filterd(["stats", "--json"]).succeeds().json();
        assert_eq!(stats["packets_since"].as_u64(), since, "whoever has run since it was first attached");
        for (interface, frames) in [("eth0", &first), ("eth1", &second)] {
            let tenth = frames.len() as u64 / 10;
            let rows = &stats["interfaces"];
            let addresses = told(rows, "ipv4_address", "drop", Some(interface));
            assert_eq!(addresses, (4 * tenth, bytes(frames, |kind| kind < 4)), "{interface}");
            let prefixes = told(rows, "ipv4_prefix", "drop", Some(interface));
            assert_eq!(prefixes, (2 * tenth, bytes(frames, |kind| (4..6).contains(&kind))), "{interface}");
            assert_eq!(
                of_ipv6(rows, "drop", Some(interface)),
                (tenth, bytes(frames, |kind| kind == 6)),
                "{interface}"
            );
        }
        // The sum over interfaces is what the reason says, and nobody else has anything.
        let interfaces = stats["interfaces"].as_array().expect("there are interfaces");
        assert!(interfaces.iter().all(|row| row["interface"].is_string()), "{interfaces:?}");
        for reason in ["ipv4_address", "ipv4_prefix", "ipv6_other"] {
            let sum = |field: &str| {
                let rows =
                    interfaces.iter().filter(|row| row["reason"] == reason && row["verdict"] == "drop");
                rows.map(|row| row[field].as_u64().expect("it is a number")).sum::<u64>()
            };
            assert_eq!(
                told(&stats["reasons"], reason, "drop", None),
                (sum("packets"), sum("bytes")),
                "{reason}"
            );
        }
        // Beside them what the kernel on the other end says by itself: routers and groups that it asks for.
        let unlisted = told_packets(&stats["reasons"], "unlisted");
        assert!((3_000..3_050).contains(&unlisted), "{unlisted}");
    };
    holds(&net);
    net.end(Signal::SIGKILL);
    net.start(CONFIG);
    holds(&net);
    net.succeed(CONFIG);
    holds(&net);
}

fn told_packets(rows: &Value, reason: &str) -> u64 {
    let row = rows.as_array().expect("there are rows").iter().find(|row| row["reason"] == reason);
    row.expect("each reason has a row")["packets"].as_u64().expect("it is a number")
}

#[test]
fn would_drop_counts_bytes_and_interface() {
    let mut net = Net::with_links(2);
    net.start(&format!("{CONFIG}\nenforce: false"));
    let frames = mix(20);
    net.arrivals(1, &frames);
    let stats = net.filterd(["stats", "--json"]).succeeds().json();
    let expected = (8, bytes(&frames, |kind| kind < 4));
    assert_eq!(told(&stats["interfaces"], "ipv4_address", "would_drop", Some("eth1")), expected);
    assert_eq!(told(&stats["interfaces"], "ipv4_address", "would_drop", Some("eth0")), (0, 0));
    assert_eq!(told(&stats["reasons"], "ipv4_address", "would_drop", None), expected);
}

#[test]
fn status_shows_driver_and_kernel_counters() {
    let mut net = Net::with_links(2);
    net.start("interfaces: [eth0, eth1]\nblock: [203.0.113.7]");
    let packets = |net: &Net| {
        let status = net.filterd(["status", "--json"]).succeeds().json();
        ["eth0", "eth1"].map(|name| {
            let interfaces = status["interfaces"].as_array().expect("there are interfaces");
            let one = interfaces.iter().find(|one| one["name"] == name).expect("it is filtered");
            assert_eq!(one["driver"], "veth");
            assert!(one["up_since"].as_u64() > Some(1_700_000_000));
            one["received"]["kernel_rx_packets"].as_u64().expect("the kernel counts")
        })
    };
    let before = packets(&net);
    net.arrivals(1, &vec![Frame::from(BYSTANDER); 500]);
    let after = packets(&net);
    assert!(after[1] >= before[1] + 500, "{before:?} {after:?}");
    // Beside it the kernel on the other end says something by itself.
    assert!(after[0] < before[0] + 100, "{before:?} {after:?}");
    net.filterd(["status"])
        .succeeds()
        .says("Protected as configured: packets from 1 target on eth0, eth1 are dropped");
}

/// Between two looks, five to ten seconds apart, a tenth of what came each second is dropped.
#[test]
fn status_shows_packet_and_drop_rates() {
    let mut net = Net::with_links(2);
    net.start("interfaces: [eth0, eth1]\nblock: [203.0.113.7]");
    let rates = |net: &Net| {
        let status = net.filterd(["status", "--json"]).succeeds().json();
        ["eth0", "eth1"].map(|name| {
            let interfaces = status["interfaces"].as_array().expect("there are interfaces");
            let one = interfaces.iter().find(|one| one["name"] == name).expect("it is filtered");
            ["packets_per_second", "drops_per_second"].map(|field| one[field].as_f64().unwrap_or(0.0))
        })
    };
    let begun = Instant::now();
    let mut told = rates(&net);
    let mut sent = 0.0;
    while told[1][1] == 0.0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{told:?}");
        net.arrivals(1, &[vec![Frame::from(ATTACKER); 10], vec![Frame::from(BYSTANDER); 90]].concat());
        // And one behind them, by which the harness knows that they are through.
        sent += 101.0;
        told = rates(&net);
    }
    let [[_, none], [received, dropped]] = told;
    assert_eq!(none, 0.0, "nothing of it came in by the other one: {told:?}");
    // No more than all that was sent, over no less than the shortest time of which a rate is told.
    assert!(received + 1.0 >= dropped * 9.0 && received <= (sent + 100.0) * 2.0, "{told:?} of {sent}");
    net.filterd(["status"]).succeeds().says(" received/s, ").says(" to drop/s");
}
