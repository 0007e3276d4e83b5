//! A random life of a filterd, in short: a minute in all, with seeds that are the same in every run. `cargo xtask soak life`
//! lives longer ones.

use std::time::Duration;

use std::panic::catch_unwind;

use harness::life::{Planted, live, live_with_a_stale_label};

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

/// Whoever says that all numbers were right has looked at each of them.
#[test]
fn life_finds_a_stale_label_of_each_kind() {
    for planted in Planted::ALL {
        let found = catch_unwind(|| live_with_a_stale_label(4, 3, planted)).expect_err("it finds it");
        let why = found.downcast_ref::<String>().map_or("", String::as_str);
        // Which one of its kind it is, tables decide: whoever has to make way is none. What it sent may stand behind it.
        let told = |address: String| {
            why.split(&format!("of {address}")).skip(1).any(|rest| {
                let said = if rest.starts_with(" (") { rest.split_once("):") } else { rest.split_once(':') };
                // Whose number is planted, the life decides.
                let said = said.and_then(|(_, said)| said.strip_prefix(" 1 for list ")?.split_once(", "));
                said.is_some_and(|(_, said)| said.starts_with("not 0 to 0"))
            })
        };
        assert!(planted.addresses().any(told), "{planted:?}: {why}");
    }
}
