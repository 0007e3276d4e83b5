//! A list with a `url` is fetched, and drops; whatever its server does, what was good stays, and is told.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use harness::{ATTACKER, BYSTANDER, GATEWAY, Net, Site};

fn config() -> String {
    format!("lists: [{{name: ipsum, {}}}]", Site::keys())
}

/// Waits until what `lists` tells of it is so.
#[track_caller]
fn wait_for(net: &Net, what: &str, is_so: impl Fn(&Value) -> bool) {
    let begun = Instant::now();
    loop {
        let told = net.filterd(["lists", "--json"]).json();
        let lists = told["lists"].as_array().expect("lists").clone();
        if lists.iter().any(|list| list["name"] == "ipsum" && is_so(list)) {
            return;
        }
        assert!(begun.elapsed().as_secs() < 60, "{what}: {told}");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_list_that_is_fetched_drops_and_whatever_its_server_does_what_was_good_stays() {
    let mut net = Net::new();
    let site = Site::up(&net);
    site.has(&format!("{ATTACKER}\n"));
    net.start(&config());
    wait_for(&net, "it is fetched at once", |list| list["entries"] == 1);
    net.expect(ATTACKER).dropped();
    net.filterd(["status"]).succeeds();
    let refresh = ["lists", "refresh", "ipsum"];
    // Another list, and the same once more.
    site.has(&format!("{BYSTANDER}\n"));
    net.filterd(refresh)
        .succeeds()
        .says("ipsum: changed, 1 entry")
        .says("1 target entered the filter, 1 left it");
    net.expect(BYSTANDER).dropped();
    net.expect(ATTACKER).passes();
    let list = format!("{ATTACKER}\n{BYSTANDER}\n");
    site.has_tagged("1", &list);
    net.filterd(refresh).succeeds().says("ipsum: changed, 2 entries");
    site.asked();
    net.filterd(refresh).succeeds().says("ipsum: unchanged, 2 entries");
    assert_eq!(site.asked()[0].header("if-none-match"), Some("\"1\""));
    // What fails or is not believed.
    for (answer, outcome, why) in [
        (
            "HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n",
            "NOT FETCHED",
            "the server answers 504",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n192.0.2.1\n", "NOT FETCHED", "broke off"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HELD BACK", "is empty, and had 2 targets"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n<!DOCTYPE html>\n", "HELD BACK", "it looks like HTML"),
    ] {
        site.answers(answer);
        net.filterd(refresh).exits(7).says(outcome).complains(why).complains("`filterd lists refresh ipsum`");
        net.filterd(["status"]).exits(7).says(why);
        net.filterd(["lists"]).exits(7).says(why).says("http://198.19.255.254/list.txt?…");
        net.expect(ATTACKER).dropped();
        net.expect(BYSTANDER).dropped();
    }
    // A server that hangs holds up neither a reload nor a start.
    site.hangs();
    net.configure(&config().replace("1h", "2h"));
    net.filterd(["reload"]).code();
    net.expect(ATTACKER).dropped();
    net.end(Signal::SIGKILL);
    net.start(&config());
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).dropped();
    site.has(&list);
    net.filterd(refresh).succeeds();
    net.filterd(["status"]).succeeds();
    net.filterd(["allow", "list", "--list", "guard"]).succeeds().says(GATEWAY);
}

#[test]
fn a_secret_is_sent_to_the_server_and_shown_to_nobody() {
    let mut net = Net::new();
    let site = Site::up(&net);
    site.has(&format!("{ATTACKER}\n"));
    let key = net.file("key", "abracadabra\n");
    fs::set_permissions(&key, Permissions::from_mode(0o640)).expect("it is ours");
    let config = config().replace("refresh", "insecure: true, auth: {basic: ann, file: key}, refresh");
    net.start(&config);
    wait_for(&net, "it is fetched", |list| list["entries"] == 1);
    // "ann:abracadabra"
    assert_eq!(site.asked()[0].header("authorization"), Some("Basic YW5uOmFicmFjYWRhYnJh"));
    site.fails("401 Unauthorized");
    net.filterd(["lists", "refresh", "--json"])
        .exits(7)
        .is_silent_about("sesame")
        .is_silent_about("abracadabra")
        .says("401");
    for words in
        [&["lists", "--json"][..], &["status", "--json"], &["lists"], &["status"], &["diff"], &["check"]]
    {
        net.filterd(words)
            .is_silent_about("sesame")
            .is_silent_about("abracadabra")
            .is_silent_about("YW5uOmFicmFj");
    }
    assert!(!net.daemon().log().contains("sesame") && !net.daemon().log().contains("abracadabra"));
    let state = net.home().path("state");
    for directory in ["", "feeds", "lists"] {
        for file in fs::read_dir(state.join(directory)).expect("it is there").flatten() {
            let bytes = fs::read(file.path()).unwrap_or_default();
            let said = String::from_utf8_lossy(&bytes).into_owned();
            // What is in the query is in the copy of the configuration.
            assert!(
                !said.contains("abracadabra") && !said.contains("YW5uOmFicmFj"),
                "{}",
                file.path().display()
            );
        }
    }
    fs::set_permissions(&key, Permissions::from_mode(0o644)).expect("it is ours");
    net.filterd(["lists", "refresh"]).exits(7).complains("everybody may read").complains("chmod 0640");
    net.expect(ATTACKER).dropped();
}
