//! With a real LAPI.

use std::collections::HashSet;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::json;

use super::{config, enforced, status, wait_for};
use harness::lapi::{BOUNCERS, KEY, Lapi, LapiDecision, LapiSetup};
use harness::{ATTACKER, ATTACKER6, Authority, BYSTANDER, BYSTANDER6, GATEWAY, Net, Random, give_to_daemon};

/// A net with a LAPI. Returns none, and says so, where there is no crowdsec.
fn begin(setup: LapiSetup<'_>) -> Option<(Net, Lapi)> {
    if !Lapi::is_here() {
        println!("SKIPPED a real LAPI: there is no crowdsec");
        return None;
    }
    let net = Net::new();
    let lapi = Lapi::begin_with(&net, setup);
    Some((net, lapi))
}

#[test]
fn decisions_of_every_scope_are_enforced_until_they_end() {
    let Some((mut net, lapi)) = begin(LapiSetup::default()) else { return };
    lapi.ban("Ip", ATTACKER, "4h", "ssh brute force");
    net.start(&config(&lapi.url(), &lapi.key(), ""));
    enforced(&net, 1);
    net.expect(ATTACKER).dropped();
    net.expect_each([BYSTANDER, ATTACKER6]).passes();
    lapi.ban("Range", "2001:db8:bad::/48", "4h", "a range");
    lapi.ban("Range", "198.51.100.0/24", "4h", "another range");
    enforced(&net, 3);
    net.expect_each([ATTACKER, ATTACKER6, BYSTANDER]).dropped();
    net.expect(BYSTANDER6).passes();
    net.filterd(["test", ATTACKER])
        .succeeds()
        .says("of list `crowdsec-cscli`")
        .says("added by CrowdSec main: ssh brute force (decision ")
        .says("cscli decisions delete --value 203.0.113.7");
    net.filterd(["lists"]).succeeds().says("crowdsec-cscli  remote");
    lapi.unban("Ip", ATTACKER);
    lapi.unban("Range", "198.51.100.0/24");
    enforced(&net, 1);
    net.expect_each([ATTACKER, BYSTANDER]).passes();
    net.expect(ATTACKER6).dropped();
    lapi.ban("Ip", ATTACKER, "3s", "for a moment");
    enforced(&net, 2);
    net.expect(ATTACKER).dropped().then_within(Duration::from_secs(5)).passes();
    // Its type and its version are those that `cscli bouncers list` shows.
    let bouncers = lapi.cscli(&["bouncers", "list", "-o", "json"]);
    assert!(bouncers.contains("crowdsec-filterd-bouncer") && bouncers.contains("\"v0.1.0\""), "{bouncers}");
    // The key is nowhere but in its file.
    let shown =
        [net.filterd(["status", "--json"]).output, net.filterd(["crowdsec", "status"]).output].concat();
    assert!(!shown.contains(KEY) && !net.daemon().log().contains(KEY));
}

#[test]
fn fifty_thousand_decisions_are_enforced_soon_and_survive() {
    let Some((mut net, lapi)) = begin(LapiSetup::default()) else { return };
    let decision = |number: u64| {
        let value = match number % 10 {
            0 => format!("2001:db8:{:x}:{:x}::1", number >> 8, number & 255),
            1 => {
                return LapiDecision::new(number, &format!("11.{}.{}.0/24", number >> 8, number & 255))
                    .of_scope("Range");
            }
            _ => format!("10.{}.{}.{}", number >> 16, number >> 8 & 255, number & 255),
        };
        LapiDecision::new(number, &value).lasting(3600 + number as i64 % 5000).from_origin("CAPI")
    };
    lapi.import(&(0..50_000).map(decision).collect::<Vec<_>>());
    net.start(&config(&lapi.url(), &lapi.key(), ""));
    let begun = Instant::now();
    let told = enforced(&net, 50_000);
    println!("50,000 decisions are enforced {} ms after the start: {told}", begun.elapsed().as_millis());
    let sent: Vec<IpAddr> = (0..50_000)
        .step_by(49)
        .filter(|number| number % 10 > 1)
        .map(|number: u64| {
            format!("10.{}.{}.{}", number >> 16, number >> 8 & 255, number & 255).parse().unwrap()
        })
        .collect();
    assert_eq!(net.send_from(&sent).len(), 0, "all of them are dropped");
    net.filterd(["test", "11.0.1.200"]).succeeds();
    // Without LAPI, and after a kill: all of it is in force at the first packet.
    drop(lapi);
    net.end(Signal::SIGKILL);
    net.start("crowdsec: {api_url: 'http://127.0.0.1:8080', api_key: {file: none}}");
    assert_eq!(net.send_from(&sent).len(), 0, "all of them are dropped again");
    let told = wait_for(&net, "it is told that LAPI is gone", |told| !told["error"].is_null());
    assert_eq!((told["unconfirmed"].as_u64(), status(&net).1), (Some(50_000), Some(7)), "{told}");
    net.filterd(["status"]).exits(7).says("its 50000 entries remain in force until they end");
}

#[test]
fn a_random_life_of_decisions_is_followed() {
    let Some((mut net, lapi)) = begin(LapiSetup::default()) else { return };
    net.start(&config(&lapi.url(), &lapi.key(), ""));
    let mut random = Random(43);
    let mut wanted = HashSet::<u64>::new();
    let name = |number: u64| format!("192.0.{}.{}", number >> 8 & 255, number & 255);
    for _ in 0..12 {
        let (add, remove): (Vec<u64>, Vec<u64>) =
            (0..12).map(|_| random.below(1000) as u64).partition(|number| !wanted.contains(number));
        let add: HashSet<u64> = add.into_iter().collect();
        lapi.import(&add.iter().map(|number| LapiDecision::new(*number, &name(*number))).collect::<Vec<_>>());
        wanted.extend(add);
        for number in remove {
            if wanted.remove(&number) {
                lapi.unban("Ip", &name(number));
            }
        }
        settle(&net, wanted.len() as u64);
        let listed = net.filterd(["list", "--list", "crowdsec-cscli", "--json"]).succeeds().json_lines();
        let listed: HashSet<_> =
            listed.iter().map(|entry| entry["target"].as_str().unwrap().to_owned()).collect();
        assert_eq!(listed, wanted.iter().map(|number| name(*number)).collect::<HashSet<_>>());
    }
}

/// LAPI 1.4.6 may leave out what is decided while it answers. Everything is right after a full answer, which a reload asks for.
fn settle(net: &Net, decisions: u64) {
    let begun = Instant::now();
    while status(net).0["decided"] != decisions {
        if begun.elapsed() > Duration::from_secs(3) {
            println!("LAPI left out a decision");
            net.filterd(["reload"]).succeeds();
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    enforced(net, decisions);
}

#[test]
fn a_delete_does_not_unblock_what_another_list_blocks() {
    let Some((mut net, lapi)) = begin(LapiSetup::default()) else { return };
    lapi.ban("Ip", ATTACKER, "4h", "ssh brute force");
    net.start(&config(&lapi.url(), &lapi.key(), ""));
    net.filterd(["add", ATTACKER, "--note", "mine"]).succeeds();
    enforced(&net, 1);
    net.filterd(["test", ATTACKER])
        .succeeds()
        .says("ssh brute force")
        .says("`crowdsec-cscli`")
        .says("`manual`");
    lapi.unban("Ip", ATTACKER);
    enforced(&net, 0);
    net.expect(ATTACKER).dropped();
    net.filterd(["remove", ATTACKER]).succeeds();
    net.expect(ATTACKER).passes();
}

#[test]
fn allow_and_guard_win_over_decisions() {
    let Some((mut net, lapi)) = begin(LapiSetup::default()) else { return };
    lapi.ban("Ip", ATTACKER, "4h", "a");
    lapi.ban("Range", "198.19.255.0/24", "4h", "the whole network of this host");
    net.start(&config(&lapi.url(), &lapi.key(), ""));
    enforced(&net, 2);
    let told = wait_for(&net, "guarded addresses are counted", |told| told["guarded"].as_u64() > Some(0));
    assert_eq!(told["error"], json!(null));
    net.expect(GATEWAY).passes();
    net.expect(ATTACKER).dropped();
    net.filterd(["allow", "add", ATTACKER]).succeeds();
    net.expect(ATTACKER).passes();
    for words in
        [["remove", ATTACKER, "--list", "crowdsec-cscli"], ["add", BYSTANDER, "--list", "crowdsec-cscli"]]
    {
        net.filterd(words).exits(5).complains("it follows CrowdSec");
    }
    net.filterd(["flush"]).succeeds();
    enforced(&net, 2);
}

#[test]
fn a_client_certificate_takes_the_place_of_a_key() {
    let authority = Authority::new();
    let Some((mut net, lapi)) = begin(LapiSetup { authority: Some(&authority), ..LapiSetup::default() })
    else {
        return;
    };
    lapi.ban("Ip", ATTACKER, "4h", "a");
    let home = net.home();
    authority.write(&home.path("ca.pem"));
    let (certificate, key) = authority.written_for_client("filterd", BOUNCERS);
    home.write("filterd.pem", &certificate);
    let key = home.write("filterd.key", &key);
    give_to_daemon(&key);
    let files = "ca: ca.pem, cert: filterd.pem, key: {file: filterd.key}";
    net.start(&format!("crowdsec: {{api_url: '{}', update_frequency: 250ms, {files}}}", lapi.url()));
    enforced(&net, 1);
    net.expect(ATTACKER).dropped();
}

#[test]
fn a_ban_of_cscli_is_in_force_soon() {
    let Some((mut net, lapi)) = begin(LapiSetup::default()) else { return };
    net.start(&config(&lapi.url(), &lapi.key(), ""));
    enforced(&net, 0);
    lapi.ban("Ip", ATTACKER, "4h", "a");
    let begun = Instant::now();
    net.expect(ATTACKER).then_within(Duration::from_secs(30)).dropped();
    println!("dropped {} ms after cscli had returned", begun.elapsed().as_millis());
}
