//! The demo: a host and a visitor, each in a network namespace of its own, to see filterd at work in safety.
//!
//! `cargo xtask demo` builds filterd and starts this. Everything made is unmade, however it ends.

#![forbid(unsafe_code)]

mod interrupt;

use std::panic::{self, UnwindSafe};
use std::process::ExitCode;

use harness::{ATTACKER as VISITOR, HOST, Net};

use interrupt::Interrupt;

const PINGS: u32 = 3;

fn main() -> ExitCode {
    let interrupt = Interrupt::watch();
    let told = interrupt.clone();
    panic::set_hook(Box::new(move |failure| complain(&told, &failure.to_string())));
    if !is_unmade_after(|| Demo { interrupt, net: Net::new() }.play()) {
        eprintln!("demo: it failed, and is cleaned up");
        return ExitCode::FAILURE;
    }
    println!("\nAll is cleaned up. Now on a link of your own:  cargo xtask run --iface eth0");
    ExitCode::SUCCESS
}

/// A failure unwinds: whoever owns a namespace, a daemon or a file removes it. True where there was none.
fn is_unmade_after(play: impl FnOnce() + UnwindSafe) -> bool {
    panic::catch_unwind(play).is_ok()
}

/// Ctrl-C ends ping and filterd as well: then nobody wants to hear that they failed.
fn complain(interrupt: &Interrupt, failure: &str) {
    let words = if interrupt.has_come() { "it was interrupted" } else { failure };
    eprintln!("demo: {words}");
}

struct Demo {
    interrupt: Interrupt,
    net: Net,
}

impl Demo {
    fn play(mut self) {
        println!("\nA host ({HOST}) and a visitor ({VISITOR}), each in a network namespace of its own.");
        println!("Your own interfaces are not touched.");

        self.step("The host starts filterd on its interface:");
        println!("   $ filterd --iface eth0");
        self.net.start("enforce: true\n");
        show(&self.net.daemon().log());

        self.step("The visitor pings the host:");
        self.expect_answers(PINGS);

        self.step("The host blocks the visitor:");
        self.filterd(&["add", VISITOR]);
        self.expect_answers(0);

        self.step("The host asks why the visitor is silent:");
        self.filterd(&["test", VISITOR]);

        self.step("The host lets the visitor in again:");
        self.filterd(&["remove", VISITOR]);
        self.expect_answers(PINGS);
        self.net.stop();
    }

    fn step(&self, title: &str) {
        self.interrupt.check();
        println!("\n{title}");
    }

    /// Runs a verb as one would type it, and shows what it prints.
    fn filterd(&self, words: &[&str]) {
        println!("   $ filterd {}", words.join(" "));
        show(&self.net.filterd(words).succeeds().output);
    }

    fn expect_answers(&self, expected: u32) {
        let answers = self.ping();
        self.interrupt.check();
        println!("   ping {HOST}: {}", if answers == 0 { "silence" } else { "answered" });
        assert_eq!(answers, expected, "of {PINGS} pings so many were answered");
    }

    /// How many pings the host answers.
    fn ping(&self) -> u32 {
        let (count, interval, patience) = (PINGS.to_string(), "0.2", "1");
        let mut ping = self.net.peer().command("ping");
        ping.args(["-n", "-q", "-I", VISITOR, "-c", &count, "-i", interval, "-W", patience, HOST]);
        let output = ping.output().expect("ping can be started");
        let said = String::from_utf8_lossy(&output.stdout);
        answers(&said).unwrap_or_else(|| {
            self.interrupt.check();
            panic!("ping failed: {said}{}", String::from_utf8_lossy(&output.stderr))
        })
    }
}

fn show(text: &str) {
    text.lines().for_each(|line| println!("   {line}"));
}

/// The 2 of "3 packets transmitted, 2 received, 33% packet loss".
fn answers(said: &str) -> Option<u32> {
    let received = said.split(", ").find_map(|part| part.split_once(" received").map(|(count, _)| count))?;
    received.split(' ').next()?.parse().ok()
}
