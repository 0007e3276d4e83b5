//! Over https it is whoever it was to be, or nobody is asked for anything.

use filterd::fetch::{BadRedirect, Credentials, FetchError};
use filterd::text::Explain;

use super::say;
use super::site::{A, B, Site, ok};

#[test]
fn a_server_is_known_by_its_certificate() {
    let site = Site::with_authority(|authority, path| authority.write(path));
    site.serve_tls(A, site.authority.certificate("a.example", 1), |asked, to| match asked.path.as_str() {
        "/in-the-clear" => {
            say(to, "HTTP/1.1 302 Found\r\nLocation: http://a.example/list\r\nContent-Length: 0\r\n\r\n");
        }
        "/breaks-off" => say(to, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n1.2.3.4\n"),
        _ => ok(to, "", b"1.2.3.4\n"),
    });
    let clear = site.serve(A, |_, to| ok(to, "", b"1.2.3.4\n"));
    let mut order = site.order_at("https://a.example/list");
    order.credentials = Some(Credentials::Bearer("token".into()));
    assert_eq!(site.text(order.clone()).as_deref(), Ok("1.2.3.4\n"));
    // The same server by a name that its certificate does not have.
    let told = site.text(site.order_at("https://a1.example/list")).unwrap_err();
    assert_eq!(told, distrust("a1.example", "its certificate is for another name"));
    let told = site.text(site.order_at("https://a.example/breaks-off"));
    assert!(matches!(told, Err(FetchError::BrokenOff { .. })), "{told:?}");
    // What was kept from others stays so.
    order.url = "https://a.example/in-the-clear".parse().unwrap();
    let told = site.text(order.clone());
    assert!(matches!(told, Err(FetchError::Redirect { why: BadRedirect::InTheClear, .. })), "{told:?}");
    assert_eq!(clear.asked().len(), 0);
    // Unless it need not, and then without what is secret.
    order.insecure = true;
    assert_eq!(site.text(order).as_deref(), Ok("1.2.3.4\n"));
    assert!(clear.asked().iter().all(|asked| asked.header("authorization").is_none()));
}

#[test]
fn untrusted_server_gets_no_request() {
    let site = Site::with_authority(|authority, path| authority.write(path));
    let expired =
        site.serve_tls(A, site.authority.certificate("a.example", -1), |_, to| ok(to, "", b"1.2.3.4\n"));
    let told = site.text(site.order_at("https://a.example/")).unwrap_err();
    assert_eq!(told, distrust("a.example", "its certificate has expired"));
    let other = harness::Authority::new().certificate("b.example", 1);
    let unknown = site.serve_tls(B, other, |_, to| ok(to, "", b"1.2.3.4\n"));
    let told = site.text(site.order_at("https://b.example/")).unwrap_err();
    assert_eq!(
        told,
        distrust("b.example", "its certificate is from an authority that this system does not know")
    );
    assert_eq!((expired.asked().len(), unknown.asked().len()), (0, 0));
}

#[test]
fn without_authorities_only_http_is_downloaded() {
    let site = Site::new();
    site.serve(A, |_, to| ok(to, "", b"1.2.3.4\n"));
    let told = site.text(site.order_at("https://a.example/"));
    assert!(matches!(told, Err(FetchError::NoAuthorities(_))), "{told:?}");
    assert_eq!(site.text(site.order(A, "list")).as_deref(), Ok("1.2.3.4\n"));
}

/// Whoever writes https:// before a port for http is told so, and not to look at certificates.
#[test]
fn https_to_plain_port_is_no_certificate_error() {
    let site = Site::with_authority(|authority, path| authority.write(path));
    site.answer("9.9.9.9:80", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    site.answer("9.9.9.10:80", "SSH-2.0-OpenSSH_9.2\r\n");
    for host in ["a.example", "b.example"] {
        let told = site.text(site.order_at(&format!("https://{host}:80/list"))).unwrap_err();
        assert_eq!(told, FetchError::NoTls { host: host.to_owned(), port: 80 });
        let told = told.explain();
        assert_eq!(told.message, format!("the server at port 80 of `{host}` does not speak TLS"));
        assert!(told.remedy.is_some_and(|remedy| remedy.contains("http://")));
    }
}

fn distrust(host: &str, why: &str) -> FetchError {
    FetchError::Tls { host: host.to_owned(), why: why.to_owned() }
}
