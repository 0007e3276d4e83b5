//! `diff`: what a reload would change, and whom of those in touch with this host it would cut; and nothing is changed.

mod interfaces;

use harness::limited::LimitedListener;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::time::{SystemTime, UNIX_EPOCH};

use harness::{ATTACKER, BYSTANDER, GATEWAY, GATEWAY6, HOST, Net, Reply};
use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, SockaddrIn};
use serde_json::{Value, json};

const ONE_LIST: &str = "lists: [{name: drop, path: $HOME/drop.txt}]";

#[test]
fn diff_reports_settings_without_changed_entries() {
    let net = with_list("192.0.2.77\n", ONE_LIST);
    for (setting, said) in [
        ("ttl: 1h", "list drop: ttl 3600 s, counted anew from then on"),
        ("max_shrink: 7%", "list drop: other limits"),
    ] {
        net.configure(&format!("lists: [{{name: drop, path: $HOME/drop.txt, {setting}}}]"));
        diff(&net).exits(1).has(json!({"settings": [said]}));
    }
    net.configure(ONE_LIST);
    net.filterd(["diff"]).succeeds();
}

#[test]
fn diff_reports_changes_and_makes_none() {
    let net = with_list("192.0.2.77\n192.0.2.78\n", ONE_LIST);
    net.filterd(["diff"]).succeeds();
    // When it is answered, copies are on disk.
    net.filterd(["reload"]).succeeds();
    let before = state(&net);
    net.file("drop.txt", "192.0.2.78\n203.0.113.0/24\n");
    net.file("more.txt", "2001:db8:bad::/48\n");
    net.configure(
        "enforce: false\nblock: [198.51.100.9]\n\
         lists: [{name: drop, path: $HOME/drop.txt}, {name: more, path: $HOME/more.txt}]",
    );
    let found = diff(&net).exits(1).json();
    let lists = json!([
        {"name": "config", "come": 1, "go": 0},
        {"name": "drop", "come": 1, "go": 1},
        {"name": "more", "new": true, "come": 1, "go": 0},
    ]);
    let entries = json!([
        {"list": "config", "target": "198.51.100.9", "comes": true},
        {"list": "drop", "target": "203.0.113.0/24", "comes": true},
        {"list": "drop", "target": "192.0.2.77", "comes": false},
        {"list": "more", "target": "2001:db8:bad::/48", "comes": true},
    ]);
    assert_eq!((&found["enforce"], &found["lists"], &found["entries"]), (&false.into(), &lists, &entries));
    assert_eq!(state(&net), before, "not even a draft");
    net.expect(ATTACKER).passes();
    net.expect("192.0.2.77").dropped();
    net.filterd(["reload", "--json"]).succeeds().has(json!({"entered": 3, "left": 1}));
    net.filterd(["diff"]).succeeds();
    net.configure(ONE_LIST);
    diff(&net).exits(1).has(json!({"lists": [{"name": "more", "gone": true, "go": 1}]}));
}

#[test]
fn diff_of_invalid_configuration_fails() {
    let net = with_list("192.0.2.77\n192.0.2.78\n", ONE_LIST);
    net.configure("enforce: perhaps");
    net.filterd(["diff"]).exits(3).complains("enforce");
    net.configure("block: [203.0.113.7]\nlists: [{name: drop, path: $HOME/gone.txt}]");
    diff(&net)
        .exits(7)
        .has(json!({"lists": [{"name": "config", "come": 1}], "held_back": [{"list": "drop"}]}))
        .says("filterd reload --accept drop");
    net.filterd(["status"]).succeeds();
}

/// Whoever is cut by the reload was named before.
#[test]
fn diff_names_each_peer_the_reload_cuts() {
    let net = with_list("192.0.2.77\n", ONE_LIST);
    let listener = net.host().entered(|| TcpListener::bind((HOST, 2222))).expect("nobody else listens");
    let came = net.peer().entered(|| connect_from(ATTACKER, 2222));
    let other = net.peer().entered(|| connect_from(BYSTANDER, 2222));
    let _accepted: Vec<_> = (0..2).map(|_| listener.limited_accept().expect("it came")).collect();
    let bystander = net.peer().entered(|| TcpListener::bind((BYSTANDER, 4443))).expect("nobody else listens");
    let went = net.host().entered(|| TcpStream::connect((BYSTANDER, 4443))).expect("it listens");
    diff(&net).succeeds().has(json!({"cuts": 0}));
    net.file("drop.txt", "192.0.2.77\n203.0.113.0/24\n198.19.255.254\n2001:2::/64\n");
    let cut = json!([{"address": ATTACKER, "is": [role("client", 2222, 1)], "target": "203.0.113.0/24", "list": "drop"}]);
    let found = diff(&net).exits(1).has(json!({"guarded": [
        {"address": "198.19.255.254", "target": "198.19.255.254", "list": "drop", "why": "a gateway of this host"},
        {"address": "2001:2::fe", "target": "2001:2::/64", "list": "drop", "why": "a gateway of this host"},
    ]}));
    assert_eq!(found.json()["cut"], cut);
    net.expect_each([ATTACKER, BYSTANDER]).passes();
    // A pause hides nobody whom its end cuts.
    net.filterd(["pause", "5m"]).succeeds();
    let found = diff(&net).exits(1).json();
    assert!(found["cuts"] == 1 && found["paused_until"].is_u64(), "{found}");
    net.filterd(["reload"]).succeeds();
    let found = diff(&net).succeeds().json();
    assert!(found["cut"] == cut && found["paused_until"].is_u64(), "{found}");
    net.expect(ATTACKER).passes();
    net.filterd(["resume"]).succeeds();
    net.expect(ATTACKER).dropped();
    diff(&net).succeeds().has(json!({"cuts": 0}));
    net.expect_each([BYSTANDER, GATEWAY, GATEWAY6]).passes();
    net.filterd(["status", "--json"]).succeeds().has(json!({"lists": [{"name": "drop", "guarded": 3}]}));
    net.configure("block: [198.51.100.0/24]\nlists: [{name: drop, path: $HOME/drop.txt}]");
    let found = diff(&net).exits(1).json();
    let roles = [role("client", 2222, 1), role("server", 4443, 1)];
    let cut = serde_json::json!([
        {"address": BYSTANDER, "is": roles, "target": "198.51.100.0/24", "list": "config"}
    ]);
    assert_eq!((&found["cuts"], &found["cut"]), (&1.into(), &cut), "who is cut already is not cut again");
    net.filterd(["reload"]).succeeds();
    net.expect(BYSTANDER).dropped();
    drop((came, other, went, bystander));
}

/// Whom something allows for a while only is told with the end of that; and for good, or listed before, is not told.
#[test]
fn diff_names_peers_cut_when_allow_expires() {
    let net = with_list("192.0.2.77\n", ONE_LIST);
    let listener = net.host().entered(|| TcpListener::bind((HOST, 2222))).expect("nobody else listens");
    let came = net.peer().entered(|| connect_from(ATTACKER, 2222));
    let _accepted = listener.limited_accept().expect("it came");
    net.filterd(["allow", "add", ATTACKER, "--ttl", "1h"]).succeeds();
    cuts_nobody(&diff(&net).succeeds());
    net.file("drop.txt", "192.0.2.77\n203.0.113.0/24\n");
    cuts_later(&diff(&net).exits(1), "drop");
    net.filterd(["allow", "add", "203.0.113.0/24", "--list", "office"]).succeeds();
    cuts_nobody(&diff(&net).exits(1));
    net.filterd(["allow", "remove", "203.0.113.0/24", "--list", "office"]).succeeds();
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).passes();
    cuts_nobody(&diff(&net).succeeds());
    net.filterd(["allow", "add", ATTACKER, "--ttl", "1s", "--shorten"]).succeeds();
    net.expect(ATTACKER).then_within(std::time::Duration::from_secs(30)).dropped();
    drop(came);
}

/// The end may be one that the reload itself brings: of a list that allows for a while from then on, of a live allow that is
/// all that is left, or of what only blocks for a while as long as nothing else does.
#[test]
fn diff_names_peers_cut_after_changed_allow() {
    let mut net = Net::new();
    net.file("partners.txt", "203.0.113.7\n");
    let partners = |ttl: &str| {
        format!(
            "block: [203.0.113.0/24]\nlists: [{{name: partners, path: $HOME/partners.txt, allow: true{ttl}}}]"
        )
    };
    net.start("lists: []");
    let listener = net.host().entered(|| TcpListener::bind((HOST, 2222))).expect("nobody else listens");
    let came = net.peer().entered(|| connect_from(ATTACKER, 2222));
    let _accepted = listener.limited_accept().expect("it came");
    net.configure(&partners(""));
    cuts_nobody(&diff(&net).exits(1));
    net.configure(&partners(", ttl: 150m"));
    let left = cuts_later(&diff(&net).exits(1), "config");
    assert!((140 * 60..=150 * 60).contains(&left), "{left}");
    net.configure(&partners(""));
    net.filterd(["reload"]).succeeds();
    net.configure(&partners(", ttl: 3s"));
    cuts_later(&diff(&net).exits(1), "config");
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).then_within(std::time::Duration::from_secs(30)).dropped();

    net.configure("block: [203.0.113.0/24]\nallow: [203.0.113.7]");
    net.filterd(["reload"]).succeeds();
    net.filterd(["allow", "add", ATTACKER, "--ttl", "90m"]).succeeds();
    cuts_nobody(&diff(&net).succeeds());
    net.configure("block: [203.0.113.0/24]");
    let left = cuts_later(&diff(&net).exits(1).has(json!({"lists": [{"go": 1}]})), "config");
    assert!((80 * 60..=90 * 60).contains(&left), "{left}");
    net.filterd(["reload"]).succeeds();
    // From now on that comes without a reload, too.
    cuts_nobody(&diff(&net).succeeds());

    net.configure("lists: []");
    net.filterd(["reload"]).succeeds();
    net.filterd(["add", "203.0.113.0/24", "--ttl", "30m"]).succeeds();
    net.filterd(["allow", "add", ATTACKER, "--ttl", "90m"]).succeeds();
    net.configure("block: [203.0.113.0/24]");
    let left = cuts_later(&diff(&net).exits(1), "config");
    assert!((80 * 60..=90 * 60).contains(&left), "{left}");
    net.filterd(["add", "203.0.113.0/24", "--ttl", "2h"]).succeeds();
    cuts_nobody(&diff(&net).exits(1).has(json!({"lists": [{"come": 1}]})));
    drop(came);
}

/// A list with ports cuts whoever comes to these, and nobody else; and one that loses its ports cuts the others, too.
#[test]
fn diff_knows_ports_of_lists() {
    let restricted = |ports: &str| format!("lists: [{{name: drop, path: $HOME/drop.txt{ports}}}]");
    let net = with_list("192.0.2.77\n", &restricted(", ports: [22]"));
    let listener = net.host().entered(|| TcpListener::bind((HOST, 2222))).expect("nobody else listens");
    let came = net.peer().entered(|| connect_from(ATTACKER, 2222));
    let _accepted = listener.limited_accept().expect("it came");
    net.file("drop.txt", "192.0.2.77\n203.0.113.0/24\n");
    cuts_nobody(&diff(&net).exits(1).has(json!({"lists": [{"come": 1}]})));
    net.filterd(["reload"]).succeeds();
    let cut = json!({"cut": [{"address": ATTACKER, "target": "203.0.113.0/24", "list": "drop"}]});
    for ports in ["", ", ports: [2000-3000]", ", except_ports: [22]"] {
        net.configure(&restricted(ports));
        diff(&net).exits(1).has(cut.clone());
    }
    net.configure(&restricted(", except_ports: [2222]"));
    cuts_nobody(&diff(&net).exits(1));
    drop(came);
}

/// What this host began it goes on with from the port that it has, below 1024 or above.
#[test]
fn diff_knows_source_ports_of_own_connections() {
    let on = |ports: &str| format!("lists: [{{name: drop, path: $HOME/drop.txt, {ports}}}]");
    let net = with_list("192.0.2.77\n", &on("ports: [22]"));
    let bystander = net.peer().entered(|| TcpListener::bind((BYSTANDER, 4443))).expect("nobody else listens");
    let went = net.host().entered(|| connect((HOST, 800), (BYSTANDER, 4443)));
    net.file("drop.txt", &format!("192.0.2.77\n{BYSTANDER}\n"));
    for ports in ["ports: [1024]", "ports: [40000]", "ports: [22, 4443]", "except_ports: [1-1023]"] {
        net.configure(&on(ports));
        cuts_nobody(&diff(&net).exits(1));
    }
    for ports in ["ports: [800]", "ports: [1-1023]", "except_ports: [4443]"] {
        net.configure(&on(ports));
        diff(&net).exits(1).has(json!({"cut": [{"address": BYSTANDER}]}));
    }
    drop((went, bystander));
}

/// Its entries stay, and are told neither as coming nor as going.
#[test]
fn diff_reports_list_with_changed_ports_once() {
    let on = |ports: &str| format!("lists: [{{name: drop, path: $HOME/drop.txt{ports}}}]");
    let net = with_list("192.0.2.77\n", &on(", ports: [22]"));
    net.configure(&on(", ports: [80]"));
    let lists = |net: &Net| diff(net).exits(1).json()["lists"].clone();
    let before = "on port 22 only";
    let told =
        json!([{"name": "drop", "ports": "on port 80 only", "ports_before": before, "come": 0, "go": 0}]);
    assert_eq!(lists(&net), told);
    net.file("drop.txt", "192.0.2.77\n192.0.2.78\n");
    net.configure(&on(""));
    assert_eq!(lists(&net), json!([{"name": "drop", "ports_before": before, "come": 1, "go": 0}]));
    net.filterd(["reload"]).succeeds();
    net.filterd(["diff"]).succeeds();
}

/// What only switching on would do is told, too: those who are listed, and only counted so far.
#[test]
fn diff_names_whom_enforcing_would_cut() {
    let net = with_list("203.0.113.0/24\n", &format!("enforce: false\n{ONE_LIST}"));
    let listener = net.host().entered(|| TcpListener::bind((HOST, 2222))).expect("nobody else listens");
    let came = net.peer().entered(|| connect_from(ATTACKER, 2222));
    let _accepted = listener.limited_accept().expect("it came");
    net.filterd(["diff"]).succeeds();
    net.configure(ONE_LIST);
    let cut = json!([{"address": ATTACKER, "target": "203.0.113.0/24", "list": "drop"}]);
    diff(&net).exits(1).has(json!({"enforce": true, "cut": cut}));
    drop(came);
}

/// It is the same list: neither new nor gone, to `diff` as to `reload`.
#[test]
fn diff_reports_list_that_changes_kind_once() {
    let net = with_list("192.0.2.77\n192.0.2.78\n", ONE_LIST);
    let allows = "lists: [{name: drop, path: $HOME/drop.txt, allow: true}]";
    for (config, allows) in [(allows, true), (ONE_LIST, false)] {
        net.configure(config);
        let found = net.filterd(["diff", "--json"]).exits(1).json();
        let mut told = json!({"name": "drop", "allows_before": !allows, "come": 2, "go": 2});
        let entry = |target: &str, comes: bool| {
            let mut entry = json!({"list": "drop", "target": target, "comes": comes});
            // It goes from the side on which it is.
            if comes == allows {
                entry["allows"] = true.into();
            }
            entry
        };
        if allows {
            told["allows"] = true.into();
        }
        assert_eq!((&found["lists"], &found["unchanged"]), (&json!([told]), &0.into()));
        let [one, other] = ["192.0.2.77", "192.0.2.78"];
        let entries = json!([entry(one, true), entry(other, true), entry(one, false), entry(other, false)]);
        assert_eq!(found["entries"], entries);
        let reloaded = net.filterd(["reload", "--json"]).succeeds().json();
        let does = if allows { "allows" } else { "blocks" };
        assert_eq!(reloaded["settings"], json!([format!("list drop: {does} from now on")]));
        assert_eq!((&reloaded["new"], &reloaded["gone"]), (&Value::Null, &Value::Null));
        net.filterd(["diff"]).succeeds();
    }
}

/// What several lists name counts for the first of them.
#[test]
fn diff_reports_changed_list_order() {
    let mut net = Net::new();
    let lists = |[one, other]: [&str; 2]| {
        format!("lists: [{{name: {one}, path: $HOME/{one}.txt}}, {{name: {other}, path: $HOME/{other}.txt}}]")
    };
    for name in ["a", "b"] {
        net.file(&format!("{name}.txt"), &format!("{ATTACKER}\n"));
    }
    net.start(&lists(["a", "b"]));
    net.configure(&lists(["b", "a"]));
    let would =
        "lists: what several name would count for another one from then on, for their order is another";
    let found = net.filterd(["diff", "--json"]).exits(1).json();
    assert_eq!((&found["settings"], &found["unchanged"]), (&json!([would]), &2.into()));
    let does = "lists: what several name counts for another one from now on, for their order is another";
    net.filterd(["reload", "--json"]).succeeds().has(json!({"settings": [does]}));
    net.filterd(["diff"]).succeeds();
}

/// Whether a file is read again is nothing that anybody sees.
#[test]
fn diff_and_reload_agree_on_unchanged_lists() {
    let mut net = Net::new();
    for name in ["a", "b", "c"] {
        net.file(&format!("{name}.txt"), "192.0.2.77\n192.0.2.78\n");
    }
    let config = |c: &str| {
        let [a, b] = ["a", "b"].map(|name| format!("{{name: {name}, path: $HOME/{name}.txt}}"));
        format!("lists: [{a}, {b}, {{name: c, path: $HOME/c.txt{c}}}]")
    };
    net.start(&config(""));
    let agree = |unchanged: u64| {
        let [diff, reload] = ["diff", "reload"].map(|verb| {
            let told = net.filterd([verb, "--json"]).json();
            told["unchanged"].clone()
        });
        assert_eq!((diff, reload), (unchanged.into(), unchanged.into()));
    };
    agree(3);
    // The same, and read again.
    net.file("a.txt", "# touched\n192.0.2.77\n192.0.2.78\n");
    agree(3);
    net.file("a.txt", "192.0.2.77\n");
    agree(2);
    for c in [", ports: [22]", ", ttl: 1h", ", ttl: 2h", ", ipv6_prefix: 64", ", allow: true"] {
        net.configure(&config(c));
        agree(2);
        agree(3);
    }
    // What is held back is what it was.
    net.file("b.txt", "");
    agree(3);
    net.configure(&config(", allow: true").replace("name: a,", "name: d,"));
    agree(2);
}

fn diff(net: &Net) -> Reply {
    net.filterd(["diff", "--json"])
}

#[track_caller]
fn cuts_nobody(found: &Reply) {
    let found = found.json();
    assert!(found["cuts"] == 0 && found["cut_later"].is_null(), "{found}");
}

/// Only the attacker would be cut, when an allow ends. Returns in how many seconds that is.
#[track_caller]
fn cuts_later(found: &Reply, list: &str) -> u64 {
    let found = found.json();
    let later = found["cut_later"].as_array().expect("some would be cut later");
    let cut = (&later[0]["address"], &later[0]["target"], &later[0]["list"], &later[0]["is"]);
    let is = json!([role("client", 2222, 1)]);
    assert_eq!((later.len(), cut), (1, (&ATTACKER.into(), &"203.0.113.0/24".into(), &list.into(), &is)));
    assert_eq!(found["cuts"], 0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    later[0]["allowed_until"].as_u64().expect("it ends").saturating_sub(now + 1)
}

fn with_list(list: &str, config: &str) -> Net {
    let mut net = Net::new();
    net.file("drop.txt", list);
    net.start(config);
    net
}

/// Everything in the state directory.
fn state(net: &Net) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut left = vec![net.home().path("state")];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).expect("it can be read").flatten().map(|entry| entry.path()));
        } else if !path.to_string_lossy().contains("live.redb") {
            found.push((path.display().to_string(), fs::read(&path).expect("it can be read")));
        }
    }
    found.sort();
    found
}

fn role(role: &str, port: u16, connections: u64) -> Value {
    serde_json::json!({"role": role, "protocol": "tcp", "port": port, "connections": connections})
}

/// A connection to the host from an address that the peer speaks for.
fn connect_from(source: &str, port: u16) -> TcpStream {
    connect((source, 0), (HOST, port))
}

fn connect(from: (&str, u16), to: (&str, u16)) -> TcpStream {
    let address = |(ip, port): (&str, u16)| {
        SockaddrIn::from(std::net::SocketAddrV4::new(ip.parse().expect("it is one"), port))
    };
    let socket = socket::socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None);
    let socket = socket.expect("there are sockets");
    let fd = std::os::fd::AsRawFd::as_raw_fd(&socket);
    socket::bind(fd, &address(from)).expect("it is its address");
    socket::connect(fd, &address(to)).expect("the other end listens");
    socket.into()
}
