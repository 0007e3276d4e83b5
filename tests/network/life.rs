//! A random life of a filterd, in short: a minute in all, with seeds that are the same in every run. `cargo xtask soak life`
//! lives longer ones.

use std::time::Duration;

use harness::life::live;

#[test]
fn a_random_life_of_small_changes() {
    tell(1, 5_000);
}

#[test]
fn a_random_life_of_large_changes() {
    tell(2, 100_000);
}

#[test]
fn another_random_life() {
    tell(3, 20_000);
}

fn tell(seed: u64, largest: usize) {
    let lived = live(seed, 200, Duration::from_secs(20), largest);
    println!("{lived:?}");
}
