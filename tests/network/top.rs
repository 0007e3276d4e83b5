//! `filterd top` in a real terminal, as `script` makes one: what it shows is so, what its keys do is done, and the terminal is
//! given back.

use harness::limited::LimitedChild;
use std::io::{Read, Write};
use std::num::NonZero;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use harness::{ATTACKER, BYSTANDER, Net, binary, children_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Machines are slow.
const SOON: Duration = Duration::from_secs(30);

/// `filterd top` in its terminal.
struct Screen {
    script: Child,
    keys: Option<ChildStdin>,
    told: Arc<Mutex<Vec<u8>>>,
    columns: u16,
    lines: u16,
}

impl Screen {
    /// One that is 80 characters wide and 24 lines high.
    fn of(net: &Net) -> Self {
        Self::sized(net, 80, 24)
    }

    fn sized(net: &Net, columns: u16, lines: u16) -> Self {
        let top = format!("'{}' --socket '{}' top", binary().display(), net.home().socket().display());
        let settings = "echo \"settings $(stty --save)\"";
        let mut script = Command::new("script")
            .args(["--quiet", "--return", "--command"])
            .arg(format!(
                "stty rows {lines} cols {columns}; {settings}; {top}; echo \"ended with $?\"; {settings}"
            ))
            .arg("/dev/null")
            .env("TERM", "xterm-256color")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script can be run");
        let (told, mut from) = (Arc::new(Mutex::new(Vec::new())), script.stdout.take().expect("it is piped"));
        let all = told.clone();
        thread::spawn(move || {
            let mut some = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut some) {
                all.lock().expect("nobody panics").extend(&some[..length]);
            }
        });
        let keys = script.stdin.take();
        let screen = Self { script, keys, told, columns, lines };
        screen.comes_to_show("q leave");
        screen
    }

    fn press(&mut self, keys: &str) {
        let typing = self.keys.as_mut().expect("it is there");
        typing.write_all(keys.as_bytes()).and_then(|()| typing.flush()).expect("somebody reads");
    }

    /// What a person sees.
    fn shown(&self) -> String {
        let size = |size| NonZero::new(size).expect("it has some");
        let mut terminal = vt100::Parser::new(size(self.lines), size(self.columns), 0);
        terminal.process(&self.told.lock().expect("nobody panics"));
        terminal.screen().contents()
    }

    /// All that came before, too.
    fn told(&self) -> String {
        String::from_utf8_lossy(&self.told.lock().expect("nobody panics")).into_owned()
    }

    #[track_caller]
    fn comes_to_show(&self, what: &str) {
        until(|| self.shown().contains(what), || format!("{what:?} is to be shown:\n{}", self.shown()));
    }

    /// The `filterd top` itself.
    fn pid(&self) -> Pid {
        let mut pid = self.script.id();
        loop {
            pid = *children_of(pid).expect("the kernel tells").first().expect("it has one");
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            if name.starts_with("filterd") {
                return Pid::from_raw(pid.try_into().expect("it is small"));
            }
        }
    }

    /// It has ended, and the terminal is what it was.
    #[track_caller]
    fn has_ended(mut self, code: i32) {
        let settings = |told: &str| -> Vec<String> {
            let lines = told.lines().filter_map(|line| line.trim().strip_prefix("settings "));
            lines.map(str::to_owned).collect()
        };
        until(|| settings(&self.told()).len() == 2, || format!("it is to end:\n{}", self.shown()));
        let told = self.told();
        assert!(told.contains(&format!("ended with {code}")), "{}", self.shown());
        let settings = settings(&told);
        assert_eq!(settings[0], settings[1], "the terminal is as it was");
        assert!(told.contains("\x1b[?1049l"), "what was on it before is there again");
        self.keys = None;
        self.script.limited_wait().expect("it ends");
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.script.kill();
        let _ = self.script.limited_wait();
    }
}

#[track_caller]
fn until(is_so: impl Fn() -> bool, why: impl Fn() -> String) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < SOON, "{}", why());
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn top_shows_drops_and_keys_change_blocking() {
    let mut net = Net::new();
    net.start("block: [203.0.113.7]");
    let mut screen = Screen::of(&net);
    screen.comes_to_show("Protected as configured");
    // Each second brings some, until a rate stands there.
    until(
        || {
            net.expect(ATTACKER).dropped();
            let shown = screen.shown();
            shown.split("dropped ").skip(1).any(|rest| rest.starts_with(|first| ('1'..='9').contains(&first)))
        },
        || format!("a rate above zero is to be shown:\n{}", screen.shown()),
    );
    screen.press("p");
    screen.comes_to_show("pause for: 5m");
    screen.press("\r");
    screen.comes_to_show("sure?");
    net.expect(ATTACKER).dropped();
    screen.press("y");
    net.expect(ATTACKER).then_within(SOON).passes();
    screen.comes_to_show("PAUSED until");
    screen.press("p");
    screen.comes_to_show("filterd resume");
    screen.press("y");
    net.expect(ATTACKER).then_within(SOON).dropped();
    screen.press(&format!("b{BYSTANDER}\r"));
    screen.comes_to_show(&format!("add -- {BYSTANDER}"));
    net.expect(BYSTANDER).passes();
    screen.press("y");
    net.expect(BYSTANDER).then_within(SOON).dropped();
    screen.press(&format!("u{BYSTANDER}\r"));
    screen.comes_to_show(&format!("remove -- {BYSTANDER}"));
    screen.press("y");
    net.expect(BYSTANDER).then_within(SOON).passes();
    screen.press("q");
    screen.has_ended(0);
}

#[test]
fn top_source_can_be_selected_and_unblocked() {
    const LOUD: &str = "198.18.7.9";
    let mut net = Net::new();
    net.start("block: [203.0.113.0/24]");
    net.filterd(["add", LOUD]).succeeds();
    let all = [vec![LOUD; 9], vec![ATTACKER; 1]].concat();
    let send = || net.expect_each(all.clone()).dropped();
    let home = net.home();
    let told = thread::scope(|scope| {
        let asking = scope.spawn(|| home.filterd(["top", "--json"]));
        until(
            || {
                send();
                asking.is_finished()
            },
            || "it takes a second".to_owned(),
        );
        asking.join().expect("nobody panics").succeeds().json()
    });
    assert_eq!(told["sources"][0]["source"], LOUD, "{told}");
    assert_eq!(told["sources"][0]["list"], "manual", "{told}");
    assert_eq!(told["sources"][1]["source"], ATTACKER, "{told}");
    let mut screen = Screen::of(&net);
    screen.press("v");
    until(
        || {
            send();
            let shown = screen.shown();
            shown.find(LOUD).zip(shown.find(ATTACKER)).is_some_and(|(first, second)| first < second)
        },
        || format!("{LOUD} and {ATTACKER} are to be shown:\n{}", screen.shown()),
    );
    screen.press("j");
    screen.press("u");
    screen.comes_to_show(&format!("unblock: {ATTACKER}"));
    screen.press("\x1b");
    screen.comes_to_show("q leave");
    screen.press("s");
    screen.comes_to_show("Sources, by bytes");
    screen.press("k");
    screen.press("u");
    screen.comes_to_show(&format!("unblock: {LOUD}"));
    screen.press("\r");
    screen.comes_to_show(&format!("remove -- {LOUD}"));
    screen.press("y");
    net.expect(LOUD).then_within(SOON).passes();
    net.expect(ATTACKER).dropped();
    screen.press("v");
    until(
        || {
            net.expect(ATTACKER).dropped();
            screen.shown().contains("ipv4_prefix")
        },
        || format!("its reason is to be shown:\n{}", screen.shown()),
    );
    screen.press("q");
    screen.has_ended(0);
}

#[test]
fn top_sorts_lists_and_shows_more_when_large() {
    let mut net = Net::new();
    net.file("a.txt", "198.18.0.1\n198.18.0.2\n");
    net.file("b.txt", "203.0.113.7\n");
    net.start("lists: [{name: alpha, path: $HOME/a.txt}, {name: beta, path: $HOME/b.txt}]");
    net.expect(ATTACKER).dropped();
    let mut screen = Screen::sized(&net, 200, 60);
    for (by, first, second) in [
        ("rate", "beta", "alpha"),
        ("hits", "beta", "alpha"),
        ("entries", "alpha", "beta"),
        ("name", "alpha", "beta"),
        ("the configuration", "alpha", "beta"),
    ] {
        screen.comes_to_show(&format!("Lists, by {by}"));
        let stands = |shown: &str, name: &str| shown.lines().position(|line| line.starts_with(name));
        until(
            || {
                // A rate is one as long as somebody sends.
                net.expect(ATTACKER).dropped();
                let shown = screen.shown();
                stands(&shown, first).zip(stands(&shown, second)).is_some_and(|(one, other)| one < other)
            },
            || format!("{first} is to stand before {second}:\n{}", screen.shown()),
        );
        let shown = screen.shown();
        assert!(shown.contains("Sources, by packets") && shown.contains("Reasons, by packets"), "{shown}");
        assert!(shown.contains("eth0") && shown.contains("q leave"), "{shown}");
        screen.press("s");
    }
    screen.press("q");
    screen.has_ended(0);
}

#[test]
fn top_reports_silent_daemon_and_can_quit() {
    let mut net = Net::new();
    net.start("");
    let mut screen = Screen::of(&net);
    net.daemon().signal(Signal::SIGSTOP);
    thread::sleep(Duration::from_secs(2));
    screen.press("?");
    screen.comes_to_show("Any key goes on.");
    screen.press("x");
    net.daemon().signal(Signal::SIGCONT);
    screen.comes_to_show("Working as configured");
    net.stop();
    screen.comes_to_show("NO ANSWER");
    screen.press("q");
    screen.has_ended(0);
}

#[test]
fn the_terminal_is_given_back_after_sigterm_too() {
    let mut net = Net::new();
    net.start("");
    let screen = Screen::of(&net);
    kill(screen.pid(), Signal::SIGTERM).expect("it is ours");
    screen.has_ended(0);
}

/// A dropped SSH session: whoever goes on without a terminal would do so for ever.
#[test]
fn top_ends_with_its_terminal() {
    let mut net = Net::new();
    net.start("");
    let screen = Screen::of(&net);
    let top = screen.pid();
    drop(screen);
    until(|| kill(top, None).is_err(), || format!("{top} is to end with its terminal"));
}

#[test]
fn top_without_terminal_prints_one_picture() {
    let mut net = Net::new();
    net.start("block: [203.0.113.7]");
    net.filterd(["top"]).exits(2).complains("--once");
    let told = net.filterd(["top", "--once"]).succeeds();
    told.says("Protected as configured").says("config");
    let picture = net.filterd(["top", "--json"]).succeeds().json();
    assert_eq!(picture["enforce"], true);
    assert!(picture["lists"].to_string().contains("\"config\""), "{picture}");
    // Whoever decides by a number is told what `status` tells.
    net.configure("block: [203.0.113.7]\nlists: [{name: gone, path: $HOME/gone.txt}]");
    net.filterd(["reload"]).exits(7);
    for words in [["status", "--json"], ["top", "--once"], ["top", "--json"]] {
        net.filterd(words).exits(7).says("gone");
    }
    net.stop();
    net.filterd(["top"]).exits(2);
    net.filterd(["top", "--once"]).exits(6);
}
