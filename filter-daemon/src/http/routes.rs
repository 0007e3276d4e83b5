//! Dispatches requests, and checks the name by which they ask.

use std::net::IpAddr;

use hyper::body::Bytes;
use hyper::header::HeaderValue;
use hyper::http::uri::Authority;
use hyper::{Method, Request, StatusCode, header};
use tokio::sync::mpsc;

use super::answer::{HttpAnswer, sentence};
use super::callers::Offer;
use super::health::Readiness;
use super::live::Streams;
use super::shared::SharedAnswer;
use super::{health, page, scrape};
use crate::control::Call;

/// The path of the liveness check, which any host name may request.
const HEALTH: &str = "/healthz";

/// All resources, for requests with a permitted host name.
pub struct Routes {
    hosts: Vec<String>,
    calls: mpsc::Sender<Call>,
    streams: Streams,
    scrape: SharedAnswer<Bytes>,
    readiness: SharedAnswer<Readiness>,
}

impl Routes {
    /// Also accepts these host names.
    pub fn new(hosts: Vec<String>, calls: mpsc::Sender<Call>) -> Self {
        Self {
            hosts,
            calls,
            streams: Streams::default(),
            scrape: SharedAnswer::default(),
            readiness: SharedAnswer::default(),
        }
    }

    /// Responds to a request. An unknown host name is refused, because another site may let its name point
    /// to this address.
    pub async fn answer<B>(&self, request: &Request<B>, offer: Offer) -> HttpAnswer {
        if offer == Offer::Health && request.uri().path() != HEALTH {
            return sentence(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many clients: try again in a moment; /healthz still answers",
            );
        }
        // Requests without a host name, such as those of HAProxy, may use /healthz. It reveals no more than
        // an open port does.
        if request.uri().path() != HEALTH && !self.is_meant(request) {
            return sentence(
                StatusCode::MISDIRECTED_REQUEST,
                "unknown host name: add it to `metrics: {hosts: [name]}`",
            );
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut refused = sentence(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are allowed");
            refused.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refused;
        }
        match request.uri().path() {
            "/" => page::answer(),
            "/live" => self.streams.answer(&self.calls),
            "/metrics" => scrape::answer(&self.calls, &self.scrape).await,
            HEALTH => health::is_alive(&self.calls).await,
            "/readyz" => health::is_ready(&self.calls, &self.readiness).await,
            _ => sentence(
                StatusCode::NOT_FOUND,
                "not found: see / for the status page, and /metrics, /healthz and /readyz for monitoring",
            ),
        }
    }

    fn is_meant<B>(&self, request: &Request<B>) -> bool {
        let mut named = request.headers().get_all(header::HOST).iter();
        let (Some(host), None) = (named.next(), named.next()) else { return false };
        let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
        let asked = request.uri().authority();
        host.iter().chain(asked).all(|name| self.knows(name.host())) && host.is_some()
    }

    /// Addresses are always accepted, because no other site can let a name point to them.
    fn knows(&self, host: &str) -> bool {
        let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let name = host.to_ascii_lowercase();
        address.parse::<IpAddr>().is_ok() || name == "localhost" || self.hosts.contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn status(method: &str, host: &[&str], path: &str) -> u16 {
        let routes = Routes::new(vec!["filter.example.net".to_owned()], mpsc::channel(1).0);
        let mut request = Request::builder().method(method).uri(path);
        for host in host {
            request = request.header("host", *host);
        }
        routes.answer(&request.body(()).unwrap(), Offer::Everything).await.status().as_u16()
    }

    #[tokio::test]
    async fn own_names_and_addresses_are_served() {
        let own = ["127.0.0.1:9477", "[::1]:9477", "192.0.2.1", "localhost:9477", "Filter.Example.net:9477"];
        for host in own {
            assert_eq!(status("GET", &[host], "/").await, 200, "{host}");
        }
    }

    #[tokio::test]
    async fn other_host_names_are_refused() {
        for host in ["evil.example:9477", "localhost.evil.example", "127.0.0.1.evil.example", "", "a b"] {
            for path in ["/", "/live", "/none"] {
                assert_eq!(status("GET", &[host], path).await, 421, "{host} {path}");
            }
        }
        assert_eq!(status("GET", &[], "/").await, 421);
        assert_eq!(status("GET", &["127.0.0.1", "evil.example"], "/").await, 421);
        assert_eq!(status("GET", &["127.0.0.1"], "http://evil.example/").await, 421);
    }

    #[tokio::test]
    async fn only_health_ignores_host_names() {
        for host in [&[][..], &["evil.example"], &[""], &["127.0.0.1", "evil.example"]] {
            // No daemon is there to answer.
            assert_eq!(status("GET", host, "/healthz").await, 503, "{host:?}");
            for path in ["/readyz", "/metrics", "/live", "/healthz/"] {
                assert_eq!(status("GET", host, path).await, 421, "{host:?} {path}");
            }
        }
        assert_eq!(status("POST", &[], "/healthz").await, 405);
    }

    #[tokio::test]
    async fn only_get_and_head_are_served() {
        assert_eq!(status("HEAD", &["localhost"], "/").await, 200);
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH"] {
            assert_eq!(status(method, &["localhost"], "/").await, 405, "{method}");
        }
        assert_eq!(status("GET", &["localhost"], "/etc/passwd").await, 404);
    }
}
