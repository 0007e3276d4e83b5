//! Tests the server with good and bad clients. A task plays the owner of the state.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use filter_common::target::Target;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Interest};
use tokio::net::UnixStream;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::wire::test::Tested;
use super::wire::{Changed, Entry, Failure, LONGEST_LINE, list, ping, test};
use super::*;
use crate::text::Explanation;

const PING: &[u8] = b"{\"method\":\"io.filterd.Ping\",\"parameters\":{}}\n";
const LIST: &[u8] = b"{\"method\":\"io.filterd.List\",\"parameters\":{}}\n";

/// A daemon that listens in a temporary directory.
struct Daemon {
    path: PathBuf,
    server: JoinHandle<()>,
    reloads: Arc<Reloads>,
    _place: tempfile::TempDir,
}

/// Reloads that end when the test lets them.
struct Reloads {
    /// A permit for each reload that has begun.
    begun: Semaphore,
    /// A permit for each reload that may end.
    may_end: Semaphore,
}

impl Reloads {
    fn new() -> Arc<Self> {
        Arc::new(Self { begun: Semaphore::new(0), may_end: Semaphore::new(0) })
    }

    async fn reload(&self) {
        self.begun.add_permits(1);
        self.may_end.acquire().await.unwrap().forget();
    }
}

impl Daemon {
    /// A daemon whose list has this many addresses.
    fn knowing(addresses: u32, limits: ClientLimits) -> Self {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("control.sock");
        let (calls, mut called) = mpsc::channel::<Call>(16);
        let server = Server::listen(&path).unwrap().with_limits(limits);
        let reloads = Reloads::new();
        let those = reloads.clone();
        tokio::spawn(async move {
            while let Some(call) = called.recv().await {
                // A slow request of one client must not keep the owner from others in this test.
                tokio::spawn(answer(call, addresses, those.clone()));
            }
        });
        Self { path, server: tokio::spawn(server.serve(calls)), reloads, _place: place }
    }

    fn new() -> Self {
        Self::knowing(0, ClientLimits::default())
    }

    /// A daemon that sends the events of `watching`.
    fn watched(watching: Watching) -> Self {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("control.sock");
        let (calls, mut called) = mpsc::channel::<Call>(16);
        let server = Server::listen(&path).unwrap().with_watching(watching);
        tokio::spawn(async move { while called.recv().await.is_some() {} });
        Self { path, server: tokio::spawn(server.serve(calls)), reloads: Reloads::new(), _place: place }
    }

    async fn client(&self) -> TestClient {
        TestClient(BufReader::new(UnixStream::connect(&self.path).await.unwrap()))
    }
}

async fn answer(call: Call, addresses: u32, reloads: Arc<Reloads>) {
    match call {
        Call::Add(asked) => changed(asked.request.targets.len(), asked.reply),
        Call::Remove(asked) => changed(asked.request.targets.len(), asked.reply),
        Call::Allow(asked) => changed(asked.request.targets.len(), asked.reply),
        Call::Disallow(asked) => changed(asked.request.targets.len(), asked.reply),
        Call::Test(PendingRequest { request, reply }) => {
            let tested = |target: &filter_common::target::Target| Tested {
                address: target.to_string(),
                ..Tested::default()
            };
            give(
                reply,
                Ok(test::Reply {
                    tested: request.targets.iter().map(tested).collect(),
                    ..test::Reply::default()
                }),
            );
        }
        Call::List(PendingRequest { request, reply }) => {
            let first = request.after.map_or(0, |after| number(after.target) + 1);
            let entries: Vec<_> = (first..addresses).take(request.most).map(entry).collect();
            let last = entries.last().filter(|_| entries.len() == request.most);
            let next =
                last.map(|entry| list::PagePosition { end: None, target: entry.target.parse().unwrap() });
            give(reply, Ok(list::Reply { entries, next }));
        }
        Call::Flush(asked) => {
            let why = Explanation::new("not that list", "another one");
            give(asked.reply, Err(Failure::Refused(why)));
        }
        Call::Reload(asked) => {
            reloads.reload().await;
            give(asked.reply, Ok(wire::reload::Reply::default()));
        }
        Call::Confirm(asked) => give(asked.reply, Ok(wire::confirm::Reply::default())),
        Call::Rollback(asked) => give(asked.reply, Ok(wire::rollback::Reply::default())),
        Call::Diff(asked) => give(asked.reply, Ok(wire::diff::Reply::default())),
        Call::Pause(asked) => give(asked.reply, Ok(wire::pause::Reply::default())),
        Call::Resume(asked) => give(asked.reply, Ok(wire::resume::Reply::default())),
        Call::Ping(PendingRequest { reply, .. }) => give(reply, Ok(pong())),
        Call::HandOver(PendingRequest { reply, .. }) => give(reply, Ok(pong())),
        Call::TakeOver(PendingRequest { reply, .. }) => {
            give(reply, Err(Failure::Unavailable("not here".into())))
        }
        Call::Ack(asked) => give(asked.reply, Ok(wire::ack::Reply::default())),
        Call::Import(_)
        | Call::Status(_)
        | Call::Stats(_)
        | Call::Snapshot(_)
        | Call::Lists(_)
        | Call::Watch(_)
        | Call::Refresh(_) => {
            unreachable!("nobody asks for it here")
        }
    }
}

fn give<T>(reply: oneshot::Sender<Result<T, Failure>>, answered: Result<T, Failure>) {
    // A client may have disconnected meanwhile.
    let _ = reply.send(answered);
}

fn changed(named: usize, reply: oneshot::Sender<Result<Changed, Failure>>) {
    let named = named as u64;
    give(reply, Ok(Changed { named, changed: named, entered: named, ..Changed::default() }));
}

fn pong() -> ping::Reply {
    ping::Reply { version: wire::VERSION, pid: 1 }
}

fn entry(number: u32) -> Entry {
    let target = Target::from(std::net::Ipv4Addr::from_bits(number)).to_string();
    Entry { target, list: "manual".into(), since: 0, ..Entry::default() }
}

fn number(target: Target) -> u32 {
    target.to_string().parse::<std::net::Ipv4Addr>().unwrap().to_bits()
}

/// A client that may write anything.
struct TestClient(BufReader<UnixStream>);

impl TestClient {
    async fn say(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    /// The next line, or none if the daemon has closed the connection.
    async fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        let heard = timeout(Duration::from_secs(20), self.0.read_line(&mut line));
        match heard.await.expect("the daemon neither answers nor hangs up") {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(serde_json::from_str(&line).expect("every answer is JSON")),
        }
    }

    async fn hear_error(&mut self) -> String {
        let heard = self.hear().await.expect("an answer");
        format!("{} {}", heard["error"].as_str().expect("an error"), heard["parameters"]["message"])
    }

    /// Waits without reading until the daemon closes the connection.
    async fn is_hung_up_on(&self) {
        let hung_up = async {
            while !self.0.get_ref().ready(Interest::READABLE).await.unwrap().is_read_closed() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(60), hung_up).await.expect("the daemon keeps what nobody takes");
    }

    async fn is_answered(&mut self) -> bool {
        let sent = self.0.write_all(PING).await;
        sent.is_ok() && self.hear().await.is_some_and(|pong| pong["parameters"]["pid"] == 1)
    }
}

fn impatient(line: u64, answer: u64) -> ClientLimits {
    let patience =
        ClientTimeouts { line: Duration::from_millis(line), answer: Duration::from_millis(answer) };
    ClientLimits { patience, ..ClientLimits::default() }
}

#[tokio::test]
async fn request_reaches_owner_and_reply_client() {
    let daemon = Daemon::new();
    let mut client = daemon.client().await;
    client
        .say(b"{\"method\":\"io.filterd.Add\",\"parameters\":{\"targets\":[\"10.0.0.1-10.0.0.2\"],\"ttl\":60}}\n")
        .await;
    let expected = json!({"parameters": {"named": 2, "changed": 2, "entered": 2, "left": 0}});
    assert_eq!(client.hear().await, Some(expected));
}

#[tokio::test]
async fn handover_is_void_without_its_client() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("control.sock");
    let (calls, mut called) = mpsc::channel::<Call>(16);
    tokio::spawn(Server::listen(&path).unwrap().serve(calls));
    let mut client = TestClient(BufReader::new(UnixStream::connect(&path).await.unwrap()));
    client.say(b"{\"method\":\"io.filterd.HandOver\",\"parameters\":{}}\n").await;
    let Some(Call::HandOver(PendingRequest { mut reply, .. })) = called.recv().await else {
        panic!("another request was sent")
    };
    assert!(timeout(Duration::from_millis(50), reply.closed()).await.is_err(), "it waits for the answer");
    drop(client);
    timeout(Duration::from_secs(20), reply.closed()).await.expect("the daemon would end for nobody");
}

#[tokio::test]
async fn refusals_carry_their_name_and_reason() {
    let daemon = Daemon::new();
    let mut client = daemon.client().await;
    client.say(b"{\"method\":\"io.filterd.Flush\",\"parameters\":{}}\n").await;
    let refused = json!({"message": "not that list", "remedy": "another one"});
    assert_eq!(client.hear().await, Some(json!({"error": "io.filterd.Refused", "parameters": refused})));
    client.say(b"{\"method\":\"io.filterd.Test\",\"parameters\":{\"addresses\":[\"nonsense\"]}}\n").await;
    assert!(client.hear_error().await.starts_with("io.filterd.Unparsable \"`nonsense` is a host name"));
}

#[tokio::test]
async fn junk_is_answered_and_the_conversation_goes_on() {
    let daemon = Daemon::new();
    let mut client = daemon.client().await;
    for junk in [&b"\n"[..], b"\0\0\0\n", b"\xff\xfe\x80{\n", b"{\"method\":7}\n", b"GET / HTTP/1.1\r\n"] {
        client.say(junk).await;
        assert!(client.hear_error().await.starts_with("io.filterd.InvalidRequest"), "{junk:?}");
    }
    assert!(client.is_answered().await);
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let daemon = Daemon::new();
    let mut client = daemon.client().await;
    let mut breath = Vec::new();
    for count in 1..=100 {
        let targets = vec!["203.0.113.7"; count];
        let add = json!({"method": "io.filterd.Add", "parameters": {"targets": targets}});
        breath.extend(format!("{add}\n").bytes());
    }
    client.say(&breath).await;
    for count in 1..=100 {
        assert_eq!(client.hear().await.unwrap()["parameters"]["named"], count);
    }
}

#[tokio::test]
async fn waiting_client_delays_no_other() {
    let daemon = Daemon::new();
    let (mut slow, mut quick) = (daemon.client().await, daemon.client().await);
    slow.say(b"{\"method\":\"io.filterd.Reload\",\"parameters\":{}}\n").await;
    daemon.reloads.begun.acquire().await.unwrap().forget();
    assert!(quick.is_answered().await);
    daemon.reloads.may_end.add_permits(1);
    assert!(slow.hear().await.is_some());
}

#[tokio::test]
async fn too_long_line_is_refused_early() {
    let daemon = Daemon::new();
    let mut client = daemon.client().await;
    let (read, mut write) = client.0.get_mut().split();
    let endless = async {
        // Far more than the daemon buffers; it closes the connection in between.
        for _ in 0..64 {
            if write.write_all(&vec![b'x'; LONGEST_LINE]).await.is_err() {
                return;
            }
        }
        panic!("the daemon took 64 MiB of one line");
    };
    let mut answer = String::new();
    let heard = async { BufReader::new(read).read_line(&mut answer).await };
    let _ = tokio::join!(endless, heard);
    assert!(answer.contains("io.filterd.InvalidRequest") && answer.contains("longer than"), "{answer}");
    assert!(daemon.client().await.is_answered().await);
}

#[tokio::test]
async fn longest_allowed_line_is_accepted() {
    let daemon = Daemon::new();
    let mut client = daemon.client().await;
    let mut line = PING.trim_ascii_end().to_vec();
    line.resize(LONGEST_LINE, b' ');
    line.push(b'\n');
    client.say(&line).await;
    assert_eq!(client.hear().await.unwrap()["parameters"]["pid"], 1);
}

#[tokio::test]
async fn half_closed_client_still_gets_its_answer() {
    let daemon = Daemon::new();
    let mut client = daemon.client().await;
    client.say(PING.trim_ascii_end()).await;
    client.0.shutdown().await.unwrap();
    assert_eq!(client.hear().await.unwrap()["parameters"]["pid"], 1);
    assert_eq!(client.hear().await, None);
}

#[tokio::test]
async fn long_list_arrives_in_bounded_lines() {
    let many = 3 * list::PAGE as u32 + 17;
    let daemon = Daemon::knowing(many, ClientLimits::default());
    let mut client = daemon.client().await;
    client.say(LIST).await;
    let mut seen = 0;
    loop {
        let page = client.hear().await.unwrap();
        for listed in page["parameters"]["entries"].as_array().unwrap() {
            assert_eq!(listed["target"], entry(seen).target);
            seen += 1;
        }
        if page["continues"] != true {
            break;
        }
    }
    assert_eq!(seen, many);
    assert!(client.is_answered().await);
}

#[tokio::test]
async fn list_with_full_last_page_ends() {
    for addresses in [0, 1, list::PAGE as u32, 2 * list::PAGE as u32] {
        let daemon = Daemon::knowing(addresses, ClientLimits::default());
        let mut client = daemon.client().await;
        client.say(LIST).await;
        let mut seen = 0;
        loop {
            let page = client.hear().await.unwrap();
            seen += page["parameters"]["entries"].as_array().unwrap().len();
            if page["continues"] != true {
                break;
            }
        }
        assert_eq!(seen, addresses as usize);
    }
}

#[tokio::test]
async fn half_line_times_out_but_silence_does_not() {
    let daemon = Daemon::knowing(0, impatient(50, 10_000));
    let (mut silent, mut halting) = (daemon.client().await, daemon.client().await);
    halting.say(b"{\"method\":").await;
    assert!(halting.hear_error().await.contains("did not end within 50ms"));
    assert_eq!(halting.hear().await, None);
    assert!(silent.is_answered().await);
}

#[tokio::test]
async fn client_that_reads_nothing_is_dropped() {
    let daemon = Daemon::knowing(1_000_000, impatient(10_000, 100));
    let mut deaf = daemon.client().await;
    deaf.say(LIST).await;
    deaf.is_hung_up_on().await;
    // Far more than sockets buffer was due, but the daemon closed the connection instead of keeping it.
    let mut taken = Vec::new();
    _ = deaf.0.read_to_end(&mut taken).await;
    assert!(taken.len() < 4 << 20, "{}", taken.len());
    assert!(daemon.client().await.is_answered().await);
}

#[tokio::test]
async fn silent_clients_make_room_for_those_who_speak() {
    let daemon = Daemon::knowing(0, ClientLimits { clients: 4, ..ClientLimits::default() });
    let mut good = daemon.client().await;
    assert!(good.is_answered().await);
    let mut silent = Vec::new();
    for _ in 0..3 {
        silent.push(daemon.client().await);
    }
    for _ in 0..50 {
        // A client that sends something is the last to be disconnected.
        assert!(good.is_answered().await);
        silent.push(daemon.client().await);
        assert!(silent.last_mut().unwrap().is_answered().await);
    }
    assert!(!silent[0].is_answered().await, "the first silent one had to go");
}

#[tokio::test]
async fn client_beyond_the_limit_is_told_to_retry() {
    let daemon = Daemon::knowing(0, ClientLimits { clients: 2, ..ClientLimits::default() });
    let (mut one, mut two) = (daemon.client().await, daemon.client().await);
    for client in [&mut one, &mut two] {
        client.say(b"{\"method\":\"io.filterd.Reload\",\"parameters\":{}}\n").await;
    }
    daemon.reloads.begun.acquire_many(2).await.unwrap().forget();
    assert!(daemon.client().await.hear_error().await.starts_with("io.filterd.Unavailable"));
    daemon.reloads.may_end.add_permits(2);
    assert!(one.hear().await.is_some() && two.hear().await.is_some());
    assert!(daemon.client().await.is_answered().await);
}

#[tokio::test]
async fn ended_owner_is_reported() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("control.sock");
    let (calls, called) = mpsc::channel(1);
    drop(called);
    let _server = tokio::spawn(Server::listen(&path).unwrap().serve(calls));
    let mut client = TestClient(BufReader::new(UnixStream::connect(&path).await.unwrap()));
    client.say(PING).await;
    assert_eq!(client.hear_error().await, "io.filterd.Unavailable \"filterd is stopping\"");
}

#[tokio::test]
async fn ended_server_hangs_up_and_removes_socket() {
    let daemon = Daemon::new();
    let mut client = daemon.client().await;
    assert!(client.is_answered().await);
    assert_eq!(fs::metadata(&daemon.path).unwrap().mode() & 0o777, 0o660);
    daemon.server.abort();
    assert_eq!(client.hear().await, None);
    assert!(!daemon.path.exists());
}

#[tokio::test]
async fn slow_watcher_learns_its_losses() {
    const EVENTS: u64 = 20_000;
    let watching = Watching::default();
    let daemon = Daemon::watched(watching.clone());
    let mut slow = daemon.client().await;
    slow.say(b"{\"method\":\"io.filterd.Watch\",\"parameters\":{\"changes\":true}}\n").await;
    assert_eq!(slow.hear().await.unwrap()["parameters"], json!({"version": 1}));
    let event = |at| wire::watch::Event { at, what: "x".repeat(500), ..Default::default() };
    for at in 0..EVENTS {
        watching.tell(|| event(at));
        // The session gets a turn now and then, and fills the buffer of the socket.
        if at % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let (mut told, mut lost) = (0, 0);
    while told + lost < EVENTS {
        let line = slow.hear().await.unwrap()["parameters"].take();
        lost += line["lost"].as_u64().unwrap_or_default();
        assert_eq!(line["event"]["at"], told + lost, "in order, and all before it told or counted");
        told += 1;
    }
    assert!(lost > 0 && told > 1024, "{told} told, {lost} lost");
}
