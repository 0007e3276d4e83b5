//! From a line of the socket to a checked request, or to the reason why it is none.

use serde_json::Value;

use super::quote;
use super::request::Request;
use super::wire::{self, Failure};

/// Up to this length a line that was refused is looked at again, as it may only lack its parameters.
const LONGEST_SECOND_LOOK: usize = 4096;

/// Reads one line, without its end.
pub fn request(line: &[u8]) -> Result<Request, Failure> {
    match serde_json::from_slice::<wire::Request>(line) {
        Ok(raw) => raw.try_into(),
        Err(error) => match without_parameters(line) {
            Some(raw) => raw.try_into(),
            None => Err(invalid(line, &error)),
        },
    }
}

/// Varlink lets a message leave out parameters that are all optional: `{"method":"io.filterd.Ping"}`.
fn without_parameters(line: &[u8]) -> Option<wire::Request> {
    let short = line.len() <= LONGEST_SECOND_LOOK;
    let mut message: Value = short.then(|| serde_json::from_slice(line).ok())??;
    let fields = message.as_object_mut()?;
    if fields.contains_key("parameters") {
        return None;
    }
    fields.insert("parameters".to_owned(), Value::Object(serde_json::Map::new()));
    serde_json::from_value(message).ok()
}

fn invalid(line: &[u8], error: &serde_json::Error) -> Failure {
    let fault = quote::sentence(&error.to_string());
    let message = format!("no request of this protocol: {fault}; the line begins {}", quote::bytes(line));
    Failure::InvalidRequest(message.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(line: &[u8]) -> String {
        match request(line) {
            Err(Failure::InvalidRequest(explanation)) => explanation.message,
            other => panic!("{other:?} of {}", quote::bytes(line)),
        }
    }

    #[test]
    fn parameters_may_be_left_out_or_come_first() {
        assert_eq!(request(br#"{"method":"io.filterd.Ping"}"#), Ok(Request::Ping));
        assert_eq!(
            request(br#"{"parameters":{},"method":"io.filterd.Ping","more":true}"#),
            Ok(Request::Ping)
        );
        assert_eq!(request(br#"{"method":"io.filterd.Flush"}"#), Ok(Request::Flush { list: None }));
    }

    #[test]
    fn what_is_no_request_is_told_so() {
        let lines: [&[u8]; 10] = [
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
        ];
        for line in lines {
            assert!(refusal(line).starts_with("no request of this protocol"), "{line:?}");
        }
    }

    #[test]
    fn the_answer_to_a_huge_line_of_rubbish_is_short_and_plain() {
        let deep = vec![b'['; wire::LONGEST_LINE];
        let long = format!(r#"{{"method":"{}\u001b[2J"}}"#, "\u{7}x".repeat(100_000));
        let name = format!(r#"{{"method":"{}\u001b[2J"}}"#, "x".repeat(100));
        for line in [&deep[..], long.as_bytes(), name.as_bytes()] {
            let message = refusal(line);
            assert!(message.len() < 2000 && !message.contains(char::is_control), "{message}");
        }
    }
}
