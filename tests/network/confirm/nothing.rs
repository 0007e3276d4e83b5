//! Lists of which nothing is in force: what never came needs no way back, and does not come with a rollback.

use super::*;

const WITH: &str = "block: [203.0.113.200]\nlists:\n- {name: drop, path: drop.txt}\n";

/// Whoever begins with a list that is not there, or is none, needs the safety net more than others.
#[test]
fn list_never_loaded_does_not_prevent_trial() {
    for never in [None, Some("<html>\n<body>\n</html>\n")] {
        let mut net = Net::new();
        if let Some(text) = never {
            net.file("drop.txt", text);
        }
        net.start(WITH);
        net.filterd(["status"]).exits(7).says("list \"drop\" is not loaded");
        net.configure(&WITH.replace("203.0.113.200", ATTACKER));
        net.filterd(["reload", "--confirm", "1h"]).exits(7).says("on trial until ");
        net.expect(ATTACKER).dropped();
        net.filterd(["rollback"]).says("the earlier configuration is in force again");
        net.expect(ATTACKER).passes();
        net.expect("203.0.113.200").dropped();
    }
}

/// It is read on trial, and goes with it. A reload takes it then, and so does another trial.
#[test]
fn rollback_removes_list_first_loaded_on_trial() {
    let mut net = Net::new();
    net.start(WITH);
    net.file("drop.txt", &format!("{ATTACKER}\n"));
    for _ in 0..2 {
        net.filterd(["reload", "--confirm", "1h"]).succeeds().says("1 target entered the filter");
        net.expect(ATTACKER).dropped();
        net.filterd(["rollback"]).says("1 left it");
        net.expect(ATTACKER).passes();
        net.filterd(["status"])
            .exits(7)
            .says("list \"drop\" is not loaded, as before an unconfirmed reload; ")
            .says("drop.txt may have other entries");
    }
    net.end(Signal::SIGKILL);
    net.start(WITH);
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).dropped();
    net.filterd(["status"]).succeeds();
    net.filterd(["reload", "--confirm", "1h"]).succeeds();
    net.filterd(["confirm"]).succeeds();
    net.expect(ATTACKER).dropped();
}

/// Also where another filterd goes on with the trial, and whatever the list is called on it.
#[test]
fn rollback_after_restart_removes_list_loaded_on_trial() {
    for on_trial in [WITH.to_owned(), WITH.replace("name: drop", "name: other")] {
        let mut net = Net::new();
        net.start(WITH);
        net.file("drop.txt", &format!("{ATTACKER}\n"));
        net.configure(&on_trial);
        net.filterd(["reload", "--confirm", "1h"]).succeeds();
        net.expect(ATTACKER).dropped();
        net.end(Signal::SIGKILL);
        net.start(&on_trial);
        net.expect(ATTACKER).dropped();
        net.filterd(["rollback"]).says("the earlier configuration is in force again");
        net.expect(ATTACKER).passes();
        net.expect("203.0.113.200").dropped();
        net.filterd(["status"]).exits(7).says("list \"drop\" is not loaded, as before an unconfirmed reload");
        net.configure(WITH);
        net.filterd(["reload"]).succeeds();
        net.expect(ATTACKER).dropped();
    }
}
