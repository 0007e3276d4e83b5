//! Builds HTTP responses. Their headers keep browsers from embedding, caching or guessing the type of any
//! response.

use std::convert::Infallible;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Response, StatusCode, header};

/// A response with a whole or streamed body.
pub type HttpAnswer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// The headers of every response. The page replaces the first one with a policy of its own.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::CACHE_CONTROL, "no-store"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// A response with this text of this content type.
pub fn whole(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> HttpAnswer {
    of(status, kind, Full::new(text.into()).boxed_unsync())
}

/// A response of one sentence.
pub fn sentence(status: StatusCode, text: &str) -> HttpAnswer {
    whole(status, "text/plain; charset=utf-8", format!("{text}\n"))
}

/// A response with any body.
pub fn of(status: StatusCode, kind: &'static str, body: UnsyncBoxBody<Bytes, Infallible>) -> HttpAnswer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
    answer
}
