//! A list with a `url` is fetched, and drops; whatever its server does, what was good stays, and is told.

use harness::limited::LimitedChild;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use harness::{
    ATTACKER, BYSTANDER, GATEWAY, Net, Site, SmallDisk, fetcher_of, give_to_daemon, is_running, until,
};

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
fn downloaded_list_drops_and_survives_server_faults() {
    let mut net = Net::new();
    let site = Site::up(&net);
    site.has(&format!("{ATTACKER}\n"));
    net.start(&config());
    wait_for(&net, "it is fetched at once", |list| list["entries"] == 1);
    // Whoever asks before that is over is told of it, too.
    net.wait_for_log("list updated: ipsum entered=1");
    net.expect(ATTACKER).dropped();
    // It is asked for again in an hour, and says so before that is over.
    let status = net
        .filterd(["status", "--json"])
        .succeeds()
        .has(json!({"lists": [{"name": "ipsum", "kind": "url"}]}));
    assert!(status.output.contains("\"next\":"), "{status}");
    let refresh = ["lists", "refresh", "ipsum", "--json"];
    let fetched = |outcome: &str, entries: u64, code: u64| {
        let transfer = json!({"status": code});
        json!({"lists": [{"list": "ipsum", "outcome": outcome, "entries": entries, "transfer": transfer}]})
    };
    // Another list, and the same once more.
    site.has(&format!("{BYSTANDER}\n"));
    net.filterd(refresh)
        .succeeds()
        .has(fetched("changed", 1, 200))
        .has(json!({"entered": 1, "left": 1}))
        .says("\"url\":\"http://198.19.255.254/list.txt?…\"");
    net.expect(BYSTANDER).dropped();
    net.expect(ATTACKER).passes();
    let list = format!("{ATTACKER}\n{BYSTANDER}\n");
    site.has_tagged("1", &list);
    net.filterd(refresh).succeeds().has(fetched("changed", 2, 200));
    site.asked();
    net.filterd(refresh).succeeds().has(fetched("unchanged", 2, 304));
    assert_eq!(site.asked()[0].header("if-none-match"), Some("\"1\""));
    // What fails or is not believed.
    for (answer, outcome, why) in [
        (
            "HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n",
            "not_fetched",
            "the server answered 504",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n192.0.2.1\n", "not_fetched", "broke off"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "held_back", "is empty, but had 2 targets before"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n<!DOCTYPE html>\n", "held_back", "it looks like HTML"),
    ] {
        site.answers(answer);
        net.filterd(refresh)
            .exits(7)
            .has(json!({"lists": [{"list": "ipsum", "outcome": outcome}]}))
            .says(why);
        net.filterd(["status"]).exits(7).says(why);
        net.filterd(["lists"]).exits(7).says(why);
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

/// Whoever restarts it is told what he would have been told without, and its server is asked when it would have been.
#[test]
fn failed_download_is_known_after_restart() {
    let mut net = Net::new();
    let site = Site::up(&net);
    site.has(&format!("{ATTACKER}\n"));
    net.start(&config());
    wait_for(&net, "it is fetched at once", |list| list["entries"] == 1);
    let next = |net: &Net| {
        let told = net.filterd(["lists", "--json"]).json();
        let list = told["lists"].as_array().expect("lists").iter().find(|list| list["name"] == "ipsum");
        list.expect("it is told")["fetching"]["next"].as_u64().expect("a time")
    };
    for (answer, why, most) in [
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "404", 300),
        ("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3000\r\nContent-Length: 0\r\n\r\n", "429", 3010),
    ] {
        site.answers(answer);
        net.filterd(["lists", "refresh", "ipsum"]).exits(7).complains(why);
        for signal in [Signal::SIGKILL, Signal::SIGTERM] {
            net.end(signal);
            net.start(&config());
            net.filterd(["status"]).exits(7).says(why).says("in force");
            net.filterd(["lists"]).exits(7).says(why);
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_secs();
            assert!((now..=now + most).contains(&next(&net)), "{why}: {} at {now}", next(&net));
            assert!(why == "404" || next(&net) > now + 2000, "its server wants to be left alone");
            net.expect(ATTACKER).dropped();
        }
    }
    site.has(&format!("{ATTACKER}\n"));
    net.filterd(["lists", "refresh", "ipsum"]).succeeds();
    net.end(Signal::SIGKILL);
    net.start(&config());
    net.filterd(["status"]).succeeds();
}

#[test]
fn secret_is_sent_and_never_shown() {
    let mut net = Net::new();
    let site = Site::up(&net);
    site.has(&format!("{ATTACKER}\n"));
    let key = net.file("key", "abracadabra\n");
    give_to_daemon(&key);
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
    net.expect(ATTACKER).dropped();
    net.filterd(["status"]).exits(7).says("the server answered 401").says("in force");
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
    for directory in ["", "feeds", "blobs"] {
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
    net.filterd(["lists", "refresh"]).exits(7).complains("all users may read").complains("chmod 0640");
    net.expect(ATTACKER).dropped();
}

/// When it is fetched next, in seconds from now.
fn next(list: &Value) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_secs();
    list["fetching"]["next"].as_i64().expect("a time") - i64::try_from(now).expect("a time")
}

#[test]
fn error_page_is_retried_until_list_returns() {
    let mut net = Net::new();
    let site = Site::up(&net);
    site.has(&format!("{ATTACKER}\n"));
    net.start(&config());
    wait_for(&net, "it is fetched at once", |list| list["entries"] == 1 && next(list) > 3000);
    site.has_tagged("page", "<!DOCTYPE html>\n<title>Sign in</title>\n");
    net.filterd(["lists", "refresh", "ipsum"]).exits(7).says("NOT UPDATED");
    wait_for(&net, "it is asked for again soon, and not after an hour", |list| next(list) <= 17);
    site.asked();
    site.has_tagged("page", &format!("{ATTACKER}\n{BYSTANDER}\n"));
    wait_for(&net, "nobody has to ask for it", |list| list["entries"] == 2 && next(list) > 3000);
    assert_eq!(site.asked()[0].header("if-none-match"), None, "a gateway's tag is nothing to ask by");
    net.expect(BYSTANDER).dropped();
    net.filterd(["status"]).succeeds();
}

#[test]
fn empty_first_download_is_reported_until_accepted() {
    let mut net = Net::new();
    let site = Site::up(&net);
    site.has("# nothing today\n");
    net.start(&config());
    net.filterd(["lists", "refresh", "ipsum"]).exits(7).complains("is empty, and never had an entry");
    net.filterd(["status"]).exits(7).says("set `min_entries: 0` on the list");
    net.filterd(["reload", "--accept", "ipsum"]).succeeds();
    net.filterd(["status"]).succeeds();
    net.filterd(["lists", "refresh", "ipsum"]).succeeds().says("ipsum: unchanged, 0 entries");
    net.end(Signal::SIGKILL);
    net.start(&config());
    net.filterd(["status"]).succeeds();
    // Who says so at once is asked nothing.
    let mut other = Net::new();
    let site = Site::up(&other);
    site.has("# nothing today\n");
    other.start(&config().replace("refresh", "min_entries: 0, refresh"));
    other.filterd(["lists", "refresh", "ipsum"]).succeeds();
}

#[test]
fn retry_after_is_respected_after_restart() {
    let mut net = Net::new();
    let site = Site::up(&net);
    site.answers("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 600\r\nContent-Length: 0\r\n\r\n");
    net.start(&config());
    wait_for(&net, "it says when", |list| !list["fetching"]["failed"].is_null() && next(list) > 590);
    net.end(Signal::SIGKILL);
    site.asked();
    net.start(&config());
    wait_for(&net, "that is known", |list| next(list) > 500);
    assert!(site.asked().is_empty(), "it was not asked");
    site.has(&format!("{ATTACKER}\n"));
    net.filterd(["lists", "refresh", "ipsum"]).succeeds();
    net.expect(ATTACKER).dropped();
}

#[test]
fn systemd_secret_is_sent_or_reported_missing() {
    let mut net = Net::new();
    let site = Site::up(&net);
    site.has(&format!("{ATTACKER}\n"));
    // As systemd makes them: of root, for nobody else, read only.
    let handed = net.home().path("credentials");
    fs::create_dir(&handed).expect("it is ours");
    fs::write(handed.join("feed"), "abracadabra\n").expect("it is ours");
    fs::write(handed.join("long"), vec![b'a'; 1 << 15]).expect("it is ours");
    for (path, mode) in [(handed.join("feed"), 0o400), (handed.join("long"), 0o400), (handed.clone(), 0o500)]
    {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
    }
    net.has_credentials(&handed);
    let says = |name: &str| {
        config().replace(
            "refresh",
            &format!("insecure: true, auth: {{bearer: true, credential: {name}}}, refresh"),
        )
    };
    net.start(&says("feed"));
    wait_for(&net, "it is fetched", |list| list["entries"] == 1);
    assert_eq!(site.asked()[0].header("authorization"), Some("Bearer abracadabra"));
    net.expect(ATTACKER).dropped();
    for (name, why) in [("other", "LoadCredential="), ("long", "the credential `long` cannot be read")] {
        net.configure(&says(name));
        net.filterd(["reload"]).code();
        net.filterd(["lists", "refresh"]).exits(7).complains(why);
        net.expect(ATTACKER).dropped();
    }
    assert!(!net.daemon().log().contains("abracadabra"));
}

#[test]
fn full_state_directory_keeps_last_good_list() {
    let mut net = Net::new();
    let disk = SmallDisk::of_state(net.home());
    let site = Site::up(&net);
    site.has(&format!("{ATTACKER}\n"));
    net.start(&config().replace("refresh", "include_special: true, refresh"));
    wait_for(&net, "it is fetched", |list| list["entries"] == 1);
    disk.fill();
    site.has(&format!("{ATTACKER}\n{}", "10.0.0.1 # a word or two more\n".repeat(100_000)));
    net.filterd(["lists", "refresh"]).exits(7).says("NOT FETCHED").complains("check its free space");
    net.expect(ATTACKER).dropped();
    disk.make_room();
    site.has(&format!("{ATTACKER}\n{BYSTANDER}\n"));
    net.filterd(["lists", "refresh"]).succeeds();
    net.expect(BYSTANDER).dropped();
}

#[test]
fn reload_on_trial_reports_lists_without_trial() {
    let net = Net::with_filterd("lists: []");
    let site = Site::up(&net);
    site.has(&format!("{ATTACKER}\n"));
    net.configure(&config());
    net.filterd(["reload", "--confirm", "10m"])
        .complains("list \"ipsum\" was never fetched and is not part of the trial");
    net.filterd(["confirm"]).succeeds();
    wait_for(&net, "it comes into force then", |list| list["entries"] == 1);
    net.expect(ATTACKER).dropped();
    net.configure(&config().replace("1h", "2h"));
    net.filterd(["reload", "--confirm", "10m"]).is_silent_about("is not part of the trial");
    net.filterd(["confirm"]).succeeds();
}

#[test]
fn check_names_key_for_private_server() {
    let net = Net::new();
    let config = net.file("own.yaml", &format!("lists: [{{name: own, url: 'http://{GATEWAY}/list.txt'}}]"));
    let check = || net.filterd(["check", config.to_str().expect("plain")]);
    let told = net.host().entered(check).exits(7);
    told.complains(
        "if that is intended, set `allow_private: true` on the list, then run `filterd check` again",
    )
    .is_silent_about("curl");
}

/// It was told to wait for what could not come.
#[test]
fn lost_download_process_asks_for_restart_only() {
    let mut net = Net::new();
    let site = Site::up(&net);
    site.has(&format!("{ATTACKER}\n"));
    net.start(&config());
    wait_for(&net, "it is fetched at once", |list| list["entries"] == 1);
    let fetcher = fetcher_of(net.daemon().id());
    let id = i32::try_from(fetcher).expect("process ids are small");
    kill(Pid::from_raw(id), Signal::SIGKILL).expect("it is there");
    until(|| !is_running(fetcher), "a killed process ends");
    site.has(&format!("{BYSTANDER}\n"));
    let told = net.filterd(["lists", "refresh", "ipsum"]).exits(7).says("NOT FETCHED");
    told.complains("the process that starts fetches is gone")
        .complains("restart filterd; lists keep their entries");
    let told = net.filterd(["status"]).exits(7).says("restart filterd");
    assert!(!told.output.contains("retries by itself"), "{told}");
    net.expect(ATTACKER).dropped();
    net.end(Signal::SIGKILL);
    net.start(&config());
    net.filterd(["lists", "refresh", "ipsum"]).succeeds();
    net.expect(BYSTANDER).dropped();
    net.expect(ATTACKER).passes();
}

#[test]
fn refresh_of_removed_list_reports_it() {
    let mut net = Net::new();
    let site = Site::up(&net);
    site.has(&format!("{ATTACKER}\n"));
    net.start(&config());
    wait_for(&net, "it is fetched", |list| list["entries"] == 1);
    site.hangs();
    let mut refresh = std::process::Command::new(harness::home::binary());
    refresh.arg("--socket").arg(net.home().socket()).args(["lists", "refresh", "ipsum"]);
    let refresh = refresh.stdout(std::process::Stdio::piped()).spawn().expect("it can be asked");
    wait_for(&net, "it is being fetched", |list| list["fetching"]["now"] == true);
    net.configure("block: [198.51.100.7]");
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).passes();
    let told = refresh.limited_wait_with_output().expect("it ends");
    let words = String::from_utf8_lossy(&told.stdout);
    assert_eq!((told.status.code(), words.lines().next()), (Some(7), Some("ipsum: GONE, 0 entries")));
}
