//! Recognises replies that are not lists: web pages, and JSON objects that report an error.

use std::fmt;
use std::net::IpAddr;

use filter_common::target::Target;
use serde_json::{Map, Value};

use super::head;
use crate::source::Targets;
use crate::source::line;

/// A page may begin with warnings of the program that generated it.
const LINES_LOOKED_AT: usize = 5;

/// The beginnings of web pages, in lower case.
const TAGS: [&[u8]; 6] = [b"<!doctype", b"<html", b"<head", b"<body", b"<title", b"<form"];

/// Content types that always mean a web page.
const PAGE_TYPES: [&str; 2] = ["text/html", "application/xhtml+xml"];

/// The most addresses of the requesting host that a page may name.
const MOST_OWN: usize = 8;

/// Keys that list entries have and error reports do not have.
const LIST_KEYS: [&str; 6] = ["nftables", "cidr", "network", "prefix", "range", "sblid"];

/// Keys that describe an error.
const ERROR_KEYS: [&str; 8] =
    ["error", "errors", "err", "error_code", "errorcode", "error_message", "exception", "fault"];

/// Keys that say whether a request succeeded.
const STATUS_KEYS: [&str; 6] = ["status", "code", "statuscode", "status_code", "result", "state"];

/// The values of these keys that mean failure, in lower case.
const FAILURES: [&str; 10] = [
    "error",
    "fail",
    "failed",
    "failure",
    "denied",
    "forbidden",
    "unauthorized",
    "blocked",
    "invalid",
    "nok",
];

/// Keys whose value is a sentence for people.
const MESSAGE_KEYS: [&str; 4] = ["message", "msg", "detail", "title"];

/// The kind of reply that is not a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorPage {
    /// An HTML or XML page.
    Markup,
    /// A single JSON object that reports an error.
    Object,
    /// The reply has only this host's own addresses, of which this is the first. Pages often name the
    /// requesting host.
    OwnAddress(IpAddr),
    /// The server states that it is a web page, and it has at most one target.
    DeclaredPage,
}

impl ErrorPage {
    /// Recognises a file by its beginning. None if it may be a list.
    pub fn recognise(head: &[u8]) -> Option<Self> {
        if is_markup(head) { Some(Self::Markup) } else { reports_error(head).then_some(Self::Object) }
    }

    /// Checks the targets that a server sent with this content type, to a host with the addresses `own`.
    pub fn of_fetched(
        targets: &Targets,
        content_type: Option<&str>,
        own: impl FnOnce() -> Vec<IpAddr>,
    ) -> Option<Self> {
        let own = if (1..=MOST_OWN).contains(&targets.len()) { own() } else { Vec::new() };
        let is_own = |target: Target| own.iter().find(|own| Target::from(own.to_canonical()) == target);
        let all: Option<Vec<_>> = targets.iter().map(is_own).collect();
        match all.as_deref() {
            Some([first, ..]) => Some(Self::OwnAddress(**first)),
            _ => (targets.len() <= 1 && content_type.is_some_and(is_page_type)).then_some(Self::DeclaredPage),
        }
    }

    /// True if the operator may declare that it is the list after all. Markup never is.
    pub const fn may_be_meant(self) -> bool {
        !matches!(self, Self::Markup)
    }
}

/// Written to follow "it is no list: ".
impl fmt::Display for ErrorPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Markup => f.write_str("it looks like HTML, so the download probably failed"),
            Self::Object => f.write_str("it is one JSON object that reports an error"),
            Self::OwnAddress(address) => write!(f, "it names only {address}, an address of this host"),
            Self::DeclaredPage => {
                f.write_str("its server calls it a web page, and it has at most one target")
            }
        }
    }
}

fn is_markup(head: &[u8]) -> bool {
    // The whole page may be on one line.
    let begins = without_mark(head).trim_ascii_start().starts_with(b"<");
    // After a target, markup is only an invalid line of a list.
    let lines = head::lines(head).filter(|line| !head::is_comment(line));
    let mut lines = lines.take_while(|line| line::target(line).is_err()).take(LINES_LOOKED_AT);
    begins || lines.any(|line| TAGS.iter().any(|tag| begins_with(line, tag)))
}

fn begins_with(line: &[u8], tag: &[u8]) -> bool {
    line.get(..tag.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(tag))
}

/// True if the whole file is one JSON object that reports an error.
fn reports_error(head: &[u8]) -> bool {
    let text = without_mark(head).trim_ascii();
    if !text.starts_with(b"{") {
        return false;
    }
    let Ok(Value::Object(fields)) = serde_json::from_slice(text) else { return false };
    let fields: Map<_, _> =
        fields.into_iter().map(|(key, value)| (key.to_ascii_lowercase(), value)).collect();
    let has =
        |keys: &[&str], is_so: fn(&Value) -> bool| keys.iter().filter_map(|key| fields.get(*key)).any(is_so);
    let is_entry = LIST_KEYS.iter().any(|key| fields.contains_key(*key));
    !is_entry
        && (has(&ERROR_KEYS, says_something)
            || has(&STATUS_KEYS, is_failure)
            || has(&["success", "ok"], |value| *value == Value::Bool(false))
            || has(&MESSAGE_KEYS, Value::is_string))
}

fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) => true,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

fn is_failure(value: &Value) -> bool {
    let is_status = |status: f64| (400.0..600.0).contains(&status);
    match value {
        Value::Number(number) => number.as_f64().is_some_and(is_status),
        Value::String(text) => {
            text.parse().is_ok_and(is_status) || FAILURES.contains(&text.to_ascii_lowercase().as_str())
        }
        Value::Bool(is_well) => !is_well,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn is_page_type(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    PAGE_TYPES.contains(&kind.as_str()) || kind.starts_with("application/problem+")
}

fn without_mark(head: &[u8]) -> &[u8] {
    head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_servers_are_recognised() {
        for page in [
            "<!DOCTYPE html>\n<title>Sign in</title>\n203.0.113.8\n",
            "\u{feff}  \n<HTML><body>203.0.113.8</body></HTML>",
            "Warning: mysql_connect() failed in list.php\n<html>\n203.0.113.8\n",
            "# list\n<Head>\n",
            "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>",
            "<br />\n<b>Notice</b>: Undefined index\n192.0.2.1\n192.0.2.2\n",
        ] {
            assert_eq!(ErrorPage::recognise(page.as_bytes()), Some(ErrorPage::Markup), "{page}");
        }
        let one_line = format!("<html>{}", "x".repeat(1 << 17));
        assert_eq!(ErrorPage::recognise(one_line.as_bytes()), Some(ErrorPage::Markup));
        for page in [
            r#"{"status":"error","ip":"203.0.113.8"}"#,
            "{\n  \"Error\": {\"code\": 429},\n  \"ip\": \"203.0.113.8\"\n}\n",
            r#"{"code":403,"ip":"203.0.113.8"}"#,
            r#"{"statusCode":"503","address":"203.0.113.8"}"#,
            r#"{"success":false,"ip":"203.0.113.8"}"#,
            r#"{"message":"Forbidden","ip":"203.0.113.8"}"#,
            r#"{"detail":"Not authenticated","ip":"203.0.113.8"}"#,
            r#"{"errors":["quota"],"ip":"203.0.113.8"}"#,
        ] {
            assert_eq!(ErrorPage::recognise(page.as_bytes()), Some(ErrorPage::Object), "{page}");
        }
    }

    #[test]
    fn lists_are_no_pages() {
        for list in [
            "",
            "192.0.2.1\n",
            "# see <https://a.example/>\n192.0.2.1\n",
            "; <html>\n192.0.2.1\n",
            "192.0.2.1\n<html>\n192.0.2.2\n",
            r#"{"cidr":"192.0.2.0/24"}"#,
            r#"{"cidr":"192.0.2.0/24","status":"error"}"#,
            r#"{"ip":"192.0.2.1","status":"online","error":null}"#,
            r#"{"ip":"192.0.2.1","code":22,"errors":[]}"#,
            "{\"ip\":\"192.0.2.1\",\"status\":\"error\"}\n{\"ip\":\"192.0.2.2\",\"status\":\"error\"}\n",
            r#"{"type":"metadata","records":0}"#,
            r#"{"nftables":[{"error":1}],"error":"x"}"#,
            "{",
        ] {
            assert_eq!(ErrorPage::recognise(list.as_bytes()), None, "{list}");
        }
    }

    #[test]
    fn own_addresses_and_declared_pages_are_no_lists() {
        let own = ["203.0.113.8", "2001:db8::8"].map(|own| own.parse().unwrap());
        let page = |words: &[&str], content_type| {
            let mut targets: Targets = words.iter().map(|word| word.parse::<Target>().unwrap()).collect();
            targets.sort();
            ErrorPage::of_fetched(&targets, content_type, || own.to_vec())
        };
        let is_own = Some(ErrorPage::OwnAddress(own[0]));
        assert_eq!(page(&["203.0.113.8"], None), is_own);
        assert_eq!(page(&["203.0.113.8", "2001:db8::8"], Some("text/plain")), is_own);
        assert_eq!(page(&["203.0.113.8", "203.0.113.9"], None), None);
        assert_eq!(page(&["203.0.113.0/24"], None), None);
        assert_eq!(page(&[], Some("text/plain")), None);
        for kind in ["text/html", "Text/HTML; charset=UTF-8", "application/problem+json"] {
            assert_eq!(page(&["192.0.2.1"], Some(kind)), Some(ErrorPage::DeclaredPage), "{kind}");
            assert_eq!(
                page(&["192.0.2.1", "192.0.2.2"], Some(kind)),
                None,
                "many programs say so of any text"
            );
        }
        assert_eq!(page(&["192.0.2.1"], Some("text/plain")), None);
    }
}
