//! One fetch by HTTP: sends a request, follows a few redirects, and passes on the body, unpacked and
//! counted.

use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::crypto::ring;
use serde::Deserialize;
use ureq::config::AutoHeaderValue;
use ureq::http::{HeaderName, Response, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::transport::{Connector, RustlsConnector};
use ureq::{Agent, Body, RequestBuilder};

use super::api::ApiRequest;
use super::authorities::Authorities;
use super::connector::RecordingConnector;
use super::error::{BadRedirect, FetchError};
use super::message::{self, BodyEnd, FetchHead, LONGEST_PIECE};
use super::order::FetchOrder;
use super::resolver::SafeResolver;
use super::retry;
use super::surplus::SurplusConnector;
use super::trouble::ErrorContext;
use super::url::Url;
use crate::clock;

/// The last byte of a complete list or document, if the server announced no size. Half a line could be
/// another address.
const ENDS: [u8; 4] = *b"\n\r}]";

/// The most redirects that are followed.
const MOST_REDIRECTS: usize = 5;

/// The most bytes of response headers.
const MOST_HEADER: usize = 32 * 1024;

/// Longer tags are not kept.
const LONGEST_TAG: usize = 1024;

/// The most bytes that are read of an API's error, and kept of its message.
const MOST_ERROR: u64 = 4096;
const LONGEST_MESSAGE: usize = 300;

const AGENT: &str = concat!("filterd/", env!("CARGO_PKG_VERSION"));

/// The state of one fetch.
struct FetchSession<'a> {
    order: &'a FetchOrder,
    authorities: &'a Authorities,
    connected: RecordingConnector,
    begun: Instant,
}

/// Fetches, and sends the result to `to`. It fails only if the receiver is gone.
pub fn fetch(order: &FetchOrder, authorities: &Authorities, to: &mut UnixStream) -> io::Result<()> {
    let configured = order.url.uri().host().unwrap_or_default().to_owned();
    let mut talk = FetchSession {
        order,
        authorities,
        connected: RecordingConnector::to(&configured),
        begun: clock::instant(),
    };
    let answered = match &order.api {
        Some(_) => talk.ask_api(),
        None => talk.follow(),
    };
    let response = match answered {
        Ok(response) => response,
        Err(error) => return message::send(to, &FetchHead::Failed(error)),
    };
    let from = talk.connected.seen().from.clone();
    if response.status() == 304 {
        return message::send(to, &FetchHead::Unchanged { from });
    }
    let is_told = tells_its_end(&response);
    let names = [header::ETAG, header::LAST_MODIFIED, header::CONTENT_TYPE];
    let [etag, last_modified, content_type] = names.map(|name| tag(&response, &name));
    message::send(to, &FetchHead::Body { etag, last_modified, content_type, from })?;
    talk.pass_on(response.into_body(), is_told, to)
}

impl FetchSession<'_> {
    /// Sends the request, and follows redirects.
    fn follow(&mut self) -> Result<Response<Body>, FetchError> {
        let mut url = self.order.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let response = self.ask(&url)?;
            match response.status().as_u16() {
                200 => return packed_as_asked(response),
                304 if self.knows_something() => return Ok(response),
                301..=303 | 307 | 308 => url = self.next(&url, &response)?,
                status => return Err(FetchError::Status(status, retry_after(&response))),
            }
        }
        Err(FetchError::Redirect { to: url.to_string(), why: BadRedirect::TooMany })
    }

    /// Sends the request to an API, which must answer itself and announce the end of its answer.
    fn ask_api(&self) -> Result<Response<Body>, FetchError> {
        let url = &self.order.url;
        let response = self.ask(url)?;
        match response.status().as_u16() {
            200 | 201 if tells_its_end(&response) => packed_as_asked(response),
            200 | 201 => {
                let why = "the server gave no size".to_owned();
                Err(FetchError::BrokenOff { bytes: 0, why })
            }
            301..=303 | 307 | 308 => {
                let location = header(&response, &header::LOCATION);
                let to = location.map_or_else(|| "nowhere".to_owned(), |to| shown_target(url, &to));
                Err(FetchError::Redirect { to, why: BadRedirect::OfApi })
            }
            status => {
                let after = retry_after(&response);
                Err(FetchError::ApiStatus { status, after, message: api_message(response) })
            }
        }
    }

    fn knows_something(&self) -> bool {
        self.order.etag.is_some() || self.order.last_modified.is_some()
    }

    /// Each request uses a new connection, so that the address of its host is looked up and judged again.
    fn ask(&self, url: &Url) -> Result<Response<Body>, FetchError> {
        let agent = self.agent(url)?;
        let body = self.order.api.as_ref().and_then(|api| api.body.as_deref());
        let answered = match body {
            Some(body) => {
                let request = agent.post(url.uri()).content_type("application/json");
                self.with_headers(url, request).send(body)
            }
            None => self.with_headers(url, agent.get(url.uri())).call(),
        };
        answered.map_err(|error| self.trouble(url).of(error, 0))
    }

    fn with_headers<B>(&self, url: &Url, mut request: RequestBuilder<B>) -> RequestBuilder<B> {
        if let Some((name, value)) = self.order.credentials_for(url) {
            request = request.header(name, value);
        }
        if let Some(etag) = &self.order.etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        if let Some(then) = &self.order.last_modified {
            request = request.header(header::IF_MODIFIED_SINCE, then);
        }
        request
    }

    fn agent(&self, url: &Url) -> Result<Agent, FetchError> {
        let api = self.order.api.as_ref();
        let identity = api.filter(|_| url.is_secure()).map(ApiRequest::client_certificate).transpose()?;
        // Compression would hide whether the size was announced.
        let encoding = api.map_or(AutoHeaderValue::Default, |_| AutoHeaderValue::None);
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(self.roots(url)?)))
            .client_cert(identity.flatten())
            .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .proxy(None)
            .user_agent(api.map_or(AGENT, |api| &api.agent))
            .accept_encoding(encoding)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_response_header_size(MOST_HEADER)
            .max_idle_connections(0)
            .timeout_global(Some(self.left()))
            .build();
        let connector = self
            .connected
            .clone()
            .chain(RustlsConnector::default())
            .chain(SurplusConnector(self.connected.clone()));
        Ok(Agent::with_parts(config, connector, SafeResolver::of(self.order)))
    }

    /// The certificates of the authorities that may vouch for the server.
    fn roots(&self, url: &Url) -> Result<Vec<Certificate<'static>>, FetchError> {
        if let Some(own) = self.order.api.as_ref().and_then(ApiRequest::authorities) {
            return own;
        }
        match self.authorities {
            Ok(roots) => Ok(roots.clone()),
            Err(why) if url.is_secure() => Err(FetchError::NoAuthorities(why.clone())),
            Err(_) => Ok(Vec::new()),
        }
    }

    /// At least a millisecond, because zero would mean no limit.
    fn left(&self) -> Duration {
        self.order.patience.saturating_sub(self.begun.elapsed()).max(Duration::from_millis(1))
    }

    fn next(&self, from: &Url, response: &Response<Body>) -> Result<Url, FetchError> {
        let bad = |to: &str, why| FetchError::Redirect { to: to.to_owned(), why };
        let location = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
        let Some(location) = location else { return Err(bad("nowhere", BadRedirect::NoUrl)) };
        let Ok(url) = from.join(location) else {
            return Err(bad(without_query(location), BadRedirect::NoUrl));
        };
        if from.is_secure() && !url.is_secure() && !self.order.insecure {
            return Err(bad(&url.to_string(), BadRedirect::InTheClear));
        }
        // The kernel would refuse it, but say less.
        if ![80, 443, self.order.url.port()].contains(&url.port()) {
            return Err(bad(&url.to_string(), BadRedirect::Port));
        }
        Ok(url)
    }

    /// Passes on the body in pieces, until it ends or is too large. If the response announced no size
    /// (`is_told`), the end of the connection ends it.
    fn pass_on(&self, mut body: Body, is_told: bool, to: &mut UnixStream) -> io::Result<()> {
        let mut reader = body.as_reader();
        let mut piece = vec![0; LONGEST_PIECE];
        let (mut bytes, mut last) = (0, b'\n');
        let end = loop {
            match reader.read(&mut piece) {
                Ok(0) => break self.end(bytes, is_told || ENDS.contains(&last)),
                Ok(read) => {
                    bytes += read as u64;
                    last = piece[read - 1];
                    if bytes > self.order.most_bytes {
                        break BodyEnd::Failed(FetchError::TooLarge(self.order.most_bytes));
                    }
                    message::send_piece(to, &piece[..read])?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break BodyEnd::Failed(self.trouble(&self.order.url).of(error.into(), bytes)),
            }
        };
        message::send_piece(to, &[])?;
        message::send(to, &end)
    }

    fn end(&self, bytes: u64, is_whole: bool) -> BodyEnd {
        let why = if self.connected.seen().has_surplus {
            "the server sent more than the size it had told"
        } else if !is_whole {
            "the server had told no size, and there is no end of the last line"
        } else {
            return BodyEnd::Whole;
        };
        BodyEnd::Failed(FetchError::BrokenOff { bytes, why: why.to_owned() })
    }

    fn trouble<'a>(&self, url: &'a Url) -> ErrorContext<'a> {
        ErrorContext { url, patience: self.order.patience, last_failed: self.connected.seen().last_failed }
    }
}

/// Only gzip was requested. It is unpacked by now, which removes this header.
fn packed_as_asked(response: Response<Body>) -> Result<Response<Body>, FetchError> {
    let how = header(&response, &header::CONTENT_ENCODING).unwrap_or_default();
    match how.to_ascii_lowercase().as_str() {
        "" | "identity" | "gzip" => Ok(response),
        _ => Err(FetchError::Packed(how)),
    }
}

/// What an API says about an error, such as `{"message":"access forbidden"}`.
fn api_message(response: Response<Body>) -> Option<String> {
    #[derive(Deserialize)]
    struct ApiError {
        message: String,
    }
    let mut bytes = Vec::new();
    response.into_body().into_reader().take(MOST_ERROR).read_to_end(&mut bytes).ok()?;
    let ApiError { mut message } = serde_json::from_slice(&bytes).ok()?;
    let end = (0..=LONGEST_MESSAGE.min(message.len())).rev().find(|end| message.is_char_boundary(*end))?;
    message.truncate(end);
    Some(message)
}

/// True if the response announces the size of its body. If not, a broken connection looks like its end.
fn tells_its_end(response: &Response<Body>) -> bool {
    [header::CONTENT_LENGTH, header::TRANSFER_ENCODING]
        .iter()
        .any(|name| response.headers().contains_key(name))
}

fn retry_after(response: &Response<Body>) -> Option<Duration> {
    let date = header(response, &header::DATE);
    retry::after(&header(response, &header::RETRY_AFTER)?, date.as_deref())
}

/// A value that is kept for the next request.
fn tag(response: &Response<Body>, name: &HeaderName) -> Option<String> {
    header(response, name).filter(|tag| tag.len() <= LONGEST_TAG)
}

fn header(response: &Response<Body>, name: &HeaderName) -> Option<String> {
    Some(response.headers().get(name)?.to_str().ok()?.to_owned())
}

/// Where a redirect leads, without its query.
fn shown_target(from: &Url, location: &str) -> String {
    from.join(location).map_or_else(|_| without_query(location).to_owned(), |to| to.to_string())
}

fn without_query(location: &str) -> &str {
    location.split('?').next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
