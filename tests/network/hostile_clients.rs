//! Clients that mean harm, or mean nothing: the others do not notice them.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use harness::{ATTACKER, Net};

#[test]
fn binary_junk_is_answered_or_cut_off() {
    let net = Net::with_filterd("");
    for junk in JUNK {
        // The other end may close before all is written; that is an answer, too.
        let mut client = connect(&net);
        let _ = client.write_all(junk);
        let _ = client.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer);
        works(&net);
    }
}

#[test]
fn gigabyte_line_is_cut_off_early() {
    let net = Net::with_filterd("");
    let before = resident_kilobytes(&net);
    let mut client = connect(&net);
    client.set_write_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    let chunk = vec![b'a'; 1 << 20];
    let swallowed = (0..1024).take_while(|_| client.write_all(&chunk).is_ok()).count();
    assert!(swallowed < 64, "{swallowed} MiB of one line were swallowed");
    works(&net);
    let grown = resident_kilobytes(&net).saturating_sub(before);
    assert!(grown < 32 << 10, "filterd grew by {grown} KiB");
}

#[test]
fn silent_clients_delay_nobody() {
    let net = Net::with_filterd("");
    let silent: Vec<UnixStream> = (0..64).map(|_| connect(&net)).collect();
    works(&net);
    drop(silent);
    works(&net);
}

#[test]
fn clients_that_never_read_delay_nobody() {
    let net = Net::with_filterd("");
    let mut deaf: Vec<UnixStream> = (0..8).map(|_| connect(&net)).collect();
    for client in &mut deaf {
        client.set_nonblocking(true).expect("a socket can be made so");
        let asking = b"{\"method\":\"io.filterd.Status\",\"parameters\":{}}\n".repeat(10_000);
        let _ = client.write(&asking);
    }
    works(&net);
}

#[test]
fn many_clients_at_once_are_all_served() {
    let net = Net::with_filterd("");
    let home = net.home();
    thread::scope(|scope| {
        for client in 0..16 {
            scope.spawn(move || {
                for turn in 0..8 {
                    home.filterd(["add", &format!("198.18.{client}.{turn}")]).succeeds();
                }
            });
        }
    });
    assert_eq!(net.filterd(["list", "--json"]).succeeds().json_lines().len(), 16 * 8);
    net.expect("198.18.15.7").dropped();
}

#[test]
fn client_that_disconnects_mid_request_changes_nothing() {
    let net = Net::with_filterd("");
    let mut client = connect(&net);
    let half = b"{\"method\":\"io.filterd.Add\",\"parameters\":{\"targets\":[\"203.0.113.7\"]";
    client.write_all(half).expect("somebody listens");
    drop(client);
    works(&net);
    net.expect(ATTACKER).passes();
}

#[test]
fn strangers_on_the_machine_may_not_ask() {
    let net = Net::with_filterd("");
    let stranger = net.home().filterd_as(NOBODY, ["add", ATTACKER]);
    stranger.exits(6).complains("control.sock").complains("ermi");
    net.expect(ATTACKER).passes();
    let mode = std::fs::metadata(net.home().socket()).expect("filterd listens").permissions().mode();
    assert_eq!(mode & 0o7777, 0o660);
}

#[test]
fn a_request_of_the_wrong_shape_is_explained() {
    let net = Net::with_filterd("");
    for wrong in [
        "{}",
        "[]",
        "null",
        "{\"method\":\"io.filterd.Explode\",\"parameters\":{}}",
        "{\"method\":\"io.filterd.Add\",\"parameters\":{\"targets\":7}}",
        "{\"method\":\"io.filterd.Add\",\"parameters\":{\"targets\":[],\"evil\":1}}",
    ] {
        let answer = say(&net, wrong);
        assert!(
            answer.contains("\"error\":\"io.filterd.InvalidRequest\""),
            "{wrong} was answered by {answer}"
        );
    }
    let answer =
        say(&net, "{\"method\":\"io.filterd.Add\",\"parameters\":{\"targets\":[\"203.0.113.300\"]}}");
    assert!(answer.contains("\"error\":\"io.filterd.Unparsable\""), "{answer}");
}

/// The user who owns nothing.
const NOBODY: u32 = 65534;

const JUNK: [&[u8]; 7] = [
    b"\n",
    b"\n\n\n\n",
    b"\0\0\0\0\n",
    b"\xff\xfe\xfd\n",
    b"GET / HTTP/1.1\r\nHost: filterd\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    &[b'['; 500_000],
];

fn connect(net: &Net) -> UnixStream {
    UnixStream::connect(net.home().socket()).expect("filterd listens")
}

/// One line to the daemon, and its one-line answer.
fn say(net: &Net, line: &str) -> String {
    let mut client = connect(net);
    client.write_all(line.as_bytes()).expect("somebody listens");
    client.write_all(b"\n").expect("somebody listens");
    client.shutdown(std::net::Shutdown::Write).expect("enough was said");
    let mut answer = String::new();
    client.read_to_string(&mut answer).expect("an answer");
    answer
}

#[track_caller]
fn works(net: &Net) {
    net.filterd(["ping"]).succeeds();
    net.filterd(["add", "198.18.0.1"]).succeeds();
    net.expect("198.18.0.1").dropped();
    net.filterd(["remove", "198.18.0.1"]).succeeds();
    net.expect("198.18.0.1").passes();
}

fn resident_kilobytes(net: &Net) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", net.daemon().id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("every process has it");
    line.trim_end_matches("kB").trim().parse().expect("a number")
}
