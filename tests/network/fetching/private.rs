//! Nobody can have filterd ask services that only this host or its network can reach: not by a name, a redirect, or an
//! address in disguise.

use std::fs;

use filterd::fetch::{FetchError, Unreachable};

use super::say;
use super::site::{A, PRIVATE, Site, ok};

const DISGUISES: [(&str, Unreachable); 11] = [
    ("10.9.9.9", Unreachable::Private),
    ("private.example", Unreachable::Private),
    ("mapped.example", Unreachable::Private),
    ("translated.example", Unreachable::Private),
    ("[::ffff:10.9.9.9]", Unreachable::Private),
    ("[64:ff9b::10.9.9.9]", Unreachable::Private),
    ("metadata.example", Unreachable::LinkLocal),
    ("169.254.169.254", Unreachable::LinkLocal),
    ("localhost", Unreachable::Loopback),
    ("127.1.2.3", Unreachable::Loopback),
    ("[::1]", Unreachable::Loopback),
];

#[test]
fn private_addresses_are_refused_under_every_name() {
    let site = Site::new();
    let inside = site.serve(PRIVATE, |_, to| ok(to, "", b"secret"));
    site.serve(A, |asked, to| {
        let there = &asked.path[1..];
        say(to, &format!("HTTP/1.1 302 Found\r\nLocation: http://{there}/\r\nContent-Length: 0\r\n\r\n"));
    });
    for (host, expected) in DISGUISES {
        for url in [format!("http://{host}/"), format!("http://a.example/{host}")] {
            let told = site.text(site.order_at(&url));
            assert!(
                matches!(&told, Err(FetchError::Refused { why, .. }) if *why == expected),
                "{url}: {told:?}"
            );
        }
    }
    assert_eq!(inside.asked().len(), 0);
    // Where that is wanted, it is asked.
    for url in ["http://10.9.9.9/", "http://private.example/", "http://a.example/mapped.example"] {
        let mut order = site.order_at(url);
        order.allow_private = true;
        assert_eq!(site.text(order).as_deref(), Ok("secret"), "{url}");
    }
}

#[test]
fn only_permitted_addresses_are_tried() {
    if !fs::read_to_string("/etc/host.conf").is_ok_and(|text| text.contains("multi on")) {
        eprintln!("SKIPPED a name with several addresses: this system takes the first of a file only");
        return;
    }
    let site = Site::new();
    let inside = site.serve(PRIVATE, |_, to| ok(to, "", b"secret"));
    site.serve(A, |_, to| ok(to, "", b"1.2.3.4\n"));
    assert_eq!(site.text(site.order_at("http://both.example/")).as_deref(), Ok("1.2.3.4\n"));
    assert_eq!(inside.asked().len(), 0);
}

#[test]
fn own_addresses_are_refused() {
    let site = Site::new();
    let web = site.serve(A, |_, to| ok(to, "", b"1.2.3.4\n"));
    let mut order = site.order(A, "list");
    order.own = vec![A.address()];
    let told = site.text(order.clone());
    assert!(matches!(told, Err(FetchError::Refused { why: Unreachable::Own, .. })), "{told:?}");
    assert_eq!(web.asked().len(), 0);
    order.allow_private = true;
    assert_eq!(site.text(order).as_deref(), Ok("1.2.3.4\n"));
}
