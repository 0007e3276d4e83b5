//! What passes the edge, and what is told about the rest.

use super::*;

fn add(targets: &[&str]) -> wire::Add {
    wire::Add { targets: targets.iter().collect(), ..wire::Add::default() }
}

fn refusal(raw: wire::Request) -> String {
    Request::try_from(raw).expect_err("this must be refused").message().to_owned()
}

#[test]
fn ranges_become_prefixes_and_the_rest_is_kept() {
    let raw = wire::Add {
        list: Some("ssh".into()),
        ttl: Some(7200),
        note: Some("brute force".into()),
        ..add(&["203.0.113.7", "10.0.0.1-10.0.0.2", "2001:db8::/48"])
    };
    let targets = ["203.0.113.7", "10.0.0.1", "10.0.0.2", "2001:db8::/48"];
    let checked = Request::Add {
        targets: targets.iter().map(|word| word.parse().unwrap()).collect(),
        list: Some("ssh".into()),
        ttl: Some(Duration::from_secs(7200)),
        note: Some("brute force".into()),
    };
    assert_eq!(Request::try_from(wire::Request::Add(raw)), Ok(checked));
}

#[test]
fn every_bad_target_is_told() {
    let message = refusal(wire::Request::Add(add(&["203.0.113.7", "10.0.0.1/8", "example.org"])));
    assert!(message.contains("`10.0.0.1/8` has host bits set: did you mean 10.0.0.0/8"), "{message}");
    assert!(message.contains("`example.org` is a host name"), "{message}");
    assert!(!message.contains("203.0.113.7"), "{message}");
}

#[test]
fn of_a_thousand_bad_targets_ten_are_told() {
    let words = vec!["rubbish!"; 1000];
    let message = refusal(wire::Request::Add(add(&words)));
    assert_eq!(message.lines().count(), 11);
    assert!(message.ends_with("and 990 more"), "{message}");
}

#[test]
fn the_number_of_targets_has_a_limit_before_and_after_ranges_become_prefixes() {
    let words = vec!["203.0.113.7"; MOST_TARGETS + 1];
    assert!(refusal(wire::Request::Add(add(&words))).contains("send at most 8192"));
    let worst = vec!["0.0.0.1-255.255.255.254"; MOST_TARGETS];
    assert!(refusal(wire::Request::Add(add(&worst))).contains("more than 65536 prefixes"));
}

#[test]
fn names_of_lists_are_plain() {
    for name in ["a", "spamhaus-drop_4", &"x".repeat(32)] {
        assert_eq!(list_name(name).as_deref(), Ok(name));
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
    assert!(note(&"x".repeat(LONGEST_NOTE)).is_ok());
    assert!(note(&"x".repeat(LONGEST_NOTE + 1)).is_err());
}

#[test]
fn a_ttl_is_neither_nothing_nor_for_ever() {
    for seconds in [0, LONGEST_TTL.as_secs() + 1, u64::MAX] {
        let raw = wire::Add { ttl: Some(seconds), ..add(&["192.0.2.1"]) };
        assert!(refusal(wire::Request::Add(raw)).contains("ten years"), "{seconds}");
    }
}

#[test]
fn only_single_addresses_are_tested() {
    assert_eq!(address("203.0.113.7"), Ok("203.0.113.7".parse().unwrap()));
    assert!(address("203.0.113.0/24").unwrap_err().contains("more than one address"));
    assert!(address("10.0.0.1-10.0.0.2").unwrap_err().contains("more than one address"));
    assert!(address("::ffff:203.0.113.7").unwrap_err().contains("203.0.113.7"));
    assert!(address("fe80::1%eth0").unwrap_err().contains("fe80::1"));
}

#[test]
fn there_are_two_families() {
    let list = |family| wire::Request::List(wire::List { list: None, family: Some(family) });
    assert!(matches!(Request::try_from(list(6)), Ok(Request::List { family: Some(Family::Six), .. })));
    assert!(refusal(list(5)).contains("there are 4 and 6"));
}
