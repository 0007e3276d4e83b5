//! Who drops what: each packet is counted for one list, the one that the plain reference names, and nobody is left out.
//!
//! Exact while nothing changes; another order of lists comes about within a second. So packets are sent again where the
//! numbers are others, until they are right, or there was time enough for everything that was still coming.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Life;
use super::packets::{self, Packet, Sent, USUAL};
use super::wanted::During;
use crate::Frame;

/// What was counted for each list, and for those that have no row of their own.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counted {
    hits: BTreeMap<String, u64>,
    order: Vec<String>,
    rest: u64,
}

impl Life {
    /// Packets from these sources are counted for whom the reference says.
    pub(super) fn judge_counters(&mut self, sources: &[Packet]) {
        let is_asked = self.frozen.is_none() && !self.left_out.has("lists");
        if !is_asked || !self.applied.counts_lists || self.way().is_none() {
            return;
        }
        let begun = Instant::now();
        while let Err(why) = self.are_counted_rightly(sources) {
            if begun.elapsed() > self.patience {
                let (source, why_alone) = self.culprit(sources, why.clone());
                panic!("counters of lists are wrong: {why}\nfor the sake of {source}: {why_alone}");
            }
            thread::sleep(Duration::from_millis(20));
            // A pause may have ended meanwhile.
            if self.way().is_none() {
                return;
            }
        }
    }

    /// In which column of the counters packets of listed sources come now, if that is sure.
    fn way(&self) -> Option<&'static str> {
        let now = self.now();
        match (self.reference.enforce, self.reference.pause.holds(During(now, now + 5.0))) {
            (false, _) => Some("would_drop"),
            (true, Some(true)) => Some("paused"),
            (true, Some(false)) => Some("dropped"),
            (true, None) => None,
        }
    }

    /// One of these sources that is counted wrongly alone, or with as few others as it takes.
    fn culprit(&self, sources: &[Packet], why: String) -> (String, String) {
        let (one, other) = sources.split_at(sources.len() / 2);
        for half in [one, other].into_iter().filter(|half| half.len() < sources.len()) {
            if let Err(why) = self.are_counted_rightly(half) {
                return self.culprit(half, why);
            }
        }
        (format!("{sources:?}"), why)
    }

    fn are_counted_rightly(&self, sources: &[Packet]) -> Result<(), String> {
        let Some(way) = self.way() else { return Ok(()) };
        let frames: Vec<Frame> = sources.iter().copied().map(packets::frame).collect();
        let before = self.counted(way);
        let begun = self.now();
        let arrived = self.net.arrivals(0, &frames);
        let during = During(begun, self.now());
        let after = self.counted(way);
        if self.way() != Some(way) || before.order != after.order {
            return Err("lists came or went meanwhile".to_owned());
        }
        self.is_configured_order(&after.order);
        let (mut least, mut most) = (BTreeMap::new(), BTreeMap::new());
        let (mut all_least, mut all_most) = (0, 0);
        for source in sources {
            let told = self.reference.attribution(*source, during, &after.order);
            all_least += u64::from(told.is_listed);
            all_most += u64::from(!told.names.is_empty());
            if let ([name], true) = (told.names.as_slice(), told.is_listed) {
                *least.entry(*name).or_insert(0_u64) += 1;
            }
            told.names.iter().for_each(|name| *most.entry(*name).or_insert(0_u64) += 1);
        }
        let all = after.all() - before.all();
        let dropped = arrived.iter().filter(|arrived| !**arrived).count() as u64;
        if way == "dropped" && all != dropped {
            return Err(format!("{dropped} were dropped, and {all} are counted: {before:?}, {after:?}"));
        }
        if !(all_least..=all_most).contains(&all) {
            return Err(format!("{all_least} to {all_most} are to be counted, and {all} are"));
        }
        for (name, hits) in &after.hits {
            let hits = hits - before.hits.get(name).copied().unwrap_or(0);
            let [least, most] = [&least, &most].map(|those| those.get(name.as_str()).copied().unwrap_or(0));
            if !(least..=most).contains(&hits) {
                let of = if let [(source, sent)] = sources { told(*source, *sent) } else { "all".to_owned() };
                let why =
                    if let [(source, _)] = sources { self.reference.reasons(*source) } else { String::new() };
                return Err(format!(
                    "of {of}: {hits} for list {name}, not {least} to {most}; order {:?}; {why}",
                    after.order
                ));
            }
        }
        Ok(())
    }

    /// Lists are told in the configuration's order, then live ones.
    fn is_configured_order(&self, order: &[String]) {
        let configured = self.applied.order(&self.reference.configured);
        let told: Vec<_> = order.iter().map(String::as_str).take(configured.len()).collect();
        assert_eq!(told, configured, "the order of lists that block");
    }

    fn counted(&self, way: &str) -> Counted {
        let reply = self.net.filterd(["lists", "--json"]);
        assert!(matches!(reply.code(), Some(0 | 7)), "{reply}");
        let told = reply.json();
        let hits = |hits: &Value| hits[way].as_u64().unwrap_or(0);
        let mut counted = Counted { rest: hits(&told["other"]) + hits(&told["gone"]), ..Counted::default() };
        for row in told["lists"].as_array().expect("lists has lists") {
            if row["allows"] == true {
                continue;
            }
            let name = row["name"].as_str().expect("it has a name").to_owned();
            counted.order.push(name.clone());
            counted.hits.insert(name, hits(&row["hits"]));
        }
        counted
    }
}

/// This packet, in words.
fn told(source: IpAddr, sent: Sent) -> String {
    if sent == USUAL { source.to_string() } else { format!("{source} ({sent:?})") }
}

impl Counted {
    fn all(&self) -> u64 {
        self.hits.values().sum::<u64>() + self.rest
    }
}
