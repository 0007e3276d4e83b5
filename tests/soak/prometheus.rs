//! A real Prometheus that scrapes each second, while filterd is reloaded, killed and succeeded: what the kernel counts never
//! goes down, what begins anew is seen to, nothing is missing but while nobody runs, and alerts can be evaluated.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use harness::{ATTACKER, BYSTANDER, Frame, Net, Prometheus, until};
use nix::sys::signal::Signal;

use crate::rounds;

const CONFIG: &str = "metrics: {listen: 127.0.0.1:9477}\nblock: [203.0.113.7]";

const DROPPED: &str = "sum(filterd_packets_total{verdict=\"drop\"})";

/// In each part of a round so many frames come.
const FRAMES: u64 = 25;

/// How long a part of a round goes on when soaking: a minute for all four.
const PART: Duration = Duration::from_secs(15);

/// Scrapes that nobody answered.
const MISSED: &str = "sum(count_over_time(up[1h])) - sum(sum_over_time(up[1h]))";

#[test]
fn prometheus() {
    let count = rounds(1, 10);
    let mut net = Net::with_filterd(CONFIG);
    let prometheus = Prometheus::watching(&net, "127.0.0.1:9477");
    let tells = |net: &Net, question: &str| prometheus.tells(net, question);
    until(|| tells(&net, "up") == Some(1.0), "it scrapes");
    let mut sent = 0;
    let mut listed = |net: &Net, before: u64| {
        frames(net);
        net.expect(BYSTANDER).passes();
        sent += before + FRAMES;
        until(|| tells(net, DROPPED) == Some(sent as f64), "it has what was on the wire, and no more");
        if count > 1 {
            sleep(PART);
        }
        sent
    };
    for round in 0..count {
        let missed = tells(&net, MISSED);
        listed(&net, 0);
        for host in 0..10 {
            net.configure(&format!("{CONFIG}\nallow: [198.18.{round}.{host}]"));
            net.filterd(["reload"]).succeeds();
        }
        listed(&net, 0);
        assert_eq!(tells(&net, MISSED), missed, "whoever looks notices nothing of a reload");
        net.succeed(CONFIG);
        listed(&net, 0);
        net.end(Signal::SIGKILL);
        until(|| tells(&net, "up") == Some(0.0), "that nobody runs is seen");
        let knows = |alert: &[String; 3]| alert[0] == "FilterdDown" && alert[2] != "inactive";
        until(|| prometheus.alerts(&net).iter().any(knows), "an alert knows it");
        net.start(CONFIG);
        until(|| tells(&net, "up") == Some(1.0), "it scrapes again");
    }
    // The filter that is left counts on, and whoever runs next tells it.
    net.end(Signal::SIGKILL);
    frames(&net);
    net.start(CONFIG);
    let sent = listed(&net, FRAMES);
    let alerts = prometheus.alerts(&net);
    let rules = fs::read_to_string(Prometheus::rules()).expect("the tree has them");
    assert_eq!(alerts.len(), rules.matches("- alert:").count(), "{alerts:?}");
    assert!(alerts.iter().all(|[_, health, _]| health == "ok"), "{alerts:?}");
    for counter in ["filterd_packets_total", "filterd_interface_packets_total"] {
        let resets = tells(&net, &format!("sum(resets({counter}[1h]))"));
        assert_eq!(resets, Some(0.0), "{counter}: the kernel counts on, whoever runs");
    }
    let anew = tells(&net, "sum(resets(filterd_list_packets_total{list=\"config\"}[1h]))");
    assert!(anew >= Some(count as f64), "{anew:?}: that a list is counted anew by the next one is seen");
    println!(
        "{count} times ten reloads, a take-over and a kill -9: {} scrapes, {} of them while nobody ran or listened; {sent} \
         frames, each counted once",
        tells(&net, "sum(count_over_time(up[1h]))").unwrap_or_default(),
        tells(&net, MISSED).unwrap_or_default(),
    );
}

/// Some that are dropped.
fn frames(net: &Net) {
    net.expect_each((0..FRAMES).map(|_| Frame::from(ATTACKER))).dropped();
}
