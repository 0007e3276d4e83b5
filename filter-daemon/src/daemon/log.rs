//! The log of the daemon: one line per event on standard error, where journald and people read it.

mod format;
pub mod meanwhile;
mod sink;

use std::env;
use std::io::{IsTerminal, stderr};
use std::panic::PanicHookInfo;
use std::sync::Arc;

use tracing::error;
use tracing_subscriber::EnvFilter;

use super::error::DaemonError;
use crate::cli::{Log, LogFormat};
use crate::command::render::console::laid_out;
use crate::control::Watching;
use crate::text::{Explain, printable};
use format::{LineFormat, LogLines};
use sink::Sink;

/// The environment variable that sets the level.
pub const LEVEL: &str = "FILTERD_LOG";

/// The levels. Each one includes those before it.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// The log, for the final message and for clients that watch.
pub struct LogOutput {
    watching: Watching,
    sink: Arc<Sink>,
    format: LineFormat,
}

/// Starts logging at the configured level, and warns about an invalid level.
pub fn start(log: Log) -> LogOutput {
    let (told, wrong) = begin(log);
    if let Some(said) = wrong {
        tracing::warn!("{LEVEL} cannot be {}: it is one of {}", printable::word(&said), LEVELS.join(", "));
    }
    told
}

/// Starts logging in a process that the daemon started. The daemon warns about an invalid level.
pub fn start_beside(log: Log) {
    begin(log);
}

/// Starts logging, and returns the level that was given if it is invalid.
fn begin(log: Log) -> (LogOutput, Option<String>) {
    let sink = Arc::new(Sink::of_standard_error());
    let format = match log.format {
        LogFormat::Json => LineFormat::Json { priorities: sink.is_journal() },
        LogFormat::Text if sink.is_journal() => LineFormat::Journal,
        LogFormat::Text => LineFormat::Text { colours: colours() },
    };
    let said = env::var(LEVEL).ok().filter(|said| !said.is_empty() && !log.quiet);
    let level = said.as_deref().and_then(level);
    let watching = Watching::default();
    let lines = LogLines { format, sink: sink.clone(), watching: watching.clone() };
    let writer = sink.clone();
    tracing_subscriber::fmt()
        .with_env_filter(level.unwrap_or_else(|| EnvFilter::new(if log.quiet { "warn" } else { "info" })))
        .with_writer(move || sink::LogWriter(writer.clone()))
        // The library would print its own errors on standard error, with a macro that panics if that cannot
        // be written.
        .log_internal_errors(false)
        .with_ansi(false)
        .event_format(lines)
        .init();
    std::panic::set_hook(Box::new(|panic| error!("{}", fault(panic))));
    (LogOutput { watching, sink, format }, said.filter(|said| self::level(said).is_none()))
}

/// The message of a panic on one line, because it goes to the log.
fn fault(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let what = payload.downcast_ref::<&str>().copied();
    let what = what.or(payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic");
    let place = panic.location().map(|at| format!(" ({at})")).unwrap_or_default();
    format!("this is a fault in filterd itself, please report it: {}{place}", printable::on_one_line(what))
}

impl LogOutput {
    /// The clients that watch this log.
    pub fn watching(&self) -> Watching {
        self.watching.clone()
    }

    /// Logs why filterd ends. On a terminal the error is laid out, in a log it is on one line.
    pub fn end(&self, error: &DaemonError) {
        if matches!(self.format, LineFormat::Text { .. }) && stderr().is_terminal() {
            self.sink.put(format!("{}\n", laid_out(&error.explain())).as_bytes());
        } else {
            error!("{}", error.brief());
        }
    }
}

fn colours() -> bool {
    stderr().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Parses a level, or a filter by module for developers. Any other word is refused, because as a filter it
/// would silence everything.
fn level(said: &str) -> Option<EnvFilter> {
    let is_level = LEVELS.contains(&said.to_lowercase().as_str());
    (is_level || said.contains('=')).then(|| EnvFilter::try_new(said).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_panic_is_one_line_of_the_log() {
        const HERE: &str = "daemon::log::tests::a_panic_is_one_line_of_the_log";
        if env::var_os("PANICS").is_some() {
            start(Log { format: LogFormat::Json, quiet: true });
            panic!("odd\nwords");
        }
        let mut itself = Command::new(env::current_exe().unwrap());
        let ended = itself.args(["--exact", HERE]).env("PANICS", "1").env_remove(LEVEL).output().unwrap();
        let told = String::from_utf8(ended.stderr).unwrap();
        assert_eq!((ended.status.code(), told.lines().count()), (Some(101), 1), "{told}");
        let line: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(line["level"], "error", "{line}");
        let words = line["message"].as_str().unwrap_or_default();
        assert!(words.contains("please report it: odd") && words.contains("log.rs:"), "{words}");
    }

    #[test]
    fn log_level_is_a_word_or_module() {
        for said in ["off", "error", "WARN", "info", "debug", "trace", "info,redb=off", "filterd=debug"] {
            assert!(level(said).is_some(), "{said}");
        }
        for said in ["verbose", "7", "info;", "a=b=c"] {
            assert!(level(said).is_none(), "{said}");
        }
    }
}
