//! Tests which lines are logged for requests.

use std::io::Read;

use super::*;
use crate::text::Explanation;

fn asker(pid: i32) -> Arc<Asker> {
    let text = |text: &str| Some(text.to_owned());
    Arc::new(Asker {
        user: "ann".to_owned(),
        uid: 1000,
        login: None,
        process: text("filterd"),
        pid: Some(pid),
    })
}

fn deed(verb: &'static str, targets: u64) -> Deed {
    Deed { verb, targets, first: "203.0.113.7".parse().ok().filter(|_| targets > 0), ..Deed::default() }
}

fn done(changed: u64) -> Result<Counts, Failure> {
    Ok(Counts { changed, entered: changed, ..Counts::default() })
}

/// The lines logged for these events, without time and level.
fn written(events: impl IntoIterator<Item = AuditEvent>) -> Vec<String> {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let lines = tracing_subscriber::fmt().with_writer(move || writer.try_clone().unwrap());
    let lines = lines.with_ansi(false).with_target(false).without_time().with_level(false).finish();
    tracing::subscriber::with_default(lines, || {
        let (audit, mut book) = AuditLog::new();
        for event in events {
            book.note(event);
        }
        drop((audit, book));
    });
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    // The log omits the fields for clients that watch (`daemon/log/format`).
    let logged = |line: &str| line.split(" watch.").next().unwrap_or_default().trim().to_owned();
    text.lines().map(logged).collect()
}

fn did(deed: Deed, came_of_it: Result<Counts, Failure>) -> AuditEvent {
    AuditEvent::Did(asker(77), Box::new(deed), came_of_it)
}

#[test]
fn audit_line_shows_request_result_and_user() {
    let deed = Deed {
        list: Some("ssh".to_owned()),
        ttl: Some(Duration::from_secs(7200)),
        note: Some("a \"scanner\"".to_owned()),
        ..deed("add", 1)
    };
    let expected = r#"blocked 203.0.113.7 list="ssh" ttl=7200 note="a \"scanner\"" changed=1 entered=1 left=0 user="ann" uid=1000 process="filterd" pid=77"#;
    assert_eq!(written([did(deed, done(1))]), [expected]);
}

#[test]
fn a_refusal_tells_why() {
    let because = Explanation::new(
        "list \"drop\" is defined in the configuration\nand to nobody else",
        "change it there",
    );
    let lines = written([did(deed("add", 1), Err(Failure::Refused(because.clone())))]);
    assert!(
        lines[0].starts_with("refused: add 203.0.113.7: list \"drop\" is defined in the configuration"),
        "{lines:?}"
    );
    assert!(lines[0].contains("; change it there changed=0") && lines[0].ends_with("pid=77"), "{lines:?}");
    // A change that is only not durable was not refused.
    let lines = written([did(deed("add", 1), Err(Failure::NotDurable(because)))]);
    assert!(lines[0].starts_with("blocked 203.0.113.7: list \"drop\""), "{lines:?}");
}

#[test]
fn unsaved_changes_are_reported() {
    let lines =
        written([did(deed("add", 1), Ok(Counts { changed: 1, is_volatile: true, ..Counts::default() }))]);
    assert!(lines[0].contains("changed=1 entered=0 left=0 durable=false user="), "{lines:?}");
}

#[test]
fn parts_of_large_request_are_one_line() {
    let came = || AuditEvent::Came(asker(77));
    let went = || AuditEvent::Went(asker(77));
    let part = || did(deed("add", 2048), done(2000));
    let events = [came(), part(), came(), part(), part(), went(), part(), went()];
    let lines = written(events);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].starts_with("blocked 8192 targets, 203.0.113.7 and others requests=4 changed=8000"),
        "{lines:?}"
    );
}

#[test]
fn differing_fields_are_omitted_and_lists_separate() {
    let noted = |note: &str| Deed { note: Some(note.to_owned()), ..deed("add", 1000) };
    let lines = written([did(noted("a"), done(1)), did(noted("b"), done(1))]);
    assert!(lines.len() == 1 && !lines[0].contains("note"), "{lines:?}");
    let on = |list: &str| Deed { list: Some(list.to_owned()), ..deed("add", 1000) };
    assert_eq!(written([did(on("a"), done(1)), did(on("b"), done(1))]).len(), 2);
    assert_eq!(written([did(deed("add", 1000), done(1)), did(deed("remove", 1000), done(1))]).len(), 2);
}

#[test]
fn busy_process_gets_lines_and_a_sum() {
    let lines = written((0..10_000).map(|_| did(deed("add", 1), done(1))));
    assert_eq!(lines.len(), LINES as usize + 1);
    assert!(
        lines[20].contains("blocked 9980 targets") && lines[20].contains("requests=9980 changed=9980"),
        "{lines:?}"
    );
}

#[test]
fn refused_parts_are_counted() {
    let failed = || did(deed("add", 1000), Err(Failure::Kernel("no memory".into())));
    let lines = written([did(deed("add", 1000), done(7)), failed(), failed()]);
    assert!(
        lines[0]
            .starts_with("refused: add 3000 targets, 203.0.113.7 and others: no memory requests=3 failed=2"),
        "{lines:?}"
    );
    assert!(lines[0].contains("changed=7"), "{lines:?}");
}

#[tokio::test]
async fn sum_of_lasting_process_is_written_eventually() {
    let (audit, mut book) = AuditLog::new();
    audit.send(did(deed("add", 1000), done(1))).unwrap();
    book.write().await;
    assert_eq!(book.sums.len(), 1);
    for sum in book.sums.values_mut() {
        sum.since -= TURN;
    }
    book.write().await;
    assert!(book.sums.is_empty());
}
