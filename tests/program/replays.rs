//! What refutes a broken judge, by `cargo xtask prove`: a packet, settings, and words of maps. The judge does with each what the
//! specification says, and each mutant of it something else: that which was told of it beforehand.

mod mutant;
mod stage;

use filter_common::settings;
use serde_json::{Map, Value};

use mutant::Mutant;
use stage::{Outcome, Played, Stage};

/// In the program, for a guest has no tree of sources.
const REPLAYS: &str = include_str!("replays.jsonl");

/// Where objects are compiled anew they may have other instructions, and what is broken in them something else.
const ARE_FRESH: bool = matches!(option_env!("FILTERD_BPF"), Some(choice) if !choice.is_empty());

/// So many mutants at least are taken and go wrong, whatever a verifier refuses and a machine cannot play.
const FEWEST: u32 = 40;

/// Linux 6.1 looks at functions that nobody calls, too: with settings for a single packet these would leave their maps.
fn are_taken_here() -> bool {
    let release = filterd::kernel::version::found();
    let is_new = filterd::kernel::version::numbers(&release) >= Some((6, 12));
    if !is_new {
        println!("SKIPPED replays: Linux {release} looks at functions that nobody calls");
    }
    is_new
}

#[test]
fn mutant_refutations_match_the_specification() {
    if !are_taken_here() {
        return;
    }
    for replay in replays() {
        let of = &replay["of"];
        match Stage::of(&replay).play(None) {
            Outcome::Played(played) => {
                assert!(played.is(&replay["expected"]), "{of}: {played:?} instead of {}", replay["expected"])
            }
            Outcome::Refused(why) => panic!("{of}: {why}"),
            Outcome::Skipped(why) => println!("SKIPPED {of}: {why}"),
        }
    }
}

#[test]
fn refuted_mutant_fails_in_kernel_as_predicted() {
    if !are_taken_here() {
        return;
    }
    let mut wrong = 0_u32;
    for replay in replays().filter(|replay| !replay["mutant"].is_null()) {
        let of = &replay["of"];
        match Stage::of(&replay).play(Some(&Mutant::of(&replay["mutant"]))) {
            Outcome::Skipped(why) => println!("SKIPPED {of}: {why}"),
            Outcome::Played(played) if ARE_FRESH => println!("SKIPPED {of}: fresh, {played:?}"),
            Outcome::Refused(why) if ARE_FRESH => println!("SKIPPED {of}: fresh, {why}"),
            Outcome::Played(played) => {
                assert!(!played.is(&replay["expected"]), "{of}: nothing is wrong with it");
                assert!(played.is(&replay["seen"]), "{of}: {played:?} instead of {}", replay["seen"]);
                wrong += 1;
            }
            // A verifier may see more than ours has.
            Outcome::Refused(why) => println!("REFUSED {of}: {why}"),
        }
    }
    println!("{wrong} mutants went wrong as told");
    assert!(ARE_FRESH || wrong >= FEWEST, "only {wrong} mutants went wrong");
}

fn replays() -> impl Iterator<Item = Value> {
    assert_ne!(REPLAYS, "", "those of mutants are always there");
    REPLAYS.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
}

/// Words by their numbers, of those that are not zero.
fn words(value: &Value) -> impl Iterator<Item = (u32, u64)> {
    let all: &Map<String, Value> = value.as_object().expect("words by their numbers");
    all.iter().map(|(at, word)| (at.parse().expect("a number"), word.as_u64().expect("a word")))
}

fn settings_of(replay: &Value) -> [u64; settings::WORDS] {
    let mut settings = settings::Settings::OFF.as_words();
    words(&replay["settings"]).for_each(|(at, word)| settings[at as usize] = word);
    settings
}

impl Played {
    /// Is this what was told? Of maps of which nothing is told anything may be.
    fn is(&self, told: &Value) -> bool {
        let counted = told["counted"].as_object().expect("maps by their names");
        told["action"] == self.action
            && counted.iter().all(|(map, told)| {
                let counted = self.counted.get(map).cloned().unwrap_or_default();
                counted == sorted(words(told).collect())
            })
    }
}

fn sorted(mut words: Vec<(u32, u64)>) -> Vec<(u32, u64)> {
    words.sort_unstable();
    words
}
