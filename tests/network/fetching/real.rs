//! The same with a web server that the world uses.

use harness::limited::{LimitedChild, LimitedCommand};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use filterd::fetch::{Credentials, FetchError, Fetched, Unreachable};

use super::site::{A, Site};

const CONFIG: &str = "\
daemon off;
user root;
pid $HOME/nginx.pid;
error_log $HOME/nginx.log;
events {}
http {
    access_log off;
    client_body_temp_path $HOME/t1;
    proxy_temp_path $HOME/t2;
    fastcgi_temp_path $HOME/t3;
    uwsgi_temp_path $HOME/t4;
    scgi_temp_path $HOME/t5;
    default_type text/plain;
    gzip on;
    gzip_types text/plain;
    server {
        listen 9.9.9.9:80;
        listen 9.9.9.9:443 ssl;
        ssl_certificate $HOME/certificate.pem;
        ssl_certificate_key $HOME/key.pem;
        root $HOME/www;
        location /private/ { auth_basic lists; auth_basic_user_file $HOME/users; alias $HOME/www/; }
        location /slow/ { gzip off; limit_rate 512; alias $HOME/www/; }
        location /inside { return 302 https://10.9.9.9/; }
        location /busy { add_header Retry-After 60 always; return 429; }
        location /gateway { return 504; }
        location /down { proxy_pass http://9.9.9.11; }
    }
}
";

/// A server that ends with the story.
struct Nginx(Child);

#[test]
fn a_real_server_is_understood() {
    if !Command::new("nginx").arg("-v").limited_output().is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED a real web server: there is no nginx");
        return;
    }
    let site = Site::with_authority(|authority, path| authority.write(path));
    let list: String = (0..5000).map(|host| format!("1.2.{}.{}\n", host >> 8, host & 255)).collect();
    let _nginx = Nginx::begin(&site, &list);
    let order = |path: &str| site.order_at(&format!("https://a.example/{path}"));
    let Ok(Fetched::Body(body)) = site.fetch(order("list.txt")) else { panic!("it comes") };
    let (etag, then) = (body.etag.clone(), body.last_modified.clone());
    assert!(etag.as_ref().is_some_and(|etag| etag.starts_with("W/")), "it comes packed: {etag:?}");
    assert_eq!(std::io::read_to_string(body).unwrap(), list);
    for (etag, last_modified) in [(etag, None), (None, then)] {
        let mut again = order("list.txt");
        (again.etag, again.last_modified) = (etag, last_modified);
        let told = site.fetch(again);
        assert!(matches!(&told, Ok(Fetched::Unchanged { from }) if *from == [A.address()]), "{told:?}");
    }
    let mut private = order("private/list.txt");
    assert_eq!(site.text(private.clone()), Err(FetchError::Status(401, None)));
    private.credentials = Some(Credentials::Basic { user: "ann".into(), password: "pw".into() });
    assert_eq!(site.text(private).as_deref(), Ok(&*list));
    let told = site.text(order("inside"));
    assert!(matches!(told, Err(FetchError::Refused { why: Unreachable::Private, .. })), "{told:?}");
    assert_eq!(site.text(order("busy")), Err(FetchError::Status(429, Some(Duration::from_secs(60)))));
    assert_eq!(site.text(order("gateway")), Err(FetchError::Status(504, None)));
    assert_eq!(site.text(order("down")), Err(FetchError::Status(502, None)));
    assert_eq!(site.text(order("no-such-list")), Err(FetchError::Status(404, None)));
    let mut slow = order("slow/list.txt");
    slow.patience = Duration::from_secs(1);
    let told = site.text(slow);
    assert!(matches!(told, Err(FetchError::TooSlow { .. })), "{told:?}");
    let mut large = order("list.txt");
    large.most_bytes = 1000;
    assert_eq!(site.text(large), Err(FetchError::TooLarge(1000)));
}

impl Nginx {
    fn begin(site: &Site, list: &str) -> Self {
        let (certificate, key) = site.authority.written("a.example");
        site.home.write("certificate.pem", &certificate);
        site.home.write("key.pem", &key);
        site.home.write("users", "ann:{PLAIN}pw\n");
        fs::create_dir(site.home.path("www")).expect("a home can be written");
        site.home.write("www/list.txt", list);
        let config = site.home.write("nginx.conf", CONFIG);
        let mut command = site.command("nginx");
        command.arg("-c").arg(config).arg("-e").arg(site.home.path("nginx.log")).stdout(Stdio::null());
        let nginx = Self(command.spawn().expect("it was just asked its version"));
        let begun = Instant::now();
        while site.fetch(site.order(A, "list.txt")).is_err() {
            let log = || fs::read_to_string(site.home.path("nginx.log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(30), "it does not answer: {}", log());
            sleep(Duration::from_millis(5));
        }
        nginx
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Its workers end with it only if it is asked to end.
        let id = i32::try_from(self.0.id()).expect("process ids are small");
        _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::Signal::SIGTERM);
        _ = self.0.limited_wait();
    }
}
