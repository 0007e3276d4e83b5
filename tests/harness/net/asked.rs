//! What a story asks: of filterd, of the wire, of the kernel.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Net, PATIENCE};
use crate::{Expectation, Frame, Namespace, Reply};

impl Net {
    /// Runs a verb.
    pub fn filterd(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Reply {
        self.home.filterd(words)
    }

    /// The same, killed where it takes longer: of what may wait for ever.
    pub fn filterd_within(&self, seconds: u32, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Reply {
        self.home.filterd_within(seconds, words)
    }

    /// Runs a verb with this on its standard input.
    pub fn filterd_reading(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>, input: &str) -> Reply {
        self.home.filterd_reading(words, input)
    }

    /// What becomes of the next such frame on `eth0`?
    #[must_use = "say what becomes of it: dropped() or passes()"]
    pub fn expect(&self, frame: impl Into<Frame>) -> Expectation<'_> {
        self.expect_each([frame])
    }

    /// What becomes of each of these frames on `eth0`?
    #[must_use = "say what becomes of them: dropped() or passes()"]
    pub fn expect_each(&self, frames: impl IntoIterator<Item = impl Into<Frame>>) -> Expectation<'_> {
        Expectation::new(self, frames.into_iter().map(Into::into).collect())
    }

    /// Sends a packet from each of these sources; which of them arrived?
    pub fn send_from(&self, sources: &[IpAddr]) -> HashSet<IpAddr> {
        let frames: Vec<Frame> = sources.iter().map(|source| Frame::from(*source)).collect();
        let arrived = self.wire.arrivals(0, &frames);
        sources.iter().zip(arrived).filter(|(_, arrived)| *arrived).map(|(source, _)| *source).collect()
    }

    /// Sends these frames in this order over a link; which of them arrived?
    pub fn arrivals(&self, link: usize, frames: &[Frame]) -> Vec<bool> {
        self.wire.arrivals(link, frames)
    }

    /// How many packets filterd has passed or dropped for this reason.
    #[track_caller]
    pub fn counted(&self, reason: &str) -> u64 {
        self.counted_where(reason, |verdict| verdict == "pass" || verdict == "drop")
    }

    /// How many packets filterd would have dropped for this reason, had it enforced.
    #[track_caller]
    pub fn spared(&self, reason: &str) -> u64 {
        self.counted_where(reason, |verdict| verdict == "would_drop")
    }

    /// How many packets filterd would have dropped for this reason, had protection not been paused.
    #[track_caller]
    pub fn paused(&self, reason: &str) -> u64 {
        self.counted_where(reason, |verdict| verdict == "paused")
    }

    #[track_caller]
    fn counted_where(&self, reason: &str, verdict: impl Fn(&Value) -> bool) -> u64 {
        let stats = self.filterd(["stats", "--json"]).succeeds().json();
        let reasons = stats["reasons"].as_array().expect("stats has reasons");
        let row = reasons.iter().find(|row| row["reason"] == reason && verdict(&row["verdict"]));
        let row = row.unwrap_or_else(|| panic!("stats knows no such reason {reason:?}: {stats}"));
        row["packets"].as_u64().expect("packets are counted")
    }

    /// The mode of an interface that filterd filters by TC on this kernel.
    pub fn tc_mode(&self) -> &'static str {
        // Links of TCX came with Linux 6.6.
        if linux() >= (6, 6) { "tcx" } else { "clsact" }
    }

    /// What is attached to an interface of the host for received frames: `Namespace::attached`.
    pub fn attached(&self, interface: &str) -> Option<Value> {
        self.host.attached(interface)
    }

    /// Switches on those interfaces of the host that were off. The kernel sees to the other end in its own time: what the peer
    /// sends before that is lost without a word.
    #[track_caller]
    pub fn raise(&self, interfaces: &[&str]) {
        let raised: String = interfaces.iter().map(|name| format!("link set {name} up\n")).collect();
        self.host.ip_all(&raised);
        let begun = Instant::now();
        while !self.peer.ip("-brief link show type veth").lines().all(|link| link.contains(" UP ")) {
            assert!(begun.elapsed() < PATIENCE, "{interfaces:?} are up and a peer is not");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The host's namespace.
    pub fn host(&self) -> &Namespace {
        &self.host
    }

    /// The peer's namespace.
    pub fn peer(&self) -> &Namespace {
        &self.peer
    }
}

/// The version of this kernel.
fn linux() -> (u32, u32) {
    let kernel = nix::sys::utsname::uname().expect("a kernel has a name");
    let release = kernel.release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
