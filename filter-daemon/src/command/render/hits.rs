//! Describes how many packets were counted for lists.

use super::figure::{count, counted};
use super::moment::Clock;
use crate::control::wire::Hits;

/// Describes how packets are counted for lists, and counts that belong to no single list.
pub fn how_counted(since: Option<u64>, other: Option<Hits>, gone: Option<Hits>, clock: &Clock) -> String {
    let Some(since) = since else {
        return "Packets are not counted per list (`counters: total` in the configuration)\n".to_owned();
    };
    let (at, ago) = (clock.on_the_wall(since), clock.elapsed(since));
    let mut text = format!(
        "A packet counts for the first list that has its entry. Prefixes of /24 and wider\nare looked up before single addresses. Counted since {at} ({ago} ago)."
    );
    let told = [("Lists without counters of their own, together", other), ("Lists that are gone", gone)];
    for (which, hits) in told {
        text += &hits.map(|hits| format!(" {which}: {}.", counted(hits.all(), "hit"))).unwrap_or_default();
    }
    text.trim_end_matches('.').to_owned() + "\n"
}

/// Formats a rate per second, with one decimal if it is small.
pub fn rate(a_second: f64) -> String {
    if a_second < 100.0 { format!("{a_second:.1}") } else { count(a_second.round() as u64) }
}
