//! `demo`: a host and a visitor, each in a network namespace of its own, to see filterd at work in safety.

mod daemon;
mod leftovers;
mod namespace;
mod places;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use bpf_build::process;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::build::{self, Profile};
use crate::tools::{Tool, Tools, asked, tool};
use daemon::Daemon;
use namespace::Namespace;
use places::Places;

/// Addresses that documentation is written with, and nobody has.
const HOST: &str = "203.0.113.1";
const VISITOR: &str = "203.0.113.7";

const PINGS: u32 = 3;

/// What the demo calls.
const TOOLS: [Tool; 3] =
    [asked("ip", "iproute2", "-V"), tool("nsenter", "util-linux"), asked("ping", "iputils-ping", "-V")];

/// Shows it. Everything made is unmade, however it ends.
pub fn show() -> Result<()> {
    ensure!(
        process::is_root(),
        "the demo makes network namespaces, which needs root\n       try: sudo env \"PATH=$PATH\" \"HOME=$HOME\" cargo xtask demo"
    );
    Tools::provide(&TOOLS)?;
    let program = build::daemon(Profile::Release)?;
    let demo = Demo { interrupted: on_interrupt()? };
    leftovers::remove();
    demo.play(&program).context("the demo failed, and is cleaned up")?;
    println!("\nAll is cleaned up. Now on a link of your own:  cargo xtask run --iface eth0");
    Ok(())
}

struct Demo {
    interrupted: Arc<AtomicBool>,
}

impl Demo {
    fn play(&self, program: &Path) -> Result<()> {
        println!("\nA host ({HOST}) and a visitor ({VISITOR}), each in a network namespace of its own.");
        println!("Your own interfaces are not touched.");
        let name = leftovers::name();
        let host = Namespace::new(format!("{name}-host"))?;
        let visitor = Namespace::new(format!("{name}-visitor"))?;
        connect(&host, &visitor)?;
        let places = Places::new(&name)?;

        self.step("The host starts filterd on its interface:")?;
        println!("   $ filterd --iface eth0");
        let filterd = Daemon::start(program, &host, &places, &self.interrupted)?;

        self.step("The visitor pings the host:")?;
        self.expect_answers(&visitor, PINGS)?;

        self.step("The host blocks the visitor:")?;
        filterd.succeeds(&["add", VISITOR])?;
        self.expect_answers(&visitor, 0)?;

        self.step("The host asks why the visitor is silent:")?;
        filterd.succeeds(&["test", VISITOR])?;

        self.step("The host lets the visitor in again:")?;
        filterd.succeeds(&["remove", VISITOR])?;
        self.expect_answers(&visitor, PINGS)
    }

    fn step(&self, title: &str) -> Result<()> {
        self.go_on()?;
        println!("\n{title}");
        Ok(())
    }

    fn go_on(&self) -> Result<()> {
        ensure!(!self.interrupted.load(Ordering::Relaxed), "it was interrupted");
        Ok(())
    }

    fn expect_answers(&self, visitor: &Namespace, expected: u32) -> Result<()> {
        // Ctrl-C ends ping as well: then nobody wants to hear that it failed.
        let answers = ping(visitor);
        self.go_on()?;
        let answers = answers?;
        println!("   ping {HOST}: {}", if answers == 0 { "silence" } else { "answered" });
        ensure!(answers == expected, "{answers} of {PINGS} pings were answered, not {expected}");
        Ok(())
    }
}

/// How many pings the host answers.
fn ping(visitor: &Namespace) -> Result<u32> {
    let (count, interval, patience) = (PINGS.to_string(), "0.2", "1");
    let mut ping = visitor.command("ping");
    ping.args(["-n", "-q", "-c", &count, "-i", interval, "-W", patience, HOST]);
    let output = ping.output().context("cannot start ping")?;
    let said = String::from_utf8_lossy(&output.stdout);
    answers(&said).with_context(|| format!("ping failed: {said}{}", String::from_utf8_lossy(&output.stderr)))
}

/// The 2 of "3 packets transmitted, 2 received, 33% packet loss".
fn answers(said: &str) -> Option<u32> {
    let received = said.split(", ").find_map(|part| part.split_once(" received").map(|(count, _)| count))?;
    received.split(' ').next()?.parse().ok()
}

fn connect(host: &Namespace, visitor: &Namespace) -> Result<()> {
    host.ip(&format!("link add eth0 type veth peer name eth0 netns {}", visitor.name()))?;
    for (namespace, address) in [(host, HOST), (visitor, VISITOR)] {
        namespace.ip(&format!("address add {address}/24 dev eth0"))?;
        namespace.ip("link set eth0 up")?;
    }
    Ok(())
}

/// Turns true when somebody wants it to end.
fn on_interrupt() -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted)).context("cannot watch for signals")?;
    }
    Ok(interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted() {
        let said = "--- 203.0.113.1 ping statistics ---\n3 packets transmitted, 2 received, 33% packet loss, time 404ms\n";
        assert_eq!(answers(said), Some(2));
        assert_eq!(answers("3 packets transmitted, 0 received, +3 errors, 100% packet loss"), Some(0));
        assert_eq!(answers("ping: unknown host"), None);
    }
}
