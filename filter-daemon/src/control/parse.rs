//! Parses a line of the socket into a message, or describes the error.

use super::wire::{Failure, Message, RequestLine};
use crate::text::printable;

/// The message in one line, without its line end.
pub fn message(line: &[u8]) -> Result<Message, Failure> {
    self::line(line).map(|line| line.message)
}

/// The message, with the SSH connection of its sender.
pub fn line(line: &[u8]) -> Result<RequestLine, Failure> {
    serde_json::from_slice(line).map_err(|error| invalid(line, &error))
}

fn invalid(line: &[u8], error: &serde_json::Error) -> Failure {
    let fault = printable::sentence(&error.to_string());
    let message =
        format!("not a request of this protocol: {fault}; the line starts with {}", printable::bytes(line));
    Failure::InvalidRequest(message.into())
}

#[cfg(test)]
mod tests {
    use super::super::wire::{self, Add, Flush, Ping};
    use super::*;

    fn refusal(line: &[u8]) -> String {
        match message(line) {
            Err(Failure::InvalidRequest(explanation)) => explanation.message,
            other => panic!("{other:?} of {}", printable::bytes(line)),
        }
    }

    #[test]
    fn parameters_may_be_left_out_or_come_first() {
        assert_eq!(message(br#"{"method":"io.filterd.Ping"}"#), Ok(Message::Ping(Ping {})));
        assert_eq!(
            message(br#"{"parameters":{},"method":"io.filterd.Ping","more":true}"#),
            Ok(Message::Ping(Ping {}))
        );
        assert_eq!(message(br#"{"method":"io.filterd.Flush"}"#), Ok(Message::Flush(Flush::default())));
        let backwards = br#"{"parameters":{"targets":["192.0.2.1"],"ttl":7},"method":"io.filterd.Add"}"#;
        let add = Add { targets: ["192.0.2.1"].iter().collect(), ttl: Some(7), ..Add::default() };
        assert_eq!(message(backwards), Ok(Message::Add(add)));
    }

    #[test]
    fn request_may_carry_its_ssh_connection() {
        let came_by = |text: &[u8]| line(text).unwrap().came_by;
        assert_eq!(came_by(br#"{"method":"io.filterd.Ping"}"#), None);
        let told = br#"{"method":"io.filterd.Ping","came_by":"192.0.2.7 1 192.0.2.1 22","parameters":{}}"#;
        assert_eq!(came_by(told).as_deref(), Some("192.0.2.7 1 192.0.2.1 22"));
        assert!(line(br#"{"method":"io.filterd.Ping","came_by":7}"#).is_err());
    }

    #[test]
    fn invalid_request_is_reported() {
        let lines: [&[u8]; 14] = [
            b"",
            b"GET / HTTP/1.1\r",
            b"\0\0\0\0",
            b"\xff\xfe\xfd",
            b"[]",
            b"null",
            br#"{"method":"io.filterd.Explode","parameters":{}}"#,
            br#"{"method":"io.filterd.Add","parameters":{"targets":"203.0.113.7"}}"#,
            br#"{"method":"io.filterd.Add"}"#,
            br#"{"method":"io.filterd.Ping","parameters":{"surprise":1}}"#,
            br#"{"parameters":{"surprise":1},"method":"io.filterd.Ping"}"#,
            br#"{"parameters":{}}"#,
            br#"{"method":"io.filterd.Ping","parameters":{},"parameters":{}}"#,
            br#"{"method":"io.filterd.Ping","method":"io.filterd.Flush"}"#,
        ];
        for line in lines {
            assert!(refusal(line).starts_with("not a request of this protocol"), "{line:?}");
        }
    }

    #[test]
    fn huge_invalid_line_gets_a_short_answer() {
        let deep = vec![b'['; wire::LONGEST_LINE];
        let long = format!(r#"{{"method":"{}\u001b[2J"}}"#, "\u{7}x".repeat(100_000));
        let name = format!(r#"{{"method":"{}\u001b[2J"}}"#, "x".repeat(100));
        for line in [&deep[..], long.as_bytes(), name.as_bytes()] {
            let message = refusal(line);
            assert!(message.len() < 2000 && !message.contains(char::is_control), "{message}");
        }
    }
}
