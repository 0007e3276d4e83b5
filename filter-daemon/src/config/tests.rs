//! Tests of valid configurations and their meaning, and of the errors in invalid ones.

mod chosen;
mod crowdsec;
mod feed;
mod fuzz;
mod metrics;
mod ports;

use std::path::Path;

use super::*;

const REFERENCE: &str = include_str!("../../../configs/reference.yaml");
/// The package installs this one.
const STARTING: &str = include_str!("../../../configs/filterd.yaml");
const MINIMAL: &str = include_str!("../../../configs/examples/minimal.yaml");
const TYPICAL: &str = include_str!("../../../configs/examples/typical.yaml");
const OUTBOUND: &str = include_str!("../../../configs/examples/outbound.yaml");
const CROWDSEC: &str = include_str!("../../../configs/examples/crowdsec.yaml");

fn config(text: &str) -> Config {
    parse(Path::new("/etc/filterd/filterd.yaml"), text.into()).unwrap_or_else(|error| panic!("{error}"))
}

fn told(text: impl Into<Vec<u8>>) -> String {
    parse(Path::new("f.yaml"), text.into()).expect_err("a configuration with errors").to_string()
}

fn targets(words: &[&str]) -> Vec<Target> {
    words.iter().map(|word| word.parse().unwrap()).collect()
}

#[test]
fn the_reference_shows_the_defaults() {
    assert_eq!(config(REFERENCE), Config::default());
}

/// The lines of a file that are commented out.
fn examples(file: &str) -> Config {
    let example = |line: &str| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).map(String::from);
    config(&file.lines().filter_map(example).collect::<Vec<_>>().join("\n"))
}

#[test]
fn examples_in_the_reference_are_valid() {
    let config = examples(REFERENCE);
    assert_eq!(config.interfaces, ["eth0", "eth1"]);
    assert_eq!(config.block.len(), 9);
    assert_eq!(config.allow, targets(&["192.0.2.10", "2001:db8:1::/48"]));
    assert_eq!(config.lists[0].path, Path::new("/etc/filterd/lists/drop.txt"));
    let list = |name: &str| config.lists.iter().find(|list| list.name.as_str() == name).unwrap();
    assert_eq!(["drop", "partners"].map(|name| list(name).allows), [false, true]);
    assert_eq!(list("feed").limits, list("drop").limits, "the limits in the example are the defaults");
    let names: Vec<_> = config.crowdsec.iter().map(|lapi| lapi.name.as_str()).collect();
    assert_eq!(names, ["main", "office", "hosted", "ssh", "chosen", "far", "few", "quiet"]);
}

#[test]
fn the_starting_file_changes_no_default() {
    assert_eq!(config(STARTING), Config::default());
    assert!(STARTING.lines().count() <= 25);
    // README sets the interface with `sed -i 's/^interfaces: .*/interfaces: [eth0]/'`.
    assert_eq!(STARTING.lines().filter(|line| line.starts_with("interfaces: ")).count(), 1);
}

#[test]
fn examples_in_the_starting_file_are_valid() {
    let config = examples(STARTING);
    assert_eq!(config.block, targets(&["203.0.113.7", "198.51.100.0/24", "2001:db8:bad::/48"]));
    assert_eq!(config.allow, targets(&["192.0.2.10"]));
    let names: Vec<_> = config.lists.iter().map(|list| list.name.as_str()).collect();
    assert_eq!(names, ["drop", "ipsum"]);
    assert_eq!(config.metrics.listen, ["127.0.0.1:9477".parse().unwrap()]);
}

#[test]
fn the_minimal_example_names_an_interface() {
    assert_eq!(config(MINIMAL), Config { interfaces: vec!["eth0".into()], ..Config::default() });
}

#[test]
fn the_typical_example_means_what_it_says() {
    let typical = config(TYPICAL);
    assert!(!typical.enforce);
    assert_eq!(typical.block[..2], targets(&["203.0.113.7", "198.51.100.0/24"]));
    assert_eq!(typical.block.last(), targets(&["2001:db8:bad::/48"]).last());
    assert_eq!(typical.allow, targets(&["198.51.100.10"]));
    let [list] = &typical.lists[..] else { panic!("{:?}", typical.lists) };
    assert!(list.feed.is_some(), "filterd downloads it");
}

#[test]
fn the_outbound_example_means_what_it_says() {
    let outbound = config(OUTBOUND);
    assert!(!outbound.enforce);
    let directions: Vec<_> =
        outbound.lists.iter().map(|list| (list.name.as_str(), list.direction.name())).collect();
    assert_eq!(directions, [("feodo", "out"), ("spamhaus-drop", "both"), ("spamhaus-drop6", "both")]);
}

#[test]
fn the_crowdsec_example_means_what_it_says() {
    let example = config(CROWDSEC);
    assert!(!example.enforce);
    let [lapi] = &example.crowdsec[..] else { panic!("one LAPI") };
    assert_eq!(
        (lapi.name.as_str(), lapi.shown_url(), lapi.database.len()),
        ("main", "http://127.0.0.1:8080".to_owned(), 2)
    );
}

#[test]
fn a_key_without_a_value_means_its_default() {
    for text in ["interfaces: []", "block: []\n", "block:\ninterfaces:\nlists:\n", "---\nblock:\n"] {
        assert_eq!(config(text), Config::default(), "{text:?}");
    }
}

#[test]
fn a_file_that_says_nothing_is_no_configuration() {
    let nothing =
        ["", "\n\n", " ", "# nothing\n", "#block: [10.0.0.1]\n\n# x", "---\n", "---\n...\n", "---\n# a\n"];
    for text in nothing.into_iter().chain(["\u{feff}", "{}", "null", "~", "--- {}\n", "\r\n"]) {
        let told = told(text);
        assert!(told.starts_with("f.yaml:1:"), "{text:?}: {told}");
        assert!(told.contains(": this configuration is empty\n"), "{text:?}: {told}");
        assert!(told.ends_with("`interfaces: []` to use --iface"), "{text:?}: {told}");
    }
}

/// Notepad saves files in this form.
#[test]
fn byte_order_mark_is_ignored() {
    let text = "interfaces: [eth0]\nblock: [192.0.2.1]\nlists:\n- {name: a, path: a.txt}\n";
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        assert_eq!(config(&format!("\u{feff}{text}")), config(&text));
    }
    assert!(told("\u{feff}mode: auto\nblck: []\n").starts_with("f.yaml:2:1: unknown key `blck`"));
}

#[test]
fn a_range_becomes_prefixes() {
    assert_eq!(config("block: [10.0.0.0-10.0.0.2]").block, targets(&["10.0.0.0/31", "10.0.0.2"]));
}

#[test]
fn yaml_anchors_and_aliases_work() {
    let text = "interfaces: [&uplink eth0]\nlists: [{name: *uplink, path: x}]";
    assert_eq!(config(text).lists[0].name.as_str(), "eth0");
}

#[test]
fn all_errors_are_reported_at_once() {
    let text = "\
interface: [eth0]
mode: naitve
block:
  - 10.0.0.1/8   # the office
  - fe80::
  - 1.2.3.4.5
lists:
  - {name: Drop, path: drop.txt}
  - name: config
";
    let expected = "\
f.yaml:1:1: unknown key `interface`
    1 | interface: [eth0]
      | ^^^^^^^^^
help: did you mean `interfaces`?
f.yaml:2:7: there is no mode `naitve`
    2 | mode: naitve
      |       ^^^^^^
help: did you mean native?
f.yaml:4:5: 10.0.0.1/8 has host bits set
    4 |   - 10.0.0.1/8   # the office
      |     ^^^^^^^^^^
help: did you mean 10.0.0.0/8 or 10.0.0.1?
f.yaml:5:5: YAML reads fe80:: as a key, because it ends with a colon
    5 |   - fe80::
      |     ^^^^^^
help: put it in quotes: \"fe80::\"
f.yaml:6:5: 1.2.3.4.5 is no IPv4 address
    6 |   - 1.2.3.4.5
      |     ^^^^^^^^^
help: it has four numbers from 0 to 255, as in 192.0.2.1
f.yaml:8:12: the name of a list may contain only a-z, 0-9, _ and -, not 'D'
    8 |   - {name: Drop, path: drop.txt}
      |            ^^^^
help: did you mean drop?
f.yaml:9:5: this list has no `path`
    9 |   - name: config
      |     ^^^^
help: write {name: drop, path: lists/drop.txt}
f.yaml:9:11: the name `config` is reserved
    9 |   - name: config
      |           ^^^^^^
help: choose another name";
    assert_eq!(told(text), expected);
}

#[test]
fn every_mistake_has_position_and_advice() {
    let table = [
        ("allow: [fe80::, 10.0.0.1/8]", "1:9: YAML needs quotes around fe80::", "write \"fe80::\""),
        ("allow: [10.0.0.1/8]", "1:9: 10.0.0.1/8 has host bits set", ""),
        ("allow: 10.0.0.1", "1:8: `allow` must be a list, not text", "begin each line"),
        (
            "lists:\n- {name: office, path: office.txt, allow: yes please}",
            "2:43: `allow` of a list must be true or false",
            "write true for a list to allow",
        ),
        ("block: [fe80::, 10.0.0.1/8]", "1:9: YAML needs quotes around fe80::", "write \"fe80::\""),
        ("block: [fe80::, 10.0.0.1/8]", "1:17: 10.0.0.1/8 has host bits set", ""),
        ("block: [::1]", "1:9: YAML needs quotes around ::1", "write \"::1\""),
        ("block: [10.5]", "1:9: an address, prefix or range must be", "put it in quotes"),
        ("block: [1e3]", "1:9: an address, prefix or range must be", "quotes"),
        ("block: [12:30:45]", "1:9: 12:30:45 is no IPv6 address", "eight groups"),
        ("block: 10.0.0.1", "1:8: `block` must be a list, not text", "begin each line"),
        ("block:\n  - - 10.0.0.1", "2:5: an address, prefix or range must be", "single word"),
        ("block: ['']", "1:9: this is empty", "write an address"),
        ("block: [~]", "1:9: an address, prefix or range must be text, not nothing", "remove"),
        ("block: ['fe80::1%eth0']", "1:9: fe80::1%eth0 names an interface", "did you mean fe80::1?"),
        ("block: [*.example.com]", "this is not YAML", "put words that begin with * or & in quotes"),
        ("block: [!x 10.0.0.1]", "1:9: an address, prefix or range must be", "!"),
        ("block: [10.0.0.1", "1:16: this is not YAML", "the list that begins at line 1 column 8 with ]"),
        ("block:\n\t- 10.0.0.1", "2:1: this is not YAML", "indent with spaces"),
        ("block:\n  - a\n - b", "3:2: this is not YAML", "check the indentation"),
        ("mode: 'auto", ": this is not YAML", "close the quotes"),
        ("mode: a: b", "1:8: this is not YAML", "quotes"),
        ("mode: @auto", "1:7: this is not YAML", "put words that begin with @ in quotes"),
        ("mode:", "1:6: `mode` must be text, not nothing", "write a value, or remove the key"),
        ("mode: skb", "1:7: there is no mode `skb`", "did you mean tc?"),
        ("mode: fast", "1:7: there is no mode `fast`", "use auto, native or tc"),
        ("mode: auto\nmode: native", "2:1: `mode` is here a second", "the first is on line 1"),
        ("enforce: yes", "1:10: `enforce` must be true or false, not text", "did you mean true?"),
        ("enforce: 'false'", "1:10: `enforce` must be true or false, not text", "did you mean false?"),
        ("enforce: 1", "1:10: `enforce` must be true or false, not a number", "write true to drop"),
        ("interfaces: eth0", "1:13: `interfaces` must be a list, not text", "[a, b]"),
        ("interfaces: [eth0 eth1]", "1:14: the name of an interface cannot have ' '", "[eth0, eth1]"),
        ("interfaces: ['']", "1:14: the name of an interface is empty", "ip link"),
        ("interfaces: [0123456789abcdef]", "1:14: the name of an interface has at most 15 bytes", ""),
        ("interfaces: [eth0:1]", "1:14: names with a colon", "did you mean eth0?"),
        ("interfaces: ['eth0,eth1']", "1:14: these are several names", "[eth0, eth1]"),
        ("interfaces:\n- eth0,eth1,", "2:3: these are several names", "[eth0, eth1]"),
        ("interfaces: ['eth*']", "1:14: the name of an interface is not a pattern", "write each name"),
        ("interfaces: [eth0, eth0]", "1:20: `eth0` is here a second", "the first is on line 1"),
        ("lists: [drop.txt]", "1:9: a list must be a map of keys", "write {name: drop"),
        ("lists: [{name: a}]", "1:9: this list has no `path`", "write {name"),
        (
            "lists: [{name: a, ipv6_prefix: 24}]",
            "1:32: `ipv6_prefix` is the length of a prefix, not 24",
            "32 to 128",
        ),
        ("lists: [{name: a, path: x, allow: true, ipv6_prefix: 64}]", "1:9: list `a` allows", "remove"),
        ("lists: [{name: a, ipv6_prefix: 64, ttl: 1d}]", "1:9: this list has no `path`", "write {name"),
        ("lists: [{name: manual, path: x}]", "1:16: the name `manual` is reserved", "another"),
        ("lists: [{name: a, path: x}, {name: a, path: y}]", "1:36: `a` is here a second", "line 1"),
        ("lists: [{name: 7, path: x}]", "1:16: the name of a list must be text", "quotes"),
        ("lists: [{name: a, path: ~/x}]", "1:25: ~ is not expanded here", "from / on"),
        ("lists: [{name: a, path: 'https://x/y'}]", "1:25: the path of a list must be a file", "download"),
        ("lists: [{name: a, file: x}]", "1:19: unknown key `file`", "the keys here are name, path"),
        ("mode: auto\n---\nmode: auto", "2:1: a second YAML document begins here", "remove this line"),
        ("[a]\nmode: auto", "1:1: this is not YAML: more follows the value", "one map of keys"),
        ("just text", "1:1: a configuration is a map of keys, not text", "interfaces: [eth0]"),
        ("- eth0", "1:1: a configuration is a map of keys, not a list", ""),
        ("1: 2", "1:1: a key must be text, not a number", ""),
        ("? [a]\n: b", "1:3: a key must be text, not a list", ""),
        ("mode: \u{1}", "1:7: the control character '\\u{1}' is not allowed in YAML", "remove it"),
        ("ünïcode: [é]\n", "1:1: unknown key `ünïcode`", "the keys here are"),
        ("\u{feff}mode: x", "1:7: there is no mode `x`", ""),
    ];
    for (text, error, help) in table {
        let told = told(text);
        let line = told.lines().find(|line| line.contains(error));
        assert!(
            line.is_some() && told.contains(help),
            "{text:?} is told as\n{told}\nnot {error:?}, {help:?}"
        );
    }
}

#[test]
fn deep_nesting_is_refused_early() {
    let told = told("[".repeat(200_000));
    assert!(told.starts_with("f.yaml:1:33: brackets are nested too deep"), "{told}");
}

#[test]
fn unquoted_ipv6_address_hides_no_other_errors() {
    let told = told("block: [fe80::, ::1, 10.0.0.1/8]");
    assert_eq!(told.matches("f.yaml:1:").count(), 3, "{told}");
}

#[test]
fn aliases_cannot_blow_a_small_file_up() {
    let wide = format!("a: &a [{}]\nb: [{}]", "x, ".repeat(3000), "*a, ".repeat(300));
    let mut deep = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        deep.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    for text in [wide, deep] {
        let told = told(text);
        assert!(told.contains(": aliases (*) repeat a part of the document too often"), "{told}");
    }
}

#[test]
fn lone_carriage_return_does_not_panic() {
    let text = format!("# {}\r# \0", "x".repeat(70));
    assert!(told(text).starts_with("f.yaml:1:76: the control character"));
}

#[test]
fn invalid_utf8_is_reported_with_place() {
    let told = told(b"mode: auto\nblock: [\xff]".to_vec());
    assert!(told.starts_with("f.yaml:2:9: this is not UTF-8"), "{told}");
}

#[test]
fn a_list_says_how_much_it_may_change() {
    let limits = |keys: &str| config(&format!("lists: [{{name: a, path: a, {keys}}}]")).lists[0].limits;
    let given = limits("max_shrink: 100%, max_rejected: 0 %, max_entries: 7");
    assert_eq!((given.max_shrink, given.max_rejected, given.max_entries), (100, 0, 7));
    for number in ["5000000", "5_000_000", "'5,000,000'", "5 000 000", "'5000000'"] {
        assert_eq!(limits(&format!("max_entries: {number}")), Default::default(), "{number}");
    }
    for (key, expected) in [
        ("max_shrink: 50", "`max_shrink` is a share"),
        ("max_shrink: 50", "did you mean 50%?"),
        ("max_rejected: 101%", "`max_rejected` cannot be `101%`"),
        ("max_rejected: half", "write 0% to 100%"),
        ("max_shrink: [1]", "`max_shrink` is a share, not a list"),
        ("max_entries: 0", "`max_entries` is a number of targets, not 0"),
        ("max_entries: -1", "not this one"),
        ("max_entries: 5,000,000", "unknown key `000`"),
        ("max_entries: 5e6", "`max_entries` is a number of targets"),
        ("max_entry: 5", "did you mean `max_entries`?"),
        ("min_entries: many", "`min_entries` is a number of targets, not `many`"),
        ("min_entries: 8, max_entries: 7", "list `a` has a `min_entries` larger than its `max_entries`"),
        ("include_special: yes", "did you mean true?"),
        ("include_private: true", "unknown key `include_private`"),
    ] {
        let told = told(format!("lists: [{{name: a, path: a, {key}}}]"));
        assert!(told.contains(expected), "{key}: {told}");
    }
}

#[test]
fn a_list_says_how_it_is_read() {
    let how = |keys: &str| config(&format!("lists: [{{name: a, path: a, {keys}}}]")).lists[0].how.to_string();
    assert_eq!(how("ttl: 7d"), "");
    assert_eq!(how("format: ipsum, min_score: 3"), "format ipsum, min_score 3");
    assert_eq!(how("min_score: 0"), "min_score 0");
    assert_eq!(how("column: dst_ip"), "column `dst_ip`");
    assert_eq!(how("format: json, column: 2, include_wide: true"), "format json, column 2, include_wide");
    for format in crate::source::Format::ALL {
        assert_eq!(how(&format!("format: {format}")), format!("format {format}"));
    }
    assert_eq!(config("lists: [{name: a, path: a, min_entries: 10}]").lists[0].limits.min_entries, 10);
    for (keys, expected) in [
        ("format: cvs", "did you mean csv?"),
        ("format: netset", "did you mean firehol?"),
        ("format: xml", "use one of plain, firehol, spamhaus, ranges, csf, ipsum"),
        ("format: 7", "`format` must be text"),
        ("column: 0", "`column` is a column of the list, not 0"),
        ("column: [a]", "not a list"),
        ("min_score: high", "`min_score` is a number, not `high`"),
        ("min_score: -1", "`min_score` is a number"),
        ("format: ipset, column: 2", "list `a` has a `column`, but its format is ipset"),
        ("format: csv, min_score: 2", "list `a` has a `min_score`, but its format is csv"),
        ("asn: [AS64500], database: /x, format: csv", "has its own format"),
        ("column: ip, min_score: 2", "list `a` has both `column` and `min_score`"),
    ] {
        let told = told(format!("lists: [{{name: a, path: a, {keys}}}]"));
        assert!(told.contains(expected), "{keys}: {told}");
    }
}

#[test]
fn list_ttl_is_parsed() {
    let ttl = |word: &str| config(&format!("lists: [{{name: a, path: a, ttl: {word}}}]")).lists[0].ttl;
    for (word, seconds) in [("7d", 604_800), ("90", 90), ("'1 h 30 min'", 5400), ("520w", 314_496_000)] {
        assert_eq!(ttl(word).map(|ttl| ttl.as_secs()), Some(seconds), "{word}");
    }
    assert_eq!(config("lists: [{name: a, path: a}]").lists[0].ttl, None);
    for word in ["0", "soon", "-1", "11w3600d", "[1]", "true"] {
        let told = told(format!("lists: [{{name: a, path: a, ttl: {word}}}]"));
        assert!(told.contains("`ttl` is a time, not "), "{word}: {told}");
    }
}

#[test]
fn a_hundred_of_many_errors_are_shown() {
    let told = told(format!("block: [{}]", "10.0.0.1/8, ".repeat(150)));
    assert_eq!(told.matches("has host bits set").count(), 100);
    assert!(told.ends_with("and 50 more errors"), "{told}");
    assert!(told.lines().all(|line| line.chars().count() < 120), "no line is wider than a screen");
}

#[test]
fn list_without_file_is_live() {
    let config = config(
        "lists: [{name: a, path: a, ipv6_prefix: 56}, {name: manual, ipv6_prefix: 64}, {name: b, path: b}]",
    );
    let lengths: Vec<_> = config.lists.iter().map(|list| list.ipv6_prefix).collect();
    assert_eq!(lengths, [56, 128]);
    assert_eq!((config.live[0].name.as_str(), config.live[0].ipv6_prefix), ("manual", 64));
}

#[test]
fn there_are_at_most_a_thousand_lists() {
    let text = |lists: usize| {
        let list = |number| format!("  - {{name: l{number}, path: x}}\n");
        format!("lists:\n{}", (0..lists).map(list).collect::<String>())
    };
    assert_eq!(config(&text(1000)).lists.len(), 1000);
    let told = told(text(1001));
    assert!(told.starts_with("f.yaml:1002:5: this is list 1001, but at most 1000 are allowed"), "{told}");
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let told = |path: &Path| load(path).unwrap_err().to_string();
    assert!(told(folder.path()).ends_with("this is a directory, not a plain file"));
    assert!(told(&folder.path().join("no.yaml")).ends_with("there is no such file"));
    let large = folder.path().join("large.yaml");
    std::fs::write(&large, vec![b'\n'; LARGEST as usize + 1]).unwrap();
    assert!(told(&large).contains("at most 256 KiB"));
}

#[test]
fn relative_paths_start_at_the_file_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filterd.yaml");
    std::fs::write(&path, "lists: [{name: drop, path: drop.txt}]").unwrap();
    assert_eq!(load(&path).unwrap().lists[0].path, folder.path().join("drop.txt"));
}

/// The examples on this page must be valid as they are.
#[test]
fn documented_list_examples_are_valid() {
    let page = include_str!("../../../docs/how-to/lists.md");
    let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lists: Vec<_> = blocks.map(|block| config(block).lists.len()).collect();
    let lines = page.lines().filter(|line| line.trim_start().starts_with("- {name: ")).count();
    assert_eq!((lists.len(), lists.iter().sum::<usize>()), (4, lines), "each line is in a block");
    assert!(lines > 15);
}
