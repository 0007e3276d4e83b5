//! Tests of requests to APIs, against a server on a loopback address.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, Stream};

use super::super::api::tests::{EC, EC_PKCS8, EC_SEC1, identity, request};
use super::super::credentials::Credentials;
use super::super::order::tests::order;
use super::*;

const AUTHORITY: &str = include_str!("../api/pem/authority.crt");
const SERVER: &str = include_str!("../api/pem/server.crt");
const SERVER_KEY: &str = include_str!("../api/pem/server.pkcs8.key");

const WHOLE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

/// An order for an API at this port.
fn order_at(scheme: &str, port: u16, api: ApiRequest) -> FetchOrder {
    let url = format!("{scheme}://127.0.0.1:{port}/v1/decisions/stream?startup=true");
    FetchOrder { allow_private: true, insecure: scheme == "http", api: Some(api), ..order(&url) }
}

/// What a fetching process reports for this order: the body, or why there is none.
fn fetched(order: FetchOrder, authorities: &Authorities) -> Result<String, FetchError> {
    order.check()?;
    let (mut ours, mut theirs) = UnixStream::pair().unwrap();
    fetch(&order, authorities, &mut theirs).unwrap();
    drop(theirs);
    match message::receive(&mut ours).unwrap() {
        FetchHead::Failed(error) => return Err(error),
        FetchHead::Unchanged { .. } => panic!("an API has no versions"),
        FetchHead::Body { .. } => {}
    }
    let mut body = String::new();
    loop {
        let length = message::receive_length(&mut ours, LONGEST_PIECE).unwrap();
        if length == 0 {
            break;
        }
        (&mut ours).take(length as u64).read_to_string(&mut body).unwrap();
    }
    match message::receive(&mut ours).unwrap() {
        BodyEnd::Whole => Ok(body),
        BodyEnd::Failed(error) => Err(error),
    }
}

/// Reads a request up to the end of its body.
fn read_request(from: &mut impl Read) -> String {
    let (mut text, mut byte) = (Vec::new(), [0]);
    let has = |text: &[u8], what: &str| String::from_utf8_lossy(text).contains(what);
    while !text.ends_with(b"\r\n\r\n") && from.read(&mut byte).is_ok_and(|read| read > 0) {
        text.push(byte[0]);
    }
    while has(&text, "POST ") && !text.ends_with(b"}") && from.read(&mut byte).is_ok_and(|read| read > 0) {
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}

/// Asks a server that gives this answer. Returns the request, too.
fn asked(answer: &str, change: impl FnOnce(&mut FetchOrder)) -> (String, Result<String, FetchError>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut order = order_at("http", listener.local_addr().unwrap().port(), request());
    change(&mut order);
    thread::scope(|threads| {
        let server = threads.spawn(|| {
            let (mut caller, _) = listener.accept().unwrap();
            let request = read_request(&mut caller);
            caller.write_all(answer.as_bytes()).unwrap();
            request
        });
        let told = fetched(order, &Err("an API over http needs none".to_owned()));
        (server.join().unwrap(), told)
    })
}

fn answered(answer: &str) -> Result<String, FetchError> {
    asked(answer, |_| {}).1
}

#[test]
fn loopback_api_gets_key_and_client_name() {
    let key = Credentials::Header { name: "X-Api-Key".to_owned(), value: "sesame".to_owned() };
    let (request, told) = asked(WHOLE, |order| order.credentials = Some(key));
    assert_eq!(told, Ok("{}".to_owned()));
    assert!(request.starts_with("GET /v1/decisions/stream?startup=true HTTP/1.1\r\n"), "{request}");
    let request = request.to_ascii_lowercase();
    for header in ["x-api-key: sesame\r\n", "user-agent: crowdsec-filterd-bouncer/v1\r\n"] {
        assert!(request.contains(header), "{request}");
    }
    assert!(!request.contains("encoding"), "{request}");
}

#[test]
fn body_is_posted_as_json() {
    let created = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
    let body = br#"{"number":1}"#;
    let (request, told) = asked(created, |order| order.api.as_mut().unwrap().body = Some(body.to_vec()));
    assert_eq!(told, Ok(String::new()));
    assert!(request.starts_with("POST /v1/decisions/stream"), "{request}");
    assert!(request.ends_with("\r\n\r\n{\"number\":1}"), "{request}");
    let request = request.to_ascii_lowercase();
    for header in ["content-type: application/json\r\n", "content-length: 12\r\n"] {
        assert!(request.contains(header), "{request}");
    }
}

#[test]
fn answer_must_announce_its_end() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n";
    assert_eq!(answered(chunked), Ok("{}".to_owned()));
    for cut in [
        "HTTP/1.1 200 OK\r\n\r\n{}",
        "HTTP/1.0 200 OK\r\n\r\n{}\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}\n",
    ] {
        let told = answered(cut);
        assert!(matches!(told, Err(FetchError::BrokenOff { .. })), "{cut}: {told:?}");
    }
}

#[test]
fn redirects_of_an_api_are_refused() {
    for (location, shown) in [
        ("/login?next=secret", "/login?…"),
        ("https://lapi.example/v1?x", "https://lapi.example/v1?…"),
        ("gopher://x/", "gopher://x/"),
    ] {
        let told =
            answered(&format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"));
        let Err(FetchError::Redirect { to, why: BadRedirect::OfApi }) = told else { panic!("{told:?}") };
        assert!(to.ends_with(shown), "{to}");
    }
    let nowhere = answered("HTTP/1.1 307 Moved\r\nContent-Length: 0\r\n\r\n").unwrap_err();
    assert_eq!(nowhere.to_string(), "it redirects to `nowhere`, and redirects of an API are not followed");
}

#[test]
fn failed_request_keeps_status_and_message() {
    let failed = |status: u16, rest: &str, after: Option<u64>, message: Option<&str>| {
        let expected = FetchError::ApiStatus {
            status,
            after: after.map(Duration::from_secs),
            message: message.map(str::to_owned),
        };
        assert_eq!(answered(&format!("HTTP/1.1 {status} X\r\n{rest}")), Err(expected));
    };
    failed(
        403,
        "Content-Length: 30\r\n\r\n{\"message\":\"access forbidden\"}",
        None,
        Some("access forbidden"),
    );
    failed(503, "Retry-After: 7\r\nContent-Length: 6\r\n\r\n<html>", Some(7), None);
    failed(304, "\r\n", None, None);
    failed(204, "\r\n", None, None);
    failed(500, "Content-Length: 100\r\n\r\n{\"mess", None, None);
    let long = format!("{{\"message\":\"{}\"}}", "ü".repeat(301));
    let kept = "ü".repeat(150);
    failed(500, &format!("Content-Length: {}\r\n\r\n{long}", long.len()), None, Some(&kept));
}

#[test]
fn loopback_needs_allow_private() {
    let closed = FetchOrder { allow_private: false, ..order_at("http", 8080, request()) };
    let told = fetched(closed, &Ok(Vec::new()));
    assert!(matches!(told, Err(FetchError::Refused { .. })), "{told:?}");
}

/// Asks a server over TLS that demands a client certificate of the tests' authority.
fn asked_over_tls(api: ApiRequest, authorities: &Authorities) -> Result<String, FetchError> {
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(AUTHORITY.as_bytes()).unwrap()).unwrap();
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().unwrap();
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let chain = vec![CertificateDer::from_pem_slice(SERVER.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(SERVER_KEY.as_bytes()).unwrap();
    let config = Arc::new(config.with_client_cert_verifier(verifier).with_single_cert(chain, key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let order = order_at("https", listener.local_addr().unwrap().port(), api);
    thread::scope(|threads| {
        threads.spawn(|| {
            let (mut caller, _) = listener.accept().unwrap();
            // A refused client has gone.
            _ = answer_over_tls(&mut caller, config);
        });
        fetched(order, authorities)
    })
}

fn answer_over_tls(caller: &mut TcpStream, config: Arc<ServerConfig>) -> io::Result<()> {
    let mut tls = ServerConnection::new(config).unwrap();
    let mut stream = Stream::new(&mut tls, caller);
    read_request(&mut stream);
    stream.write_all(WHOLE.as_bytes())?;
    stream.conn.send_close_notify();
    stream.flush()
}

#[test]
fn client_certificate_is_presented() {
    let none = Err("this system has none".to_owned());
    for key in [EC_SEC1, EC_PKCS8] {
        let own = Some(AUTHORITY.to_owned());
        let api = ApiRequest { identity: Some(identity(EC, key)), authority: own, ..request() };
        assert_eq!(asked_over_tls(api, &none), Ok("{}".to_owned()));
    }
}

#[test]
fn named_authority_replaces_those_of_the_system() {
    let identity = Some(identity(EC, EC_SEC1));
    let system = || {
        let found = Certificate::from_pem(AUTHORITY.as_bytes()).unwrap();
        Ok(vec![found])
    };
    let as_usual = ApiRequest { identity: identity.clone(), ..request() };
    assert_eq!(asked_over_tls(as_usual, &system()), Ok("{}".to_owned()));
    let other = include_str!("../api/pem/rsa.crt").to_owned();
    let told = asked_over_tls(ApiRequest { identity, authority: Some(other), ..request() }, &system());
    assert!(matches!(told, Err(FetchError::Tls { .. })), "{told:?}");
}

#[test]
fn missing_client_certificate_is_explained() {
    let api = ApiRequest { authority: Some(AUTHORITY.to_owned()), ..request() };
    match asked_over_tls(api, &Ok(Vec::new())) {
        Err(FetchError::IdentityRefused { why, .. }) => assert_eq!(why, "it asks for one"),
        // The server may close the connection before its reason is read.
        Err(FetchError::BrokenOff { .. }) => {}
        other => panic!("{other:?}"),
    }
}
