//! A random life of a filterd, as long as one likes: `FILTERD_STEPS` steps of the life `FILTERD_SEED`, with at most
//! `FILTERD_LARGEST` targets at once, and no longer than `FILTERD_SECONDS`.

use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use harness::life::live;

use crate::rounds;

#[test]
fn life() {
    let steps = number("FILTERD_STEPS").unwrap_or(rounds(30, 10_000));
    let seed = number("FILTERD_SEED").unwrap_or_else(any_seed);
    let largest = number("FILTERD_LARGEST").unwrap_or(100_000);
    let seconds = number("FILTERD_SECONDS").unwrap_or(86_400);
    println!("the life of seed {seed}: {steps} steps");
    let lived = live(seed, steps, Duration::from_secs(seconds), largest);
    println!(
        "{} steps in {:.1} s ({:.0} a minute), {} packets judged, none of them wrong; repeat it with FILTERD_SEED={seed}",
        lived.steps,
        lived.took.as_secs_f64(),
        lived.steps as f64 * 60.0 / lived.took.as_secs_f64(),
        lived.frames
    );
}

fn number<T: FromStr>(name: &str) -> Option<T> {
    let word = std::env::var(name).ok()?;
    Some(word.parse().unwrap_or_else(|_| panic!("{name} is a number, not {word}")))
}

/// In a run of everything the same as always, else another one each time.
fn any_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    if rounds(0, 1) == 1 { u64::from(now.subsec_nanos()) } else { 1 }
}
