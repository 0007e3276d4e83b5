//! The program on what is sent, which knows what this host begins: it comes and goes with `match: new`, outlives what it
//! should, and leaves what others have there alone.

use harness::limited::LimitedCommand;
use std::fs;

use harness::{ATTACKER, ForeignEgress, Frame, Net};
use nix::sys::signal::Signal;

use crate::flows::{ALL, NEW, UDP, datagram, host_udp, port};

#[test]
fn own_flows_survive_kill_and_take_over() {
    let mut net = Net::with_filterd(NEW);
    let begin = |net: &Net, theirs| {
        let asker = host_udp(net, ATTACKER, theirs);
        asker.send(b"who?").expect("it is sent");
        (Frame::from(ATTACKER).transport(UDP, datagram(theirs, port(&asker))), asker)
    };
    let (before, _one) = begin(&net, 53);
    net.expect(before.clone()).passes();
    net.end(Signal::SIGKILL);
    let (between, _other) = begin(&net, 54);
    net.expect_each([before.clone(), between.clone()]).passes();
    net.start(NEW);
    net.succeed(NEW);
    let (after, _last) = begin(&net, 55);
    net.expect_each([before, between, after]).passes();
    net.expect(ATTACKER).dropped();
    assert_eq!(egress_programs(&net).len(), 1, "it is there once");
    net.end(Signal::SIGKILL);
    // Where interfaces have their filters, which no pin holds.
    let detach = ["detach", "--pin-dir", &net.home().pins().display().to_string()];
    net.host().entered(|| net.home().filterd(detach)).succeeds();
    assert_eq!(egress_programs(&net), [""; 0], "detach leaves nothing");
    assert!(!net.home().pins().exists());
}

/// Links are pins, and go from anywhere. A filter of `clsact` is no pin.
#[test]
fn detach_stops_drops_and_reports_unreachable_filters() {
    let mut net = Net::with_filterd(NEW);
    net.end(Signal::SIGKILL);
    net.expect(ATTACKER).dropped();
    let detach = ["detach", "--pin-dir", &net.home().pins().display().to_string()];
    let reply = net.filterd(detach);
    net.expect(ATTACKER).passes();
    assert!(!net.home().pins().exists());
    if has_links(&net) {
        reply.succeeds().says("eth0: detached");
    } else {
        reply
            .exits(7)
            .says("eth0: detached")
            .complains("eth0: nothing is dropped any more")
            .complains("it is in another network namespace")
            .complains("tc filter del dev eth0 egress");
        assert_eq!(egress_programs(&net).len(), 1, "the one that it tells of");
        let mut remedy = net.host().command("tc");
        let done = remedy.args(["filter", "del", "dev", "eth0", "egress"]).limited_status();
        assert!(done.expect("tc is there").success());
    }
    assert_eq!(egress_programs(&net), [""; 0]);
}

#[test]
fn a_reload_switches_answers_on_and_off() {
    let mut net = Net::with_filterd(ALL);
    let asker = host_udp(&net, ATTACKER, 53);
    let answer = Frame::from(ATTACKER).transport(UDP, datagram(53, port(&asker)));
    asker.send(b"who?").expect("it is sent");
    net.expect(answer.clone()).dropped();
    net.configure(NEW);
    net.filterd(["diff"]).exits(1).says("match: new, replies to connections this host started would pass");
    net.filterd(["reload"]).succeeds();
    net.expect(answer.clone()).passes();
    net.configure(ALL);
    net.filterd(["reload"]).succeeds();
    net.expect(answer).dropped();
    assert_eq!(egress_programs(&net), [""; 0]);
    net.filterd(["status"]).succeeds().is_silent_about("Own flows");
    net.configure("match: nev");
    net.filterd(["reload"]).exits(3).complains("did you mean new?");
    net.stop();
}

#[test]
fn removed_egress_program_is_restored_and_reported() {
    let mut net = Net::with_filterd(NEW);
    net.forget_log();
    take_off(&net);
    net.filterd(["status"]).succeeds();
    net.wait_for_log(
        "eth0: another process detached the program by which own flows are recorded; attaching again",
    );
    let asker = host_udp(&net, ATTACKER, 53);
    asker.send(b"who?").expect("it is sent");
    net.expect(Frame::from(ATTACKER).transport(UDP, datagram(53, port(&asker)))).passes();
    net.stop();
    assert_eq!(egress_programs(&net), [""; 0]);
}

#[test]
fn flows_begun_without_egress_program_get_replies() {
    let net = Net::with_filterd(NEW);
    net.daemon().signal(Signal::SIGSTOP);
    take_off(&net);
    let asker = host_udp(&net, ATTACKER, 53);
    asker.send(b"who?").expect("it is sent");
    let answer = Frame::from(ATTACKER).transport(UDP, datagram(53, port(&asker)));
    net.expect(answer.clone()).dropped();
    net.daemon().signal(Signal::SIGCONT);
    net.filterd(["status"]).succeeds();
    net.expect(answer).passes();
}

#[test]
fn removed_pins_of_own_flows_are_restored() {
    let mut net = Net::with_filterd(NEW);
    let parts = ["egress", "egress/eth0", "flows-1", "ports-1"];
    for removed in [vec![""], parts[..1].to_vec(), parts[1..].to_vec()] {
        for part in &removed {
            let path = net.home().pins().join(part);
            let is_directory = fs::symlink_metadata(&path).expect("it is there").is_dir();
            let gone = if is_directory { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            gone.expect("they are ours");
        }
        net.forget_log();
        net.filterd(["status"]).succeeds();
        net.wait_for_log("filterd restored them");
        assert!(
            parts.iter().all(|part| fs::symlink_metadata(net.home().pins().join(part)).is_ok()),
            "{removed:?}"
        );
    }
    net.end(Signal::SIGKILL);
    let asker = host_udp(&net, ATTACKER, 53);
    asker.send(b"who?").expect("it is sent");
    net.expect(Frame::from(ATTACKER).transport(UDP, datagram(53, port(&asker)))).passes();
    net.start(NEW);
    assert_eq!(egress_programs(&net).len(), 1, "it is there once");
    net.stop();
    assert_eq!(egress_programs(&net), [""; 0]);
}

#[test]
fn foreign_egress_programs_are_untouched() {
    for by_link in [false, true] {
        let mut net = Net::new();
        if by_link && !has_links(&net) {
            println!("SKIPPED foreign link: this kernel has no TCX (6.6 has)");
            continue;
        }
        let other = ForeignEgress::attach(net.host(), by_link);
        net.start(NEW);
        assert_eq!(egress_programs(&net).len(), 2, "both are there");
        let asker = host_udp(&net, ATTACKER, 53);
        asker.send(b"who?").expect("it is sent");
        net.expect(Frame::from(ATTACKER).transport(UDP, datagram(53, port(&asker)))).passes();
        net.stop();
        assert_eq!(egress_programs(&net), [other.name], "by a link: {by_link}");
    }
}

/// The names of all programs on what `eth0` sends, however they are attached.
pub(super) fn egress_programs(net: &Net) -> Vec<String> {
    let mut programs = ForeignEgress::linked(net.host());
    let told = net.host().command("tc").args(["filter", "show", "dev", "eth0", "egress"]).limited_output();
    let told = String::from_utf8_lossy(&told.expect("tc is there").stdout).into_owned();
    let named = |line: &str| Some(line.split(" name ").nth(1)?.split(' ').next()?.to_owned());
    programs.extend(told.lines().filter_map(named));
    programs
}

/// As somebody would who does not know whose it is.
fn take_off(net: &Net) {
    net.host().take_off("eth0", &net.home().pins().join("egress/eth0"));
    assert_eq!(egress_programs(net), [""; 0]);
}

fn has_links(net: &Net) -> bool {
    use aya::programs::{SchedClassifier, TcAttachType};
    net.host().inside(|| SchedClassifier::query_tcx("eth0", TcAttachType::Egress)).is_ok()
}
