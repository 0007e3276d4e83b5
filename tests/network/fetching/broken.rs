//! Servers that do not do as they say: whatever comes of it is never taken for all of it.

use std::thread::sleep;
use std::time::{Duration, Instant};

use filterd::fetch::{BadRedirect, FetchError};

use super::say;
use super::site::{A, Site, gzip, ok};

#[test]
fn interrupted_body_is_incomplete() {
    let site = Site::new();
    site.serve(A, |asked, to| {
        let packed = gzip("1.2.3.4\n".repeat(1000).as_bytes());
        match asked.path.as_str() {
            "/length" => say(to, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n1.2.3.4\n"),
            "/chunk" => say(to, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n1.2.3.4\n"),
            "/last-chunk" => {
                say(to, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n1.2.3.4\n\r\n")
            }
            "/gzip" => ok(to, "Content-Encoding: gzip\r\n", &packed[..packed.len() - 10]),
            "/gzip-damaged" => {
                let mut damaged = packed.clone();
                let middle = damaged.len() / 2;
                damaged[middle] ^= 0xff;
                ok(to, "Content-Encoding: gzip\r\n", &damaged);
            }
            "/not-gzip" => ok(to, "Content-Encoding: gzip\r\n", b"1.2.3.4\n"),
            // It says less than it sends.
            "/says-less" => say(to, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n1.2.3.4\n"),
            // It says nothing of its size, and half of `1.2.3.123` is somebody else.
            "/untold" => say(to, "HTTP/1.0 200 OK\r\n\r\n1.2.3.4\n1.2.3.1"),
            "/head" => say(to, "HTTP/1.1 200 OK\r\nContent-Le"),
            _ => {}
        }
    });
    for path in [
        "length",
        "chunk",
        "last-chunk",
        "gzip",
        "gzip-damaged",
        "not-gzip",
        "says-less",
        "untold",
        "head",
        "nothing",
    ] {
        let told = site.text(site.order(A, path));
        assert!(matches!(told, Err(FetchError::BrokenOff { .. })), "{path}: {told:?}");
    }
}

#[test]
fn body_without_size_ends_with_its_last_line() {
    let site = Site::new();
    site.serve(A, |asked, to| {
        let ends = if asked.path == "/json" { "{\"cidr\": \"1.2.3.0/24\"}" } else { "1.2.3.4\n" };
        say(to, &format!("HTTP/1.0 200 OK\r\n\r\n1.2.3.0\n{ends}"));
    });
    for (path, lines) in [("lines", 2), ("json", 2)] {
        let told = site.text(site.order(A, path));
        assert_eq!(told.map(|text| text.lines().count()), Ok(lines), "{path}");
    }
}

#[test]
fn invalid_http_is_reported() {
    let site = Site::new();
    site.serve(A, |asked, to| match asked.path.as_str() {
        "/mail" => say(to, "220 mail.example ESMTP ready\r\n\r\n"),
        "/header" => {
            say(to, &format!("HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(200_000)));
        }
        "/two-lengths" => say(to, "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n1.2.3.4\n"),
        _ => ok(to, "Content-Encoding: br\r\n", b"\x0b\x03\x80"),
    });
    for path in ["mail", "header", "two-lengths"] {
        let told = site.text(site.order(A, path));
        assert!(matches!(told, Err(FetchError::Nonsense(_))), "{path}: {told:?}");
    }
    assert_eq!(site.text(site.order(A, "br")), Err(FetchError::Packed("br".to_owned())));
}

#[test]
fn oversized_body_is_refused_even_compressed() {
    let site = Site::new();
    site.serve(A, |asked, to| match asked.path.as_str() {
        // 50 MiB in 50 KiB.
        "/bomb" => ok(to, "Content-Encoding: gzip\r\n", &gzip(&vec![b'\n'; 50 << 20])),
        "/endless" => {
            say(to, "HTTP/1.1 200 OK\r\n\r\n");
            while to.write_all(&[b'\n'; 65536]).is_ok() {}
        }
        _ => ok(to, "", &vec![b'\n'; (1 << 20) + 1]),
    });
    for path in ["bomb", "endless", "one-too-many"] {
        assert_eq!(site.text(site.order(A, path)), Err(FetchError::TooLarge(1 << 20)), "{path}");
    }
}

#[test]
fn slow_download_times_out() {
    let site = Site::new();
    site.serve(A, |asked, to| {
        if asked.path == "/drips" {
            say(to, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
            while to.write_all(b"1\n").and_then(|()| to.flush()).is_ok() {
                sleep(Duration::from_millis(50));
            }
        }
        sleep(Duration::from_secs(30));
    });
    for path in ["drips", "silent"] {
        let mut order = site.order(A, path);
        order.patience = Duration::from_millis(700);
        let begun = Instant::now();
        let told = site.text(order);
        assert!(matches!(told, Err(FetchError::TooSlow { .. })), "{path}: {told:?}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{path}: {:?}", begun.elapsed());
    }
}

#[test]
fn redirects_are_limited_and_checked() {
    let site = Site::new();
    let web = site.serve(A, |asked, to| {
        let there = match asked.path.as_str() {
            "/port" => "http://a.example:25/",
            "/file" => "file:///etc/shadow",
            "/nowhere" => return say(to, "HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n"),
            "/named" => "http://ann:pw@b.example/",
            _ => "/round?again",
        };
        say(to, &format!("HTTP/1.1 301 Moved\r\nLocation: {there}\r\nContent-Length: 0\r\n\r\n"));
    });
    let cases = [
        ("round", BadRedirect::TooMany),
        ("port", BadRedirect::Port),
        ("file", BadRedirect::NoUrl),
        ("nowhere", BadRedirect::NoUrl),
        ("named", BadRedirect::NoUrl),
    ];
    for (path, expected) in cases {
        let told = site.text(site.order(A, path));
        assert!(
            matches!(&told, Err(FetchError::Redirect { why, .. }) if *why == expected),
            "{path}: {told:?}"
        );
    }
    assert_eq!(web.asked().len(), 6 + 4);
}

#[test]
fn unknown_or_silent_host_is_reported() {
    let site = Site::new();
    let told = site.text(site.order_at("http://no-such-name.example/"));
    assert!(
        matches!(&told, Err(FetchError::NoSuchHost { host, .. }) if host == "no-such-name.example"),
        "{told:?}"
    );
    let told = site.text(site.order_at("http://nobody-listens.example/"));
    let Err(FetchError::NotReached { host, at, why }) = told else { panic!("{told:?}") };
    assert_eq!((host.as_str(), at.as_str()), ("nobody-listens.example", "9.9.9.11:80"));
    assert!(why.contains("refused"), "{why}");
}
