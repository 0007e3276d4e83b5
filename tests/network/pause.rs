//! `pause` and `resume`: for a while what is listed passes, and is counted apart.

use std::thread;
use std::time::{Duration, Instant};

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net, OtherTime, Site, keeper_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

const CONFIG: &str = "block: [203.0.113.7]";

/// So long something may take that happens by itself.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn paused_packets_pass_and_count_until_resume() {
    let net = Net::with_filterd(CONFIG);
    net.expect(ATTACKER).dropped();
    net.filterd(["pause", "5m"]).succeeds();
    net.expect_each([ATTACKER; 2]).passes();
    let counted = || (net.counted("ipv4_address"), net.spared("ipv4_address"), net.paused("ipv4_address"));
    assert_eq!(counted(), (1, 0, 2));
    let tested =
        net.filterd(["test", ATTACKER, "--json"]).exits(1).has(json!({"tested": [{"idle": "paused"}]}));
    assert!(tested.json()["paused_until"].is_u64(), "{tested}");
    net.filterd(["status"])
        .exits(7)
        .says("protection is paused until ")
        .says("to end it now: filterd resume");
    let status = net.filterd(["status", "--json"]).exits(7).json();
    assert_eq!(
        (&status["faults"][0]["about"], &status["paused"]["by"]),
        (&"protection".into(), &"root (filterd pause)".into())
    );
    net.filterd(["add", ATTACKER6, "--json"]).succeeds().has(json!({"idle": "paused"}));
    net.expect(ATTACKER6).passes();
    assert!(net.filterd(["resume", "--json"]).succeeds().json()["before"].is_u64());
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.expect(BYSTANDER).passes();
    assert_eq!(counted(), (2, 0, 2));
    net.filterd(["status"]).succeeds();
    assert!(net.filterd(["resume", "--json"]).succeeds().json()["before"].is_null());
}

#[test]
fn pause_expires_and_can_be_replaced() {
    let mut net = Net::with_filterd(CONFIG);
    net.filterd(["pause", "1h"]).succeeds();
    for words in [&["pause", "--json"][..], &["pause", "10m", "--json"]] {
        let paused = net.filterd(words).succeeds().json();
        assert!(
            paused["before"].as_u64() != paused["until"].as_u64() && paused["before"].is_u64(),
            "{paused}"
        );
    }
    net.expect(ATTACKER).passes();
    net.filterd(["pause", "1s"]).succeeds();
    net.wait_for_log("the pause is over");
    net.expect(ATTACKER).dropped();
    net.filterd(["status"]).succeeds();
    net.wait_for_log("paused ttl=1 ");
}

#[test]
fn pause_survives_reload_with_its_own_end() {
    let net = Net::with_filterd(CONFIG);
    net.filterd(["pause"]).succeeds();
    net.configure("block: [203.0.113.7, 198.51.100.7]");
    net.filterd(["reload"]).succeeds();
    net.expect_each([ATTACKER, BYSTANDER]).passes();
    net.configure("enforce: false\nblock: [203.0.113.7]");
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).passes();
    net.filterd(["pause", "--json"]).succeeds().has(json!({"idle": "not_enforced"}));
    assert_eq!(
        (net.spared("ipv4_address"), net.paused("ipv4_address")),
        (1, 2),
        "it is not the pause that spares it"
    );
    net.configure("enforce: true\nblock: [203.0.113.7]");
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).passes();
    net.filterd(["resume"]).succeeds();
    net.expect(ATTACKER).dropped();
}

#[test]
fn pause_and_rollback_do_not_interfere() {
    let mut net = Net::with_filterd(CONFIG);
    net.configure("block: [198.51.100.7]");
    net.filterd(["reload", "--confirm", "1s"]).succeeds();
    net.filterd(["pause", "1h"]).succeeds();
    net.wait_for_log("the earlier configuration and lists are in force again");
    net.expect_each([ATTACKER, BYSTANDER]).passes();
    net.filterd(["status"]).exits(7).says("protection is paused until ").says("was not confirmed");
    net.filterd(["resume"]).succeeds();
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
}

#[test]
fn list_downloaded_while_paused_drops_later() {
    let mut net = Net::new();
    let site = Site::up(&net);
    site.has(&format!("{ATTACKER}\n"));
    net.start(&format!("lists: [{{name: ipsum, {}}}]", Site::keys()));
    net.filterd(["lists", "refresh"]).succeeds();
    net.expect(ATTACKER).dropped();
    net.filterd(["pause", "1h"]).succeeds();
    net.expect(ATTACKER).passes();
    site.has(&format!("{BYSTANDER}\n"));
    net.filterd(["lists", "refresh", "--json"]).succeeds().has(json!({"entered": 1, "left": 1}));
    net.expect_each([ATTACKER, BYSTANDER]).passes();
    assert!(net.filterd(["status", "--json"]).json()["paused"]["until"].is_u64());
    assert_eq!(net.paused("ipv4_address"), 2, "one each");
    net.filterd(["resume"]).succeeds();
    net.expect(BYSTANDER).dropped();
    net.expect(ATTACKER).passes();
}

/// Nobody would be left who could end it.
#[test]
fn end_of_daemon_ends_pause_and_is_reported() {
    let mut net = Net::with_filterd(CONFIG);
    net.filterd(["pause", "1h"]).succeeds();
    net.expect(ATTACKER).passes();
    net.end(Signal::SIGKILL);
    wait_until_dropped(&net);
    net.start("on_exit: keep\nblock: [203.0.113.7]");
    net.wait_for_log("this start ended the pause");
    net.expect(ATTACKER).dropped();
    net.filterd(["pause", "1h"]).succeeds();
    net.expect(ATTACKER).passes();
    net.stop();
    net.expect(ATTACKER).dropped();
    net.start(CONFIG);
    net.filterd(["pause", "1h"]).succeeds();
    net.succeed(CONFIG);
    net.expect(ATTACKER).dropped();
    net.wait_for_log("this start ended the pause");
    net.filterd(["status"]).succeeds();
}

/// It cannot end a pause any more, and neither can the daemon, which has no privileges: the judge does, or the next start.
#[test]
fn broker_death_does_not_extend_a_pause() {
    let mut net = Net::with_filterd(CONFIG);
    for (length, is_started) in [("3s", false), ("1h", true)] {
        net.filterd(["pause", length]).succeeds();
        let [_, broker] = daemon_and_broker(&net);
        kill(Pid::from_raw(broker), Signal::SIGKILL).expect("it runs");
        let (status, log) = net.wait_for_the_end();
        assert_eq!(status.code(), Some(8), "{log}");
        assert!(log.contains("the filter stays attached as it is, paused until the pause ends"), "{log}");
        if is_started {
            net.expect(ATTACKER).passes();
            net.start(CONFIG);
            net.expect(ATTACKER).dropped();
        } else {
            net.expect(ATTACKER).then_within(PATIENCE).dropped();
            net.start(CONFIG);
        }
    }
}

/// Stopped, both are there and do nothing; killed, nobody is left. The judge knows by itself when a pause is over.
#[test]
fn kernel_ends_pause_without_daemon() {
    let mut net = Net::with_filterd(CONFIG);
    let both = daemon_and_broker(&net);
    net.filterd(["pause", "2s"]).succeeds();
    signal(both, Signal::SIGSTOP);
    net.expect(ATTACKER).then_within(PATIENCE).dropped();
    net.expect(BYSTANDER).passes();
    signal(both, Signal::SIGCONT);
    net.wait_for_log("the pause is over");
    assert!(net.filterd(["status", "--json"]).succeeds().json()["paused"].is_null());
    net.filterd(["pause", "2s"]).succeeds();
    signal(both, Signal::SIGSTOP);
    signal(both, Signal::SIGKILL);
    net.wait_for_the_end();
    net.expect(ATTACKER).then_within(PATIENCE).dropped();
}

/// What a namespace of time adds to the clocks in it, it does not add to the kernel's.
#[test]
fn a_pause_lasts_as_long_in_another_time() {
    let mut net = Net::new();
    net.lives_in(OtherTime::later(Duration::from_secs(3600)));
    net.start(CONFIG);
    let both = daemon_and_broker(&net);
    net.filterd(["pause", "2s"]).succeeds();
    net.expect(ATTACKER).passes();
    signal(both, Signal::SIGSTOP);
    net.expect(ATTACKER).then_within(PATIENCE).dropped();
    signal(both, Signal::SIGCONT);
    net.wait_for_log("the pause is over");
    net.filterd(["pause", "2s"]).succeeds();
    signal(both, Signal::SIGKILL);
    net.wait_for_the_end();
    net.expect(ATTACKER).then_within(PATIENCE).dropped();
}

fn daemon_and_broker(net: &Net) -> [i32; 2] {
    let daemon = net.daemon().id();
    [daemon, keeper_of(daemon)].map(|process| i32::try_from(process).expect("process ids are small"))
}

fn signal(both: [i32; 2], signal: Signal) {
    both.into_iter().for_each(|one| kill(Pid::from_raw(one), signal).expect("it runs"));
}

/// The process that holds the kernel sees to it, in its own time.
#[track_caller]
fn wait_until_dropped(net: &Net) {
    let begun = Instant::now();
    let source = ATTACKER.parse().expect("it is an address");
    while !net.send_from(&[source]).is_empty() {
        assert!(begun.elapsed() < PATIENCE, "{ATTACKER} passes for good");
        thread::sleep(Duration::from_millis(5));
    }
}
