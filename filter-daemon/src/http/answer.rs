//! What an answer is made of. Whatever it is, no browser shows it in somebody else's page, keeps it, or guesses what it is.

use std::convert::Infallible;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Response, StatusCode, header};

/// An answer, whole or as a stream.
pub type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// Of every answer. The page has a policy of its own in the place of the first.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::CACHE_CONTROL, "no-store"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// This, of this kind.
pub fn whole(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Answer {
    of(status, kind, Full::new(text.into()).boxed_unsync())
}

/// One sentence.
pub fn sentence(status: StatusCode, text: &str) -> Answer {
    whole(status, "text/plain; charset=utf-8", format!("{text}\n"))
}

/// The same of any body.
pub fn of(status: StatusCode, kind: &'static str, body: UnsyncBoxBody<Bytes, Infallible>) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
    answer
}
