//! Tests imports of the output of other programs, and of inputs that are not lists.

use super::format::ExchangeFormat;
use super::reading::{ImportReader, Unreadable};
use super::sets::{SetAction, SetChoice, SetPlan};
use crate::source::special;

/// Returns `list target left note` of each entry, and the text of each fault.
fn read(text: &str) -> Vec<String> {
    let mut reading = ImportReader::begin(text.as_bytes(), None).expect("it is recognised");
    reading.choose(&SetChoice::default()).expect("nothing is asked for");
    let begun =
        super::list_of::CountdownStart::now().item("::1".parse().unwrap(), "x", Some(0), None).unwrap();
    let begun = begun.own.until.unwrap();
    let mut told = Vec::new();
    while let Some(row) = reading.row().unwrap() {
        told.push(match row {
            Ok((_, item)) => {
                let list = item.list.map(|list| list.to_string()).unwrap_or_default();
                let left = item.own.until.map(|until| until - begun);
                format!(
                    "{list}{} {} {left:?} {:?}",
                    if item.allow { " allows" } else { "" },
                    item.span,
                    item.own.note
                )
            }
            Err(rejected) => rejected.told("x"),
        });
    }
    told
}

fn refusal(text: &str) -> String {
    match ImportReader::begin(text.as_bytes(), None) {
        Err(Unreadable::Other(why)) => why.to_string(),
        _ => panic!("it must be refused"),
    }
}

#[test]
fn ipset_save_is_read() {
    let text = "create ssh hash:net family inet hashsize 1024 maxelem 65536 timeout 0 comment bucketsize 12 initval 0xd6da07ac\n\
                add ssh 192.0.2.1 timeout 3599 comment \"a 'b' # x\"\n\
                add ssh 198.51.100.0/24 timeout 0\n\
                add ssh 203.0.113.1-203.0.113.2 timeout 0 packets 7 bytes 400 comment \"why\"\n\
                create usual hash:ip family inet timeout 600\n\
                add usual 192.0.2.2\n\
                add usual 192.0.2.256\n\
                create ports hash:ip,port family inet\n\
                add ports 192.0.2.3,tcp:80\n\
                add x.allow_4 192.0.2.4\n";
    let read = read(text);
    assert_eq!(
        read[..4],
        [
            "ssh 192.0.2.1 Some(3599) Some(\"a 'b' # x\")",
            "ssh 198.51.100.0/24 None None",
            "ssh 203.0.113.1-203.0.113.2 None Some(\"why\")",
            "usual 192.0.2.2 Some(600) None",
        ]
    );
    assert!(read[4].starts_with("x:7: `add usual 192.0.2.256`"), "{}", read[4]);
    assert_eq!(read[5..], ["x allows 192.0.2.4 None None"]);
}

/// Returns what happens to each set, and the entries that are imported.
fn chosen(text: &str, choice: &SetChoice) -> (Vec<String>, Vec<String>) {
    let mut reading = ImportReader::begin(text.as_bytes(), None).expect("it is recognised");
    let plans = reading.choose(choice).expect("the sets are there");
    let word = |plan: &SetPlan| match plan.action {
        SetAction::Block => format!("{} blocks", plan.name),
        SetAction::Allow => format!("{} allows", plan.name),
        SetAction::Skip => format!("{} skipped", plan.name),
        SetAction::LeaveOut => format!("{}: {}", plan.name, plan.reason.as_deref().unwrap_or_default()),
    };
    let mut entries = Vec::new();
    while let Some(row) = reading.row().unwrap() {
        let (_, item) = row.expect("each is a target");
        let sign = if item.allow { "+" } else { "-" };
        let rest = special::minus(item.span, &item.exceptions);
        entries.extend(rest.iter().map(|target| format!("{sign}{target}")));
    }
    (plans.iter().map(word).collect(), entries)
}

fn choice(words: &str) -> SetChoice {
    let mut choice = SetChoice::default();
    for word in words.split_whitespace() {
        let (option, set) = word.split_once('=').expect("an option and a set");
        let sets = match option {
            "block" => &mut choice.block,
            "allow" => &mut choice.allow,
            "only" => &mut choice.only,
            "skip" => &mut choice.skip,
            _ => panic!("there is no such option"),
        };
        sets.push(set.to_owned());
    }
    choice
}

/// FAULTS W3-O1 and W3-O2: an allow list became a block list, and an exception was dropped.
#[test]
fn doubtful_set_needs_a_word() {
    let ipset = "create bad hash:net family inet\nadd bad 192.0.2.0/28\n\
                 create wl hash:net family inet\nadd wl 198.51.100.1\n\
                 create nets hash:net family inet\nadd nets 203.0.113.0/30\nadd nets 203.0.113.2 nomatch\n\
                 create web hash:ip,port family inet\nadd web 192.0.2.3,tcp:80\n\
                 create empty hash:ip family inet\n";
    let doubts = ["wl: its name contains `wl`", "nets: it has 1 exception (nomatch)"];
    let more = "web: its entries are not plain addresses";
    for (words, sets, entries) in [
        ("", vec!["bad blocks", doubts[0], doubts[1], more], "-192.0.2.0/28"),
        (
            "allow=wl block=nets skip=web",
            vec!["bad blocks", "wl allows", "nets blocks", "web skipped"],
            "-192.0.2.0/28 +198.51.100.1 -203.0.113.3 -203.0.113.0/31",
        ),
        ("block=wl only=wl", vec!["wl blocks"], "-198.51.100.1"),
        ("only=wl", vec![doubts[0]], ""),
        ("only=nets allow=nets", vec!["nets allows"], "+203.0.113.3 +203.0.113.0/31"),
        (
            "skip=bad skip=wl skip=nets skip=web",
            vec!["bad skipped", "wl skipped", "nets skipped", "web skipped"],
            "",
        ),
        ("block=web only=web", vec![more], ""),
    ] {
        let (made, read) = chosen(ipset, &choice(words));
        assert_eq!(
            (made, read.join(" ")),
            (sets.iter().map(ToString::to_string).collect(), entries.to_owned()),
            "{words}"
        );
    }
}

#[test]
fn nft_rules_decide_what_a_set_is_for() {
    let rule = |op: &str, verdict: &str| {
        format!(
            r#"{{"rule": {{"family": "inet", "table": "fw", "chain": "in", "expr": [{{"match": {{"op": "{op}", "left": {{"payload": {{"protocol": "ip", "field": "saddr"}}}}, "right": "@s"}}}}, {{"counter": {{"packets": 0, "bytes": 0}}}}, {{"{verdict}": null}}]}}}}"#
        )
    };
    let set = r#"{"set": {"family": "inet", "name": "s", "table": "fw", "type": "ipv4_addr", "elem": ["192.0.2.1"]}}"#;
    let (accepts, negates, other, unused) = (
        "s: a rule accepts it",
        "s: a rule matches what is not in it",
        "s: a rule does something else than drop all its packets",
        "s: no rule drops it",
    );
    for (rules, told) in [
        (vec![], "s blocks"),
        (vec![rule("==", "drop")], "s blocks"),
        (vec![rule("==", "reject"), rule("==", "drop")], "s blocks"),
        (vec![rule("==", "accept")], accepts),
        (vec![rule("==", "drop"), rule("==", "accept")], accepts),
        (vec![rule("!=", "drop")], negates),
        (vec![rule("==", "return")], other),
        (vec![rule("==", "drop").replace("\"table\": \"fw\"", "\"table\": \"other\"")], unused),
        (vec![rule("==", "drop").replace("saddr", "daddr")], other),
        (vec![rule("==", "drop").replace("\"counter\"", "\"limit\"")], other),
        (vec![rule("==", "drop").replace("\"drop\"", "\"log\"")], other),
        (vec![rule("==", "drop").replace("@s", "@t")], unused),
    ] {
        // nft writes sets before rules. A user who edits the output may reorder them.
        for order in [0, rules.len()] {
            let mut all = rules.clone();
            all.insert(order, set.to_owned());
            let text = format!("{{\"nftables\": [{}]}}", all.join(", "));
            assert_eq!(chosen(&text, &SetChoice::default()).0, [told], "{text}");
        }
    }
}

/// FAULTS W3-O5: concatenations were skipped silently.
#[test]
fn concatenations_and_maps_of_nft_are_named() {
    let text = r#"{"nftables": [
        {"set": {"name": "pairs", "type": ["ipv4_addr", "inet_service"], "elem": [{"concat": ["192.0.2.1", 22]}]}},
        {"map": {"name": "to", "type": "ipv4_addr", "map": "verdict", "elem": [["192.0.2.2", {"drop": null}]]}},
        {"set": {"name": "ports", "type": "inet_service", "elem": [22]}},
        {"set": {"name": "bad", "type": "ipv4_addr", "elem": ["192.0.2.3"]}}]}"#;
    let (made, entries) = chosen(text, &SetChoice::default());
    assert_eq!(made, ["pairs: its entries are not plain addresses", "to: it is a map", "bad blocks"]);
    assert_eq!(entries, ["-192.0.2.3"]);
}

#[test]
fn choice_that_fits_no_set_is_refused() {
    let refused = |text: &str, words: &str| {
        let mut reading = ImportReader::begin(text.as_bytes(), None).expect("it is recognised");
        reading.choose(&choice(words)).expect_err("it is not there").to_string()
    };
    let told = refused("create a hash:ip\nadd a 192.0.2.1\n", "block=a allow=a");
    assert!(told.contains("contradict each other about set `a`"), "{told}");
    let told = refused("create a hash:ip\nadd a 192.0.2.1\n", "only=b");
    assert!(told.contains("no set is called `b`") && told.contains("`a`"), "{told}");
    let told = refused("192.0.2.1\n", "allow=a");
    assert!(told.contains("which has no sets") && told.contains("filterd allow add"), "{told}");
}

#[test]
fn names_suggest_that_a_set_allows() {
    for (name, is_doubtful) in [
        ("whitelist", true),
        ("my_ALLOWED-hosts", true),
        ("wl", true),
        ("wl4", false),
        ("fw-wl-v4", true),
        ("lan", true),
        ("planet", false),
        ("f2b-sshd", false),
        ("blackhole", false),
        ("crowdsec-blacklists", false),
        ("trusted.allow_4", false),
        ("not_blocked", true),
        ("unban", true),
        ("do-not-block", true),
        ("office-staff", true),
        ("untrusted", false),
        ("disallowed", false),
    ] {
        let text = format!("create {name} hash:ip\nadd {name} 192.0.2.1\n");
        let (made, _) = chosen(&text, &SetChoice::default());
        assert_eq!(made[0].contains("its name contains"), is_doubtful, "{name}: {made:?}");
    }
}

#[test]
fn nft_json_list_is_read() {
    let text = r#"{"nftables": [{"metainfo": {"version": "1.0.6"}}, {"table": {"family": "inet", "name": "f"}},
        {"set": {"family": "inet", "name": "ssh-1_4", "table": "f", "type": "ipv4_addr", "flags": ["interval", "timeout"], "elem": [
            {"elem": {"val": {"prefix": {"addr": "0.0.0.0", "len": 5}}, "timeout": 864000, "expires": 863999, "comment": "d"}},
            {"prefix": {"addr": "10.0.0.0", "len": 8}}, "192.0.2.1", {"range": ["192.0.2.3", "192.0.2.4"]},
            {"concat": ["192.0.2.1", 22]}]}},
        {"set": {"name": "p", "type": "inet_service", "elem": [22]}},
        {"set": {"name": "_9_6", "type": "ipv6_addr", "timeout": 60, "elem": ["2001:db8::1"]}}]}"#;
    let read = read(text);
    assert_eq!(
        read[..4],
        [
            "ssh-1 0.0.0.0/5 Some(863999) Some(\"d\")",
            "ssh-1 10.0.0.0/8 None None",
            "ssh-1 192.0.2.1 None None",
            "ssh-1 192.0.2.3-192.0.2.4 None None",
        ]
    );
    assert!(read[4].contains("is more than an address"), "{}", read[4]);
    assert_eq!(read[5..], ["9 2001:db8::1 Some(60) None"]);
}

#[test]
fn ipset_netmask_gives_networks() {
    let told = read("create a hash:ip family inet netmask 24\nadd a 192.0.2.0 comment \"of \"\n");
    assert_eq!(told, ["a 192.0.2.0/24 None Some(\"of \")"]);
}

/// The forms that scripts use, and those of ipset before its commands had names.
#[test]
fn ipset_script_with_exist_is_read() {
    let told =
        read("-exist create a hash:ip\nadd a 192.0.2.1 -exist\n-! add a 192.0.2.2\n-A -exist a 192.0.2.3\n");
    assert_eq!(told, ["a 192.0.2.1 None None", "a 192.0.2.2 None None", "a 192.0.2.3 None None"]);
}

#[test]
fn comment_survives_json_quoting() {
    let told = read(
        r#"{"nftables": [{"set": {"name": "a", "type": "ipv4_addr", "elem": [{"elem": {"val": "192.0.2.1", "comment": "C:\\b \u00e4"}}]}}]}"#,
    );
    assert_eq!(told, [r#"a 192.0.2.1 None Some("C:\\b ä")"#]);
}

#[test]
fn truncated_document_gives_nothing() {
    let told =
        refusal(r#"{"nftables": [{"set": {"name": "a", "type": "ipv4_addr", "elem": ["192.0.2.1", "192.0"#);
    assert!(told.contains("ends in the middle"), "{told}");
}

#[test]
fn foreign_list_is_read_line_by_line() {
    let text = "# a list\n\n192.0.2.1 ; SBL1\n198.51.100.0/24 # filterd is good\nevil\n";
    let read = read(text);
    assert_eq!(read[..2], [" 192.0.2.1 None None", " 198.51.100.0/24 None None"]);
    assert!(read[2].starts_with("x:5: `evil` "), "{}", read[2]);
}

#[test]
fn published_formats_are_read_as_in_configuration() {
    let spamhaus = "{\"cidr\":\"192.0.2.0/24\",\"sblid\":\"SBL1\"}\n{\"type\":\"metadata\",\"records\":1}\n";
    for (format, text, expected) in [
        (
            "csv",
            "# of a feed\n\"first_seen\",\"dst_ip\",\"port\"\n\"2026-01-01\",\"192.0.2.1\",\"443\"\n",
            "192.0.2.1",
        ),
        ("ipsum", "# IPsum\n192.0.2.1\t9\n192.0.2.2\t1\n", "192.0.2.1 192.0.2.2"),
        ("dshield", "# DShield\nStart\tEnd\tNetmask\n192.0.2.0\t192.0.2.255\t24\t7\n", "192.0.2.0/24"),
        ("json", spamhaus, "192.0.2.0/24"),
        ("plain", "192.0.2.1-192.0.2.2\n", "192.0.2.1-192.0.2.2"),
        ("plain", "192.0.2.1 # lfd: (sshd) Failed login - Sun Nov 22\n", "192.0.2.1"),
        ("ipset", "create a hash:ip\nadd a 192.0.2.1\n", "a 192.0.2.1"),
        (
            "nft",
            "{\n \"nftables\": [{\"set\": {\"name\": \"a\", \"type\": \"ipv4_addr\", \"elem\": [\"192.0.2.1\"]}}]}",
            "a 192.0.2.1",
        ),
    ] {
        let Ok(reading) = ImportReader::begin(text.as_bytes(), None) else { panic!("{format} is refused") };
        assert_eq!(reading.format, format, "{text}");
        let told: Vec<_> =
            read(text).iter().map(|row| row.replace(" None None", "").trim().to_owned()).collect();
        assert_eq!(told.join(" ").split(" error").next(), Some(expected), "{format}: {told:?}");
    }
    let cut = spamhaus.replace("\"records\":1", "\"records\":2");
    let mut reading = ImportReader::begin(cut.as_bytes(), None).expect("it is recognised");
    while reading.row().unwrap().is_some() {}
    assert_eq!(reading.fault().as_deref(), Some("it says that it has 2 entries, but has 1"));
}

#[test]
fn typed_targets_are_read_line_by_line() {
    struct Typed<'a>(&'a [u8]);
    impl std::io::Read for Typed<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let (first, rest) = self.0.split_first().expect("nobody asks for more");
            into[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }
    let Ok(reading) = ImportReader::begin(Typed(b"# mine\n192.0.2.1 # why\n"), None) else {
        panic!("it is a list")
    };
    assert_eq!(reading.format, "plain");
}

#[test]
fn damaged_own_line_never_blocks_allowed_target() {
    let text = "192.0.2.1 # filterd list=ssh until=tomorrow\n192.0.2.2 # filterd list=SSH\n\
                192.0.2.3 # filterd list=a until=2026-01-01T00:00:00Z x\n#allow 192.0.2.4\n\
                #allow 192.0.2.5 # filterd list=a\n";
    let read = read(text);
    assert_eq!(read.len(), 4, "{read:?}");
    assert!(read[0].contains("write until=2026-"), "{}", read[0]);
    assert!(read[1].contains("SSH") && read[2].contains("more follows"), "{read:?}");
    assert_eq!(read[3], "a allows 192.0.2.5 None None");
}

#[test]
fn unusable_input_is_refused_with_alternatives() {
    assert!(refusal("{\"version\":1,\"target\":\"192.0.2.1\"}\n").contains("filterd export --format json"));
    assert!(refusal("<html>").contains("not a list"));
    for text in [
        "table inet x {\n",
        "#!/usr/sbin/nft -f\nflush ruleset\n\ttable ip6 x {\n",
        "add table netdev x\n",
        "table x {\n",
    ] {
        assert!(refusal(text).contains("nft -j list ruleset"), "{text}");
    }
    let newer = "{\"version\":2,\"filterd\":\"export\"}\n";
    assert!(read(newer)[0].contains("it has version 2"), "{:?}", read(newer));
}

#[test]
fn comment_about_tables_is_not_nft() {
    let nft = |comment: &str| {
        format!(
            r#"{{"nftables": [{{"set": {{"name": "a", "type": "ipv4_addr", "elem": [{{"elem": {{"val": "192.0.2.1", "comment": "{comment}"}}}}]}}}}]}}"#
        )
    };
    for comment in ["scans table x", "table inet x {", "table "] {
        assert_eq!(read(&nft(comment)), [format!("a 192.0.2.1 None Some({comment:?})")]);
        let plain = format!("# {comment}\n; {comment}\n192.0.2.1 # {comment}\n");
        assert_eq!(read(&plain), [" 192.0.2.1 None None"]);
        let lines = format!("{{\"ip\":\"192.0.2.1\",\"why\":\"{comment}\"}}\n");
        assert_eq!(read(&lines), [" 192.0.2.1 None None"]);
    }
    let jump =
        nft("x").replace("\"nftables\": [", "\"nftables\": [{\"rule\": {\"jump\": {\"target\": \"x\"}}}, ");
    assert_eq!(chosen(&jump, &choice("block=a")).1, ["-192.0.2.1"]);
}

#[test]
fn a_format_is_known_by_its_name() {
    for (name, format) in ExchangeFormat::NAMES {
        assert_eq!(name.parse(), Ok(format));
    }
    assert!("xml".parse::<ExchangeFormat>().is_err());
}

#[test]
fn incomplete_export_is_reported_by_its_kind() {
    let head = "{\"version\":1,\"filterd\":\"export\"}\n";
    let entry = "{\"target\":\"192.0.2.1\",\"list\":\"ssh\"}\n";
    let fault = |entries: usize, last: &str| {
        let text = format!("{head}{}{last}", entry.repeat(entries));
        let mut reading = ImportReader::begin(text.as_bytes(), None).expect("it is recognised");
        while reading.row().expect("memory can be read").is_some() {}
        reading.fault()
    };
    assert_eq!(fault(2, "{\"entries\":2}\n"), None);
    let ended = "the export is incomplete: it ended after 2 entries";
    assert_eq!(fault(2, "").as_deref(), Some(ended));
    let more = "the export is damaged: 3 entries were read, but its last line says 2 entries";
    assert_eq!(fault(3, "{\"entries\":2}\n").as_deref(), Some(more));
    let fewer = "the export is damaged: 1 entry was read, but its last line says 2 entries";
    assert_eq!(fault(1, "{\"entries\":2}\n").as_deref(), Some(fewer));
}

/// Inputs found by a tester outside the project. Each blocked an address that was not to be blocked.
#[test]
fn foreign_ipset_inputs_block_nothing_unasked() {
    let set = "create a hash:net\nadd a 192.0.2.0/28\n";
    for (more, doubt) in [
        ("create trusted list:set\nadd trusted a\n", "a: it is a member of set `trusted`"),
        ("del a 192.0.2.1\n", "a: a later line deletes, flushes, renames or swaps it"),
        ("create b hash:net\nswap b a\n", "a: a later line deletes, flushes, renames or swaps it"),
        ("flush\n", "a: a later line deletes, flushes, renames or swaps it"),
    ] {
        let text = [set, more].concat();
        let mut reading = ImportReader::begin(text.as_bytes(), None).expect("it is recognised");
        let plans = reading.choose(&SetChoice::default()).expect("nothing is asked for");
        let told = format!("{}: {}", plans[0].name, plans[0].reason.as_deref().unwrap_or("blocks"));
        assert_eq!(told, doubt, "{more}");
    }
    for text in [
        "Name: whitelist\nType: hash:ip\nMembers:\n192.0.2.1\n",
        "192.0.2.1            # friends, since 1 min ago, permanent\n",
    ] {
        assert!(refusal(text).contains("it is output of"), "{text}");
    }
}

#[test]
fn equal_names_in_two_tables_need_the_table() {
    let set = |table: &str, address: &str| {
        format!(
            r#"{{"set": {{"family": "inet", "name": "s", "table": "{table}", "type": "ipv4_addr", "elem": ["{address}"]}}}}"#
        )
    };
    let text = format!(r#"{{"nftables": [{}, {}]}}"#, set("a", "192.0.2.1"), set("b", "192.0.2.2"));
    let mut reading = ImportReader::begin(text.as_bytes(), None).expect("it is recognised");
    let refused = reading.choose(&choice("allow=s")).expect_err("two are called so").to_string();
    assert!(refused.contains("`inet a s`, `inet b s`"), "{refused}");
    let one = SetChoice { allow: vec!["inet a s".to_owned()], ..SetChoice::default() };
    assert_eq!(chosen(&text, &one).1, ["+192.0.2.1", "-192.0.2.2"]);
}
