//! What the daemon says, as lines: a long answer comes apart into several.

use serde::Serialize;

use super::wire::{Answer, Failure, LONGEST_LINE, Reply};

/// The most entries on one line. An entry takes at most 700 bytes (its note 512, if every byte of it has to
/// be escaped), so that even the worst line stays below [`LONGEST_LINE`].
const MOST_ENTRIES: usize = 1024;

/// The characters kept of a message that is longer than a line; one takes at most six bytes when escaped.
const LONGEST_MESSAGE: usize = LONGEST_LINE / 8;

/// The parts of a reply, each small enough for one line; at least one.
pub fn parts(reply: Reply) -> Vec<Reply> {
    match reply {
        Reply::Listed { entries } => split(entries, |_| 1).map(|entries| Reply::Listed { entries }).collect(),
        Reply::Tested { tested } => {
            split(tested, |one| 1 + one.because.len()).map(|tested| Reply::Tested { tested }).collect()
        }
        Reply::Changed(_) | Reply::Status(_) | Reply::Stats(_) | Reply::Reloaded(_) | Reply::Pong(_) => {
            vec![reply]
        }
    }
}

/// One line of an answer, with its end.
pub fn line(parameters: &Reply, continues: bool) -> Vec<u8> {
    let line = encoded(&Answer { parameters, continues });
    if line.len() <= LONGEST_LINE {
        return line;
    }
    failure(&Failure::Unavailable("the answer is longer than this protocol carries".into()))
}

/// The line of a refusal, with its end. A message that no line carries loses its end.
pub fn failure(failure: &Failure) -> Vec<u8> {
    let line = encoded(failure);
    if line.len() <= LONGEST_LINE {
        return line;
    }
    let mut shorter = failure.clone();
    let cut = failure.message().chars().take(LONGEST_MESSAGE).chain(['…']);
    shorter.explanation_mut().message = cut.collect();
    encoded(&shorter)
}

fn encoded(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).expect("the wire's structs have only text as keys");
    line.push(b'\n');
    line
}

/// Cuts where the weight of a part would exceed [`MOST_ENTRIES`].
fn split<T>(items: Vec<T>, weight: impl Fn(&T) -> usize) -> impl Iterator<Item = Vec<T>> {
    let mut parts = vec![Vec::new()];
    let mut total = 0;
    for item in items {
        total += weight(&item);
        if total > MOST_ENTRIES && parts.last().is_some_and(|part| !part.is_empty()) {
            total = weight(&item);
            parts.push(Vec::new());
        }
        if let Some(part) = parts.last_mut() {
            part.push(item);
        }
    }
    parts.into_iter()
}

#[cfg(test)]
mod tests {
    use super::super::wire::{Entry, Tested};
    use super::*;

    fn worst_entry() -> Entry {
        Entry {
            target: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127".into(),
            list: "x".repeat(32),
            since: u64::MAX,
            until: Some(u64::MAX),
            note: Some("\"".repeat(256)),
        }
    }

    fn lengths(reply: Reply) -> Vec<usize> {
        parts(reply).iter().map(|part| line(part, true).len()).collect()
    }

    #[test]
    fn the_worst_page_fits_its_lines() {
        let lengths = lengths(Reply::Listed { entries: vec![worst_entry(); 4096] });
        assert_eq!(lengths.len(), 4);
        assert!(lengths.iter().all(|length| *length <= LONGEST_LINE), "{lengths:?}");
    }

    #[test]
    fn answers_of_a_test_are_cut_by_their_entries() {
        let one = Tested { address: "2001:db8::1".into(), dropped: true, because: vec![worst_entry(); 600] };
        let lengths = lengths(Reply::Tested { tested: vec![one; 5] });
        assert_eq!(lengths.len(), 5);
        assert!(lengths.iter().all(|length| *length <= LONGEST_LINE), "{lengths:?}");
    }

    #[test]
    fn an_empty_page_is_one_line() {
        assert_eq!(parts(Reply::Listed { entries: Vec::new() }).len(), 1);
    }

    #[test]
    fn what_cannot_be_cut_is_refused_rather_than_sent() {
        let many = vec!["x".repeat(1000); 2000];
        let reply = Reply::Reloaded(super::super::wire::Reloaded { warnings: many, ..Default::default() });
        assert!(line(&reply, false).starts_with(br#"{"error":"io.filterd.Unavailable""#));
    }

    #[test]
    fn a_refusal_always_fits() {
        let long = failure(&Failure::InvalidConfig("\u{1}ä".repeat(LONGEST_LINE).into()));
        assert!(long.len() <= LONGEST_LINE && long.starts_with(br#"{"error":"io.filterd.InvalidConfig""#));
    }
}
