//! What monitoring is told over HTTP: series that agree with the wire, a word on health, and nothing for strangers.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use harness::{ATTACKER, BYSTANDER, Frame, Net, Prometheus, Reply, SOON, Site, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

const CONFIG: &str = "metrics: {listen: 127.0.0.1:9477}";

const ADDRESS: &str = "127.0.0.1:9477";

/// The number and all of an answer.
pub struct Told {
    status: u16,
    head: String,
    pub body: String,
}

/// Sends these bytes to filterd and hears it out.
fn say(net: &Net, request: &str) -> Told {
    let all = net.host().inside(|| {
        let mut stream = TcpStream::connect(ADDRESS).expect("somebody listens");
        stream.set_read_timeout(Some(SOON)).expect("it is a socket");
        stream.write_all(request.as_bytes()).expect("it listens");
        let mut all = String::new();
        stream.read_to_string(&mut all).expect("it answers and hangs up");
        all
    });
    let (head, body) = all.split_once("\r\n\r\n").unwrap_or((&all, ""));
    let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Told { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

/// What monitoring is told there.
pub fn get(net: &Net, path: &str) -> Told {
    say(net, &format!("GET {path} HTTP/1.1\r\nHost: {ADDRESS}\r\n\r\n"))
}

/// The value of a series, by its whole name.
#[track_caller]
fn series(net: &Net, name: &str) -> f64 {
    let text = get(net, "/metrics").body;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    value.unwrap_or_else(|| panic!("there is no {name} in\n{text}"))
}

#[test]
fn metrics_are_off_by_default() {
    let net = Net::with_filterd("");
    let refused = net.host().inside(|| TcpStream::connect(ADDRESS).err().map(|error| error.kind()));
    assert_eq!(refused, Some(std::io::ErrorKind::ConnectionRefused));
}

#[test]
fn each_counter_is_what_was_on_the_wire() {
    let mut net = Net::new();
    net.file("drop.txt", "198.18.7.0/24\n");
    net.start(&format!("{CONFIG}\nlists: [{{name: drop, path: $HOME/drop.txt}}]"));
    net.filterd(["add", ATTACKER]).succeeds();
    let frames = |source: &str, count| vec![Frame::from(source); count];
    net.expect_each(frames(ATTACKER, 30)).dropped();
    net.expect_each(frames("198.18.7.77", 20)).dropped();
    net.expect_each(frames(BYSTANDER, 10)).passes();
    let interface = net.filterd(["stats", "--json"]).succeeds().json();
    let rows = interface["interfaces"].as_array().expect("rows");
    let packets: u64 = rows.iter().filter_map(|row| row["packets"].as_u64()).sum();
    let bytes: u64 = rows.iter().filter_map(|row| row["bytes"].as_u64()).sum();
    assert_eq!(packets, 50);
    let text = get(&net, "/metrics").body;
    let sum = |family: &str| -> f64 {
        let told =
            text.lines().filter(|line| line.starts_with(&format!("{family}{{")) && line.contains("\"drop\""));
        told.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    };
    assert_eq!(sum("filterd_interface_packets_total"), 50.0, "{text}");
    assert_eq!(sum("filterd_interface_bytes_total"), bytes as f64);
    assert_eq!(sum("filterd_packets_total"), 50.0);
    assert_eq!(series(&net, "filterd_list_packets_total{list=\"manual\",verdict=\"drop\"}"), 30.0);
    assert_eq!(series(&net, "filterd_list_packets_total{list=\"drop\",verdict=\"drop\"}"), 20.0);
    assert_eq!(series(&net, "filterd_entries_wanted"), 2.0);
    assert_eq!(series(&net, "filterd_entries_enforced"), 2.0);
    net.filterd(["add", "203.0.113.16/30", "--list", "other"]).succeeds();
    net.filterd(["add", ATTACKER, "--list", "other"]).succeeds();
    assert_eq!(series(&net, "filterd_entries_wanted"), 4.0);
    assert_eq!(series(&net, "filterd_entries_enforced"), 6.0, "four addresses more, and one that was there");
    assert!(series(&net, "filterd_change_seconds_count") >= 1.0);
    assert!(!text.contains(ATTACKER), "no source is named");
}

/// Sources that are told, each with its list and packets a second.
fn sources(net: &Net) -> Vec<(String, f64)> {
    let text = get(net, "/metrics").body;
    let lines = text.lines().filter_map(|line| line.strip_prefix("filterd_source_packets_per_second{"));
    lines
        .map(|line| {
            let (labels, value) = line.rsplit_once("} ").expect("a series");
            (labels.to_owned(), value.parse().expect("a number"))
        })
        .collect()
}

#[test]
fn top_sources_are_exported_only_when_configured() {
    let mut net = Net::new();
    net.file("drop.txt", "198.18.7.0/24\n");
    let lists = "lists: [{name: drop, path: $HOME/drop.txt}]";
    net.start(&format!("{}\n{lists}", CONFIG.replace('}', ", sources: 2}")));
    net.filterd(["add", ATTACKER]).succeeds();
    assert_eq!(sources(&net), [], "nobody has sent anything");
    let [one, two] =
        ["source=\"198.18.7.3\",list=\"drop\"".to_owned(), format!("source=\"{ATTACKER}\",list=\"manual\"")];
    let mut told = Vec::new();
    until(
        || {
            // Each second some of three sources: the most, fewer, and fewest.
            for (source, count) in [("198.18.7.3", 20), (ATTACKER, 10), ("198.18.7.4", 1)] {
                net.expect_each(vec![Frame::from(source); count]).dropped();
            }
            net.expect(BYSTANDER).passes();
            told = sources(&net);
            told.len() == 2
        },
        "two sources are told",
    );
    assert_eq!([&told[0].0, &told[1].0], [&one, &two], "those that send most, the most first");
    assert!(told[0].1 > told[1].1 && told[1].1 > 0.0, "{told:?}");
    let snapshot = net.filterd(["top", "--json"]).succeeds().json();
    assert_eq!(snapshot["top_sources"]["rows"][0]["source"], "198.18.7.3", "{snapshot}");
    // Who does not say how many is told of all three.
    net.configure(&format!("{}\n{lists}", CONFIG.replace('}', ", sources: true}")));
    net.filterd(["reload"]).succeeds();
    until(
        || {
            net.expect_each(["198.18.7.3", ATTACKER, "198.18.7.4"]).dropped();
            sources(&net).len() == 3
        },
        "three sources are told",
    );
    // It is switched off by a reload, and then the kernel is asked for nothing.
    net.configure(&format!("{CONFIG}\n{lists}"));
    net.filterd(["reload"]).succeeds();
    net.expect_each(vec![Frame::from(ATTACKER); 10]).dropped();
    assert!(!get(&net, "/metrics").body.contains(ATTACKER), "no source is named any more");
    assert!(net.filterd(["top", "--json"]).succeeds().json()["top_sources"].is_null());
}

#[test]
fn a_table_that_grows_is_counted() {
    let net = Net::with_filterd(CONFIG);
    let name = "filterd_table_growths_total{table=\"ipv4 addresses\"}";
    net.filterd(["add", "10.77.0.1"]).succeeds();
    assert_eq!(series(&net, name), 0.0);
    for part in 0..8 {
        let targets: String =
            (0..2500).map(|at| format!("10.{}.{}.{}\n", 80 + part, at / 250, at % 250)).collect();
        net.filterd_reading(["add", "-"], &targets).succeeds();
    }
    until(|| series(&net, name) >= 1.0, "20,000 addresses need more room than one");
    assert_eq!(
        series(&net, "filterd_list_entries{list=\"manual\",kind=\"live\",effect=\"block\"}"),
        20_001.0
    );
}

#[test]
fn readiness_fails_when_protection_is_degraded() {
    let mut net = Net::with_filterd(CONFIG);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(get(&net, path).status, 200, "{path}");
    }
    net.filterd(["pause", "10m"]).succeeds();
    let paused = get(&net, "/readyz");
    assert_eq!(paused.status, 503);
    assert!(paused.body.starts_with("PAUSED until"), "{}", paused.body);
    assert_eq!(get(&net, "/healthz").status, 200, "starting it anew would mend nothing");
    assert_eq!((series(&net, "filterd_protected"), series(&net, "filterd_paused")), (0.0, 1.0));
    net.filterd(["resume"]).succeeds();
    assert_eq!(get(&net, "/readyz").status, 200);
    // A list that is held back leaves protection as it is.
    net.file("drop.txt", "203.0.113.0/24\n");
    net.configure(&format!("{CONFIG}\nlists: [{{name: drop, path: $HOME/drop.txt}}]"));
    net.filterd(["reload"]).succeeds();
    net.file("drop.txt", "");
    net.filterd(["reload"]).exits(7);
    assert_eq!(get(&net, "/readyz").status, 200);
    assert_eq!(series(&net, "filterd_list_held_back{list=\"drop\"}"), 1.0);
    assert_eq!(series(&net, "filterd_faults{about=\"lists\"}"), 1.0);
    net.end(Signal::SIGKILL);
    net.start(CONFIG);
    assert_eq!(get(&net, "/readyz").status, 200, "the next one answers in its place");
}

/// To start it anew would not bring the list, and what else is configured is in force.
#[test]
fn never_loaded_list_leaves_daemon_ready() {
    let mut net = Net::new();
    net.start(&format!("{CONFIG}\nblock: [{ATTACKER}]\nlists: [{{name: drop, path: $HOME/drop.txt}}]"));
    net.filterd(["status"]).exits(7).says("Protected, BUT NOT ALL AS CONFIGURED: packets from 1 target");
    let ready = get(&net, "/readyz");
    assert_eq!(ready.status, 200);
    assert!(
        ready.body.starts_with("Protected, BUT NOT ALL AS CONFIGURED: packets from 1 target on eth0"),
        "{}",
        ready.body
    );
    for line in ["\nlist \"drop\" is not loaded: ", "\n    to retry after restoring the file: filterd reload"]
    {
        assert!(ready.body.contains(line), "what is told below stands below: {}", ready.body);
    }
    assert_eq!(series(&net, "filterd_list_held_back{list=\"drop\"}"), 1.0);
    assert_eq!(series(&net, "filterd_protected"), 1.0);
    net.expect(ATTACKER).dropped();
    net.file("drop.txt", &format!("{BYSTANDER}\n"));
    net.filterd(["reload"]).succeeds();
    net.expect(BYSTANDER).dropped();
    until(
        || get(&net, "/readyz").body.starts_with("Protected as configured: packets from 2 targets"),
        "it is told when it has come",
    );
    assert_eq!(series(&net, "filterd_list_held_back{list=\"drop\"}"), 0.0);
}

#[test]
fn a_filterd_that_stands_still_is_not_healthy() {
    let net = Net::with_filterd(CONFIG);
    assert_eq!(get(&net, "/healthz").status, 200);
    // The whole process stands still: whoever asks waits, and is not told that all is well.
    let pid =
        Pid::from_raw(net.filterd(["status", "--json"]).succeeds().json()["pid"].as_i64().unwrap() as i32);
    kill(pid, Signal::SIGSTOP).unwrap();
    let silent = net.host().inside(|| {
        let mut stream = TcpStream::connect(ADDRESS).expect("the kernel takes it in");
        stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        write!(stream, "GET /healthz HTTP/1.1\r\nHost: {ADDRESS}\r\n\r\n").unwrap();
        stream.read(&mut [0; 16]).is_err()
    });
    kill(pid, Signal::SIGCONT).unwrap();
    assert!(silent);
    assert_eq!(get(&net, "/healthz").status, 200);
}

#[test]
fn metrics_reveal_and_change_nothing() {
    let net = Net::with_filterd(
        &format!("{CONFIG}\nblock: [203.0.113.9]").replace("9477}", "9477, hosts: [filter.example.net]}"),
    );
    let asked_as = |host: &str| say(&net, &format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n")).status;
    assert_eq!(asked_as("evil.example"), 421);
    for host in [ADDRESS, "localhost:9477", "filter.example.net"] {
        assert_eq!(asked_as(host), 200, "{host}");
    }
    // What asks by no name at all, as HAProxy does, learns whether filterd answers, and nothing else.
    assert_eq!(say(&net, "GET /healthz HTTP/1.0\r\n\r\n").status, 200);
    assert_eq!(say(&net, "GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 200);
    assert_eq!(say(&net, "GET /readyz HTTP/1.0\r\n\r\n").status, 421);
    for method in ["POST", "DELETE", "OPTIONS"] {
        let told =
            say(&net, &format!("{method} /metrics HTTP/1.1\r\nHost: {ADDRESS}\r\nContent-Length: 0\r\n\r\n"));
        assert_eq!(told.status, 405, "{method}");
        assert!(
            told.head.contains("allow: get, head") && !told.head.contains("access-control"),
            "{}",
            told.head
        );
    }
    let head = say(&net, &format!("HEAD /metrics HTTP/1.1\r\nHost: {ADDRESS}\r\n\r\n"));
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    for word in ["frame-ancestors 'none'", "nosniff", "no-store"] {
        assert!(head.head.contains(word), "{word}: {}", head.head);
    }
    assert_eq!(get(&net, "/metrics/").status, 404);
    assert_eq!(get(&net, &format!("/{}", "x".repeat(100_000))).status, 431);
    net.expect("203.0.113.9").dropped();
}

#[test]
fn busy_http_leaves_command_line_working() {
    let net = Net::with_filterd(CONFIG);
    let idle = net.host().inside(|| {
        (0..200).map(|_| TcpStream::connect(ADDRESS).expect("the kernel takes it in")).collect::<Vec<_>>()
    });
    net.filterd(["add", ATTACKER]).succeeds();
    net.expect(ATTACKER).dropped();
    drop(idle);
    assert_eq!(get(&net, "/healthz").status, 200);
}

#[test]
fn taken_metrics_port_is_retried_until_free() {
    let mut net = Net::new();
    let taken = net.host().inside(|| std::net::TcpListener::bind(ADDRESS).unwrap());
    net.start(CONFIG);
    net.filterd(["add", ATTACKER]).succeeds();
    net.expect(ATTACKER).dropped();
    // Who takes the place of another one finds the port free a moment later, which is no fault.
    until(|| net.filterd(["status"]).code() == Some(7), "it is told");
    net.filterd(["status"]).says("cannot listen at `metrics.listen`, 127.0.0.1:9477").says("ss -ltnp");
    drop(taken);
    let free = || net.host().inside(|| TcpStream::connect(ADDRESS).is_ok());
    until(free, "the port is free");
    net.filterd(["status"]).succeeds().is_silent_about("cannot listen");
}

#[test]
fn a_real_prometheus_understands_all_of_it() {
    let mut net = Net::new();
    net.file("drop.txt", "203.0.113.0/24\n");
    net.start(&format!("{CONFIG}\nlists: [{{name: drop, path: $HOME/drop.txt}}]"));
    net.filterd(["add", ATTACKER]).succeeds();
    net.expect_each(vec![Frame::from(ATTACKER); 30]).dropped();
    let scraped = net.home().write("scraped.txt", &get(&net, "/metrics").body);
    let mut lint = Command::new("promtool");
    lint.args(["check", "metrics"]).stdin(std::fs::File::open(scraped).unwrap());
    Reply::of(&mut lint).succeeds().says_nothing();
    let rules = Prometheus::rules();
    Reply::of(Command::new("promtool").args(["check", "rules"]).arg(&rules)).succeeds();
    let tests = rules.with_extension("test.yml");
    Reply::of(Command::new("promtool").args(["test", "rules"]).arg(tests)).succeeds();
    let prometheus = Prometheus::watching(&net, ADDRESS);
    until(
        || prometheus.tells(&net, "sum(filterd_interface_packets_total)") == Some(30.0),
        "Prometheus has what was on the wire",
    );
    assert_eq!(prometheus.tells(&net, "up"), Some(1.0));
    assert_eq!(prometheus.tells(&net, "filterd_protected"), Some(1.0));
    assert_eq!(prometheus.tells(&net, "sum(filterd_list_packets_total)"), Some(30.0));
    net.filterd(["pause", "10m"]).succeeds();
    until(|| prometheus.tells(&net, "filterd_paused") == Some(1.0), "Prometheus has seen the pause");
}

/// What the dashboard asks a real Prometheus it is answered: series, labels and functions are there.
#[test]
fn dashboard_queries_have_answers() {
    let mut net = Net::new();
    let site = Site::up(&net);
    site.has("203.0.113.0/24\n");
    net.start(&format!("{CONFIG}\nlists: [{{name: drop, {}}}]", Site::keys()));
    net.expect(ATTACKER).then_within(SOON).dropped();
    let prometheus = Prometheus::watching(&net, ADDRESS);
    let questions = dashboard();
    assert!(questions.len() > 10, "{questions:?}");
    for question in questions {
        until(
            || {
                net.filterd(["add", BYSTANDER]).succeeds();
                net.filterd(["remove", BYSTANDER]).succeeds();
                net.expect(ATTACKER).dropped();
                prometheus.tells(&net, &question).is_some_and(|value| !value.is_nan())
            },
            &format!("there is an answer to {question}"),
        );
    }
}

/// All that the dashboard asks, as Grafana puts it for one who looks at all machines and the last minute.
fn dashboard() -> Vec<String> {
    let text = include_str!("../../configs/grafana/filterd.json");
    let dashboard: Value = serde_json::from_str(text).expect("it is JSON");
    let panels = dashboard["panels"].as_array().expect("it has panels").iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let asked = targets.map(|target| target["expr"].as_str().expect("it asks something"));
    asked.map(|asked| asked.replace("$instance", ".*").replace("$__rate_interval", "1m")).collect()
}
