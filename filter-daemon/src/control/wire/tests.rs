//! Tests of what the protocol accepts, what it refuses, and its exact form on the wire.

use std::time::Duration;

use serde_json::json;

use super::list::Family;
use super::words::{LONGEST_NOTE, LONGEST_TTL, list_name, note, target};
use super::*;
use super::{Held, HeldBy};
use crate::text::Explanation;

fn add(targets: &[&str]) -> Add {
    Add { targets: targets.iter().collect(), ..Add::default() }
}

fn refusal(raw: impl Method) -> String {
    raw.check().expect_err("this must be refused").explanation().message.clone()
}

#[test]
fn ranges_become_prefixes_and_the_rest_is_kept() {
    let raw = Add {
        list: Some("ssh".into()),
        ttl: Some(7200),
        note: Some("brute force".into()),
        shorten: false,
        ..add(&["203.0.113.7", "10.0.0.1-10.0.0.2", "2001:db8::/48"])
    };
    let targets = ["203.0.113.7", "10.0.0.1", "10.0.0.2", "2001:db8::/48"];
    let checked = add::Request {
        targets: targets.iter().map(|word| word.parse().unwrap()).collect(),
        list: Some("ssh".parse().unwrap()),
        ttl: Some(Duration::from_secs(7200)),
        note: Some("brute force".into()),
        own: Vec::new(),
        shorten: false,
        wide: false,
        by: None,
    };
    assert_eq!(raw.check(), Ok(checked));
}

#[test]
fn every_bad_target_is_reported() {
    let message = refusal(add(&["203.0.113.7", "10.0.0.1/8", "example.org"]));
    assert!(message.contains("`10.0.0.1/8` has host bits set: did you mean 10.0.0.0/8"), "{message}");
    assert!(message.contains("`example.org` is a host name"), "{message}");
    assert!(!message.contains("203.0.113.7"), "{message}");
}

#[test]
fn ten_of_a_thousand_bad_targets_are_reported() {
    let words = vec!["rubbish!"; 1000];
    let message = refusal(add(&words));
    assert_eq!(message.lines().count(), 11);
    assert!(message.ends_with("and 990 more"), "{message}");
}

#[test]
fn number_of_targets_is_limited() {
    let words = vec!["203.0.113.7"; MOST_TARGETS + 1];
    assert!(refusal(add(&words)).contains("send at most 8192"));
    let worst = vec!["0.0.0.1-255.255.255.254"; MOST_TARGETS];
    assert!(refusal(add(&worst)).contains("more than 65536 prefixes"));
}

#[test]
fn names_of_lists_are_plain() {
    for name in ["a", "spamhaus-drop_4", &"x".repeat(32)] {
        assert_eq!(list_name(name).unwrap().as_str(), name);
    }
    for name in ["", "Drop", "a b", "ä", "../etc", "a\n", &"x".repeat(33)] {
        assert!(list_name(name).is_err(), "{name:?}");
    }
}

#[test]
fn a_note_is_one_plain_line() {
    assert_eq!(note("größer als \"sonst\"").as_deref(), Ok("größer als \"sonst\""));
    assert!(note("two\nlines").is_err());
    assert!(note("\x1b[2J").is_err());
    assert!(note("\u{202e}evil").is_err() && note("\u{2066}evil").is_err());
    assert!(note(&"x".repeat(LONGEST_NOTE)).is_ok());
    assert!(note(&"x".repeat(LONGEST_NOTE + 1)).is_err());
}

#[test]
fn a_ttl_is_neither_nothing_nor_for_ever() {
    for seconds in [0, LONGEST_TTL.as_secs() + 1, u64::MAX] {
        let raw = Add { ttl: Some(seconds), ..add(&["192.0.2.1"]) };
        assert!(refusal(raw).contains("ten years"), "{seconds}");
    }
}

#[test]
fn excessive_expiring_is_not_called_ttl() {
    for seconds in [0, u64::MAX] {
        let told = refusal(List { expiring: Some(seconds), ..List::default() });
        assert!(told.starts_with(&format!("expiring within {seconds} seconds: ")), "{told}");
    }
}

#[test]
fn addresses_and_prefixes_are_tested() {
    for word in ["203.0.113.7", "203.0.113.0/24", "2001:db8::/32"] {
        assert_eq!(target(word).unwrap().to_string(), word);
    }
    assert!(target("10.0.0.1-10.0.0.2").unwrap_err().contains("is a range"));
    assert!(target("::ffff:203.0.113.7").unwrap_err().contains("203.0.113.7"));
    assert!(target("fe80::1%eth0").unwrap_err().contains("fe80::1"));
}

#[test]
fn there_are_two_families() {
    let list = |family| List { family: Some(family), ..List::default() };
    assert_eq!(list(6).check().unwrap().family, Some(Family::Six));
    assert!(refusal(list(5)).contains("there are 4 and 6"));
}

/// Requests exactly as an early version (aabf86b) wrote and read them.
#[test]
fn requests_are_those_of_the_version_that_landed() {
    fn written<M: Method>(parameters: &M) -> String {
        serde_json::to_string(&Envelope { method: M::NAME, came_by: None, parameters }).unwrap()
    }
    let full =
        Add { list: Some("ssh".into()), ttl: Some(7200), note: Some("x".into()), ..add(&["192.0.2.1"]) };
    let remove = Remove { targets: ["10.0.0.0/8"].iter().collect(), list: Some("ssh".into()) };
    let test = Test { addresses: ["192.0.2.1", "2001:db8::1"].iter().collect() };
    let list = List {
        list: Some("ssh".into()),
        family: Some(6),
        within: Some("2001:db8::/32".into()),
        expiring: Some(3600),
        allow: false,
    };
    let table: [(String, Message, &str); 16] = [
        (
            written(&add(&["192.0.2.1"])),
            Message::Add(add(&["192.0.2.1"])),
            r#"{"method":"io.filterd.Add","parameters":{"targets":["192.0.2.1"]}}"#,
        ),
        (
            written(&full),
            Message::Add(full.clone()),
            r#"{"method":"io.filterd.Add","parameters":{"targets":["192.0.2.1"],"list":"ssh","ttl":7200,"note":"x"}}"#,
        ),
        (
            written(&Remove::default()),
            Message::Remove(Remove::default()),
            r#"{"method":"io.filterd.Remove","parameters":{"targets":[]}}"#,
        ),
        (
            written(&remove),
            Message::Remove(remove.clone()),
            r#"{"method":"io.filterd.Remove","parameters":{"targets":["10.0.0.0/8"],"list":"ssh"}}"#,
        ),
        (
            written(&test),
            Message::Test(test.clone()),
            r#"{"method":"io.filterd.Test","parameters":{"addresses":["192.0.2.1","2001:db8::1"]}}"#,
        ),
        (
            written(&List::default()),
            Message::List(List::default()),
            r#"{"method":"io.filterd.List","parameters":{}}"#,
        ),
        (
            written(&list),
            Message::List(list.clone()),
            r#"{"method":"io.filterd.List","parameters":{"list":"ssh","family":6,"within":"2001:db8::/32","expiring":3600}}"#,
        ),
        (
            written(&Flush::default()),
            Message::Flush(Flush::default()),
            r#"{"method":"io.filterd.Flush","parameters":{}}"#,
        ),
        (
            written(&Flush { list: Some("ssh".into()) }),
            Message::Flush(Flush { list: Some("ssh".into()) }),
            r#"{"method":"io.filterd.Flush","parameters":{"list":"ssh"}}"#,
        ),
        (
            written(&Status {}),
            Message::Status(Status {}),
            r#"{"method":"io.filterd.Status","parameters":{}}"#,
        ),
        (
            written(&Snapshot {}),
            Message::Snapshot(Snapshot {}),
            r#"{"method":"io.filterd.Snapshot","parameters":{}}"#,
        ),
        (
            written(&Watch { list: Some("ssh".into()), seconds: Some(9), drops: true, ..Watch::default() }),
            Message::Watch(Watch {
                list: Some("ssh".into()),
                seconds: Some(9),
                drops: true,
                ..Watch::default()
            }),
            r#"{"method":"io.filterd.Watch","parameters":{"drops":true,"list":"ssh","seconds":9}}"#,
        ),
        (written(&Stats {}), Message::Stats(Stats {}), r#"{"method":"io.filterd.Stats","parameters":{}}"#),
        (
            written(&Reload::default()),
            Message::Reload(Reload::default()),
            r#"{"method":"io.filterd.Reload","parameters":{}}"#,
        ),
        (written(&Ping {}), Message::Ping(Ping {}), r#"{"method":"io.filterd.Ping","parameters":{}}"#),
        (
            written(&HandOver {}),
            Message::HandOver(HandOver {}),
            r#"{"method":"io.filterd.HandOver","parameters":{}}"#,
        ),
    ];
    for (written, message, landed) in table {
        assert_eq!(written, landed);
        assert_eq!(serde_json::from_str::<Message>(landed).unwrap(), message, "{landed}");
    }
}

/// Replies exactly as an early version (aabf86b) wrote and read them.
#[test]
fn replies_are_those_of_the_version_that_landed() {
    fn is_written_and_read<M: Method<Reply: PartialEq>>(parameters: M::Reply, continues: bool, landed: &str) {
        let answer = Answer { parameters, continues };
        assert_eq!(serde_json::to_string(&answer).unwrap(), landed);
        assert_eq!(serde_json::from_str::<Answer<M::Reply>>(landed).unwrap(), answer);
    }
    let entry = |note: Option<&str>, until| Entry {
        target: "192.0.2.1".into(),
        list: "ssh".into(),
        since: 7,
        until,
        note: note.map(str::to_owned),
        ..Entry::default()
    };
    let changed = Changed { named: 4, changed: 3, entered: 2, left: 1, ..Changed::default() };
    is_written_and_read::<Add>(
        changed.clone(),
        false,
        r#"{"parameters":{"named":4,"changed":3,"entered":2,"left":1}}"#,
    );
    let held = Held { target: "192.0.2.1".into(), lists: vec!["drop".into()], ..Held::default() };
    is_written_and_read::<Remove>(
        Changed { held: vec![held], ..changed.clone() },
        false,
        r#"{"parameters":{"named":4,"changed":3,"entered":2,"left":1,"held":[{"target":"192.0.2.1","lists":["drop"]}]}}"#,
    );
    is_written_and_read::<Flush>(
        changed,
        false,
        r#"{"parameters":{"named":4,"changed":3,"entered":2,"left":1}}"#,
    );
    let tested = test::Tested {
        address: "192.0.2.1".into(),
        dropped: true,
        because: vec![entry(None, None)],
        ..test::Tested::default()
    };
    is_written_and_read::<Test>(
        test::Reply { tested: vec![tested], ..test::Reply::default() },
        true,
        r#"{"parameters":{"tested":[{"address":"192.0.2.1","dropped":true,"because":[{"target":"192.0.2.1","list":"ssh","since":7}]}]},"continues":true}"#,
    );
    is_written_and_read::<List>(
        list::Reply { entries: vec![entry(Some("x"), Some(9))], next: None },
        true,
        r#"{"parameters":{"entries":[{"target":"192.0.2.1","list":"ssh","since":7,"until":9,"note":"x"}]},"continues":true}"#,
    );
    let status = status::Reply {
        version: VERSION,
        filterd: "0.1.0".into(),
        pid: 1,
        started: 2,
        user: "filterd".into(),
        landlock_version: Some(7),
        config: Some("f.yaml".into()),
        state_dir: None,
        faults: vec![],
        enforce: true,
        remarks: vec![],
        paused: None,
        trial: None,
        reload: None,
        targets: None,
        targets_out: 0,
        interfaces: vec![status::Interface {
            name: "eth0".into(),
            mode: "native".into(),
            note: None,
            unprotected: 3,
            gaps: 4,
            driver: Some("veth".into()),
            up_since: Some(2),
            received: Some(status::Received {
                kernel_rx_packets: 5,
                kernel_rx_bytes: 6,
                ..Default::default()
            }),
            packets_per_second: Some(1.5),
            ..Default::default()
        }],
        flows: None,
        tables: vec![status::Table {
            name: "ipv6".into(),
            entries: 5,
            capacity: 6,
            bytes: 7,
            certainty: "exact".into(),
            ..Default::default()
        }],
        crowdsec: vec![],
        lists: vec![status::ListStatus {
            name: "drop".into(),
            kind: "file".into(),
            allows: false,
            ports: None,
            direction: None,
            targets: 8,
            rejected: 9,
            special: 0,
            guarded: 0,
            expired: 0,
            error: Some("gone".into()),
            next: Some(10),
            hits: Some(Hits { dropped: 1, ..Hits::default() }),
            ..Default::default()
        }],
    };
    is_written_and_read::<Status>(
        status,
        false,
        r#"{"parameters":{"version":1,"filterd":"0.1.0","pid":1,"started":2,"user":"filterd","landlock_version":7,"config":"f.yaml","enforce":true,"interfaces":[{"name":"eth0","mode":"native","unprotected":3,"gaps":4,"driver":"veth","up_since":2,"received":{"kernel_rx_packets":5,"kernel_rx_bytes":6,"kernel_rx_dropped":0,"kernel_rx_errors":0},"packets_per_second":1.5}],"tables":[{"name":"ipv6","entries":5,"capacity":6,"bytes":7,"certainty":"exact"}],"lists":[{"name":"drop","kind":"file","targets":8,"rejected":9,"error":"gone","next":10,"hits":{"dropped":1,"would_drop":0,"paused":0,"replies":0}}]}}"#,
    );
    let hits = Hits { dropped: 1, would_drop: 2, paused: 3, replies: 4 };
    let counted = stats::Counted {
        reason: "listed".into(),
        verdict: "drop".into(),
        packets: 3,
        bytes: Some(9),
        meaning: "why".into(),
    };
    let on_interface = stats::OnInterface {
        interface: Some("eth0".into()),
        reason: "listed".into(),
        verdict: "drop".into(),
        packets: 3,
        bytes: 9,
    };
    is_written_and_read::<Stats>(
        stats::Reply {
            version: VERSION,
            enforce: false,
            packets_since: Some(3),
            reasons: vec![counted],
            interfaces: vec![on_interface],
            counted_since: Some(4),
            lists: vec![stats::OfList { list: "drop".into(), since: 5, hits }],
            other: None,
            gone: Some(hits),
        },
        false,
        r#"{"parameters":{"version":1,"enforce":false,"packets_since":3,"reasons":[{"reason":"listed","verdict":"drop","packets":3,"bytes":9,"meaning":"why"}],"interfaces":[{"interface":"eth0","reason":"listed","verdict":"drop","packets":3,"bytes":9}],"counted_since":4,"lists":[{"list":"drop","since":5,"dropped":1,"would_drop":2,"paused":3,"replies":4}],"gone":{"dropped":1,"would_drop":2,"paused":3,"replies":4}}}"#,
    );
    let listed =
        lists::ListDetails { name: "drop".into(), kind: "file".into(), entries: 8, ..Default::default() };
    is_written_and_read::<Lists>(
        lists::Reply { version: VERSION, lists: vec![listed], ..Default::default() },
        false,
        r#"{"parameters":{"version":1,"lists":[{"name":"drop","kind":"file","entries":8,"shared":0}]}}"#,
    );
    let mut reloaded = reload::Reply {
        entered: 1,
        left: 2,
        milliseconds: 4,
        warnings: vec!["w".into()],
        ..Default::default()
    };
    is_written_and_read::<Reload>(
        reloaded.clone(),
        false,
        r#"{"parameters":{"entered":1,"left":2,"unchanged":0,"milliseconds":4,"warnings":["w"]}}"#,
    );
    reloaded.held_back =
        vec![reload::HeldBack { list: "drop".into(), since: 5, told: Explanation::new("no", "say so") }];
    is_written_and_read::<Reload>(
        reloaded,
        false,
        r#"{"parameters":{"entered":1,"left":2,"unchanged":0,"milliseconds":4,"warnings":["w"],"held_back":[{"list":"drop","since":5,"message":"no","remedy":"say so"}]}}"#,
    );
    let pong = ping::Reply { version: VERSION, pid: 12 };
    is_written_and_read::<Ping>(pong.clone(), false, r#"{"parameters":{"version":1,"pid":12}}"#);
    is_written_and_read::<HandOver>(pong, false, r#"{"parameters":{"version":1,"pid":12}}"#);
}

/// New fields stand beside the old ones, so that the early version (aabf86b) can still read every reply.
#[test]
fn older_client_can_read_new_fields() {
    let landed = r#"{"error":"io.filterd.Refused","parameters":{"message":"no"}}"#;
    let refused = Failure::Refused("no".into());
    assert_eq!(serde_json::to_string(&refused).unwrap(), landed);
    assert_eq!(serde_json::from_str::<Failure>(landed).unwrap(), refused);
    let refused = Failure::Refused(Explanation::new("no", "ask again"));
    let with_remedy =
        json!({"error": "io.filterd.Refused", "parameters": {"message": "no", "remedy": "ask again"}});
    assert_eq!(serde_json::to_value(&refused).unwrap(), with_remedy);
    let by = HeldBy {
        target: "192.0.2.0/24".into(),
        list: "drop".into(),
        origin: "file".into(),
        ports: None,
        blocks: None,
        direction: None,
    };
    let held = Held {
        target: "192.0.2.1".into(),
        lists: vec!["drop".into()],
        by: vec![by],
        within: 3,
        ..Held::default()
    };
    let expected = json!({"target": "192.0.2.1", "lists": ["drop"],
                          "by": [{"target": "192.0.2.0/24", "list": "drop", "origin": "file"}], "within": 3});
    assert_eq!(serde_json::to_value(&held).unwrap(), expected);
}

/// An older daemon refuses the method, and does not block what was to be allowed.
#[test]
fn to_allow_is_a_method_of_its_own() {
    let allow = Allow(add(&["192.0.2.1"]));
    let written =
        serde_json::to_string(&Envelope { method: Allow::NAME, came_by: None, parameters: &allow }).unwrap();
    assert_eq!(written, r#"{"method":"io.filterd.Allow","parameters":{"targets":["192.0.2.1"]}}"#);
    assert_eq!(serde_json::from_str::<Message>(&written).unwrap(), Message::Allow(allow));
    let disallow = Disallow(Remove { targets: ["192.0.2.1"].iter().collect(), list: None });
    let written =
        serde_json::to_string(&Envelope { method: Disallow::NAME, came_by: None, parameters: &disallow })
            .unwrap();
    assert_eq!(written, r#"{"method":"io.filterd.Disallow","parameters":{"targets":["192.0.2.1"]}}"#);
    assert!(serde_json::from_str::<Message>(&written.replace("targets", "target")).is_err());
    assert!(refusal(Allow(add(&["10.0.0.1/8"]))).contains("host bits"));
}
