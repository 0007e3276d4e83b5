//! What others publish is fetched as it is, or it is told why not: from servers that do all that servers do. Names, addresses
//! and certificates are a world of the story's own.

mod broken;
mod confined;
mod named;
mod private;
mod real;
pub mod site;
mod tls;

use std::io::Write;

use filterd::fetch::{Credentials, FetchError, Fetched};
use harness::Asked;
use site::{A, Site, gzip, ok};

#[test]
fn list_is_downloaded_with_server_metadata() {
    let site = Site::new();
    let web = site.serve(A, |asked, to| match asked.path.as_str() {
        "/length" => ok(to, "ETag: \"v1\"\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n", b"1.2.3.4\n"),
        "/until-it-hangs-up" => say(to, "HTTP/1.1 200 OK\r\n\r\n1.2.3.4\n"),
        "/chunks" => say(
            to,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n1.\r\n6\r\n2.3.4\n\r\n0\r\n\r\n",
        ),
        "/gzip" => ok(to, "Content-Encoding: gzip\r\n", &gzip(b"1.2.3.4\n")),
        _ => say(to, "HTTP/1.1 302 Found\r\nLocation: length\r\nContent-Length: 0\r\n\r\n"),
    });
    for path in ["length", "until-it-hangs-up", "chunks", "gzip", "moved/../elsewhere"] {
        assert_eq!(site.text(site.order(A, path)).as_deref(), Ok("1.2.3.4\n"), "{path}");
    }
    let Ok(Fetched::Body(body)) = site.fetch(site.order(A, "length")) else { panic!("it comes") };
    assert_eq!(body.etag.as_deref(), Some("\"v1\""));
    assert_eq!(body.last_modified.as_deref(), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
    assert_eq!(body.from, [A.address()]);
    let agent = web.asked()[0].header("user-agent").map(ToOwned::to_owned);
    assert!(agent.is_some_and(|agent| agent.starts_with("filterd/")));
}

#[test]
fn unchanged_list_is_not_downloaded_again() {
    let site = Site::new();
    let is_known = |asked: &Asked| {
        asked.header("if-none-match") == Some("\"v1\"")
            || asked.header("if-modified-since") == Some("yesterday")
    };
    site.serve(A, move |asked, to| match is_known(asked) {
        true => say(to, "HTTP/1.1 304 Not Modified\r\n\r\n"),
        false if asked.path == "/304" => say(to, "HTTP/1.1 304 Not Modified\r\n\r\n"),
        false => ok(to, "", b"1.2.3.4\n"),
    });
    let mut order = site.order(A, "list");
    order.etag = Some("\"v1\"".to_owned());
    assert!(matches!(site.fetch(order.clone()), Ok(Fetched::Unchanged { from }) if from == [A.address()]));
    order.etag = None;
    order.last_modified = Some("yesterday".to_owned());
    assert!(matches!(site.fetch(order.clone()), Ok(Fetched::Unchanged { .. })));
    order.last_modified = None;
    assert_eq!(site.text(order).as_deref(), Ok("1.2.3.4\n"));
    // Whoever has nothing cannot be told to keep it.
    assert_eq!(site.text(site.order(A, "304")), Err(FetchError::Status(304, None)));
}

#[test]
fn server_refusal_is_reported_with_retry_time() {
    let site = Site::new();
    site.serve(A, |asked, to| {
        let status = &asked.path[1..];
        let again = if status == "429" { "Retry-After: 120\r\n" } else { "" };
        say(to, &format!("HTTP/1.1 {status} No\r\n{again}Content-Length: 8\r\n\r\n1.2.3.4\n"));
    });
    for status in [204, 206, 401, 403, 404, 429, 500, 502, 503, 504] {
        let told = site.text(site.order(A, &status.to_string())).unwrap_err();
        let after = (status == 429).then(|| std::time::Duration::from_secs(120));
        assert_eq!(told, FetchError::Status(status, after));
        assert_eq!(told.retry_after(), after);
    }
}

#[test]
fn credentials_reach_their_own_origin_and_no_other() {
    let site = Site::new();
    let moved = |to: &mut dyn Write, there: &str| {
        say(to, &format!("HTTP/1.1 302 Found\r\nLocation: {there}\r\nContent-Length: 0\r\n\r\n"));
    };
    let own = site.serve(A, move |asked, to| match asked.path.as_str() {
        "/away" => moved(to, "http://b.example/list"),
        "/away-and-back" => moved(to, "http://b.example/back"),
        "/within" => moved(to, "/list"),
        _ => ok(to, "", b"1.2.3.4\n"),
    });
    let other = site.serve(site::B, move |asked, to| match asked.path.as_str() {
        "/back" => moved(to, "http://a.example/list"),
        _ => ok(to, "", b"1.2.3.4\n"),
    });
    for (credentials, header, value) in [
        (Credentials::Basic { user: "ann".into(), password: "pw".into() }, "authorization", "Basic YW5uOnB3"),
        (Credentials::Bearer("token".into()), "authorization", "Bearer token"),
        (Credentials::Header { name: "X-Api-Key".into(), value: "key".into() }, "x-api-key", "key"),
    ] {
        for path in ["list", "within", "away", "away-and-back"] {
            let mut order = site.order(A, path);
            order.credentials = Some(credentials.clone());
            // In the clear they are sent to nobody.
            assert_eq!(site.text(order.clone()), Err(FetchError::InTheClear(order.url.to_string())));
            assert_eq!(own.asked().len(), 0, "{path}");
            order.insecure = true;
            assert_eq!(site.text(order).as_deref(), Ok("1.2.3.4\n"), "{path}");
            assert!(own.asked().iter().all(|asked| asked.header(header) == Some(value)), "{path}");
            let elsewhere = other.asked();
            assert_eq!(elsewhere.len(), usize::from(path.starts_with("away")), "{path}");
            for asked in elsewhere {
                let all = asked.headers.join("\n");
                assert!(!all.contains(value) && asked.header(header).is_none(), "{path}: {all}");
            }
        }
    }
}

pub fn say(to: &mut dyn Write, words: &str) {
    _ = to.write_all(words.as_bytes());
}
