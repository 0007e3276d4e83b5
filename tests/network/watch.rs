//! What happens is told to those who watch, as it happens.

use std::os::unix::process::ExitStatusExt;

use harness::{ATTACKER, BYSTANDER, Net, Watcher, Watching, keeper_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

#[test]
fn watch_shows_each_change_with_its_user() {
    let net = Net::with_filterd("");
    let mut watcher = Watcher::of(&net, "{}");
    net.filterd(["add", ATTACKER, "--ttl", "1s", "--list", "ssh", "--note", "a\u{202e}b"]).exits(2);
    net.filterd(["add", ATTACKER, "--ttl", "1s", "--list", "ssh"]).succeeds();
    let added = watcher.sees(&format!("blocked {ATTACKER}"));
    assert_eq!(added["fields"]["list"], "ssh", "{added}");
    assert_eq!(
        (&added["verb"], &added["target"], &added["lists"]),
        (&"add".into(), &ATTACKER.into(), &serde_json::json!(["ssh"]))
    );
    assert_eq!(
        (&added["fields"]["user"], &added["fields"]["changed"]),
        (&"root".into(), &1.into()),
        "{added}"
    );
    assert_eq!(watcher.sees("1 expired")["verb"], "expire");
    net.filterd(["pause", "1m"]).succeeds();
    watcher.sees("paused");
    net.filterd(["reload"]).succeeds();
    watcher.sees("reloaded");
}

const ATTACHED: &str = "eth1 attached, because native XDP slows down TCP on veth";

/// What comes and goes is told as it happens, and with the reload that brings it; and what a reload calls otherwise.
#[test]
fn watch_shows_interface_and_list_name_changes() {
    let mut net = Net::with_links(2);
    net.home().write("drop.txt", "203.0.113.7\n");
    let with = |interfaces: &str, list: &str| {
        format!("interfaces: {interfaces}\nlists: [{{name: {list}, path: $HOME/drop.txt}}]")
    };
    net.start(&with("[eth0]", "drop"));
    let mut watcher = Watcher::of(&net, r#"{"changes":true}"#);
    net.configure(&with("[eth0, eth1]", "drop"));
    net.filterd(["reload"]).succeeds().says("attached to eth1\n");
    assert_eq!(watcher.sees(ATTACHED)["verb"], "attach");
    let reloaded = watcher.sees("reloaded");
    assert_eq!(reloaded["fields"]["attached"], "eth1", "{reloaded}");
    net.configure(&with("[eth0]", "spamhaus"));
    net.filterd(["reload"]).succeeds().says("detached from eth1\n").says("list drop: called spamhaus now\n");
    let gone = watcher.sees("eth1 detached: the configuration no longer lists it");
    assert_eq!(gone["verb"], "detach");
    let reloaded = watcher.sees("reloaded");
    assert_eq!(reloaded["fields"]["detached"], "eth1", "{reloaded}");
    assert_eq!(reloaded["fields"]["settings"], "list drop: called spamhaus now", "{reloaded}");
    net.configure(&with("[eth0, eth1]", "spamhaus"));
    net.daemon().signal(Signal::SIGHUP);
    watcher.sees(ATTACHED);
    let reloaded = watcher.sees("reloaded");
    assert_eq!(reloaded["fields"]["attached"], "eth1", "asked by nobody: {reloaded}");
    net.host().ip_all("link delete eth1\n");
    assert_eq!(watcher.sees("eth1 disappeared; filterd will attach again when it returns")["verb"], "detach");
}

/// Also to whoever watches one list only, by the name that it has or had.
#[test]
fn watch_shows_added_removed_and_renamed_lists() {
    let mut net = Net::new();
    net.home().write("drop.txt", "203.0.113.7\n");
    net.home().write("other.txt", "192.0.2.77\n");
    let lists = |drop: &str, others: &str| format!("lists: [{{name: {drop}, path: $HOME/drop.txt}}{others}]");
    net.start(&lists("drop", ""));
    let mut all = Watcher::of(&net, r#"{"changes":true}"#);
    let mut watchers = ["drop", "spamhaus", "other"]
        .map(|list| Watcher::of(&net, &format!(r#"{{"changes":true,"list":"{list}"}}"#)));
    let mut sees = |settings: &str, named: &[usize]| {
        for watcher in std::iter::once(&mut all).chain(
            watchers.iter_mut().enumerate().filter(|(at, _)| named.contains(at)).map(|(_, watcher)| watcher),
        ) {
            assert_eq!(watcher.sees("reloaded")["fields"]["settings"], settings);
        }
    };
    net.configure(&lists("spamhaus", ""));
    net.filterd(["reload"]).succeeds().says("list drop: called spamhaus now\n");
    sees("list drop: called spamhaus now", &[0, 1]);
    net.configure(&lists("drop", ""));
    net.daemon().signal(Signal::SIGHUP);
    sees("list spamhaus: called drop now", &[0, 1]);
    net.configure(&lists("drop", ", {name: other, path: $HOME/other.txt}"));
    net.filterd(["reload"]).succeeds().says("list other: new\n");
    sees("list other: new", &[2]);
    net.configure("lists: []");
    net.daemon().signal(Signal::SIGHUP);
    sees("lists drop, other: no longer in the configuration", &[0, 2]);
    let many: String =
        (0..12).map(|name| format!(", {{name: name-{name:02}, path: $HOME/other.txt}}")).collect();
    net.configure(&lists("drop", &many));
    let told = net.filterd(["reload"]).succeeds();
    told.says("lists drop, name-00, name-01, name-02, name-03, name-04, name-05, name-06, name-07, name-08 and 3 more: new\n");
}

/// Where it is, and by what name: it is filtered all the time.
#[test]
fn watch_shows_interface_moves_and_returns() {
    let mut net = Net::with_links(2);
    net.start("interfaces: [eth0, eth1]");
    let mut watcher = Watcher::of(&net, r#"{"changes":true}"#);
    let host = net.host().name().to_owned();
    let peer = net.peer().name().to_owned();
    net.host().ip_all("link set eth1 down\nlink set eth1 name lan0\n");
    watcher.sees("eth1 was renamed to lan0 and is still filtered");
    net.host().ip_all("link set lan0 name eth1\n");
    watcher.sees("lan0 is named eth1 again and is still filtered");
    net.host().ip_all(&format!("link set eth1 name moved\nlink set moved netns {peer}\n"));
    watcher.sees("eth1 was moved to another network namespace and is still filtered there");
    net.peer().ip_all(&format!("link set moved netns {host}\n"));
    watcher.sees("eth1 returned from another network namespace as moved and is still filtered");
    net.host().ip_all("link set moved name eth1\n");
    watcher.sees("moved is named eth1 again and is still filtered");
}

#[test]
fn watch_finds_reread_list_by_name() {
    let mut net = Net::new();
    for name in ["drop", "other"] {
        net.home().write(&format!("{name}.txt"), "203.0.113.7\n");
    }
    net.start("lists: [{name: other, path: $HOME/other.txt}, {name: drop, path: $HOME/drop.txt}]");
    let mut watcher = Watcher::of(&net, r#"{"list":"drop"}"#);
    net.home().write("other.txt", "198.51.100.1\n");
    net.home().write("drop.txt", "198.51.100.1\n198.51.100.2\n");
    net.filterd(["reload"]).succeeds();
    let read = watcher.line()["parameters"]["event"].take();
    assert_eq!(
        (&read["verb"], &read["lists"], &read["what"]),
        (&"read".into(), &serde_json::json!(["drop"]), &"list \"drop\" read".into())
    );
}

#[test]
fn watch_ends_with_clear_message_at_stop() {
    let mut net = Net::with_filterd("");
    let mut watching = Watching::of(&net, &[]);
    net.stop();
    let last = watching.sees(|line| line["error"].is_string());
    assert_eq!(last["error"], "io.filterd.Unavailable", "{last}");
    assert_eq!(last["parameters"]["message"], "filterd has stopped");
    let (ended, complaint) = watching.end();
    assert_eq!((ended.code(), complaint.as_str()), (Some(6), ""));
}

/// Without its broker filterd ends, too; its filter stays.
#[test]
fn watch_reports_broker_death_and_remaining_filter() {
    let mut net = Net::with_filterd("block: [203.0.113.7]");
    let mut watching = Watching::of(&net, &[]);
    let broker = i32::try_from(keeper_of(net.daemon().id())).expect("process ids are small");
    kill(Pid::from_raw(broker), Signal::SIGKILL).expect("it runs");
    let told = watching.sees(|line| line["event"]["level"] == "error");
    let what = told["event"]["what"].as_str().expect("it is told in words");
    assert!(
        what.contains("stopping: the broker process is gone") && what.contains("stays attached as it is"),
        "{told}"
    );
    let last = watching.sees(|line| line["error"].is_string());
    assert_eq!(last["error"], "io.filterd.Unavailable", "{last}");
    assert_eq!(last["parameters"]["message"], "filterd has stopped");
    let remedy = last["parameters"]["remedy"].as_str().expect("it says what to do");
    assert!(remedy.contains("filter"), "{remedy}");
    assert_eq!(watching.end().0.code(), Some(6));
    let (status, _) = net.wait_for_the_end();
    assert_eq!(status.code(), Some(8));
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
}

#[test]
fn watch_continues_after_take_over() {
    let mut net = Net::with_filterd("");
    let mut watching = Watching::of(&net, &["--count", "2", "--list", "ssh"]);
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    assert_eq!(watching.line()["event"]["target"], ATTACKER);
    net.succeed("");
    assert_eq!(watching.line(), serde_json::json!({"version": 1}), "from here on it is told again");
    net.filterd(["add", BYSTANDER, "--list", "ssh"]).succeeds();
    assert_eq!(watching.line()["event"]["target"], BYSTANDER);
    assert_eq!(watching.end().0.code(), Some(0));
}

#[test]
fn watch_ends_silently_on_interrupt_or_closed_pipe() {
    let net = Net::with_filterd("");
    // Nothing happens that would have to be written.
    let (ended, complaint) = Watching::of(&net, &[]).unread();
    assert_eq!((ended.code(), complaint.as_str()), (Some(0), ""));
    let watching = Watching::of(&net, &[]);
    watching.signal(Signal::SIGINT);
    let (ended, complaint) = watching.end();
    assert_eq!((ended.signal(), complaint.as_str()), (Some(Signal::SIGINT as i32), ""));
}

#[test]
fn watch_ends_after_requested_events_of_list() {
    let net = Net::with_filterd("");
    let mut watcher = Watcher::of(&net, r#"{"list":"ssh","count":1,"changes":true}"#);
    net.filterd(["add", BYSTANDER]).succeeds();
    net.filterd(["add", ATTACKER, "--list", "ssh"]).succeeds();
    assert_eq!(
        watcher.line()["parameters"]["event"]["what"],
        format!("blocked {ATTACKER}"),
        "only what names the list"
    );
    assert!(watcher.line()["continues"].is_null(), "that was all");
    // The command line does the same, and ends by itself.
    let lines = net.filterd(["watch", "--changes", "--for", "1s", "--json"]).succeeds().json_lines();
    let begun = serde_json::json!({"version": 1});
    assert_eq!(lines, [begun], "another such line is told only where another filterd goes on");
    net.filterd(["watch", "--for", "0"]).exits(2);
    net.filterd(["watch", "--list", "a b"]).exits(2);
}

/// Whoever takes something out of every list names none of them.
#[test]
fn watch_of_list_shows_only_its_removals() {
    let net = Net::with_filterd("");
    for (target, list) in [(ATTACKER, "ssh"), ("192.0.2.77", "ssh"), (BYSTANDER, "web")] {
        net.filterd(["add", target, "--list", list]).succeeds();
    }
    let mut watcher = Watcher::of(&net, r#"{"list":"ssh","changes":true}"#);
    net.filterd(["remove", BYSTANDER]).succeeds();
    net.filterd(["remove", ATTACKER]).succeeds();
    let mut tells = |what: &str, lists: &[&str]| {
        let event = watcher.line()["parameters"]["event"].take();
        assert_eq!((&event["what"], &event["lists"]), (&what.into(), &serde_json::json!(lists)), "{event}");
    };
    tells(&format!("removed {ATTACKER}"), &["ssh"]);
    net.filterd(["add", ATTACKER, "--list", "ssh", "--ttl", "1s"]).succeeds();
    tells(&format!("blocked {ATTACKER}"), &["ssh"]);
    tells("1 expired", &["ssh"]);
    net.filterd(["add", BYSTANDER, "--list", "web"]).succeeds();
    net.filterd(["flush"]).succeeds();
    tells("flushed", &["ssh", "web"]);
    let mut usual = Watcher::of(&net, r#"{"list":"manual","changes":true}"#);
    net.filterd(["add", ATTACKER]).succeeds();
    assert_eq!(usual.line()["parameters"]["event"]["what"], format!("blocked {ATTACKER}"));
}

#[test]
fn stalled_watcher_delays_nobody_and_ninth_is_refused() {
    let net = Net::with_filterd("");
    let mut watchers: Vec<_> = (0..8).map(|_| Watcher::of(&net, "{}")).collect();
    net.filterd(["watch", "--for", "1s"]).exits(6);
    net.filterd(["add", ATTACKER]).succeeds();
    net.expect(ATTACKER).dropped();
    let mut last = watchers.pop().expect("there are eight");
    last.sees(&format!("blocked {ATTACKER}"));
    // Whoever says anything else has watched enough.
    last.says("{}");
    last.ends();
    net.filterd(["watch", "--for", "1s"]).succeeds();
}
