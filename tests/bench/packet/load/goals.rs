//! What was aimed at, and whether it holds here. What was not measured is not in the table.

use std::time::Duration;

use filterd_measure::goals::{self, Goal};
use filterd_measure::tables::Table;

use super::report::Outcome;
use super::scrape::Scrape;
use super::six::{Six, Way};
use super::size::Size;

const MILLION: u32 = 1_000_000;
const TEN_MILLION: u32 = 10_000_000;
const FILE: &str = "filterd, list file";

/// All goals.
pub fn table(outcome: &Outcome) -> Table {
    let ratio = |dividend: Option<f64>, divisor: Option<f64>| Some(dividend? / divisor?);
    let own = outcome.loaded(FILE, MILLION);
    let command = |way: &str| ratio(outcome.added(way, MILLION), outcome.added("ipset add", MILLION));
    let mut goals = vec![
        most("bytes an IPv4 entry, 1 M", outcome.each(FILE, MILLION), 2.2),
        most("bytes an IPv4 entry, 10 M", outcome.each(FILE, TEN_MILLION), 1.75),
        most("bytes an IPv6 entry, 1 M", outcome.each("filterd, list file of IPv6 /64s", MILLION), 9.0),
        most("seconds until 1 M lines filter", own, 0.3),
        least("ipset restore ÷ filterd, 1 M", ratio(outcome.loaded("ipset restore", MILLION), own), 7.0),
        most("filterd add ÷ ipset add, durable, 1 M", command("filterd add, durable"), 1.0),
        most("filterd add ÷ ipset add, not durable, 1 M", command("filterd add, not durable"), 1.0),
        most("µs to switch, 1 M", outcome.added("a new instance into its slot", MILLION), 200.0),
    ];
    for (size, name) in [(100, "100"), (MILLION, "1 M"), (TEN_MILLION, "10 M")] {
        let ways = [("socket, not durable", 100.0), ("socket, durable", 1_000.0)];
        goals.extend(ways.map(|(way, limit)| {
            most(&format!("µs for one add, {way}, {name}"), outcome.added(way, size), limit)
        }));
    }
    goals.extend(outcome.bulks.iter().map(|bulk| {
        let changes = format!("M changes a second under a flood, {}", bulk.way);
        least(&changes, Some(bulk.flooded.median / 1e6), 1.0)
    }));
    goals.extend(outcome.waits.iter().flat_map(|wait| {
        let waits = [("that 99 in 100 wait", wait.percentile_99), ("that anybody waits", wait.worst)];
        waits.map(|(who, measured)| {
            most(&format!("ms {who} at most while {}", wait.way), Some(measured), 10.0)
        })
    }));
    goals.extend(of_size(outcome));
    goals.extend(of_scrape(outcome.scrape.as_ref()));
    goals.extend(of_six(outcome));
    goals::table("Goals", goals.into_iter().flatten())
}

/// Of lists as large as operators have them.
fn of_size(outcome: &Outcome) -> [Option<Goal>; 5] {
    let size = outcome.size.as_ref();
    let seconds = |of: fn(&Size) -> Duration| size.map(|size| of(size).as_secs_f64());
    [
        most("seconds until a start with 1.88 M entries filters", seconds(|size| size.starts[0]), 4.0),
        most("seconds until a start with their copies filters", seconds(|size| size.starts[1]), 4.0),
        most("seconds to reload one in a hundred of them", seconds(|size| size.reload), 1.0),
        most("ms that anybody waits meanwhile", size.map(|size| size.wait.worst), 10.0),
        most("MB of the daemon with them", size.map(|size| size.resident as f64 / 1e6), 250.0),
    ]
}

/// Of monitoring.
fn of_scrape(scrape: Option<&Scrape>) -> [Option<Goal>; 2] {
    [
        most(
            "ms for a scrape with 990,000 entries on 990 lists",
            scrape.map(|scrape| scrape.milliseconds.median),
            50.0,
        ),
        most("ms that anybody waits for scrapes", scrape.map(|scrape| scrape.wait.worst), 10.0),
    ]
}

/// Of lists of IPv6: the worst of all sizes counts.
fn of_six(outcome: &Outcome) -> [Option<Goal>; 5] {
    let worst = |way: Way, of: fn(&Six) -> f64| {
        outcome.six.iter().filter(|six| six.way == way).map(of).max_by(f64::total_cmp)
    };
    let largest = outcome.six.iter().find(|six| six.way == Way::File && six.entries == TEN_MILLION);
    [
        most("bytes of table an IPv6 /64 from a file, any size", worst(Way::File, Six::each), 9.0),
        most("bytes of table an IPv6 /64 after growth", worst(Way::Grown, Six::each), 14.0),
        most(
            "bytes of table and levels a prefix of all countries' IPv6",
            worst(Way::World6, Six::each_with_levels),
            20.0,
        ),
        most("seconds until 10 M IPv6 /64s filter", largest.map(|six| six.seconds), 3.0),
        most("ms that anybody waits while 10 M IPv6 /64s come", largest.and_then(|six| six.worst), 10.0),
    ]
}

fn most(goal: &str, measured: Option<f64>, limit: f64) -> Option<Goal> {
    Some(Goal::most(goal, measured?, limit))
}

fn least(goal: &str, measured: Option<f64>, limit: f64) -> Option<Goal> {
    Some(Goal::least(goal, measured?, limit))
}
