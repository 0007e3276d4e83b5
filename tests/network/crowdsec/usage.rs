//! What LAPI is told about the packets that its decisions have stopped.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{config, enforced, key, wait_for};
use harness::lapi::{LapiAnswer, LapiDecision, ScriptedLapi};
use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, Frame, Net, until};

/// Blocked by the configuration, of which CrowdSec knows nothing.
const OWN: &str = "192.0.2.9";

/// A stop gives LAPI two seconds. Machines are slow.
const STOPPED_WITHIN: Duration = Duration::from_secs(8);

/// The items of a report with this name and unit, by the value of their label.
fn items(report: &Value, name: &str, unit: &str) -> BTreeMap<String, u64> {
    let items =
        report["remediation_components"][0]["metrics"][0]["items"].as_array().expect("there are items");
    let meant = items.iter().filter(|item| item["name"] == name && item["unit"] == unit);
    let pair = |item: &Value| {
        let labels = item["labels"].as_object().expect("each item has labels");
        let label = labels.values().next().and_then(Value::as_str).unwrap_or_default();
        (label.to_owned(), item["value"].as_u64().expect("it is a count"))
    };
    meant.map(pair).collect()
}

fn map<const N: usize>(pairs: [(&str, u64); N]) -> BTreeMap<String, u64> {
    pairs.map(|(label, value)| (label.to_owned(), value)).into()
}

/// The shape is that of CrowdSec's swagger.
#[track_caller]
fn is_well_formed(report: &Value, net: &Net) {
    let [component] = &report["remediation_components"].as_array().expect("an array")[..] else {
        panic!("one component reports: {report}");
    };
    assert_eq!(
        (&component["type"], &component["version"]),
        (&"crowdsec-filterd-bouncer".into(), &"v0.1.0".into())
    );
    assert!(component["os"]["name"].is_string() && component["os"]["version"].is_string(), "{component}");
    assert_eq!(component["feature_flags"], json!([]));
    let started = component["utc_startup_timestamp"].as_u64().expect("a time");
    let [detailed] = &component["metrics"].as_array().expect("an array")[..] else {
        panic!("one window is reported: {component}");
    };
    let now = detailed["meta"]["utc_now_timestamp"].as_u64().expect("a time");
    let window = detailed["meta"]["window_size_seconds"].as_u64().expect("a duration");
    assert!(started <= now && window <= now - started + 1, "{component}; {}", net.daemon().log());
}

/// Stops filterd, and returns the only report that came.
#[track_caller]
fn last_report(net: &mut Net, lapi: &ScriptedLapi) -> Value {
    let before = lapi.metrics();
    assert!(before.is_empty(), "the first report is due after 15 minutes: {before:?}");
    assert!(net.stop().success());
    let mut reports = lapi.metrics();
    assert_eq!(reports.len(), 1, "{reports:?}");
    reports.remove(0)
}

#[test]
fn reported_drops_equal_drops_on_the_wire() {
    let mut net = Net::new();
    let lapi = ScriptedLapi::begin(&net);
    // The attacker is on two lists.
    lapi.add(LapiDecision::new(1, ATTACKER));
    lapi.add(LapiDecision::new(2, ATTACKER).from_origin("CAPI"));
    lapi.add(LapiDecision::new(3, ATTACKER6).from_origin("lists:tor"));
    lapi.add(LapiDecision::new(4, BYSTANDER).from_origin("crowdsec"));
    // The counters outlive each filterd. What an earlier one counted is not reported again.
    let config = config(&lapi.url(), &key(&net), "") + &format!("\nblock: [{OWN}]\non_exit: keep");
    net.start(&config);
    enforced(&net, 4);
    let times = |count: usize, sender: &str| (0..count).map(|_| Frame::from(sender)).collect::<Vec<_>>();
    let four = [times(7, ATTACKER), times(3, BYSTANDER), times(2, OWN)].concat();
    let six = times(5, ATTACKER6);
    net.expect_each([&four[..], &six].concat()).dropped();
    net.expect_each(times(4, BYSTANDER6)).passes();
    // The origin of this one has no decisions any more when its drops are reported.
    lapi.delete(4);
    enforced(&net, 3);
    // The release may still be under way. A packet before it would count.
    until(|| !net.filterd(["list", "--json"]).succeeds().output.contains(BYSTANDER), "it stays");
    net.expect(BYSTANDER).passes();
    let report = last_report(&mut net, &lapi);
    let bytes = |frames: &[Frame]| frames.iter().map(|frame| frame.bytes([0; 6]).len() as u64).sum::<u64>();
    let by_origin = items(&report, "dropped", "packet");
    let mut of_attacker = by_origin.clone();
    of_attacker.retain(|origin, _| origin == "cscli" || origin == "CAPI");
    assert_eq!(of_attacker.values().collect::<Vec<_>>(), [&7], "on two lists, counted once: {report}");
    assert_eq!((by_origin.get("lists:tor"), by_origin.get("crowdsec")), (Some(&5), Some(&3)), "{report}");
    assert_eq!(by_origin.values().sum::<u64>(), 7 + 5 + 3, "{report}");
    assert_eq!(items(&report, "dropped_total", "packet"), map([("ipv4", 12), ("ipv6", 5)]), "{report}");
    let total = map([("ipv4", bytes(&four)), ("ipv6", bytes(&six))]);
    assert_eq!(items(&report, "dropped_total", "byte"), total, "{report}");
    let processed = items(&report, "processed", "packet")[""];
    // The kernel at the other end sends some packets by itself.
    assert!((22..100).contains(&processed), "{report}");
    let active = map([("CAPI", 1), ("cscli", 1), ("lists:tor", 1)]);
    assert_eq!(items(&report, "active_decisions", "ip"), active, "{report}");
    net.start(&config);
    is_well_formed(&report, &net);
    enforced(&net, 3);
    net.expect_each(times(2, ATTACKER6)).dropped();
    let report = last_report(&mut net, &lapi);
    assert_eq!(items(&report, "dropped", "packet"), map([("lists:tor", 2)]), "{report}");
    assert_eq!(items(&report, "dropped_total", "packet"), map([("ipv4", 0), ("ipv6", 2)]), "{report}");
}

/// LAPI may take nothing, or never answer. filterd stops all the same.
#[test]
fn stop_is_not_held_up_by_lapi() {
    let mut net = Net::new();
    let lapi = ScriptedLapi::begin(&net);
    lapi.add(LapiDecision::new(1, ATTACKER));
    let config = config(&lapi.url(), &key(&net), "");
    for answer in [
        LapiAnswer::silence(),
        LapiAnswer::failure("500 Internal Server Error", "no"),
        LapiAnswer::status("404 Not Found"),
    ] {
        lapi.answer_metrics(answer);
        net.start(&config);
        enforced(&net, 1);
        stops_soon(&mut net);
        assert_eq!(lapi.metrics().len(), 1);
    }
    // A LAPI that does not answer is not even told.
    net.start(&config);
    enforced(&net, 1);
    lapi.answer_always(LapiAnswer::silence());
    lapi.answer_once(LapiAnswer::failure("500 Internal Server Error", "no"));
    wait_for(&net, "it fails", |told| told["connected_since"].is_null());
    stops_soon(&mut net);
    assert_eq!(lapi.metrics().len(), 0);
}

#[track_caller]
fn stops_soon(net: &mut Net) {
    let begun = Instant::now();
    assert!(net.stop().success());
    println!("it stopped after {} ms", begun.elapsed().as_millis());
    assert!(begun.elapsed() < STOPPED_WITHIN);
    assert_eq!(net.attached("eth0"), None);
    net.expect(ATTACKER).passes();
}
