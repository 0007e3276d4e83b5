//! With a LAPI that fails in every way that is known.

use std::fs;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::json;

use super::{config, enforced, key, one_more_answer, status, wait_for};
use harness::lapi::{LapiAnswer, LapiDecision, ScriptedLapi};
use harness::mmdb::{Mmdb, autonomous, country};
use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net};

/// A filterd that enforces a decision on the attacker.
fn begin() -> (Net, ScriptedLapi) {
    let mut net = Net::new();
    let lapi = ScriptedLapi::begin(&net);
    lapi.add(LapiDecision::new(1, ATTACKER));
    let key = key(&net);
    net.start(&config(&lapi.url(), &key, ""));
    enforced(&net, 1);
    net.expect(ATTACKER).dropped();
    (net, lapi)
}

#[test]
fn nothing_is_unblocked_by_a_lapi_that_fails() {
    let (net, lapi) = begin();
    let stream = || LapiAnswer::stream(&[LapiDecision::new(1, ATTACKER)], &[]);
    for (answer, told) in [
        (LapiAnswer::failure("500 Internal Server Error", "database is locked"), "database is locked"),
        (LapiAnswer::failure("504 Gateway Timeout", ""), "504"),
        (LapiAnswer::forbidden(), "cscli bouncers add filterd"),
        (LapiAnswer::page(), "it begins with"),
        (stream().cut(9), ""),
        (LapiAnswer::json("{\"new\": [{\"id\": 1"), "it ends in the middle"),
        (LapiAnswer::json("{\"message\": \"no\"}"), "the message `no`"),
        (LapiAnswer::json(""), "empty"),
    ] {
        lapi.answer_always(answer);
        let failing = wait_for(&net, "it is told", |status| {
            status["error"].to_string().contains(told) && status["connected_since"].is_null()
        });
        assert_eq!(
            (failing["decided"].as_u64(), failing["enforced"].as_u64()),
            (Some(1), Some(1)),
            "{failing}"
        );
        net.filterd(["status"]).exits(7).says("its entry remains in force until it ends");
        net.expect(ATTACKER).dropped();
        lapi.recover();
        enforced(&net, 1);
        net.filterd(["crowdsec", "status"]).succeeds();
        // After any failure it asks for everything.
        assert!(lapi.streams().iter().any(|asked| asked.parameter("startup") == Some("true")));
    }
}

#[test]
fn decisions_count_by_their_number() {
    let (net, lapi) = begin();
    // The longer of two on one address goes: the other one still holds.
    lapi.add(LapiDecision::new(2, ATTACKER).lasting(40_000).by_scenario("longer"));
    enforced(&net, 2);
    net.filterd(["test", ATTACKER]).succeeds().says("longer (decision 2)");
    lapi.delete(2);
    enforced(&net, 1);
    net.expect(ATTACKER).dropped();
    net.filterd(["test", ATTACKER]).succeeds().says("(decision 1)");
    // An unknown number, twice, and one decision that has ended already.
    let ended = [LapiDecision::new(77, ATTACKER).lasting(-5), LapiDecision::new(77, ATTACKER).lasting(-5)];
    lapi.answer_once(LapiAnswer::stream(&[LapiDecision::new(78, BYSTANDER).lasting(-1)], &ended));
    one_more_answer(&net, &lapi);
    enforced(&net, 1);
    net.expect(BYSTANDER).passes();
    // The same number with another address, as after a new database.
    lapi.answer_once(LapiAnswer::stream(&[LapiDecision::new(1, BYSTANDER)], &[]));
    net.expect(BYSTANDER).then_within(Duration::from_secs(30)).dropped();
    net.expect(ATTACKER).dropped();
}

#[test]
fn absent_decisions_stay_until_a_second_answer_lacks_them() {
    let (mut net, lapi) = begin();
    lapi.add_silently((10..30).map(|number| LapiDecision::new(number, &format!("192.0.2.{number}"))));
    lapi.delete_silently(|decision| decision.id == 1);
    // A restart asks for everything. The answer lacks one of 21, and that one stays.
    net.end(Signal::SIGKILL);
    let key = key(&net);
    net.start(&config(&lapi.url(), &key, ""));
    let told = wait_for(&net, "20 are confirmed", |told| told["decided"] == 20 && told["unconfirmed"] == 1);
    assert_eq!(told["enforced"], 20, "{told}");
    net.expect(ATTACKER).dropped();
    // An explicit delete counts at once.
    lapi.delete(10);
    enforced(&net, 19);
}

#[test]
fn a_lost_database_unblocks_nothing() {
    let (mut net, lapi) = begin();
    lapi.add(LapiDecision::new(2, ATTACKER6));
    enforced(&net, 2);
    lapi.delete_silently(|_| true);
    net.end(Signal::SIGKILL);
    let key = key(&net);
    net.start(&config(&lapi.url(), &key, ""));
    wait_for(&net, "it answers", |told| told["connected_since"].is_u64());
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
}

#[test]
fn types_and_filters_are_respected() {
    let mut net = Net::new();
    let lapi = ScriptedLapi::begin(&net);
    lapi.add(LapiDecision::new(1, ATTACKER).of_kind("captcha"));
    lapi.add(LapiDecision::new(2, ATTACKER6).from_origin("lists:firehol"));
    lapi.add(LapiDecision::new(3, "FR").of_scope("Country"));
    lapi.add(LapiDecision::new(4, "ann").of_scope("username"));
    let key = key(&net);
    net.start(&config(
        &lapi.url(),
        &key,
        ", origins: ['lists:firehol', CAPI], scenarios_not_containing: [ssh]",
    ));
    let told = wait_for(&net, "one is enforced", |told| told["enforced"] == 1);
    let wanted =
        json!({"decided": 2, "enforced": 1, "other_types": 1, "not_understood": 1, "without_networks": 1});
    for (field, number) in wanted.as_object().unwrap() {
        assert_eq!(&told[field], number, "{field}: {told}");
    }
    net.expect(ATTACKER6).dropped();
    net.expect(ATTACKER).passes();
    assert_eq!(status(&net).1, Some(7));
    net.filterd(["status"]).exits(7).says("name a database");
    net.filterd(["list", "--list", "crowdsec-lists-firehol"]).succeeds().says(ATTACKER6);
    let asked = lapi.streams().remove(0);
    for (name, value) in [
        ("startup", "true"),
        ("dedup", "false"),
        ("origins", "lists:firehol,CAPI"),
        ("scenarios_not_containing", "ssh"),
    ] {
        assert_eq!(asked.parameter(name), Some(value), "{asked:?}");
    }
    assert_eq!(asked.header("x-api-key"), Some("sesame"));
    assert_eq!(asked.header("user-agent"), Some("crowdsec-filterd-bouncer/v0.1.0"));
}

/// Each database has one of the two kinds.
#[test]
fn systems_and_countries_are_looked_up_in_databases() {
    let mut net = Net::new();
    let lapi = ScriptedLapi::begin(&net);
    let systems = Mmdb::new("GeoLite2-ASN").with("203.0.113.0/24", &autonomous(64_500)).bytes();
    let countries = Mmdb::new("GeoLite2-Country").with("2001:db8:bad::/48", &country("FR")).bytes();
    for (name, bytes) in [("asn.mmdb", systems), ("country.mmdb", countries)] {
        fs::write(net.home().path(name), bytes).expect("a home can be written");
    }
    net.readable_by_all();
    lapi.add(LapiDecision::new(1, "64500").of_scope("AS"));
    lapi.add(LapiDecision::new(2, "FR").of_scope("Country"));
    let key = key(&net);
    net.start(&config(&lapi.url(), &key, ", database: [asn.mmdb, country.mmdb]"));
    enforced(&net, 2);
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.expect(BYSTANDER).passes();
    net.filterd(["test", ATTACKER]).succeeds().says("203.0.113.0/24 of list `crowdsec-cscli`");
    lapi.delete(1);
    enforced(&net, 1);
    net.expect(ATTACKER).passes();
    lapi.add(LapiDecision::new(3, "64501").of_scope("AS"));
    wait_for(&net, "one is in no database", |told| told["without_networks"] == 1 && told["decided"] == 2);
    net.filterd(["status"]).exits(7).says("no database knows");
    net.expect(ATTACKER6).dropped();
}

#[test]
fn more_decisions_than_may_be_are_told() {
    let mut net = Net::new();
    let lapi = ScriptedLapi::begin(&net);
    (1..=30).for_each(|number| lapi.add(LapiDecision::new(number, &format!("192.0.2.{number}"))));
    let key = key(&net);
    net.start(&config(&lapi.url(), &key, ", max_entries: 20"));
    let told = wait_for(&net, "20 are enforced", |told| told["enforced"] == 20);
    assert_eq!((told["decided"].as_u64(), status(&net).1), (Some(30), Some(7)), "{told}");
    net.filterd(["status"]).exits(7).says("10 entries are not enforced").says("raise `max_entries`");
    net.configure(&config(&lapi.url(), &key, ", max_entries: 30"));
    net.filterd(["reload"]).succeeds();
    enforced(&net, 30);
    let all: Vec<_> = (1..=30).map(|number| format!("192.0.2.{number}")).collect();
    net.expect_each(all.iter().map(String::as_str)).dropped();
}

#[test]
fn lists_of_a_lapi_that_is_configured_no_more_are_released() {
    let (net, lapi) = begin();
    lapi.add(LapiDecision::new(2, BYSTANDER));
    enforced(&net, 2);
    net.filterd(["add", ATTACKER6]).succeeds();
    net.configure("");
    net.filterd(["diff"]).exits(1).says("crowdsec main: it would no longer be asked");
    net.filterd(["reload"]).succeeds().says("crowdsec main: it is no longer asked");
    net.expect(ATTACKER).then_within(Duration::from_secs(30)).passes();
    net.expect(BYSTANDER).passes();
    net.expect(ATTACKER6).dropped();
    net.filterd(["crowdsec", "status"]).succeeds().says("filterd follows no CrowdSec");
}

/// Found by an outsider: a rollback claimed that all was in force again, and nothing was.
#[test]
fn outsider_reload_on_trial_releases_no_decision() {
    let (net, lapi) = begin();
    lapi.answer_always(LapiAnswer::forbidden());
    net.configure("");
    net.filterd(["reload", "--confirm", "1h"])
        .succeeds()
        .complains("its 1 entry stays until `filterd confirm`");
    net.expect(ATTACKER).dropped();
    net.filterd(["rollback"]).succeeds();
    net.expect(ATTACKER).dropped();
    wait_for(&net, "it is asked again", |told| told["error"].to_string().contains("forbidden"));
    net.expect(ATTACKER).dropped();
    net.filterd(["reload", "--confirm", "1h"]).succeeds();
    net.filterd(["confirm"]).succeeds();
    net.expect(ATTACKER).then_within(Duration::from_secs(30)).passes();
}

/// Found by an outsider: `0.0.0.0/0` was enforced without a word.
#[test]
fn outsider_ranges_that_are_too_wide_are_left_out_and_told() {
    let (net, lapi) = begin();
    lapi.add(LapiDecision::new(2, "0.0.0.0/0").of_scope("Range"));
    lapi.add(LapiDecision::new(3, "::/0").of_scope("Range"));
    lapi.add(LapiDecision::new(4, "2001:db8::/32").of_scope("Range"));
    net.filterd(["reload"]).succeeds();
    wait_for(&net, "they are left out", |told| told["too_wide"] == 2 && told["enforced"] == 2);
    net.filterd(["status"]).exits(7).says("2 decisions are left out: ranges wider than a /8");
    net.expect(BYSTANDER).passes();
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
}

/// Found by an outsider: after each failure filterd suspected another program, and after a restart it said that decisions
/// had been moved to `manual`.
#[test]
fn outsider_outages_and_restarts_raise_no_false_alarm() {
    let (mut net, lapi) = begin();
    lapi.answer_always(LapiAnswer::failure("500 Internal Server Error", "database is locked"));
    wait_for(&net, "it fails", |told| told["connected_since"].is_null());
    lapi.add(LapiDecision::new(2, BYSTANDER));
    lapi.recover();
    let told = enforced(&net, 2);
    assert_eq!(told["missed"], json!(null), "{told}");
    net.end(Signal::SIGKILL);
    let key = key(&net);
    net.start(&config(&lapi.url(), &key, ""));
    let told = enforced(&net, 2);
    assert_eq!((told["missed"].clone(), told["unconfirmed"].clone()), (json!(null), json!(null)), "{told}");
    assert!(!net.daemon().log().contains("moved to list"), "{}", net.daemon().log());
}

#[test]
fn another_filterd_takes_over_the_decisions() {
    let (mut net, lapi) = begin();
    let key = key(&net);
    net.succeed(&config(&lapi.url(), &key, ""));
    net.expect(ATTACKER).dropped();
    lapi.add(LapiDecision::new(2, BYSTANDER));
    enforced(&net, 2);
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    lapi.delete(1);
    enforced(&net, 1);
    net.expect(ATTACKER).passes();
}
