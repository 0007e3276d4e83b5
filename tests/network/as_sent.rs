//! Ten thousand frames of a known mix, dropped, only counted, and while protection was paused: whatever filterd is asked with,
//! it tells the same of them, and that is what was on the wire.

use std::collections::{BTreeMap, BTreeSet};

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Frame, Net};
use serde_json::Value;

use crate::{metrics, page};

const CONFIG: &str = "interfaces: [eth0, eth1]\nmetrics: {listen: 127.0.0.1:9477}\nblock: [203.0.113.7, \"2001:db8:bad::/48\"]\n\
    allow: [198.18.9.9]\nlists: [{name: drop, path: $HOME/drop.txt}, {name: nets, path: $HOME/nets.txt}]";

/// Who sends, and for which reason and list that is dropped. Of ten frames each sends one.
const MIX: [(&str, Option<(&str, &str)>); 10] = [
    (ATTACKER, Some(("ipv4_address", "config"))),
    ("198.18.3.4", Some(("ipv4_prefix", "drop"))),
    (ATTACKER, Some(("ipv4_address", "config"))),
    (BYSTANDER, None),
    (ATTACKER6, Some(("ipv6_other", "config"))),
    ("198.18.200.1", Some(("ipv4_prefix", "drop"))),
    ("2001:db8:64::9", Some(("ipv6_64", "nets"))),
    ("198.18.9.9", None),
    (BYSTANDER, None),
    ("192.0.2.77", Some(("ipv4_address", "nets"))),
];

/// Those of [`MIX`] whose source is listed, but allowed.
const ALLOWED: usize = 1;

/// Those whose source is on no list.
const UNLISTED: usize = 2;

/// Packets and bytes, by interface (none for all of them), verdict and reason. What did not happen is not in it.
type Rows = BTreeMap<[String; 3], (u64, u64)>;

/// Packets by list and verdict. What did not happen is not in it.
type Hits = BTreeMap<[String; 2], u64>;

/// What there is to be told.
#[derive(Default)]
struct Sent {
    interfaces: Rows,
    hits: Hits,
    frames: usize,
}

impl Sent {
    /// Sends so many on this interface; whether they arrive is as this verdict says.
    fn send(&mut self, net: &Net, count: usize, link: usize, verdict: &str) {
        let kinds = || MIX.iter().cycle().take(count);
        let frame =
            |(number, (source, _)): (usize, &(&str, _))| Frame::from(*source).payload(18 + number * 7 % 1200);
        let frames: Vec<Frame> = kinds().enumerate().map(frame).collect();
        let arrived = net.arrivals(link, &frames);
        for (((source, meets), frame), has_arrived) in kinds().zip(&frames).zip(arrived) {
            assert_eq!(has_arrived, meets.is_none() || verdict != "drop", "{source}");
            let Some((reason, list)) = meets else { continue };
            let row =
                self.interfaces.entry([format!("eth{link}"), verdict.into(), (*reason).into()]).or_default();
            *row = (row.0 + 1, row.1 + frame.bytes([0; 6]).len() as u64);
            *self.hits.entry([(*list).into(), verdict.into()]).or_default() += 1;
        }
        self.frames += count;
    }

    /// The same over all interfaces.
    fn reasons(&self) -> Rows {
        let mut rows = Rows::new();
        for ([_, verdict, reason], (packets, bytes)) in &self.interfaces {
            let row = rows.entry([String::new(), verdict.clone(), reason.clone()]).or_default();
            *row = (row.0 + packets, row.1 + bytes);
        }
        rows
    }

    /// Both as one.
    fn rows(&self) -> Rows {
        self.interfaces.clone().into_iter().chain(self.reasons()).collect()
    }

    /// What was counted for a list, whatever became of it.
    fn of_lists(&self) -> BTreeMap<String, u64> {
        let mut lists = BTreeMap::new();
        self.hits.iter().for_each(|([list, _], packets)| *lists.entry(list.clone()).or_default() += packets);
        lists
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// A figure in a text.
fn figure(text: &str) -> u64 {
    text.replace(',', "").parse().unwrap_or_else(|_| panic!("{text:?} is no figure"))
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} are no rows"))
}

/// What rows of JSON say of packets that were to be dropped.
fn in_rows(all: &[&Value]) -> Rows {
    let row = |row: &Value| {
        let word = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
        (
            [word("interface"), word("verdict"), word("reason")],
            (number(&row["packets"]), number(&row["bytes"])),
        )
    };
    let listed = all.iter().flat_map(|value| rows(value)).filter(|row| row["verdict"] != "pass");
    listed.map(row).filter(|(_, counted)| *counted != (0, 0)).collect()
}

/// What rows of JSON say of lists. `stats` has a row of hits for each, the others hits in a row on all that a list is.
fn in_lists(all: &Value) -> Hits {
    let mut hits = Hits::new();
    for list in rows(all).iter().filter(|list| list["allows"] != true) {
        let (name, told) = if list["hits"].is_object() { ("name", &list["hits"]) } else { ("list", list) };
        let name = list[name].as_str().expect("it has a name");
        for (field, verdict) in [("dropped", "drop"), ("would_drop", "would_drop"), ("paused", "paused")] {
            hits.insert([name.into(), verdict.into()], number(&told[field]));
        }
    }
    hits.into_iter().filter(|(_, packets)| *packets > 0).collect()
}

/// What `stats` says to people: `eth0  would drop  ipv4_prefix  1,234  5,678`, and without the interface before a meaning.
fn in_text(text: &str) -> Rows {
    let text = text.replace("would drop", "would_drop");
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let verdict =
            words.iter().take(2).position(|word| ["drop", "would_drop", "paused"].contains(word))?;
        let interface = if verdict == 0 { String::new() } else { words[0].to_owned() };
        let [verdict, reason, packets, bytes] = words[verdict..].first_chunk()?;
        Some(([interface, (*verdict).into(), (*reason).into()], (figure(packets), figure(bytes))))
    };
    text.lines().filter_map(row).filter(|(_, counted)| *counted != (0, 0)).collect()
}

/// The figure that a row of text has in this column, by the word that it begins with; of those rows of which it is wanted.
fn column(text: &str, wanted: &BTreeMap<String, u64>, column: usize) -> BTreeMap<String, u64> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = wanted.keys().find(|name| words.first() == Some(&name.as_str()))?;
        Some((name.clone(), figure(words[column])))
    };
    text.lines().filter_map(row).collect()
}

/// The values of a family of series, by the values of these labels.
fn family<const LABELS: usize>(
    text: &str,
    name: &str,
    labels: [&str; LABELS],
) -> BTreeMap<[String; LABELS], u64> {
    let series = |line: &str| {
        let (told, value) = line.strip_prefix(name)?.strip_prefix('{')?.rsplit_once("} ")?;
        let label = |label: &str| {
            let told = told.split(',').find_map(|one| one.strip_prefix(label)?.strip_prefix('='));
            told.unwrap_or_else(|| panic!("no {label} in {line}")).trim_matches('"').to_owned()
        };
        Some((labels.map(label), figure(value)))
    };
    text.lines().filter_map(series).filter(|(_, value)| *value > 0).collect()
}

/// What `ip -s link` says that this interface has received.
fn kernels_own(net: &Net, interface: &str) -> u64 {
    let told = net.host().ip(&format!("-s -j link show dev {interface}"));
    let told: Value = serde_json::from_str(&told).expect("it speaks JSON");
    number(&told[0]["stats64"]["rx"]["packets"])
}

/// All that is asked, beside what was sent.
fn all_tell(net: &Net, sent: &Sent) {
    let json = |words: &[&str]| net.filterd([words, &["--json"]].concat()).succeeds().json();
    let text = |words: &[&str]| net.filterd(words).output;
    let snapshot = net.filterd(["top", "--json"]).json();
    // By interface and reason.
    let stats = json(&["stats"]);
    assert_eq!(in_rows(&[&stats["reasons"], &stats["interfaces"]]), sent.rows(), "stats --json");
    assert_eq!(in_text(&text(&["stats"])), sent.rows(), "stats");
    assert_eq!(in_rows(&[&snapshot["reasons"], &snapshot["by_interface"]]), sent.rows(), "the snapshot");
    let scraped = metrics::get(net, "/metrics").body;
    let labels = ["interface", "verdict", "reason"];
    let [packets, bytes] = ["filterd_interface_packets_total", "filterd_interface_bytes_total"]
        .map(|name| family(&scraped, name, labels));
    let of_interfaces = sent.interfaces.iter();
    let (sent_packets, sent_bytes) =
        of_interfaces.map(|(row, (packets, bytes))| ((row.clone(), *packets), (row.clone(), *bytes))).unzip();
    assert_eq!((packets, bytes), (sent_packets, sent_bytes), "metrics, by interface");
    let mut reasons = family(&scraped, "filterd_packets_total", ["verdict", "reason"]);
    reasons.retain(|[verdict, _], _| verdict != "pass");
    let sent_reasons = sent.reasons().into_iter();
    let sent_reasons = sent_reasons.map(|([_, verdict, reason], (packets, _))| ([verdict, reason], packets));
    assert_eq!(reasons, sent_reasons.collect(), "metrics, by reason");
    // What passes is counted by reason; beside it what the kernel on the other end says by itself.
    let tenth = sent.frames / MIX.len();
    for passed in [&stats["reasons"], &snapshot["reasons"]] {
        let packets = |reason: &str| {
            let row = rows(passed).iter().find(|row| row["reason"] == reason && row["verdict"] == "pass");
            number(&row.expect("each reason has a row")["packets"]) as usize
        };
        assert_eq!(packets("allowed"), ALLOWED * tenth);
        let unlisted = UNLISTED * tenth;
        assert!((unlisted..unlisted + 100).contains(&packets("unlisted")), "{passed}");
    }
    // What the kernel itself counts on each, beside which the other end says something of its own.
    let told = family(&scraped, "filterd_interface_kernel_rx_packets_total", ["interface"]);
    for name in ["eth0", "eth1"] {
        let counted = kernels_own(net, name);
        let one =
            rows(&snapshot["interfaces"]).iter().find(|one| one["name"] == name).expect("it is filtered");
        for told in [told[&[name.to_owned()]], number(&one["received"]["kernel_rx_packets"])] {
            assert!(told.abs_diff(counted) < 100, "{name}: {told} of {counted}");
        }
    }
    // By list.
    for (output, lists) in [
        ("status --json", &net.filterd(["status", "--json"]).json()["lists"]),
        ("lists --json", &json(&["lists"])["lists"]),
        ("stats --lists --json", &json(&["stats", "--lists"])["lists"]),
        ("the snapshot", &snapshot["lists"]),
    ] {
        assert_eq!(in_lists(lists), sent.hits, "{output}");
    }
    let of_lists = sent.of_lists();
    assert_eq!(family(&scraped, "filterd_list_packets_total", ["list", "verdict"]), sent.hits);
    for (output, place) in [(["status"].as_slice(), 4), (&["lists"], 3), (&["top", "--once"], 2)] {
        assert_eq!(column(&text(output), &of_lists, place), of_lists, "{output:?}");
    }
}

/// The page beside the same, where there is a browser.
fn the_page_tells(net: &Net, sent: &Sent) {
    let Some(mut browser) = page::browser(net) else { return };
    let mut tab = browser.open(page::ADDRESS, page::WIDE);
    let reasons = sent.reasons().into_iter().map(|([_, verdict, reason], (packets, bytes))| {
        [reason, verdict.replace('_', " "), packets.to_string(), bytes.to_string()]
    });
    let reasons: BTreeSet<_> = reasons.collect();
    let lists = sent.of_lists();
    page::until(
        || {
            let shown = page::shown_reasons(&mut tab).into_iter();
            let listed: BTreeSet<_> =
                shown.filter(|[_, verdict, packets, _]| verdict != "pass" && packets != "0").collect();
            let shown = page::shown_lists(&mut tab).into_iter().filter(|[_, _, hits]| !hits.is_empty());
            let hits: BTreeMap<_, _> = shown.map(|[name, _, hits]| (name, figure(&hits))).collect();
            listed == reasons && hits == lists
        },
        || format!("the page is to show {reasons:#?} and {lists:#?}"),
    );
}

#[test]
fn every_output_reports_the_same_ten_thousand_frames() {
    let mut net = Net::with_links(2);
    net.file("drop.txt", "198.18.0.0/16\n");
    net.file("nets.txt", "2001:db8:64::/64\n192.0.2.77\n");
    net.start(CONFIG);
    let mut sent = Sent::default();
    sent.send(&net, 5_000, 0, "drop");
    sent.send(&net, 2_000, 1, "drop");
    all_tell(&net, &sent);
    net.configure(&format!("{CONFIG}\nenforce: false"));
    net.filterd(["reload"]).succeeds();
    sent.send(&net, 2_000, 0, "would_drop");
    all_tell(&net, &sent);
    net.configure(CONFIG);
    net.filterd(["reload"]).succeeds();
    net.filterd(["pause", "10m"]).succeeds();
    sent.send(&net, 1_000, 1, "paused");
    all_tell(&net, &sent);
    the_page_tells(&net, &sent);
    assert_eq!(sent.frames, 10_000);
}
