//! What is aimed at with such lists, and whether it holds here.

use filterd_measure::goals::{self, Goal};
use pages::page::Chapter;
use real::sources::From;

use super::lists::Name;
use super::report::told;
use super::{Manner, Outcome, Who};
use crate::plan::Pace;

const OVERLAPPING: Manner = Manner::Spread(Pace::Overlapping);
const ALONE: Manner = Manner::Spread(Pace::Alone);

/// What takes less than this is told by nobody's clock, and counts as this where it divides.
const LEAST: f64 = 0.5;

/// At least so many times what filterd takes does a trie take.
const TRIE: [(Name, From, Manner, f64); 20] = [
    (Name::World6, From::Unannounced, OVERLAPPING, 10.0),
    (Name::Part6, From::Unlisted, OVERLAPPING, 10.0),
    (Name::Part6, From::AsItFalls, OVERLAPPING, 8.0),
    (Name::Part6, From::AsItFalls, ALONE, 5.0),
    (Name::World6, From::Listed, OVERLAPPING, 10.0),
    (Name::World6, From::Listed, ALONE, 5.0),
    (Name::Part6, From::Listed, OVERLAPPING, 10.0),
    (Name::Part6, From::Listed, ALONE, 5.0),
    (Name::World6, From::Deep, OVERLAPPING, 3.0),
    (Name::Part6, From::Deep, OVERLAPPING, 3.0),
    (Name::Bans6, From::AsItFalls, OVERLAPPING, 8.0),
    (Name::Bans6, From::Unlisted, OVERLAPPING, 8.0),
    (Name::Bans6, From::Listed, OVERLAPPING, 8.0),
    (Name::Many6, From::AsItFalls, OVERLAPPING, 8.0),
    (Name::Many6, From::Listed, OVERLAPPING, 8.0),
    (Name::Anywhere6, From::Unannounced, OVERLAPPING, 8.0),
    (Name::Anywhere6, From::AsItFalls, OVERLAPPING, 8.0),
    (Name::Many4, From::Unannounced, OVERLAPPING, 20.0),
    (Name::Many4, From::AsItFalls, OVERLAPPING, 20.0),
    (Name::Many4, From::Listed, OVERLAPPING, 20.0),
];

/// And so many times does one probe a length take. filterd as it was took a sixth less than the program here that is kept
/// of it: so these stand for twenty times what filterd took.
const LENGTHS: [(Name, From, f64); 2] =
    [(Name::World6, From::Unannounced, 24.0), (Name::Part6, From::Unlisted, 24.0)];

/// At most so many nanoseconds does filterd take above parsing.
const NANOSECONDS: [(Name, From, Manner, f64); 5] = [
    (Name::World6, From::Unannounced, Manner::Hot, 5.0),
    (Name::Part6, From::Unlisted, Manner::Hot, 5.0),
    (Name::Many4, From::Unannounced, OVERLAPPING, 15.0),
    (Name::Many4, From::AsItFalls, OVERLAPPING, 15.0),
    (Name::Many4, From::Listed, OVERLAPPING, 15.0),
];

/// At most so many times what a million addresses alone take.
const BESIDE: f64 = 1.5;

/// So many times as fast in one number: what is too short to be told counts as the least that can be.
pub fn ratio(dividend: f64, divisor: f64) -> f64 {
    dividend / divisor.max(LEAST)
}

pub fn chapter(outcome: &Outcome) -> Chapter {
    let goals = tries(outcome).chain(lengths(outcome)).chain(nanoseconds(outcome)).chain(beside(outcome));
    Chapter {
        title: "Goals with such lists".to_owned(),
        words: format!("Nanoseconds above parsing. In ratios, less than {LEAST} ns counts as {LEAST} ns."),
        tables: vec![goals::table("Goals with such lists", goals)],
        ..Chapter::default()
    }
}

/// As shipped, and as the others count: none of these counts for lists, and whom nobody drops nobody counts so.
fn tries(outcome: &Outcome) -> impl Iterator<Item = Goal> {
    let goal = |who: Who, (list, from, manner, least)| {
        let of = |who| outcome.above(list, from, manner, who);
        let what = format!("{}: {} ÷ {who}, {list}: {from}", told(manner), Who::Trie);
        Some(Goal::least(&what, ratio(of(Who::Trie)?, of(who)?), least))
    };
    TRIE.into_iter().flat_map(move |aim @ (_, from, ..)| {
        let who: &[Who] = if counts(from) { &[Who::Filterd, Who::Total] } else { &[Who::Filterd] };
        who.iter().filter_map(move |&who| goal(who, aim))
    })
}

/// Is any packet of theirs dropped, and thereby counted for a list?
const fn counts(from: From) -> bool {
    matches!(from, From::AsItFalls | From::Listed)
}

fn lengths(outcome: &Outcome) -> impl Iterator<Item = Goal> {
    LENGTHS.into_iter().filter_map(|(list, from, least)| {
        let of = |who| outcome.above(list, from, OVERLAPPING, who);
        let what = format!("{}: {} ÷ filterd, {list}: {from}", told(OVERLAPPING), Who::Lengths);
        Some(Goal::least(&what, ratio(of(Who::Lengths)?, of(Who::Filterd)?), least))
    })
}

fn nanoseconds(outcome: &Outcome) -> impl Iterator<Item = Goal> {
    NANOSECONDS.into_iter().filter_map(|(list, from, manner, most)| {
        let measured = outcome.above(list, from, manner, Who::Filterd)?;
        Some(Goal::most(&format!("{}: ns above parsing, {list}: {from}", told(manner)), measured, most))
    })
}

fn beside(outcome: &Outcome) -> impl Iterator<Item = Goal> {
    [From::Unannounced, From::AsItFalls, From::Listed].into_iter().filter_map(|from| {
        let of = |list| outcome.above(list, from, OVERLAPPING, Who::Filterd);
        let measured = ratio(of(Name::Many4)?, of(Name::Addresses4)?);
        let what = format!("{}: {} ÷ {}: {from}", told(OVERLAPPING), Name::Many4, Name::Addresses4);
        Some(Goal::most(&what, measured, BESIDE))
    })
}
