//! After each step: packets of everything touched, of its neighbours and of anybody, and what filterd says itself.

use std::net::IpAddr;

use super::Life;
use super::extent::Extent;
use super::packets;
use super::ports::Ports;
use super::prefix::{Prefix, ip};
use super::reference::Reference;
use super::wanted::During;
use crate::{Frame, Random};

/// Targets touched by a step whose packets are judged, at most.
const TOUCHED: usize = 300;
/// Targets of earlier steps.
const EARLIER: usize = 120;
/// Sources that have nothing to do with anything.
const ANYBODY: usize = 150;
/// Addresses for which filterd is asked what it does with them.
const ASKED: usize = 24;
/// Prefixes.
const PREFIXES: usize = 6;

impl Life {
    /// The wire, `test` and `status` agree with the reference.
    pub(super) fn judge(&mut self, touched: &[Prefix]) {
        let sources = self.sources(touched);
        let begun = self.now();
        let packets = packets::from_each(&sources, &mut self.judges_random());
        let frames: Vec<Frame> = packets.iter().copied().map(packets::frame).collect();
        let arrived = self.net.arrivals(0, &frames);
        // A dead filterd ends no bans.
        let during = self.frozen.map_or_else(|| During(begun, self.now()), |frozen| During(frozen, frozen));
        self.frames += frames.len();
        for (packet, arrived) in packets.iter().zip(arrived) {
            let dropped = || self.reference.drops_packet(*packet, during);
            let expected = if self.is_detached { Some(false) } else { dropped() };
            if expected == Some(arrived) {
                let (source, sent) = *packet;
                self.report_packet(source, arrived, during, &format!("a packet ({sent:?})"));
            }
        }
        self.judge_replies();
        if self.frozen.is_none() {
            self.judge_counters(&packets);
            self.ask_test(&sources);
            self.ask_test_of_prefixes(touched);
            self.ask_status();
        }
    }

    /// A packet met the wrong fate: the whole story.
    pub(super) fn report_packet(&self, source: IpAddr, arrived: bool, During(from, to): During, what: &str) {
        let fate = if arrived { "PASSED and should be dropped" } else { "was DROPPED and should pass" };
        let why = self.reference.reasons(source);
        let told = self.net.filterd(["test", &source.to_string()]);
        panic!(
            "between {from:.1} and {to:.1} s {what} from {source} {fate}\nwho wants it dropped: {why}; enforce: {}, pause: {:?}\n{told}",
            self.reference.enforce, self.reference.pause
        );
    }

    /// `filterd test` says what the wire does.
    fn ask_test(&mut self, sources: &[IpAddr]) {
        if self.left_out.has("test") {
            return;
        }
        let mut random = self.judges_random();
        let asked: Vec<_> = (0..ASKED).map(|_| sources[random.below(sources.len())]).collect();
        let words = asked.iter().map(IpAddr::to_string);
        let begun = self.now();
        let told = self.net.filterd(["test", "--json"].map(str::to_owned).into_iter().chain(words)).json();
        let during = During(begun, self.now());
        let tested = told["tested"].as_array().expect("test has answers");
        for (source, answer) in asked.iter().zip(tested) {
            assert!(answer["disagrees"].is_null(), "of {source}: {answer}");
            if let Some(expected) = self.reference.drops_some(*source, during) {
                assert_eq!(answer["dropped"], expected, "`test` of {source}: {answer}");
            }
            if let (Some(true), Some(on_all)) =
                (self.reference.drops_some(*source, during), self.reference.drops_all(*source, during))
            {
                assert_eq!(answer["ports"].is_null(), on_all, "the ports of {source}: {answer}");
            }
        }
    }

    /// And of prefixes, how much of them.
    fn ask_test_of_prefixes(&mut self, touched: &[Prefix]) {
        if self.left_out.has("test") || !self.step.is_multiple_of(3) {
            return;
        }
        let mut random = self.judges_random();
        let near: Vec<_> =
            if touched.is_empty() { self.world.known(&mut random, EARLIER) } else { touched.to_vec() };
        if near.is_empty() {
            return;
        }
        let around = |random: &mut Random| {
            let Prefix { is_six, first, length } = near[random.below(near.len())];
            Prefix::around(is_six, first, length.saturating_sub(random.below(9) as u8))
        };
        let asked: Vec<_> =
            (0..PREFIXES).map(|_| around(&mut random)).filter(|asked| !asked.is_host()).collect();
        if asked.is_empty() {
            return;
        }
        let words = asked.iter().map(Prefix::to_string);
        let begun = self.now();
        let told = self.net.filterd(["test", "--json"].map(str::to_owned).into_iter().chain(words)).json();
        let during = During(begun, self.now());
        let tested = told["tested"].as_array().expect("test has answers");
        assert_eq!(tested.len(), asked.len(), "{told}");
        for (prefix, answer) in asked.iter().zip(tested) {
            assert!(answer["disagrees"].is_null(), "of {prefix}: {answer}");
            let Some(extent) = self.reference.extent(*prefix, during) else { continue };
            let told = match (answer["dropped"] == true, answer["partly"] == true) {
                (true, false) => Extent::Whole,
                (false, true) => Extent::Part,
                (false, false) => Extent::Nothing,
                (true, true) => panic!("of {prefix}: {answer}"),
            };
            // What each clause has of it is told, and not what all of them have together.
            let is_told =
                told == extent || self.reference.has_ports() && ![told, extent].contains(&Extent::Nothing);
            assert!(is_told, "{told:?} of {prefix} is dropped, and not {extent:?}: {answer}");
        }
    }

    /// `filterd status` counts what each list wants.
    fn ask_status(&mut self) {
        if self.left_out.has("status") || !self.step.is_multiple_of(4) {
            return;
        }
        let begun = self.now();
        // A file that is gone, or a mistake in the configuration, is a fault as long as it is so.
        let status = self.net.filterd(["status", "--json"]);
        assert!(matches!(status.code(), Some(0 | 7)), "{status}");
        let status = status.json();
        let during = During(begun, self.now());
        assert_eq!(status["enforce"], self.reference.enforce, "{status}");
        let told = status["lists"].as_array().expect("status has lists");
        for (name, wanted) in self.reference.lists().chain(self.reference.lists_that_allow()) {
            let (least, most) = wanted.count(during);
            let row = told.iter().find(|row| row["name"] == name.as_str());
            let count = row.and_then(|row| row["targets"].as_u64()).unwrap_or(0) as usize;
            assert!((least..=most).contains(&count), "list {name}: {least} to {most}, not {count}: {status}");
        }
        for row in told {
            let mut lists = self.reference.lists().chain(self.reference.lists_that_allow());
            let known = lists.any(|(name, _)| row["name"] == name.as_str());
            let known = known
                || row["name"] == "guard"
                || self.reference.configured.reach.contains_key(row["name"].as_str().unwrap_or_default());
            assert!(known || row["targets"] == 0, "nobody made the list {row}");
        }
        self.count_entries(&status, during);
    }

    /// No table holds more entries than there are different addresses to hold: nothing is in it twice.
    fn count_entries(&self, status: &serde_json::Value, during: During) {
        if self.left_out.has("tables") || !self.step.is_multiple_of(16) {
            return;
        }
        let lists = self.reference.lists().filter(|(_, wanted)| wanted.ports == Ports::All);
        let wanted = lists.flat_map(|(_, wanted)| wanted.effects());
        let wanted = wanted.filter(|(_, lease)| lease.holds(during) != Some(false)).map(|(target, _)| target);
        let (six, mut four): (Vec<_>, Vec<_>) = wanted.partition(|target| target.is_six);
        four.retain(|target| target.length > 24);
        let six: std::collections::HashSet<_> = six.into_iter().collect();
        for (table, most) in [("ipv4 addresses", addresses_in(four)), ("ipv6", six.len() as u128)] {
            let tables = status["tables"].as_array().expect("status has tables");
            let Some(row) = tables.iter().find(|row| row["name"] == table) else { continue };
            let entries = u128::from(row["entries"].as_u64().expect("entries are counted"));
            assert!(entries <= most, "{table}: {entries} entries for {most} addresses: {row}");
        }
    }

    /// Sources that meet the same fate in all these states, all that time: they may not waver meanwhile.
    pub(super) fn steady(
        &self,
        touched: &[Prefix],
        states: &[Reference; 4],
        during: During,
    ) -> Vec<(IpAddr, bool)> {
        let sure = self.sources(touched).into_iter().filter_map(|source| {
            let fate = states[0].drops(source, during)?;
            states.iter().all(|state| state.drops(source, during) == Some(fate)).then_some((source, fate))
        });
        sure.collect()
    }

    /// What these packets meet now is what it should be. Tells how many there were.
    pub(super) fn hold(&self, steady: &[(IpAddr, bool)]) -> usize {
        let frames: Vec<Frame> = steady.iter().map(|(source, _)| away(*source)).collect();
        for ((source, is_dropped), arrived) in steady.iter().zip(self.net.arrivals(0, &frames)) {
            if *is_dropped == arrived {
                self.report_packet(*source, arrived, During(self.now(), self.now()), "a packet");
            }
        }
        frames.len()
    }

    fn sources(&self, touched: &[Prefix]) -> Vec<IpAddr> {
        let mut random = self.judges_random();
        let mut sources = Vec::new();
        let some = |random: &mut Random, those: &[Prefix], most: usize| -> Vec<Prefix> {
            if those.len() <= most {
                return those.to_vec();
            }
            (0..most).map(|_| those[random.below(those.len())]).collect()
        };
        let earlier = self.world.known(&mut random, EARLIER);
        for target in some(&mut random, touched, TOUCHED).into_iter().chain(earlier) {
            sources.extend(target.edges(u128::from(random.number()) << 64 | u128::from(random.number())));
        }
        sources.extend((0..ANYBODY).map(|_| {
            let (is_six, address) = self.world.address(&mut random);
            ip(is_six, address)
        }));
        sources
    }

    /// Whom to ask is another dice than what to do, so that a life goes on the same whoever is asked.
    pub(super) fn judges_random(&self) -> Random {
        Random(self.seed ^ (self.step as u64) << 32)
    }
}

/// A packet for nobody here: the host has nothing to do with it behind the filter.
pub(super) fn away(source: IpAddr) -> Frame {
    Frame::from(source).to(if source.is_ipv4() { "198.18.255.254" } else { "2001:db8:ffff::fe" })
}

/// How many different addresses these have.
fn addresses_in(mut targets: Vec<Prefix>) -> u128 {
    targets.sort();
    let (mut sum, mut end) = (0, 0);
    for target in targets {
        let begin = target.first.max(end);
        let after = target.last() + 1;
        sum += after.saturating_sub(begin);
        end = end.max(after);
    }
    sum
}
