//! Tests of answers as LAPI sends them, and of what may come instead.

use std::io;

use super::*;
use crate::text::Explain;

const NOW: Timestamp = Timestamp::from_secs(1_000);

fn read_with(json: &str, types: &[&str], most: usize) -> Result<StreamAnswer, AnswerError> {
    let types: Vec<_> = types.iter().map(|one| (*one).to_owned()).collect();
    read(json.as_bytes(), &types, NOW, most)
}

fn answer(json: &str) -> StreamAnswer {
    read_with(json, &["ban"], 100).unwrap_or_else(|error| panic!("{error}: {json}"))
}

fn fault(json: &str) -> String {
    read_with(json, &["ban"], 100).expect_err(json).to_string()
}

/// An item as 1.7.8 sends it.
fn item(id: u64, value: &str) -> String {
    format!(
        r#"{{"duration":"3h59m58.7s","id":{id},"origin":"crowdsec","scenario":"crowdsecurity/ssh-bf",
        "scope":"Ip","type":"ban","uuid":"0b6e5c0e","value":"{value}"}}"#
    )
}

#[test]
fn whole_answer_is_read() {
    let json = format!(r#"{{"deleted":[{}],"new":[{}]}}"#, item(3, "192.0.2.3"), item(4, "192.0.2.4"));
    let answer = answer(&json);
    let expected = Decision {
        id: 4,
        origin: "crowdsec".into(),
        kind: "ban".into(),
        scope: super::super::Scope::Target("192.0.2.4".parse().unwrap()),
        scenario: "crowdsecurity/ssh-bf".into(),
        until: NOW.later_by(14_399),
    };
    assert_eq!(answer, StreamAnswer { new: vec![expected], deleted: vec![3], skipped: Skipped::default() });
}

#[test]
fn lists_may_be_null_or_absent() {
    for json in [
        r#"{"new":null,"deleted":null}"#,
        r#"{"new":[]}"#,
        r#"{"deleted":[]}"#,
        r#"{"deleted":null}"#,
        " \n{\"other\": {\"a\": [1, 2.5, null]}, \"new\": null}\n",
    ] {
        assert_eq!(answer(json), StreamAnswer::default(), "{json}");
    }
}

#[test]
fn repeated_lists_are_joined() {
    let json = format!(r#"{{"new":[{}],"new":[{}]}}"#, item(1, "192.0.2.1"), item(2, "192.0.2.2"));
    assert_eq!(answer(&json).new.len(), 2);
}

#[test]
fn skipped_items_are_counted() {
    let items = [
        item(1, "192.0.2.1"),
        item(2, "192.0.2.2").replace("ban", "captcha"),
        item(3, "alice").replace("Ip", "username"),
        item(4, "300.0.2.4"),
        item(5, "192.0.2.5").replace("3h59m58.7s", "soon"),
        "{}".to_owned(),
    ];
    let answer = answer(&format!(r#"{{"new":[{}],"deleted":[{{}},{{"id":9}}]}}"#, items.join(",")));
    assert_eq!((answer.new.len(), answer.deleted), (1, vec![9]));
    let example = Some("`300.0.2.4` is not an address or a range".to_owned());
    assert_eq!(answer.skipped, Skipped { by_type: 2, by_scope: 1, malformed: 3, too_wide: 0, example });
}

#[test]
fn types_ignore_letter_case() {
    let json =
        format!(r#"{{"new":[{},{}]}}"#, item(1, "192.0.2.1").replace("ban", "Ban"), item(2, "192.0.2.2"));
    assert_eq!(read_with(&json, &["BAN"], 100).unwrap().new.len(), 2);
    assert_eq!(read_with(&json, &["captcha", "ban"], 100).unwrap().new.len(), 2);
    assert_eq!(read_with(&json, &[], 100).unwrap().skipped.by_type, 2);
}

#[test]
fn equal_strings_are_shared() {
    let answer = answer(&format!(r#"{{"new":[{},{}]}}"#, item(1, "192.0.2.1"), item(2, "192.0.2.2")));
    let [one, two] = &answer.new[..] else { panic!("two decisions") };
    assert!(std::sync::Arc::ptr_eq(&one.scenario, &two.scenario));
    assert!(std::sync::Arc::ptr_eq(&one.origin, &two.origin));
}

#[test]
fn too_many_items_are_an_error() {
    let items: Vec<_> = (0..3).map(|id| item(id, "192.0.2.1")).collect();
    let json = format!(r#"{{"new":[{}],"deleted":[{}]}}"#, items.join(","), items.join(","));
    assert_eq!(read_with(&json, &["ban"], 3).unwrap().new.len(), 3);
    assert!(matches!(read_with(&json, &["ban"], 2), Err(AnswerError::TooMany(2))));
}

#[test]
fn other_answers_say_what_was_seen() {
    for (json, expected) in [
        ("", "CrowdSec's answer is empty"),
        ("  \n", "CrowdSec's answer is empty"),
        (
            "<!DOCTYPE html>\n<html>",
            "CrowdSec's answer is not a JSON object: it begins with `<!DOCTYPE html>`",
        ),
        ("[]", "CrowdSec's answer is not a JSON object: it begins with `[]`"),
        ("null", "CrowdSec's answer is not a JSON object: it begins with `null`"),
        (
            r#"{"message":"access forbidden"}"#,
            "CrowdSec sent no decisions, but the message `access forbidden`",
        ),
        ("{}", "CrowdSec's answer has neither `new` nor `deleted`"),
        (r#"{"a":1,"b":[]}"#, "CrowdSec's answer has neither `new` nor `deleted`, but `a`, `b`"),
        (r#"{"new":[],"dele"#, "CrowdSec's answer is cut: it ends in the middle"),
    ] {
        assert_eq!(fault(json), expected, "{json}");
    }
    for json in [
        r#"{"new":{}}"#,
        r#"{"new":"none"}"#,
        r#"{"new":[7]}"#,
        r#"{"deleted":[null]}"#,
        "{new:[]}",
        "{\"new\":[]} x",
    ] {
        assert!(fault(json).starts_with("CrowdSec's answer is malformed: "), "{}", fault(json));
    }
}

#[test]
fn cut_answer_is_never_accepted() {
    let json =
        format!(r#"{{"new":[{},{}],"deleted":[{}]}}"#, item(1, "192.0.2.1"), item(2, "::1"), item(3, "::2"));
    for length in 1..json.len() {
        let cut = read_with(&json[..length], &["ban"], 100);
        assert!(matches!(cut, Err(AnswerError::Cut)), "{length} bytes: {cut:?}");
    }
}

#[test]
fn broken_connection_keeps_its_error() {
    struct BrokenReader;
    impl Read for BrokenReader {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("connection reset"))
        }
    }
    for json in [String::new(), format!(r#"{{"new":[{}"#, vec![item(1, "::1"); 10].join(","))] {
        let error = read(json.as_bytes().chain(BrokenReader), &[], NOW, 100).expect_err("it broke off");
        assert_eq!(error.to_string(), "cannot read CrowdSec's answer: connection reset");
    }
}

#[test]
fn deep_nesting_uses_no_stack() {
    for beginning in
        [r#"{"x":"#, r#"{"message":"#, r#"{"new":[{"id":"#, r#"{"new":[{"x":"#, r#"{"deleted":[{"x":"#]
    {
        let error = read_with(&format!("{beginning}{}", "[".repeat(1_000_000)), &["ban"], 100);
        assert!(matches!(error, Err(AnswerError::Cut)), "{beginning}: {error:?}");
    }
}

#[test]
fn every_answer_error_but_a_read_has_a_remedy() {
    for json in ["", "<", "{", "{} x", "{}", r#"{"message":"access forbidden"}"#] {
        let error = read_with(json, &["ban"], 0).expect_err(json);
        assert!(error.remedy().is_some(), "{error}");
    }
}
