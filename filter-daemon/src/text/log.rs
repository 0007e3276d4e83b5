//! What is logged, made harmless: one line an event, whatever a path, a name or a client put into it.

use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::debug_fn;

use super::printable;

/// The fields of an event, the message among them; for `tracing_subscriber::fmt().fmt_fields(…)`.
pub fn fields() -> impl for<'writer> FormatFields<'writer> + 'static {
    debug_fn(|writer, field, value| {
        let text = printable::on_one_line(&format!("{value:?}"));
        if field.name() == "message" { write!(writer, "{text}") } else { write!(writer, " {field}={text}") }
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_name_cannot_forge_a_line_of_the_log() {
        let log = Log::default();
        let writer = log.clone();
        let lines = tracing_subscriber::fmt().with_writer(move || writer.clone()).without_time();
        let lines = lines.with_ansi(false).with_target(false).fmt_fields(fields()).finish();
        tracing::subscriber::with_default(lines, || {
            tracing::info!("x\n INFO all is well\x1b[2J\u{202e}{}", '\u{7}');
            tracing::warn!(path = "a\nb", "kernel error\n       try again");
        });
        let written = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<_> = written.lines().map(str::trim).collect();
        let expected = [
            "INFO x; INFO all is well\\u{1b}[2J\\u{202e}\\u{7}",
            r#"WARN kernel error; try again path="a\nb""#,
        ];
        assert_eq!(lines, expected);
    }
}
