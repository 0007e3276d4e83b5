//! A flood that somebody watches: of millions of drops a second few are told, and these stand for all of them.

use std::net::Ipv4Addr;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use harness::{Net, Watching};
use nix::sys::signal::{Signal, kill};
use serde_json::Value;

use crate::moves::traffic::Sender;
use crate::{crowd, rounds};

/// They flood.
const MEMBERS: u32 = 4_000;
/// Frames that are sent in one go: seconds of a flood of three million a second.
const MOST: usize = 3_000_000;
/// Samples that a processor takes of a window, and how many more of the first.
const OF_WINDOW: u64 = 96;
const OF_FIRST: u64 = 64 + 32 * 11;
/// The shortest that a window is, wherever a kernel counts 1,000 jiffies a second.
const WINDOW: Duration = Duration::from_millis(32);

/// What was told.
#[derive(Debug, Default)]
struct Told {
    drops: u64,
    weight: u64,
    /// Lines that were not read in time, and drops that nobody stands for.
    unread: u64,
    unsaid: u64,
}

#[test]
fn samples_of_a_flood_represent_all_drops() {
    let frames = rounds(2, 20) * MOST;
    let mut net = Net::new();
    let members = (0..MEMBERS).map(|number| Ipv4Addr::from(crowd::address(number)).to_string());
    net.home().write("crowd.txt", &(members.collect::<Vec<_>>().join("\n") + "\n"));
    net.start("mode: native\nlists: [{name: crowd, path: $HOME/crowd.txt, include_special: true}]");
    let sender = Sender::four(&net, MEMBERS);
    let watching = Watching::of(&net, &["--drops"]);
    let before = dropped(&net);
    let begun = Instant::now();
    let (told, flooded) = scope(|scope| {
        let pid = watching.pid();
        let told = scope.spawn(|| Told::by(watching));
        net.peer().inside(|| sender.send(frames as u32));
        let flooded = begun.elapsed();
        // The last of them are told soon.
        sleep(Duration::from_secs(1));
        kill(pid, Signal::SIGINT).expect("it watches");
        (told.join().expect("it only reads"), flooded)
    });
    let dropped = dropped(&net) - before;
    println!(
        "{dropped} drops in {:.2} s ({:.1} million a second): {} were told, which stand for {}; {} lines were not read in time, \
         and for {} drops nobody stands",
        flooded.as_secs_f64(),
        dropped as f64 / flooded.as_secs_f64() / 1e6,
        told.drops,
        told.weight,
        told.unread,
        told.unsaid
    );
    assert!(dropped > frames as u64 / 2, "this is no flood");
    let windows = (flooded.as_nanos() / WINDOW.as_nanos()) as u64 + 2;
    let most = processors() * (OF_FIRST + windows * OF_WINDOW);
    assert!(told.drops + told.unread <= most, "at most {most}: {told:?}");
    // Whoever was not read stood for as many as those who were.
    let all = told.weight as f64 * (told.drops + told.unread) as f64 / told.drops as f64 + told.unsaid as f64;
    let share = all / dropped as f64;
    assert!((0.95..1.05).contains(&share), "they stand for {share} of all: {told:?}");
}

impl Told {
    /// By this one, until it ends.
    fn by(watching: Watching) -> Self {
        let mut told = Self::default();
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        for line in watching.rest() {
            let drop = &line["drop"];
            told.drops += u64::from(drop.is_object());
            told.weight += number(&drop["weight"]);
            told.unsaid += number(&drop["lost"]);
            told.unread += number(&line["lost"]);
        }
        told
    }
}

fn dropped(net: &Net) -> u64 {
    let stats = net.filterd(["stats", "--json"]).succeeds().json();
    let counted = stats["interfaces"].as_array().unwrap_or_else(|| panic!("{stats}"));
    counted.iter().filter(|row| row["verdict"] == "drop").filter_map(|row| row["packets"].as_u64()).sum()
}

fn processors() -> u64 {
    std::thread::available_parallelism().expect("there is one").get() as u64
}
