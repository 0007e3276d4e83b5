//! Writes replies as lines of limited length.

use serde::Serialize;
use serde_json::json;

use super::wire::{Answer, Failure, LONGEST_LINE};
use crate::text::Explanation;

/// The most characters of a message or a remedy that is cut to fit. An escaped character takes at most six
/// bytes.
const LONGEST_MESSAGE: usize = LONGEST_LINE / 16;

/// One line of an answer, with its line end.
pub fn line(parameters: &impl Serialize, continues: bool) -> Vec<u8> {
    let line = encoded(&Answer { parameters, continues });
    if line.len() <= LONGEST_LINE {
        return line;
    }
    failure(&Failure::Unavailable("the answer is longer than this protocol carries".into()))
}

/// The line of an error, with its line end. A message that is too long is cut.
pub fn failure(failure: &Failure) -> Vec<u8> {
    let line = encoded(failure);
    if line.len() <= LONGEST_LINE {
        return line;
    }
    let cut = |text: &str| text.chars().take(LONGEST_MESSAGE).chain(['…']).collect::<String>();
    let Explanation { message, remedy } = failure.explanation();
    let shorter = Explanation { message: cut(message), remedy: remedy.as_deref().map(cut) };
    let mut whole = json!(failure);
    whole["parameters"] = json!(shorter);
    encoded(&whole)
}

fn encoded(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).expect("the wire's structs have only text as keys");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::super::wire::test::Tested;
    use super::super::wire::{Entry, List, Method, Test, list, reload, test};
    use super::*;

    fn worst_entry() -> Entry {
        Entry {
            target: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127".into(),
            list: "x".repeat(32),
            since: u64::MAX,
            or_before: true,
            until: Some(u64::MAX),
            note: Some("\"".repeat(256)),
            by: Some("\"".repeat(128)),
            origin: Some("config".into()),
            ports: Some("x".repeat(300)),
            direction: Some("both".into()),
            blocks: None,
        }
    }

    fn lengths<M: Method>(reply: M::Reply) -> Vec<usize> {
        M::parts(reply).iter().map(|part| line(part, true).len()).collect()
    }

    #[test]
    fn the_worst_page_fits_its_lines() {
        let lengths = lengths::<List>(list::Reply { entries: vec![worst_entry(); 4096], next: None });
        assert_eq!(lengths.len(), 4);
        assert!(lengths.iter().all(|length| *length <= LONGEST_LINE), "{lengths:?}");
    }

    #[test]
    fn test_answers_split_between_entries() {
        let one = Tested {
            address: "2001:db8::1".into(),
            dropped: true,
            because: vec![worst_entry(); 600],
            ..Tested::default()
        };
        let lengths = lengths::<Test>(test::Reply { tested: vec![one; 5], ..test::Reply::default() });
        assert_eq!(lengths.len(), 5);
        assert!(lengths.iter().all(|length| *length <= LONGEST_LINE), "{lengths:?}");
    }

    #[test]
    fn an_empty_page_is_one_line() {
        assert_eq!(lengths::<List>(list::Reply::default()).len(), 1);
    }

    #[test]
    fn unsplittable_answer_is_refused() {
        let many = vec!["x".repeat(1000); 2000];
        let reply = reload::Reply { warnings: many, ..reload::Reply::default() };
        assert!(line(&reply, false).starts_with(br#"{"error":"io.filterd.Unavailable""#));
    }

    #[test]
    fn a_refusal_always_fits() {
        let text = "\u{1}ä".repeat(LONGEST_LINE);
        let long = failure(&Failure::InvalidConfig(Explanation::new(text.clone(), text)));
        assert!(long.len() <= LONGEST_LINE && long.starts_with(br#"{"error":"io.filterd.InvalidConfig""#));
    }
}
