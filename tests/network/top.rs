//! `filterd top` in a real terminal, as `script` makes one: what it shows is so, what its keys do is done, and the terminal is
//! given back.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use harness::{ATTACKER, BYSTANDER, Net, binary};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Machines are slow.
const SOON: Duration = Duration::from_secs(30);

/// What a terminal is told before and after.
const TAKEN: &str = "\x1b[?1049h";
const GIVEN_BACK: &str = "\x1b[?1049l";

/// `filterd top` with its terminal.
struct Screen {
    script: Child,
    keys: Option<ChildStdin>,
    shown: Arc<Mutex<String>>,
}

impl Screen {
    fn of(net: &Net) -> Self {
        let top = format!("{} --socket {} top", binary().display(), net.home().socket().display());
        let mut script = Command::new("script")
            .args(["--quiet", "--return", "--echo", "never", "--command"])
            .arg(format!("stty rows 24 cols 80; {top}; echo ended with $?; stty --all"))
            .arg("/dev/null")
            .env("TERM", "xterm-256color")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script can be run");
        let (shown, mut from) =
            (Arc::new(Mutex::new(String::new())), script.stdout.take().expect("it is piped"));
        let screen = shown.clone();
        thread::spawn(move || {
            let mut some = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut some) {
                screen.lock().expect("nobody panics").push_str(&String::from_utf8_lossy(&some[..length]));
            }
        });
        let keys = script.stdin.take();
        let screen = Self { script, keys, shown };
        screen.shows(TAKEN);
        screen
    }

    fn press(&mut self, keys: &str) {
        let typing = self.keys.as_mut().expect("it is there");
        typing.write_all(keys.as_bytes()).and_then(|()| typing.flush()).expect("somebody reads");
    }

    #[track_caller]
    fn shows(&self, what: &str) {
        until(|| self.shown().contains(what), || format!("{what:?} is to be shown: {:?}", self.shown()));
    }

    fn shown(&self) -> String {
        self.shown.lock().expect("nobody panics").clone()
    }

    /// The `filterd top` itself.
    fn pid(&self) -> Pid {
        let mut pid = self.script.id();
        loop {
            let path = format!("/proc/{pid}/task/{pid}/children");
            let children = std::fs::read_to_string(path).expect("the kernel tells");
            pid = children.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("it has one");
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            if name.starts_with("filterd") {
                return Pid::from_raw(pid.try_into().expect("it is small"));
            }
        }
    }

    /// It has ended, and the terminal is what it was.
    #[track_caller]
    fn has_ended(mut self, code: i32) {
        self.shows(GIVEN_BACK);
        self.shows(&format!("ended with {code}"));
        self.shows(" icanon");
        self.keys = None;
        self.script.wait().expect("it ends");
        let after = self.shown();
        let after = after.rsplit("ended with").next().unwrap_or_default();
        assert!(after.contains(" echo ") && !after.contains("-icanon"), "{after}");
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
fn what_is_dropped_is_seen_and_keys_pause_block_and_unblock() {
    let mut net = Net::new();
    net.start("block: [203.0.113.7]");
    let mut screen = Screen::of(&net);
    screen.shows("as the configuration says");
    // One second after the other brings some, until a rate stands there.
    until(
        || {
            net.expect(ATTACKER).dropped();
            let shown = screen.shown();
            shown.rsplit("dropped ").any(|rest| rest.starts_with(|first: char| ('1'..='9').contains(&first)))
        },
        || format!("a rate above zero is to be shown: {}", screen.shown()),
    );
    screen.press("p");
    screen.shows("sure?");
    net.expect(ATTACKER).dropped();
    screen.press("y");
    net.expect(ATTACKER).then_within(SOON).passes();
    screen.shows("paused until");
    screen.press("p");
    screen.shows("resume");
    screen.press("y");
    net.expect(ATTACKER).then_within(SOON).dropped();
    screen.press(&format!("b{BYSTANDER}\r"));
    screen.shows(&format!("add -- {BYSTANDER}"));
    net.expect(BYSTANDER).passes();
    screen.press("y");
    net.expect(BYSTANDER).then_within(SOON).dropped();
    screen.press(&format!("u{BYSTANDER}\r"));
    screen.shows(&format!("remove -- {BYSTANDER}"));
    screen.press("y");
    net.expect(BYSTANDER).then_within(SOON).passes();
    screen.press("q");
    screen.has_ended(0);
}

#[test]
fn the_terminal_is_given_back_after_sigterm_too_and_a_daemon_that_ends_is_told() {
    let mut net = Net::new();
    net.start("");
    let screen = Screen::of(&net);
    net.stop();
    screen.shows("NO ANSWER");
    kill(screen.pid(), Signal::SIGTERM).expect("it is ours");
    screen.has_ended(0);
}

#[test]
fn without_a_terminal_one_picture_is_to_be_had() {
    let mut net = Net::new();
    net.start("block: [203.0.113.7]");
    net.filterd(["top"]).exits(2).complains("--once");
    let told = net.filterd(["top", "--once"]).succeeds();
    told.says("dropping on eth0, as the configuration says").says("config");
    let picture = net.filterd(["top", "--json"]).succeeds().json();
    assert_eq!((&picture["enforce"], &picture["lists"][0]["entries"]), (&true.into(), &1.into()));
    net.stop();
    net.filterd(["top"]).exits(2);
    net.filterd(["top", "--once"]).exits(6);
}
