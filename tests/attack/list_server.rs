//! A hostile list server: whatever it sends in place of a list is refused, and what was in force stays dropped.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use harness::{ATTACKER, Asked, BYSTANDER, HOST, Net, SOON, Web, Where};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::fetching::site::gzip;

/// Where it is, for everybody to reach.
const SERVER: &str = "9.9.9.9";

/// Where it likes to lead.
const ACCOMPLICE: &str = "9.9.9.10";

/// Entries of each list before its server turns hostile: so few may become fewer, as far as counts go.
const ENTRIES: usize = 60;

/// What the server does to one list.
struct Mood {
    name: &'static str,
    answer: Answer,
    refusal: Refusal,
    /// The operator reads this.
    why: &'static str,
}

enum Answer {
    /// All of it, from the status line on.
    Words(&'static str),
    /// It leads there.
    To(&'static str),
    /// With status 200 and its length.
    Body(&'static str),
    /// The same, called this.
    Typed(&'static str, &'static str),
    /// The same in bytes, with these headers.
    Bytes(&'static str, fn() -> Vec<u8>),
    /// As it likes.
    Act(fn(&mut dyn Write)),
}

#[derive(Clone, Copy)]
enum Refusal {
    /// Nothing came, or not all of it.
    NotFetched,
    /// Something came, and it is not believed.
    HeldBack,
}

use Answer::{Act, Body, Bytes, To, Typed, Words};
use Refusal::{HeldBack, NotFetched};

const fn mood(name: &'static str, answer: Answer, refusal: Refusal, why: &'static str) -> Mood {
    Mood { name, answer, refusal, why }
}

const LIST_AND_206: &str = "HTTP/1.1 206 Partial Content\r\nContent-Length: 12\r\n\r\n203.0.113.7\n";
const LIST_AND_403: &str = "HTTP/1.1 403 Forbidden\r\nContent-Length: 12\r\n\r\n203.0.113.7\n";

const MOODS: [Mood; 67] = [
    // It refuses.
    mood("no-content", Words("HTTP/1.1 204 No Content\r\n\r\n"), NotFetched, "the server answered 204"),
    mood("partial", Words(LIST_AND_206), NotFetched, "the server answered 206"),
    mood("unasked-304", Words("HTTP/1.1 304 Not Modified\r\n\r\n"), NotFetched, "the server answered 304"),
    mood("unauthorized", Words("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"), NotFetched, "401"),
    mood("forbidden", Words(LIST_AND_403), NotFetched, "the server answered 403"),
    mood("not-found", Words("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"), NotFetched, "404"),
    mood("gone", Words("HTTP/1.1 410 No\r\nContent-Length: 0\r\n\r\n"), NotFetched, "410"),
    mood(
        "too-many",
        Words("HTTP/1.1 429 No\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"),
        NotFetched,
        "429",
    ),
    mood("broken", Words("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"), NotFetched, "500"),
    mood("unavailable", Words("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"), NotFetched, "503"),
    mood("captive", Words("HTTP/1.1 511 Login\r\nContent-Length: 0\r\n\r\n"), NotFetched, "511"),
    mood("status-999", Words("HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n"), NotFetched, "999"),
    // It leads elsewhere.
    mood("round", To("/round"), NotFetched, "after too many redirects"),
    mood("to-file", To("file:///etc/shadow"), NotFetched, "which is not an http or https address"),
    mood("to-ftp", To("ftp://9.9.9.9/list"), NotFetched, "which is not an http or https address"),
    mood(
        "to-nowhere",
        Words("HTTP/1.1 301 No\r\nContent-Length: 0\r\n\r\n"),
        NotFetched,
        "redirects to `nowhere`",
    ),
    mood("to-mail", To("http://9.9.9.9:25/"), NotFetched, "at a port that is neither 80 nor 443"),
    mood("to-private", To("http://10.9.9.9/"), NotFetched, "a private address"),
    mood("to-loopback", To("http://127.0.0.1/"), NotFetched, "an address of this host"),
    mood("to-loopback6", To("http://[::1]/"), NotFetched, "an address of this host"),
    mood("to-metadata", To("http://169.254.169.254/latest/"), NotFetched, "a link-local address"),
    mood("to-mapped", To("http://[::ffff:10.9.9.9]/"), NotFetched, "a private address"),
    mood("to-translated", To("http://[64:ff9b::a9fe:a9fe]/"), NotFetched, "a link-local address"),
    mood("to-loopback-net", To("http://127.9.9.9/"), NotFetched, "a loopback address"),
    mood("to-host", To("http://198.19.255.1/"), NotFetched, "an address of this host"),
    mood("to-user", To("http://root:pw@9.9.9.10/"), NotFetched, "which is not an http or https address"),
    // It does not keep its word.
    mood("short", Words("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n1.2.3.4\n"), NotFetched, "broke off"),
    mood(
        "surplus",
        Words("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n1.2.3.4\n1.2.3.5\n"),
        NotFetched,
        "more than the size",
    ),
    mood("untold", Words("HTTP/1.0 200 OK\r\n\r\n1.2.3.4\n1.2.3.1"), NotFetched, "told no size"),
    mood(
        "cut-chunk",
        Words("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n1.2.3.4\n"),
        NotFetched,
        "broke off",
    ),
    mood(
        "no-last-chunk",
        Words("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n1.2.3.4\n\r\n"),
        NotFetched,
        "broke off",
    ),
    mood(
        "bad-length",
        Words("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n1.2.3.4\n"),
        NotFetched,
        "is malformed",
    ),
    mood("mail", Words("220 mail.example ESMTP ready\r\n\r\n"), NotFetched, "is malformed"),
    mood("silent-end", Words(""), NotFetched, "broke off"),
    mood("half-head", Words("HTTP/1.1 200 OK\r\nContent-Le"), NotFetched, "broke off"),
    mood("huge-head", Act(send_huge_head), NotFetched, "is malformed"),
    mood(
        "brotli",
        Bytes("Content-Encoding: br\r\n", || b"\x0b\x03\x80".to_vec()),
        NotFetched,
        "compressed as `br`",
    ),
    mood("no-gzip", Bytes("Content-Encoding: gzip\r\n", || b"1.2.3.4\n".to_vec()), NotFetched, "broke off"),
    mood("cut-gzip", Bytes("Content-Encoding: gzip\r\n", cut_gzip), NotFetched, "broke off"),
    mood(
        "gzip-bomb",
        Bytes("Content-Encoding: gzip\r\n", || gzip(&vec![b'\n'; 50 << 20])),
        NotFetched,
        "larger than",
    ),
    mood("too-large", Bytes("", || vec![b'\n'; 2 << 20]), NotFetched, "larger than"),
    mood("endless", Act(send_for_ever), NotFetched, "larger than"),
    mood("slow", Act(drip), NotFetched, "took longer than"),
    mood("silent", Act(|_| sleep(Duration::from_secs(60))), NotFetched, "took longer than"),
    // It sends a page.
    mood(
        "page",
        Body("<!DOCTYPE html>\n<title>Sign in</title>\n"),
        HeldBack,
        "`<!DOCTYPE html> <title>Sign in</title>`",
    ),
    mood(
        "page-of-addresses",
        Body("<html><pre>\n203.0.113.7\n198.51.100.7\n</pre></html>\n"),
        HeldBack,
        "it looks like HTML",
    ),
    mood("login", To("/sign-in"), HeldBack, "it looks like HTML"),
    mood(
        "warning",
        Body("<br />\n<b>Notice</b>: in list.php\n203.0.113.7\n"),
        HeldBack,
        "it looks like HTML",
    ),
    mood(
        "xml",
        Body("<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>"),
        HeldBack,
        "it looks like HTML",
    ),
    mood(
        "json-error",
        Body(r#"{"status":"error","ip":"203.0.113.7"}"#),
        HeldBack,
        "one JSON object that reports an error",
    ),
    mood(
        "json-many-lines",
        Body("{\n \"error\": \"quota\",\n \"ip\": \"203.0.113.7\"\n}\n"),
        HeldBack,
        "reports an error",
    ),
    mood("json-array", Body(r#"["203.0.113.7"]"#), HeldBack, "it looks like JSON"),
    mood("own-address", Body("198.19.255.1\n"), HeldBack, "an address of this host"),
    mood("own-address-json", Body(r#"{"ip":"198.19.255.1"}"#), HeldBack, "an address of this host"),
    mood(
        "called-a-page",
        Typed("text/html; charset=UTF-8", "203.0.113.7\n"),
        HeldBack,
        "calls it a web page",
    ),
    mood(
        "called-a-problem",
        Typed("application/problem+json", "203.0.113.7\n"),
        HeldBack,
        "calls it a web page",
    ),
    mood(
        "sentence",
        Body("Access denied. Your address is\n203.0.113.7\nGood bye\n"),
        HeldBack,
        "not understood",
    ),
    // It sends bytes.
    mood("zeros", Bytes("", || vec![0; 5000]), HeldBack, "it looks binary"),
    mood(
        "picture",
        Bytes("Content-Type: image/png\r\n", || b"\x89PNG\r\n\x1a\n\0\0\0".to_vec()),
        HeldBack,
        "not understood",
    ),
    mood("archive", Bytes("", || b"PK\x03\x04\x14\0\0\0".to_vec()), HeldBack, "it looks compressed"),
    mood("one-line", Bytes("", || vec![b'1'; 1 << 19]), HeldBack, "not understood"),
    // It sends a list, of a kind.
    mood("empty", Body(""), HeldBack, "is empty, but had 60 targets before"),
    mood("comments", Body("# nothing today\n"), HeldBack, "is empty, but had 60 targets before"),
    mood("everything", Body("0.0.0.0/0\n::/0\n0.0.0.0/1\n128.0.0.0/1\n"), HeldBack, "not understood"),
    mood(
        "own-networks",
        Body("10.0.0.0/8\n127.0.0.0/8\n192.168.0.0/16\n"),
        HeldBack,
        "is empty, but had 60 targets before",
    ),
    mood("shrunk", Bytes("", || list_of(99).into_bytes()), HeldBack, "has 99 targets, but had 200 before"),
    mood(
        "cut-line",
        Bytes("", cut_list),
        HeldBack,
        "ends in the middle of a line: it has 49 targets, but had 60 before",
    ),
];

#[test]
fn a_hostile_list_server_changes_nothing() {
    let mut net = Net::new();
    net.peer().ip(&format!("addr add {SERVER}/32 dev lo"));
    let is_hostile = Arc::new(AtomicBool::new(false));
    let _web = serve(&net, SERVER, {
        let is_hostile = is_hostile.clone();
        move |asked, to| match is_hostile.load(Ordering::Relaxed) {
            true => be_hostile(asked, to),
            false => send(to, "", list_at(asked).as_bytes()),
        }
    });
    let config = config();
    net.start(&config);
    net.filterd(["lists", "refresh"]).succeeds();
    let of_each: Vec<String> = (0..MOODS.len()).map(|number| entry(number, 1)).collect();
    net.expect_each(of_each.iter().map(String::as_str)).dropped();

    is_hostile.store(true, Ordering::Relaxed);
    let told = net.filterd(["lists", "refresh", "--json"]).exits(7).json();
    assert_eq!(told["lists"].as_array().map(Vec::len), Some(MOODS.len()));
    assert!(
        !told.to_string().contains("allow_private"),
        "nobody is told to follow it into a private network"
    );
    let complaints: Vec<_> = MOODS.iter().filter_map(|mood| mood.complaint(&told)).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    let nothing_changed = |net: &Net| {
        net.expect_each(of_each.iter().map(String::as_str)).dropped();
        net.expect_each([ATTACKER, BYSTANDER, "11.200.0.1"]).passes();
    };
    nothing_changed(&net);

    // Lists that are new get nothing of it either, not even the part that could be read.
    let pages: Vec<_> = MOODS.iter().filter(|mood| mood.is_never_a_list()).collect();
    net.configure(&format!("{config}{}", pages.iter().map(|mood| mood.key("new")).collect::<String>()));
    net.filterd(["reload"]).exits(7);
    let lists = net.filterd(["lists", "--json"]).exits(7).json();
    let is_new = |list: &&Value| list["name"].as_str().is_some_and(|name| name.starts_with("new-"));
    let new: Vec<_> = lists["lists"].as_array().expect("lists").iter().filter(is_new).collect();
    assert_eq!(new.len(), pages.len());
    assert!(new.iter().all(|list| list["entries"] == 0 && !list["fault"].is_null()), "{new:?}");
    nothing_changed(&net);

    // A start reads what was sent last once more.
    net.end(Signal::SIGKILL);
    net.start(&config);
    nothing_changed(&net);
    net.filterd(["reload"]).exits(7);
    nothing_changed(&net);

    is_hostile.store(false, Ordering::Relaxed);
    net.filterd(["lists", "refresh"]).succeeds();
    net.filterd(["status"]).succeeds();
    nothing_changed(&net);
}

#[test]
fn repeatedly_halved_list_is_held_back() {
    let mut net = Net::new();
    net.peer().ip(&format!("addr add {SERVER}/32 dev lo"));
    let _web = serve(&net, SERVER, |asked, to| {
        let entries = asked.path.trim_start_matches("/list-").parse().unwrap_or(0);
        send(to, "", list_of(entries).as_bytes());
    });
    // One list; its server would say something else under the same address.
    let config = |entries: usize| {
        format!("lists: [{{name: drop, url: 'http://{SERVER}/list-{entries}', refresh: 1h}}]")
    };
    let becomes = |net: &Net, entries: usize| {
        net.configure(&config(entries));
        // What was fetched from elsewhere stays until this has come.
        net.filterd(["reload"]).code();
        net.filterd(["lists", "refresh", "drop"])
    };
    net.start(&config(4000));
    net.filterd(["lists", "refresh"]).succeeds();
    becomes(&net, 2001).succeeds();
    let lists = net.filterd(["lists", "--json"]).succeeds();
    lists.has(json!({"lists": [{"name": "drop", "entries": 2001, "largest": 4000}]}));
    net.filterd(["lists"]).succeeds().says("drop: 2,001 entries, 4,000 at most within the last 7 days");
    let why = "has 1001 targets, but had 2001 before and 4000 within the last 7 days";
    becomes(&net, 1001).exits(7).complains(why).complains("filterd reload --accept drop");
    // The next start knows it, too.
    net.end(Signal::SIGKILL);
    net.start(&config(1001));
    net.filterd(["status"]).exits(7).says(why);
    let (file, state) = (net.home().path("filterd.yaml"), net.home().path("state"));
    let words = [&*file, "--state-dir".as_ref(), &*state].map(Path::as_os_str);
    let check = || net.filterd(["check".as_ref()].into_iter().chain(words));
    net.host().entered(check).exits(7).complains(why);
    net.expect(list_entry(2000).as_str()).dropped();
    // Who accepts it accepts its length.
    net.filterd(["reload", "--accept", "drop"]).succeeds();
    net.expect(list_entry(2000).as_str()).passes();
    becomes(&net, 501).succeeds();
    net.end(Signal::SIGKILL);
    net.start(&config(501));
    net.filterd(["lists", "--json"]).succeeds().has(json!({"lists": [{"name": "drop", "largest": 1001}]}));
    // Its file is as it was, and yet it is accepted.
    net.filterd(["reload", "--accept", "drop"]).succeeds();
    net.end(Signal::SIGKILL);
    net.start(&config(501));
    net.filterd(["lists"]).succeeds().is_silent_about("within the last 7 days");
    becomes(&net, 251).succeeds();
}

/// Nobody sells protection by serving a list.
#[test]
fn servers_of_lists_give_way_to_the_operator() {
    let mut net = Net::new();
    for server in [SERVER, ACCOMPLICE] {
        net.peer().ip(&format!("addr add {server}/32 dev lo"));
    }
    let list = format!("{SERVER}\n{ACCOMPLICE}\n{ATTACKER}\n");
    let _web = serve(&net, SERVER, move |_, to| lead(to, &format!("http://{ACCOMPLICE}/list")));
    let _other = serve(&net, ACCOMPLICE, move |_, to| send(to, "", list.as_bytes()));
    let config = format!("lists: [{{name: drop, url: 'http://{SERVER}/list', refresh: 1h}}]");
    net.start(&config);
    net.filterd(["lists", "refresh"]).succeeds();
    // The host that the configuration names is guarded against lists, and where it leads to is not.
    net.expect(SERVER).then_within(SOON).passes();
    net.expect_each([ACCOMPLICE, ATTACKER]).dropped();
    net.filterd(["allow", "list", "--list", "guard"]).succeeds().says(SERVER).is_silent_about(ACCOMPLICE);
    let blocked = format!("{SERVER} is blocked, although list \"drop\" is fetched from it");
    for target in [SERVER, "9.9.9.0/24"] {
        net.filterd(["add", target]).succeeds().complains(&blocked);
        net.expect(SERVER).dropped();
        net.end(Signal::SIGKILL);
        net.start(&config);
        net.expect(SERVER).dropped();
        // At this moment the list still names it.
        net.filterd(["remove", target]).code();
        net.expect(SERVER).then_within(SOON).passes();
    }
    // What this host needs gives way to nobody.
    net.filterd(["add", HOST]).exits(5);
    net.configure(&format!("block: [{SERVER}]\n{config}"));
    net.filterd(["reload"])
        .succeeds()
        .complains("list \"config\" blocks 9.9.9.9, although list \"drop\" is fetched");
    net.expect(SERVER).dropped();
}

impl Mood {
    /// What is wrong with what was told of its list, if anything is.
    fn complaint(&self, told: &Value) -> Option<String> {
        let name = self.list();
        let list = told["lists"].as_array()?.iter().find(|list| list["list"] == name.as_str())?;
        let outcome = match self.refusal {
            NotFetched => "not_fetched",
            HeldBack => "held_back",
        };
        let message = list["told"]["message"].as_str().unwrap_or_default();
        let is_told = message.contains(self.why) && message.contains("in force");
        let is_refused = list["outcome"] == outcome && list["entries"] == self.entries() && is_told;
        (!is_refused).then(|| format!("{name} should be {outcome} for {:?}: {list}", self.why))
    }

    fn list(&self) -> String {
        format!("m-{}", self.name)
    }

    /// Its list in the configuration, by a name that begins so.
    fn key(&self, begin: &str) -> String {
        let (name, timeout) = (self.name, self.timeout());
        format!(
            "  - {{name: {begin}-{name}, url: 'http://{SERVER}/{name}', refresh: 1d, timeout: {timeout}, \
             max_entries: 5000}}\n"
        )
    }

    fn entries(&self) -> usize {
        if self.name == "shrunk" { 200 } else { ENTRIES }
    }

    /// Is it refused the first time, too?
    fn is_never_a_list(&self) -> bool {
        matches!(self.refusal, HeldBack) && !["shrunk", "cut-line"].contains(&self.name)
    }

    /// Only slow servers need a short time.
    fn timeout(&self) -> &'static str {
        if self.why == "took longer than" { "2s" } else { "60s" }
    }

    fn answer(&self, to: &mut dyn Write) {
        match &self.answer {
            Words(words) => _ = to.write_all(words.as_bytes()),
            To(there) => lead(to, there),
            Body(body) => send(to, "", body.as_bytes()),
            Typed(kind, body) => send(to, &format!("Content-Type: {kind}\r\n"), body.as_bytes()),
            Bytes(headers, bytes) => send(to, headers, &bytes()),
            Act(act) => act(to),
        }
    }
}

fn config() -> String {
    format!("lists:\n{}", MOODS.iter().map(|mood| mood.key("m")).collect::<String>())
}

fn serve(net: &Net, at: &str, answer: impl Fn(&Asked, &mut dyn Write) + Send + Sync + 'static) -> Web {
    Web::serve(Where { namespace: net.peer(), at: &format!("{at}:80"), tls: None }, answer)
}

/// The mood of a list that is asked for, by its number.
fn number_of(asked: &Asked) -> Option<usize> {
    MOODS.iter().position(|mood| mood.name == &asked.path[1..])
}

fn be_hostile(asked: &Asked, to: &mut dyn Write) {
    match number_of(asked) {
        Some(number) => MOODS[number].answer(to),
        None => {
            send(to, "Content-Type: text/html\r\n", b"<html><form action='/login'>Password</form></html>\n")
        }
    }
}

/// What each list was before: addresses that nobody else has.
fn list_at(asked: &Asked) -> String {
    let number = number_of(asked).expect("a list is asked for");
    (1..=MOODS[number].entries()).map(|last| entry(number, last) + "\n").collect()
}

fn entry(number: usize, last: usize) -> String {
    format!("11.{number}.0.{last}")
}

fn list_of(entries: usize) -> String {
    (0..entries).map(|number| list_entry(number) + "\n").collect()
}

fn list_entry(number: usize) -> String {
    format!("11.200.{}.{}", number / 250, number % 250)
}

/// Of 50 entries; the last one is cut, and names one of the others.
fn cut_list() -> Vec<u8> {
    let mut list = list_of(50).into_bytes();
    list.truncate(list.len() - 2);
    list
}

fn cut_gzip() -> Vec<u8> {
    let mut packed = gzip(list_of(2000).as_bytes());
    packed.truncate(packed.len() - 10);
    packed
}

fn send(to: &mut dyn Write, headers: &str, body: &[u8]) {
    _ = write!(to, "HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    _ = to.write_all(body);
}

fn lead(to: &mut dyn Write, there: &str) {
    _ = write!(to, "HTTP/1.1 302 Found\r\nLocation: {there}\r\nContent-Length: 0\r\n\r\n");
}

fn send_huge_head(to: &mut dyn Write) {
    _ = write!(to, "HTTP/1.1 200 OK\r\nX-Long: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(100_000));
}

fn send_for_ever(to: &mut dyn Write) {
    _ = to.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
    while to.write_all(&[b'\n'; 65536]).is_ok() {}
}

fn drip(to: &mut dyn Write) {
    _ = to.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    while to.write_all(b"1\n").and_then(|()| to.flush()).is_ok() {
        sleep(Duration::from_millis(50));
    }
}
