//! The formats of a log line: for people with the time, for journald with its priority, or as JSON. Each
//! event is one line, whatever a path, a name or a client put into it.

use std::fmt::{self, Debug};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::sink::Sink;
use crate::clock;
use crate::control::wire::watch;
use crate::control::{WATCHED, Watching};
use crate::text::printable;

/// The most characters of one message or value. A line must be written in one piece, and pipes take 4096
/// bytes at once.
const LONGEST: usize = 1500;

/// The reader of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFormat {
    Text {
        /// The output is a terminal.
        colours: bool,
    },
    /// journald, which adds the time and reads the priority.
    Journal,
    Json {
        /// journald reads the lines first.
        priorities: bool,
    },
}

/// Formats events as lines.
pub struct LogLines {
    pub format: LineFormat,
    pub sink: Arc<Sink>,
    /// The clients that watch the log.
    pub watching: Watching,
}

impl<S, N> FormatEvent<S, N> for LogLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let now = clock::since_1970().as_millis();
        let now =
            i64::try_from(now).ok().and_then(|now| Timestamp::from_millisecond(now).ok()).unwrap_or_default();
        let lost = self.sink.lost();
        if lost > 0 {
            let what = EventFields {
                message: format!("{lost} lines of this log could not be written and are lost"),
                ..EventFields::default()
            };
            line(&mut writer, self.format, Level::WARN, now, &what)?;
        }
        let mut told = EventFields::default();
        event.record(&mut told);
        let level = *event.metadata().level();
        if level <= Level::INFO && !told.is_about_watchers() {
            self.watching.tell(|| seen(level, now, &told));
        }
        line(&mut writer, self.format, level, now, &told)
    }
}

/// The content of an event.
#[derive(Default)]
struct EventFields {
    message: String,
    fields: Vec<(&'static str, Value)>,
    /// Parts of the message as separate fields, for clients that watch.
    parts: Vec<(&'static str, Value)>,
}

/// The prefix of fields that are not written to the log.
const PART: &str = "watch.";

impl EventFields {
    fn is_about_watchers(&self) -> bool {
        self.parts.iter().any(|(name, value)| *name == "verb" && value == WATCHED)
    }

    fn take(&mut self, field: &Field, value: Value) {
        match field.name() {
            "message" => self.message = value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            // The place in a library's source that logged it.
            name if name.starts_with("log.") => {}
            name => match name.strip_prefix(PART) {
                Some(part) => self.parts.push((part, value)),
                None => self.fields.push((name, value)),
            },
        }
    }
}

impl Visit for EventFields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.take(field, cut(&format!("{value:?}")).into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, cut(value).into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.take(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.take(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.take(field, value.into());
    }
}

/// The event for clients that watch.
fn seen(level: Level, now: Timestamp, told: &EventFields) -> watch::Event {
    let fields = told.fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    let part = |sought: &str| {
        let (_, value) = told.parts.iter().find(|(name, _)| *name == sought)?;
        Some(value.as_str()?.to_owned())
    };
    let named = told.fields.iter().find(|(name, _)| *name == "list");
    let named = named.and_then(|(_, value)| Some(value.as_str()?.to_owned()));
    let lists = part("lists").or(named).unwrap_or_default();
    watch::Event {
        at: u64::try_from(now.as_millisecond()).unwrap_or_default(),
        level: level.as_str().to_lowercase(),
        verb: part("verb"),
        target: part("target"),
        // The last name may have been cut.
        lists: lists
            .split(", ")
            .filter(|name| !name.is_empty() && !name.ends_with('…'))
            .map(str::to_owned)
            .collect(),
        what: told.message.clone(),
        fields: fields.collect(),
    }
}

fn cut(text: &str) -> String {
    let mut cut: String = printable::on_one_line(text).chars().take(LONGEST + 1).collect();
    if let Some((end, _)) = cut.char_indices().nth(LONGEST) {
        cut.truncate(end);
        cut.push('…');
    }
    cut
}

fn line(
    writer: &mut Writer<'_>,
    format: LineFormat,
    level: Level,
    now: Timestamp,
    told: &EventFields,
) -> fmt::Result {
    match format {
        LineFormat::Text { colours } => {
            let (time, name) = (now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ"), level.as_str());
            let (on, off) = if colours { (colour(level), "\x1b[0m") } else { ("", "") };
            write!(writer, "{time} {on}{name:>5}{off} ")?;
            text(writer, told)
        }
        LineFormat::Journal => {
            write!(writer, "<{}>", priority(level))?;
            text(writer, told)
        }
        LineFormat::Json { priorities } => {
            if priorities {
                write!(writer, "<{}>", priority(level))?;
            }
            json(writer, level, now, told)
        }
    }
}

fn text(writer: &mut Writer<'_>, told: &EventFields) -> fmt::Result {
    writer.write_str(&told.message)?;
    for (name, value) in &told.fields {
        // Texts are quoted, so that their content cannot look like another field.
        write!(writer, " {name}={value}")?;
    }
    writeln!(writer)
}

fn json(writer: &mut Writer<'_>, level: Level, now: Timestamp, told: &EventFields) -> fmt::Result {
    let time = now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ");
    let level = level.as_str().to_lowercase();
    write!(
        writer,
        r#"{{"time":"{time}","level":"{level}","message":{}"#,
        Value::from(told.message.as_str())
    )?;
    for (name, value) in &told.fields {
        write!(writer, r#","{name}":{value}"#)?;
    }
    writeln!(writer, "}}")
}

/// The syslog number of a level.
fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        Level::DEBUG | Level::TRACE => 7,
    }
}

fn colour(level: Level) -> &'static str {
    match level {
        Level::ERROR => "\x1b[31m",
        Level::WARN => "\x1b[33m",
        Level::INFO => "\x1b[32m",
        Level::DEBUG | Level::TRACE => "\x1b[2m",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::super::sink::LogWriter as SinkWriter;
    use super::*;

    /// The lines written for these events.
    fn written(format: LineFormat, tell: impl FnOnce()) -> String {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let sink = Arc::new(Sink::of(writer.into()));
        let lines = LogLines { format, sink: sink.clone(), watching: Watching::default() };
        let subscriber = tracing_subscriber::fmt().with_writer(move || SinkWriter(sink.clone()));
        let subscriber = subscriber.with_ansi(false).event_format(lines).finish();
        tracing::subscriber::with_default(subscriber, tell);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    }

    fn without_time(text: &str) -> Vec<&str> {
        let time = "2026-11-22T05:00:00.123Z".len();
        assert!(
            text.lines().all(|line| line.is_char_boundary(time) && line[..time].ends_with('Z')),
            "{text}"
        );
        text.lines().map(|line| &line[time..]).collect()
    }

    #[test]
    fn name_cannot_forge_a_log_line() {
        let written = written(LineFormat::Text { colours: false }, || {
            tracing::info!("x\n INFO all is well\x1b[2J\u{202e}{}", '\u{7}');
            tracing::warn!(path = "a\nb\" user=\"root", "kernel error\n       try again");
        });
        let expected = [
            "  INFO x; INFO all is well\\u{1b}[2J\\u{202e}\\u{7}",
            r#"  WARN kernel error; try again path="a; b\" user=\"root""#,
        ];
        assert_eq!(without_time(&written), expected);
    }

    #[test]
    fn journald_gets_priorities_and_adds_the_time_itself() {
        let written = written(LineFormat::Journal, || {
            tracing::error!("e");
            tracing::warn!("w");
            tracing::info!(pid = 7u64, "i");
        });
        assert_eq!(written, "<3>e\n<4>w\n<6>i pid=7\n");
    }

    #[test]
    fn programs_get_an_object_a_line() {
        let written = written(LineFormat::Json { priorities: false }, || {
            tracing::info!(user = "a\"\n\u{1b}b", uid = 0u64, list = None::<&str>, "add 203.0.113.7");
        });
        let object: Value = serde_json::from_str(written.trim_end()).unwrap();
        assert_eq!(object["level"], "info");
        assert_eq!(object["message"], "add 203.0.113.7");
        assert_eq!((&object["user"], &object["uid"]), (&r#"a"; \u{1b}b"#.into(), &0.into()));
        assert!(object.get("list").is_none() && object["time"].as_str().unwrap().ends_with('Z'), "{object}");
        assert_eq!(written.lines().count(), 1);
    }

    #[test]
    fn long_list_names_are_dropped_not_cut() {
        let names: Vec<_> = (0..1000).map(|name| format!("list-{name:03}")).collect();
        let parts = vec![("lists", cut(&names.join(", ")).into())];
        let lists =
            seen(Level::INFO, Timestamp::UNIX_EPOCH, &EventFields { parts, ..EventFields::default() }).lists;
        assert!(lists.len() > 100 && names.starts_with(&lists), "{lists:?}");
    }

    #[test]
    fn log_line_fits_one_write() {
        let written = written(LineFormat::Journal, || tracing::info!("{}", "x".repeat(100_000)));
        assert!(written.len() < 4096 && written.ends_with("x…\n"), "{}", written.len());
    }
}
