//! Restarts, takeovers and reloads under a flood: nobody listed gets through, nobody else is hindered.

use std::thread::sleep;

use harness::{ATTACKER, BYSTANDER, Net, Traffic, traffic::A_WHILE};
use nix::sys::signal::Signal;

use crate::rounds;

const BLOCKING: &str = "block: [203.0.113.7]";

#[test]
fn restart() {
    let count = rounds(5, 100);
    let mut net = Net::with_filterd(BLOCKING);
    let many: String = (0..100_000)
        .map(|host: u32| format!("11.{}.{}.{}\n", host >> 16, host >> 8 & 255, host & 255))
        .collect();
    net.filterd_reading(["add", "-"], &many).succeeds();
    let flood = |net: &Net| Traffic::begin(net.host(), net.peer(), ATTACKER, BYSTANDER);

    let traffic = flood(&net);
    for _ in 0..count {
        net.end(Signal::SIGKILL);
        sleep(A_WHILE);
        net.start(BLOCKING);
        sleep(A_WHILE);
    }
    let restarts = traffic.end().is_flawless();

    let traffic = flood(&net);
    for _ in 0..count {
        net.succeed(BLOCKING);
        sleep(A_WHILE);
    }
    let takeovers = traffic.end().is_flawless();

    let traffic = flood(&net);
    for round in 0..count {
        net.configure(&format!("block: [203.0.113.7, 198.18.0.{}]", round % 256));
        net.filterd(["reload"]).succeeds();
    }
    let reloads = traffic.end().is_flawless();

    // The control: a filterd that is stopped takes its filter with it.
    let traffic = flood(&net);
    net.stop();
    sleep(A_WHILE);
    net.start(BLOCKING);
    let control = traffic.end();
    assert!(control.passed > 0, "{control:?}");
    let entries = net.filterd(["status", "--json"]).succeeds().json()["tables"][0]["entries"].clone();
    assert_eq!(entries, 100_001);
    println!(
        "{count} restarts after kill -9: 0 of {} listed frames passed, 0 unlisted dropped\n\
         {count} takeovers: 0 of {}\n{count} reloads: 0 of {}\ncontrol, one stop and start: {} of {} passed",
        restarts.sent, takeovers.sent, reloads.sent, control.passed, control.sent
    );
}
