//! A real fail2ban with `configs/fail2ban/filterd.py`: what it bans is dropped, for as long as it says, and over restarts of
//! either.

use harness::limited::{LimitedChild, LimitedCommand};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net, few_or, until};
use nix::sys::signal::Signal;
use serde_json::Value;

/// It looks at its log each second, and machines are slow.
const SOON: Duration = Duration::from_secs(60);

const ACTION: &str = include_str!("../../configs/fail2ban/filterd.py");

/// Where the bans of the jail `knock` go.
const LIST: &str = "f2b-knock";

/// A fail2ban beside filterd, with a log in which it looks for those who knock.
struct Fail2ban {
    directory: PathBuf,
    jails: Vec<String>,
    server: Child,
}

impl Fail2ban {
    /// One that bans for so long after three lines; nothing where this machine has none.
    fn start(net: &Net, bantime: &str) -> Option<Self> {
        Self::with_jails(net, &["knock"], bantime)
    }

    /// The same, with jails of these names.
    fn with_jails(net: &Net, jails: &[&str], bantime: &str) -> Option<Self> {
        let directory = net.home().path("fail2ban");
        for part in ["action.d", "filter.d"] {
            fs::create_dir_all(directory.join(part)).expect("a new directory");
        }
        let write =
            |name: &str, text: String| fs::write(directory.join(name), text).expect("it can be written");
        let here = directory.display();
        let socket = net.home().socket();
        write("log", String::new());
        write("action.d/filterd.py", ACTION.to_owned());
        write(
            "filter.d/knock.conf",
            "[Definition]\nfailregex = ^\\s*knock from <HOST>$\ndatepattern = {^LN-BEG}EPOCH\n".into(),
        );
        write(
            "fail2ban.conf",
            format!(
                "[Definition]\nloglevel = INFO\nlogtarget = {here}/told\nsyslogsocket = auto\nsocket = {here}/socket\npidfile = {here}/pid\ndbfile = {here}/bans\ndbpurgeage = 1d\nallowipv6 = yes\n[Thread]\nstacksize = 0\n"
            ),
        );
        let jail = |name: &&str| {
            format!(
                "[{name}]\nenabled = true\nfilter = knock\nlogpath = {here}/log\nbackend = polling\nusedns = no\nmaxretry = 3\nfindtime = 1h\nbantime = {bantime}\naction = filterd.py[socket={}]\n",
                socket.display()
            )
        };
        write("jail.conf", jails.iter().map(jail).collect());
        let server = Self::server(&directory)?;
        let jails = jails.iter().map(ToString::to_string).collect();
        let fail2ban = Self { directory, jails, server };
        fail2ban.waits_for_jails();
        Some(fail2ban)
    }

    fn server(directory: &Path) -> Option<Child> {
        let mut command = Command::new("fail2ban-server");
        command.args(["-xf", "-c"]).arg(directory).arg("start").stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                println!("SKIPPED bans of fail2ban: this machine has no fail2ban-server");
                None
            }
            started => Some(started.expect("it starts")),
        }
    }

    fn waits_for_jails(&self) {
        for jail in &self.jails {
            until(|| self.asked(&["status", jail]).is_some(), &format!("{jail} is at work"));
        }
    }

    /// What its client prints, unless it fails.
    fn asked(&self, words: &[&str]) -> Option<String> {
        let mut client = Command::new("fail2ban-client");
        let output = client
            .arg("-c")
            .arg(&self.directory)
            .args(words)
            .limited_output()
            .expect("it comes with the server");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn is_told(&self, words: &[&str]) {
        assert!(self.asked(words).is_some(), "fail2ban-client {words:?}: {}", self.told());
    }

    /// Its own log.
    fn told(&self) -> String {
        fs::read_to_string(self.directory.join("told")).unwrap_or_default()
    }

    /// Will it know of this ban when it starts again? It writes its bans down aside, a moment after it bans.
    fn remembers(&self, source: &str) -> bool {
        const BANS: &str = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('select ip from bans').fetchall())";
        let mut python = Command::new("python3");
        let output = python
            .args(["-c", BANS])
            .arg(self.directory.join("bans"))
            .limited_output()
            .expect("fail2ban runs by it");
        String::from_utf8_lossy(&output.stdout).contains(&format!("'{source}'"))
    }

    /// Somebody knocks three times.
    fn hears(&self, source: &str) {
        let mut log = OpenOptions::new().append(true).open(self.directory.join("log")).expect("it is there");
        let now = SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
        let lines = format!("{now} knock from {source}\n").repeat(3);
        log.write_all(lines.as_bytes()).expect("it can be written");
    }

    fn stop(&mut self) {
        self.is_told(&["stop"]);
        self.server.limited_wait().expect("it was started here");
    }

    /// Starts it again, with what it remembers.
    fn go_on(&mut self) {
        self.server = Self::server(&self.directory).expect("it was there before");
        self.waits_for_jails();
    }
}

impl Drop for Fail2ban {
    fn drop(&mut self) {
        // Whichever has ended has ended.
        let _ = self.server.kill();
        let _ = self.server.limited_wait();
    }
}

/// What filterd has on the list of the jail `knock`.
fn banned(net: &Net) -> Vec<Value> {
    listed(net, LIST)
}

/// What filterd has on that list.
fn listed(net: &Net, list: &str) -> Vec<Value> {
    net.filterd(["list", "--list", list, "--json"]).succeeds().json_lines()
}

#[test]
fn third_failure_bans_for_configured_time() {
    let net = Net::with_filterd("");
    let Some(fail2ban) = Fail2ban::start(&net, "1h") else { return };
    net.expect(ATTACKER).passes();
    fail2ban.hears(ATTACKER);
    fail2ban.hears(ATTACKER6);
    until(|| banned(&net).len() == 2, "both are banned");
    net.expect(ATTACKER).dropped();
    net.expect(ATTACKER6).dropped();
    net.expect(BYSTANDER).passes();
    let ban = &banned(&net)[0];
    assert_eq!(ban["note"], "banned by fail2ban, jail knock");
    let [since, end] = ["since", "until"].map(|time| ban[time].as_u64().expect("a time"));
    assert!((3500..=3602).contains(&(end - since)), "{ban}");
}

#[test]
fn a_ban_that_is_over_lets_pass() {
    let net = Net::with_filterd("");
    let Some(fail2ban) = Fail2ban::start(&net, "5s") else { return };
    fail2ban.hears(ATTACKER);
    until(|| fail2ban.told().contains(&format!("Ban {ATTACKER}")), "it bans");
    net.expect(ATTACKER).then_within(SOON).passes();
    until(|| banned(&net).is_empty(), "nothing of it is left");
}

#[test]
fn repeated_offender_is_banned_longer() {
    let net = Net::with_filterd("");
    let longer = "3s\nbantime.increment = yes\nbantime.multipliers = 1 1000";
    let Some(fail2ban) = Fail2ban::start(&net, longer) else { return };
    fail2ban.hears(ATTACKER);
    until(|| fail2ban.told().contains(&format!("Unban {ATTACKER}")), "the first ban ends");
    fail2ban.hears(ATTACKER);
    let is_long = |ban: &Value| ban["until"].as_u64() > ban["since"].as_u64().map(|since| since + 2_000);
    until(|| banned(&net).first().is_some_and(is_long), "the second one is prolonged");
    net.expect(ATTACKER).dropped();
}

#[test]
fn restarts_neither_unblock_nor_block_again() {
    let mut net = Net::with_filterd("");
    let Some(mut fail2ban) = Fail2ban::start(&net, "1h") else { return };
    fail2ban.hears(ATTACKER);
    until(|| banned(&net).len() == 1, "it is banned");
    let before = banned(&net);
    fail2ban.stop();
    net.expect(ATTACKER).dropped();
    assert_eq!(banned(&net), before, "a stop of fail2ban leaves its bans to end by themselves");
    net.end(Signal::SIGKILL);
    net.expect(ATTACKER).dropped();
    net.start("");
    fail2ban.go_on();
    until(|| fail2ban.told().contains(&format!("Restore Ban {ATTACKER}")), "fail2ban restores what it knows");
    net.expect(ATTACKER).dropped();
    assert_eq!(banned(&net), before);
    let log = net.daemon().log();
    assert_eq!(
        log.matches(" INFO blocked ").count(),
        1,
        "what is restored is asked for no second time: {log}"
    );
}

#[test]
fn unban_lifts_what_fail2ban_banned_and_nothing_else() {
    let net = Net::with_filterd("");
    let Some(fail2ban) = Fail2ban::start(&net, "1h") else { return };
    net.filterd(["add", BYSTANDER, "--list", "mine"]).succeeds();
    fail2ban.is_told(&["set", "knock", "banip", ATTACKER, ATTACKER6, "192.0.2.77"]);
    until(|| banned(&net).len() == 3, "all are banned");
    fail2ban.is_told(&["unban", ATTACKER]);
    until(|| banned(&net).len() == 2, "one is lifted");
    net.expect(ATTACKER).passes();
    net.expect(ATTACKER6).dropped();
    fail2ban.is_told(&["unban", "--all"]);
    until(|| banned(&net).is_empty(), "all are lifted");
    net.expect(ATTACKER6).passes();
    net.expect(BYSTANDER).dropped();
}

#[test]
fn bans_made_without_daemon_apply_after_start() {
    let mut net = Net::with_filterd("");
    let Some(fail2ban) = Fail2ban::start(&net, "1h") else { return };
    net.end(Signal::SIGKILL);
    fail2ban.hears(ATTACKER);
    until(|| fail2ban.told().contains("cannot send "), "it says so");
    net.expect(ATTACKER).passes();
    net.start("");
    net.expect(ATTACKER).then_within(SOON).dropped();
    until(|| fail2ban.told().contains("filterd answers again and has all bans"), "it says that, too");
}

#[test]
fn bans_survive_a_hanging_daemon() {
    let net = Net::with_filterd("");
    let Some(fail2ban) = Fail2ban::start(&net, "1h") else { return };
    fail2ban.hears(BYSTANDER);
    until(|| banned(&net).len() == 1, "one is banned");
    net.daemon().signal(Signal::SIGSTOP);
    fail2ban.hears(ATTACKER);
    until(|| fail2ban.told().contains("cannot send "), "it says so");
    fail2ban.hears(ATTACKER6);
    until(|| fail2ban.told().contains(&format!("Ban {ATTACKER6}")), "the jail goes on");
    net.expect(BYSTANDER).dropped();
    net.expect(ATTACKER).passes();
    net.daemon().signal(Signal::SIGCONT);
    net.expect(ATTACKER).then_within(SOON).dropped();
    net.expect(ATTACKER6).then_within(SOON).dropped();
    until(|| fail2ban.told().contains("filterd answers again and has all bans"), "it says that, too");
    assert_eq!(banned(&net).len(), 3);
}

/// A filterd that hangs has been asked already, and bans once it goes on: what came after that must not overtake it.
#[test]
fn unban_during_hang_wins_over_ban() {
    let net = Net::with_filterd("");
    let Some(fail2ban) = Fail2ban::start(&net, "1h") else { return };
    fail2ban.is_told(&["set", "knock", "banip", BYSTANDER]);
    until(|| banned(&net).len() == 1, "one is banned");
    net.daemon().signal(Signal::SIGSTOP);
    fail2ban.is_told(&["set", "knock", "banip", ATTACKER]);
    until(|| fail2ban.told().contains(&format!("cannot send {ATTACKER} to filterd")), "it says so");
    fail2ban.is_told(&["unban", ATTACKER]);
    fail2ban.is_told(&["unban", BYSTANDER]);
    fail2ban.is_told(&["set", "knock", "banip", ATTACKER6]);
    until(|| fail2ban.told().contains(&format!("Ban {ATTACKER6}")), "the jail goes on");
    until(|| fail2ban.told().matches("cannot send ").count() > 1, "it tries again");
    let asked = asked_by_fail2ban(&net);
    assert!(asked <= 1, "{asked} requests wait, and filterd may do them in any order");
    net.daemon().signal(Signal::SIGCONT);
    until(|| fail2ban.told().contains("filterd answers again and has all bans"), "all is told");
    net.expect(ATTACKER).passes();
    net.expect(BYSTANDER).passes();
    net.expect(ATTACKER6).dropped();
    assert_eq!(banned(&net).len(), 1);
}

/// How many requests lie at the socket, which nobody has taken yet.
fn asked_by_fail2ban(net: &Net) -> usize {
    let mut ss = net.host().command("ss");
    let listening =
        ss.args(["--no-header", "--unix", "--listening"]).limited_output().expect("it comes with ip");
    let listening = String::from_utf8(listening.stdout).expect("text");
    let socket = net.home().socket().display().to_string();
    let line = listening.lines().find(|line| line.contains(&socket)).expect("filterd listens");
    line.split_whitespace().nth(2).expect("a number").parse().expect("a number")
}

#[test]
fn fail2ban_restart_sends_missed_bans() {
    let mut net = Net::with_filterd("");
    let Some(mut fail2ban) = Fail2ban::start(&net, "1h") else { return };
    fail2ban.hears(BYSTANDER);
    until(|| banned(&net).len() == 1, "one is banned");
    net.end(Signal::SIGKILL);
    fail2ban.hears(ATTACKER);
    until(|| fail2ban.told().contains("cannot send "), "it says so");
    until(|| fail2ban.remembers(ATTACKER), "it writes it down");
    fail2ban.stop();
    net.start("");
    net.expect(ATTACKER).passes();
    fail2ban.go_on();
    net.expect(ATTACKER).then_within(SOON).dropped();
    net.expect(BYSTANDER).dropped();
}

#[test]
fn ipv6_64_ban_ends_with_last_address() {
    let net = Net::with_filterd(&format!("lists: [{{name: {LIST}, ipv6_prefix: 64}}]"));
    let Some(fail2ban) = Fail2ban::start(&net, "1h") else { return };
    fail2ban.is_told(&["set", "knock", "banip", "2001:db8:7::1", "2001:db8:7::2"]);
    until(|| banned(&net).len() == 2, "both are banned");
    net.expect("2001:db8:7::3").dropped();
    fail2ban.is_told(&["unban", "2001:db8:7::1"]);
    until(|| banned(&net).len() == 1, "one is lifted");
    net.expect("2001:db8:7::3").dropped();
    fail2ban.is_told(&["unban", "2001:db8:7::2"]);
    until(|| banned(&net).is_empty(), "the other, too");
    net.expect("2001:db8:7::3").passes();
}

/// Names of lists have small letters, digits, `_` and `-`, and are short; filterd refused all others, and nobody was banned.
#[test]
fn jail_of_any_name_has_own_list() {
    const JAILS: [(&str, &str, &str); 4] = [
        ("knock-lan", "f2b-knock-lan", "192.0.2.71"),
        ("Knock.LAN", "f2b-knock-lan-a42ffbf6", "192.0.2.72"),
        ("nginx-limit-req-of-the-shop-a", "f2b-nginx-limit-req-of--26d5ebf2", "192.0.2.73"),
        ("nginx-limit-req-of-the-shop-b", "f2b-nginx-limit-req-of--de742912", "192.0.2.74"),
    ];
    let net = Net::with_filterd("");
    let Some(fail2ban) = Fail2ban::with_jails(&net, &JAILS.map(|(jail, ..)| jail), "1h") else { return };
    for (jail, list, source) in JAILS {
        fail2ban.is_told(&["set", jail, "banip", source]);
        until(|| listed(&net, list).len() == 1, &format!("{jail} bans on {list}"));
        net.expect(source).dropped();
    }
    let (jail, list, source) = JAILS[1];
    fail2ban.is_told(&["set", jail, "unbanip", source]);
    until(|| listed(&net, list).is_empty(), "it lifts its own");
    net.expect(JAILS[0].2).dropped();
}

#[test]
fn restart_with_thousands_of_bans_unblocks_none() {
    let bans = few_or(4_000, 20_000);
    let net = Net::with_filterd("");
    let Some(mut fail2ban) = Fail2ban::start(&net, "1h") else { return };
    let sources: Vec<_> =
        (0..bans).map(|number| Ipv4Addr::from(0x0C00_0000 + number * 7).to_string()).collect();
    for some in sources.chunks(2_000) {
        let words: Vec<_> =
            ["set", "knock", "banip"].into_iter().chain(some.iter().map(String::as_str)).collect();
        fail2ban.is_told(&words);
    }
    until(|| fail2ban.told().matches("] Ban ").count() == bans as usize, "fail2ban bans them all");
    until(|| banned(&net).len() == bans as usize, "filterd has them all");
    let before = banned(&net);
    fail2ban.stop();
    fail2ban.go_on();
    until(
        || fail2ban.told().matches("] Restore Ban ").count() == bans as usize,
        "fail2ban restores them all",
    );
    assert_eq!(banned(&net), before);
    net.expect(sources[bans as usize - 1].as_str()).dropped();
}
