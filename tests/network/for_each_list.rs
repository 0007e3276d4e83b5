//! Who drops what: each packet is counted for the first list that has its source, whatever lists come, go and change places;
//! and all lists together have all packets.

use std::thread;
use std::time::{Duration, Instant};

use harness::{ATTACKER, ATTACKER6, Frame, Net};
use serde_json::Value;

/// Reasons for which a packet is dropped because of its source.
const LISTED: [&str; 4] = ["ipv4_address", "ipv4_prefix", "ipv6_64", "ipv6_other"];

const BOTH: &str = "\
counters: lists
lists:
  - {name: first, path: $HOME/first.txt}
  - {name: second, path: $HOME/second.txt}";

const TURNED: &str = "\
counters: lists
lists:
  - {name: second, path: $HOME/second.txt}
  - {name: first, path: $HOME/first.txt}";

/// How long an order of lists may take to come about; a second is promised, machines are slow.
const SOON: Duration = Duration::from_secs(30);

fn net_of(first: &str, second: &str) -> Net {
    let mut net = Net::new();
    net.file("first.txt", first);
    net.file("second.txt", second);
    net.start(BOTH);
    net
}

fn lists(net: &Net) -> Value {
    net.filterd(["lists", "--json"]).succeeds().json()
}

fn row(lists: &Value, name: &str) -> Value {
    let rows = lists["lists"].as_array().expect("lists has lists");
    let row = rows.iter().find(|row| row["name"] == name);
    row.cloned().unwrap_or_else(|| panic!("there is no list {name}: {lists}"))
}

/// What of this way was counted for a list.
fn hits(net: &Net, name: &str, way: &str) -> u64 {
    row(&lists(net), name)["hits"][way].as_u64().expect("hits are counted")
}

/// All lists together have what was dropped for the sake of its source.
fn the_sum_is_right(net: &Net) {
    let lists = lists(net);
    let dropped = |hits: &Value| hits["dropped"].as_u64().unwrap_or(0);
    let of_lists: u64 =
        lists["lists"].as_array().expect("lists are told").iter().map(|row| dropped(&row["hits"])).sum();
    let all = LISTED.iter().map(|reason| net.counted(reason)).sum::<u64>();
    assert_eq!(of_lists + dropped(&lists["other"]) + dropped(&lists["gone"]), all, "{lists}");
}

#[test]
fn shared_entry_counts_for_first_list() {
    let net = net_of(
        "203.0.113.7\n198.18.0.0/24\n2001:db8:bad::7\n",
        "203.0.113.7\n198.18.0.0/24\n2001:db8:bad::7\n198.19.0.1\n",
    );
    let shared = [ATTACKER, "198.18.0.9", ATTACKER6];
    net.expect_each(shared).dropped();
    assert_eq!([hits(&net, "first", "dropped"), hits(&net, "second", "dropped")], [3, 0]);
    let told = lists(&net);
    let [first, second] = ["first", "second"].map(|name| row(&told, name));
    assert_eq!((&first["entries"], &first["shared"]), (&3.into(), &3.into()));
    assert_eq!((&second["entries"], &second["shared"]), (&4.into(), &3.into()));
    net.file("first.txt", "192.0.2.9\n");
    net.filterd(["reload"]).succeeds();
    net.expect_each(shared).dropped();
    assert_eq!([hits(&net, "first", "dropped"), hits(&net, "second", "dropped")], [3, 3]);
    // A live list comes last, whoever has the rest.
    net.filterd(["add", ATTACKER, "192.0.2.77", "--list", "ssh"]).succeeds();
    net.expect_each([ATTACKER, "192.0.2.77"]).dropped();
    assert_eq!(hits(&net, "ssh", "dropped"), 1);
    the_sum_is_right(&net);
    // What a list had that is gone is not lost.
    net.filterd(["flush", "--list", "ssh"]).succeeds();
    the_sum_is_right(&net);
    assert_eq!(lists(&net)["gone"]["dropped"], 1);
}

/// Sources of every kind, each held by the set of one clause, or of several, in another way.
#[test]
fn drops_on_ports_count_for_their_list() {
    const EVERY_KIND: &str =
        "203.0.113.7\n198.18.0.0/24\n2001:db8:bad::7\n2001:db8:1:2::/64\n2001:db8:3::/48\n2001:db9::/32\n";
    let sources = [ATTACKER, "198.18.0.9", ATTACKER6, "2001:db8:1:2::9", "2001:db8:3:4::9", "2001:db9::9"];
    let to = |port: u16| sources.map(|from| Frame::from(from).transport(6, segment(port)));
    let mut net = Net::new();
    for file in ["ssh.txt", "mail.txt", "web.txt"] {
        net.file(file, EVERY_KIND);
    }
    let in_order = |first: &str, second: &str| {
        format!(
            "counters: lists\nlists:\n  - {{name: {first}, path: $HOME/{first}.txt, ports: [22]}}\n  \
             - {{name: {second}, path: $HOME/{second}.txt, ports: [22]}}\n  \
             - {{name: web, path: $HOME/web.txt, ports: [80]}}"
        )
    };
    net.start(&in_order("ssh", "mail"));
    let counted = || ["ssh", "mail", "web"].map(|name| hits(&net, name, "dropped"));
    net.expect_each(to(22)).dropped();
    net.expect_each(to(80)).dropped();
    net.expect_each(to(443)).passes();
    assert_eq!(counted(), [6, 0, 6], "of those that share a clause the first");
    the_sum_is_right(&net);
    // The clause of two lists comes to another order by itself.
    net.configure(&in_order("mail", "ssh"));
    net.filterd(["reload"]).succeeds();
    let begun = Instant::now();
    while counted()[1] == 0 {
        assert!(begun.elapsed() < SOON, "it is still counted for the list that was first");
        net.expect_each(to(22)).dropped();
        thread::sleep(Duration::from_millis(50));
    }
    let before = counted();
    net.expect_each(to(22)).dropped();
    assert_eq!(counted(), [before[0], before[1] + 6, before[2]]);
    // Who is blocked on all ports is counted for what blocks him there, and only once.
    net.filterd(["add", ATTACKER, ATTACKER6, "--list", "live"]).succeeds();
    net.expect_each(to(22)).dropped();
    assert_eq!((counted()[1], hits(&net, "live", "dropped")), (before[1] + 10, 2));
    the_sum_is_right(&net);
    // Another clause is another list to packets, but its name has what it had.
    net.configure(&in_order("mail", "ssh").replace("ports: [80]", "except_ports: [22, 443]"));
    net.filterd(["reload"]).succeeds();
    net.expect_each(to(81)).dropped();
    assert_eq!(hits(&net, "web", "dropped"), before[2] + 4);
    net.filterd(["pause", "5m"]).succeeds();
    net.expect_each(to(22)).passes();
    assert_eq!(hits(&net, "mail", "paused"), 4);
    the_sum_is_right(&net);
}

/// As much of a header of TCP as tells where it goes.
fn segment(to: u16) -> Vec<u8> {
    let ports = [40_000_u16.to_be_bytes(), to.to_be_bytes()].concat();
    [ports, vec![0; 8], vec![5 << 4, Frame::ACK, 0, 0, 0, 0, 0, 0]].concat()
}

#[test]
fn changed_list_order_counts_within_a_second() {
    let many: String = (0..60_000_u32).map(|host| format!("11.9.{}.{}\n", host >> 8, host & 255)).collect();
    let (first, second) = (format!("203.0.113.7\n{many}"), format!("203.0.113.7\n198.18.0.0/16\n{many}"));
    let net = net_of(&first, &second);
    net.expect(ATTACKER).dropped();
    assert_eq!(hits(&net, "first", "dropped"), 1);
    net.configure(TURNED);
    net.filterd(["reload"]).succeeds();
    let begun = Instant::now();
    while hits(&net, "second", "dropped") == 0 {
        assert!(begun.elapsed() < SOON, "it is still counted for the list that was first");
        net.expect(ATTACKER).dropped();
        thread::sleep(Duration::from_millis(50));
    }
    let before = [hits(&net, "first", "dropped"), hits(&net, "second", "dropped")];
    net.expect_each([ATTACKER, "11.9.200.1", "198.18.0.1"]).dropped();
    assert_eq!([hits(&net, "first", "dropped"), hits(&net, "second", "dropped")], [before[0], before[1] + 3]);
    the_sum_is_right(&net);
    let order = lists(&net);
    let names: Vec<_> =
        order["lists"].as_array().expect("lists are told").iter().map(|row| row["name"].clone()).collect();
    assert_eq!(names, ["config", "second", "first", "guard"]);
}

#[test]
fn would_drop_and_paused_count_per_list() {
    let net = net_of("203.0.113.7\n", "198.18.0.0/24\n");
    net.filterd(["pause", "5m"]).succeeds();
    net.expect(ATTACKER).passes();
    net.filterd(["resume"]).succeeds();
    net.configure(&format!("enforce: false\n{BOTH}"));
    net.filterd(["reload"]).succeeds();
    net.expect_each(["198.18.0.1", "198.18.0.2"]).passes();
    assert_eq!((hits(&net, "first", "paused"), hits(&net, "second", "would_drop")), (1, 2));
    let told = net.filterd(["stats", "--lists"]).succeeds();
    told.says("would drop").says("paused").says("first").says("second");
}

#[test]
fn list_that_differs_from_file_shows_remedy() {
    let net = net_of("203.0.113.7\n", "198.18.0.1\n");
    std::fs::remove_file(net.home().path("first.txt")).unwrap();
    net.filterd(["reload"]).exits(7);
    let told = net.filterd(["lists"]).exits(7);
    told.says("first.txt").says("since");
    let fault = row(&net.filterd(["lists", "--json"]).exits(7).json(), "first")["fault"].clone();
    assert!(
        fault["message"].is_string() && fault["remedy"].is_string() && fault["since"].is_u64(),
        "{fault}"
    );
}

#[test]
fn lists_reports_that_only_totals_are_counted() {
    let net = Net::with_filterd("counters: total\nblock: [203.0.113.7]");
    net.expect(ATTACKER).dropped();
    net.filterd(["lists"]).succeeds().says("config").says("`counters: total`");
    assert!(row(&lists(&net), "config")["hits"].is_null());
}

/// The configuration's own `block` is the first of them, whether or not anything is on it.
#[test]
fn lists_after_250_share_a_reported_counter() {
    const LISTS: u32 = 255;
    const OWN: u32 = 249;
    let mut net = Net::new();
    let address = |number: u32| std::net::Ipv4Addr::from_bits(0xc612_0000 + number).to_string();
    let row_of = |number| format!("{{name: l{number}, path: $HOME/l{number}.txt}}");
    (1..=LISTS).for_each(|number| _ = net.file(&format!("l{number}.txt"), &address(number)));
    let lists_of = |numbers: &mut dyn Iterator<Item = u32>| {
        format!("lists: [{}]", numbers.map(row_of).collect::<Vec<_>>().join(", "))
    };
    net.start(&lists_of(&mut (1..=LISTS)));
    let all: Vec<_> = (1..=LISTS).map(address).collect();
    net.expect_each(all.iter().map(String::as_str)).dropped();
    let told = lists(&net);
    for number in 1..=LISTS {
        let hits = row(&told, &format!("l{number}"))["hits"].clone();
        let own = (number <= OWN).then_some(1);
        assert_eq!(hits["dropped"].as_u64(), own, "l{number}: {hits}");
    }
    assert_eq!(told["other"]["dropped"], LISTS - OWN);
    the_sum_is_right(&net);
    // Who comes to be among the first has a counter of its own, which begins at nothing, and nobody's hits are lost.
    net.configure(&lists_of(&mut (1..=LISTS).rev()));
    net.filterd(["reload"]).succeeds();
    let begun = Instant::now();
    let last = format!("l{LISTS}");
    while row(&lists(&net), &last)["hits"].is_null() {
        assert!(begun.elapsed() < SOON, "it has no counter yet");
        thread::sleep(Duration::from_millis(50));
    }
    let mut sent = 0;
    while hits(&net, &last, "dropped") == 0 {
        assert!(begun.elapsed() < SOON, "it is still counted with others");
        net.expect(all[LISTS as usize - 1].as_str()).dropped();
        sent += 1;
    }
    assert!(hits(&net, &last, "dropped") <= sent);
    assert!(row(&lists(&net), "l1")["hits"].is_null(), "it is no longer among the first");
    the_sum_is_right(&net);
}
