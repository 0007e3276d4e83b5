//! Who is let in where filterd may be looked at, how many, and for how long; by sockets, without a browser.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use harness::{ATTACKER, Net, SOON, keeper_of, until};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{setsockopt, sockopt};
use nix::unistd::Pid;

const CONFIG: &str = "metrics: {listen: 127.0.0.1:9477}";

const AT: &str = "127.0.0.1:9477";

/// So many may follow what happens at once.
const STREAMS: usize = 8;

/// So many connections there may be.
const CONNECTIONS: usize = 64;

/// A connection, if anybody listens.
fn caller(net: &Net) -> Option<TcpStream> {
    match net.host().inside(|| TcpStream::connect(AT)) {
        Ok(caller) => {
            caller.set_read_timeout(Some(SOON)).expect("it may take some time");
            Some(caller)
        }
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => None,
        Err(error) => panic!("{error}"),
    }
}

fn asking(net: &Net, request: &str) -> TcpStream {
    let mut caller = caller(net).expect("somebody listens");
    caller.write_all(format!("{request} HTTP/1.1\r\nHost: {AT}\r\n\r\n").as_bytes()).expect("somebody reads");
    caller
}

/// The whole answer.
fn answer(net: &Net, request: &str) -> String {
    let mut answer = String::new();
    asking(net, request).read_to_string(&mut answer).expect("it ends");
    answer
}

/// Somebody who follows what happens, and the first he hears.
fn follower(net: &Net) -> (TcpStream, String) {
    let mut stream = asking(net, "GET /live");
    let first = heard(&mut stream, "\n\n");
    (stream, first)
}

/// What comes, up to these words or to its end.
fn heard(stream: &mut TcpStream, words: &str) -> String {
    let mut heard = Vec::new();
    let mut some = [0; 65_536];
    while !String::from_utf8_lossy(&heard)
        .replace('\r', "")
        .split_once("\n\n")
        .is_some_and(|(_, body)| body.contains(words))
    {
        match stream.read(&mut some).expect("it goes on") {
            0 => break,
            length => heard.extend(&some[..length]),
        }
    }
    String::from_utf8_lossy(&heard).into_owned()
}

#[test]
fn metrics_listen_only_when_configured() {
    let net = Net::with_filterd("");
    assert!(caller(&net).is_none());
    net.configure(CONFIG);
    net.filterd(["reload"]).succeeds();
    until(|| caller(&net).is_some(), "somebody listens");
    let (mut stream, first) = follower(&net);
    assert!(first.contains("\"sentence\":\"Working as configured"), "{first}");
    // What else a reload changes disturbs nobody who looks.
    net.configure(&format!("{CONFIG}\nblock: [203.0.113.7]"));
    net.filterd(["reload"]).succeeds();
    assert!(heard(&mut stream, "packets from 1 target on").contains("packets from 1 target on"));
    net.configure("block: [203.0.113.7]");
    net.filterd(["reload"]).succeeds();
    until(|| caller(&net).is_none(), "nobody listens any more");
    assert!(!heard(&mut stream, "never").contains("never"), "and the stream has ended");
}

#[test]
fn taken_port_is_reported_and_used_when_free() {
    let mut net = Net::new();
    let other = net.host().inside(|| TcpListener::bind(AT)).expect("nobody listens yet");
    net.start(CONFIG);
    until(|| net.filterd(["status"]).code() == Some(7), "it is a fault");
    net.filterd(["status"])
        .exits(7)
        .says("cannot listen at `metrics.listen`, 127.0.0.1:9477")
        .says("ss -ltnp");
    drop(other);
    until(|| net.filterd(["status"]).code() == Some(0), "it goes by itself");
    assert!(answer(&net, "GET /").starts_with("HTTP/1.1 200"));
}

#[test]
fn listening_addresses_are_reported_by_reach() {
    const ALL: &str = "metrics: {listen: ['0.0.0.0:9477', '[::]:9477', '127.0.0.1:9478']}";
    let mut net = Net::new();
    let reaches = |net: &Net, at: &str| net.host().inside(|| TcpStream::connect(at).is_ok());
    let other = net.host().inside(|| TcpListener::bind("127.0.0.1:9478")).expect("nobody listens yet");
    net.start(ALL);
    // One that is taken keeps nobody from the others, and those of all families are not in each other's way.
    until(|| net.filterd(["status"]).code() == Some(7), "it is a fault");
    net.filterd(["status"])
        .exits(7)
        .says("cannot listen at `metrics.listen`, 127.0.0.1:9478")
        .is_silent_about("`metrics.listen`, [::]:9477");
    until(|| reaches(&net, AT) && reaches(&net, "[::1]:9477"), "the others are listened at");
    drop(other);
    until(|| net.filterd(["status"]).code() == Some(0), "it goes by itself");
    assert!(reaches(&net, "127.0.0.1:9478"));
    let notes = ["http://0.0.0.0:9477/", "http://[::]:9477/"]
        .map(|address| format!("Note: {address} shows names, counters and troubles to every client"));
    let mut status = net.filterd(["status"]).succeeds();
    for note in &notes {
        status = status.says(note);
    }
    status.says("ssh -L 9477:127.0.0.1:9477 HOST").is_silent_about("http://127.0.0.1:9477/ shows");
    let file = net.file("checked.yaml", &format!("interfaces: [eth0]\n{ALL}\n"));
    net.filterd(["check".as_ref(), file.as_os_str()])
        .succeeds()
        .complains("warning: http://0.0.0.0:9477/ shows");
    let one = net.file("checked.yaml", &format!("interfaces: [eth0]\n{CONFIG}\n"));
    net.filterd(["check".as_ref(), one.as_os_str()]).succeeds().is_silent_about("to every client");
}

#[test]
fn responses_forbid_scripts_and_caching() {
    let net = Net::with_filterd(CONFIG);
    for (request, status) in [("GET /", "200"), ("GET /none", "404"), ("POST /", "405")] {
        let answer = answer(&net, request).to_ascii_lowercase();
        assert!(answer.starts_with(&format!("http/1.1 {status}")), "{answer}");
        for header in [
            "frame-ancestors 'none'",
            "default-src 'none'",
            "cache-control: no-store",
            "x-content-type-options: nosniff",
        ] {
            assert!(answer.contains(header), "{header}: {answer}");
        }
        assert!(!answer.contains("unsafe-") && !answer.contains("access-control-"), "{answer}");
    }
    let head = answer(&net, "HEAD /");
    assert!(
        head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n") && !head.contains("<html"),
        "{head}"
    );
}

#[test]
fn at_most_eight_streams_are_served() {
    let net = Net::with_filterd(CONFIG);
    let mut followers: Vec<_> = (0..STREAMS).map(|_| follower(&net)).collect();
    let (_, refused) = follower(&net);
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(answer(&net, "GET /").starts_with("HTTP/1.1 200"), "the page itself is to be had");
    followers.pop();
    until(|| follower(&net).1.starts_with("HTTP/1.1 200"), "there is a place again");
}

#[test]
fn stalled_stream_blocks_no_other_caller() {
    let mut net = Net::new();
    // To read so many files takes its time.
    net.home().be_patient();
    let mut config = format!("{CONFIG}\nlists:\n");
    for list in 0..200 {
        net.file(&format!("list-{list}.txt"), "192.0.2.1\n");
        writeln!(config, "- {{name: list-{list}, path: $HOME/list-{list}.txt}}").expect("it is text");
    }
    net.start(&config);
    let deaf: Vec<_> = (0..STREAMS)
        .map(|_| {
            let caller = asking(&net, "GET /live");
            setsockopt(&caller, sockopt::RcvBuf, &4096).expect("it may be small");
            caller
        })
        .collect();
    until(|| follower(&net).1.starts_with("HTTP/1.1 503"), "they have all the places");
    until(|| follower(&net).1.starts_with("HTTP/1.1 200"), "somebody who reads has one of theirs");
    drop(deaf);
}

#[test]
fn silent_callers_do_not_block_the_page() {
    let net = Net::with_filterd(CONFIG);
    let silent: Vec<_> = (0..2 * CONNECTIONS).map(|_| caller(&net).expect("somebody listens")).collect();
    assert!(answer(&net, "GET /").starts_with("HTTP/1.1 200"), "those who say nothing make room");
    drop(silent);
}

#[test]
fn health_answers_under_a_thousand_idle_connections() {
    let net = Net::with_filterd(CONFIG);
    setrlimit(Resource::RLIMIT_NOFILE, 4096, 4096).expect("root may have more descriptors");
    let mut idle: Vec<_> = (0..1000).map(|_| caller(&net).expect("somebody listens")).collect();
    for _ in 0..10 {
        answers_health_at_once(&net);
    }
    // 70 that stay, and 8 new ones between two questions.
    idle.truncate(70);
    for _ in 0..30 {
        idle.extend((0..8).map(|_| caller(&net).expect("somebody listens")));
        answers_health_at_once(&net);
    }
}

/// Within the second that a supervisor waits.
#[track_caller]
fn answers_health_at_once(net: &Net) {
    let begun = Instant::now();
    let told = answer(net, "GET /healthz");
    assert!(told.starts_with("HTTP/1.1 200"), "{told}");
    assert!(begun.elapsed() < Duration::from_secs(1), "it took {:?}", begun.elapsed());
}

#[test]
fn slow_request_is_disconnected() {
    let net = Net::with_filterd(CONFIG);
    let mut slow = caller(&net).expect("somebody listens");
    slow.set_read_timeout(Some(Duration::from_millis(200))).expect("it is a socket");
    let begun = Instant::now();
    slow.write_all(b"GET / HTTP/1.1\r\nX: ").expect("somebody reads");
    let is_there = |slow: &mut TcpStream| match slow.read(&mut [0; 64]) {
        Ok(length) => length > 0,
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    };
    while is_there(&mut slow) {
        assert!(begun.elapsed() < SOON, "each byte gives him more time");
        _ = slow.write_all(b"x");
    }
}

/// Whoever supervises it, and whoever looks, is to hear of it.
#[test]
fn hanging_broker_is_reported_to_http_callers() {
    let net = Net::with_filterd(CONFIG);
    assert!(answer(&net, "GET /healthz").starts_with("HTTP/1.1 200"));
    let broker = Pid::from_raw(i32::try_from(keeper_of(net.daemon().id())).expect("process ids are small"));
    kill(broker, Signal::SIGSTOP).expect("it runs");
    // The owner waits for what it was asked.
    net.filterd(["add", ATTACKER, "--timeout", "1s"]).exits(6);
    for path in ["/healthz", "/readyz", "/metrics"] {
        let told = answer(&net, &format!("GET {path}"));
        assert!(told.starts_with("HTTP/1.1 503"), "{path}: {told}");
    }
    assert!(answer(&net, "GET /").starts_with("HTTP/1.1 200"), "the page says that nobody answers");
    kill(broker, Signal::SIGCONT).expect("it runs still");
    until(|| answer(&net, "GET /healthz").starts_with("HTTP/1.1 200"), "it goes on");
    net.expect(ATTACKER).then_within(SOON).dropped();
}
