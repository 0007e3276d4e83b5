//! A list held as filterd holds it, in plain memory: the very decision of the packet path, but for its settings, which
//! are constants there and lie in memory here.

use std::cell::Cell;
use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use filter_common::cuckoo::geometry::Geometry;
use filter_common::cuckoo::six::{self, Six};
use filter_common::cuckoo::{Table, exact};
use filter_common::hash::Hash;
use filter_common::levels::{Levels, Way};
use filter_common::set::{self, View};
use filter_common::settings::{AddressSettings, LengthSettings, SetSettings, SixSettings};
use filter_common::target::{Prefix4, Prefix6, Target};
use filter_common::{levels, networks, stash};
use filterd_paper::hash::key;
use pages::clock;

use super::Sample;
use super::lists::List;

/// A table with its stashes before it.
type Memory = Box<[Cell<u64>]>;

#[derive(Default)]
struct Tables {
    addresses: Option<Memory>,
    networks: Option<Memory>,
    levels: Option<Memory>,
    six: Option<Memory>,
}

/// Times of a list.
pub fn sample(list: &List) -> Result<Sample> {
    let mut made = None;
    let insert = clock::each(list.targets.len(), || made = Some(make(list)));
    let (settings, tables) = made.expect("it was just made");
    let view = View {
        settings: &settings,
        addresses: tables.addresses.as_deref(),
        networks: tables.networks.as_deref(),
        levels: tables.levels.as_deref(),
        six: tables.six.as_deref(),
    };
    let mut lookups = Vec::new();
    for kind in &list.kinds {
        let look = || match list.is_six {
            true => clock::lookups(&kind.sources, |one| set::find6(&view, one.into()).is_some()),
            false => clock::lookups(&kind.sources, |one| set::find4(&view, one as u32).is_some()),
        };
        // Once for the caches, once for the clock.
        look();
        let (nanoseconds, found) = look();
        ensure!(found == kind.listed, "filterd finds {found} of {} ({})", kind.listed, kind.from);
        lookups.push(nanoseconds);
    }
    let all = [&tables.addresses, &tables.networks, &tables.levels, &tables.six];
    let bytes = all.into_iter().flatten().map(|words| size_of_val(&words[..]) as u64).sum();
    Ok(Sample { table: "filterd".to_owned(), insert, lookups, bytes })
}

fn make(list: &List) -> (SetSettings, Tables) {
    let mut settings = SetSettings::OFF;
    let mut tables = Tables::default();
    let four = list.targets.iter().filter_map(|target| match target {
        Target::V4(prefix) => Some(*prefix),
        Target::V6(_) => None,
    });
    let six: Vec<Prefix6> = list
        .targets
        .iter()
        .filter_map(|target| match target {
            Target::V4(_) => None,
            Target::V6(prefix) => Some(*prefix),
        })
        .collect();
    let (long, short): (Vec<Prefix4>, Vec<Prefix4>) = four.partition(|prefix| prefix.length() > 24);
    if !short.is_empty() {
        settings.networks4 = 1;
        tables.networks = Some(of_networks(&short));
    }
    if !long.is_empty() {
        let (of, words) = of_addresses(&long);
        settings.addresses4 = of;
        tables.addresses = Some(words);
    }
    if !six.is_empty() {
        let (of, levels, words) = of_six(&six);
        settings.six = of;
        tables.levels = Some(levels);
        tables.six = Some(words);
    }
    (settings, tables)
}

fn of_networks(prefixes: &[Prefix4]) -> Memory {
    let words = zeros(networks::WORDS);
    for prefix in prefixes {
        networks::set(&words[..], prefix.first() >> 8, 1 << (24 - prefix.length()), |_| u64::MAX);
    }
    words
}

/// Prefixes longer than /24 are the addresses that they hold.
fn of_addresses(prefixes: &[Prefix4]) -> (AddressSettings, Memory) {
    let addresses: BTreeSet<u32> =
        prefixes.iter().flat_map(|prefix| prefix.first()..=prefix.last()).collect();
    let geometry = Geometry::exact4_for(addresses.len() as u64).expect("there are larger tables");
    let key = exact::key(std::array::from_fn(|word| key(word as u64)));
    let words = zeros(stash::WORDS + geometry.words());
    let scheme = exact::Exact::new(32, key, geometry);
    let table = Table::new(scheme, geometry, &words[stash::WORDS as usize..]);
    table.insert_all(addresses.into_iter().map(u64::from), |_| panic!("there is room for all"));
    let settings = AddressSettings {
        in_use: 1,
        buckets: geometry.buckets().into(),
        remainder_mask: scheme.remainder_mask(),
        place_mask: scheme.place_mask(),
        lane_ones: geometry.lanes().ones(),
        lane_highs: geometry.lanes().highs(),
        key,
        ..AddressSettings::OFF
    };
    (settings, words)
}

/// As the daemon fills them: short prefixes have the first say in what the levels tell, and the rest goes into the table.
fn of_six(prefixes: &[Prefix6]) -> (SixSettings, Memory, Memory) {
    let size = size_for(prefixes);
    let level_words = zeros(size);
    let mut levels = Levels::new(&level_words[..], size);
    let (short, long): (Vec<Prefix6>, Vec<Prefix6>) =
        prefixes.iter().partition(|prefix| prefix.length() <= 32);
    short.iter().chain(&long).for_each(|prefix| levels.make_way(*prefix));
    let beyond: Vec<&Prefix6> = prefixes.iter().filter(|prefix| !levels.tells(**prefix)).collect();
    let geometry = Geometry::six_for(beyond.len() as u64).expect("there are larger tables");
    let key64 = exact::key(std::array::from_fn(|word| key(word as u64)));
    let hash = Hash::new(std::array::from_fn(|word| key(word as u64 + 100)));
    let words = zeros(stash::WORDS + geometry.words());
    let table = Table::new(Six::new(geometry, key64), geometry, &words[stash::WORDS as usize..]);
    let key6 = |prefix: &&Prefix6| six::key(&hash, prefix.address().into(), prefix.length());
    table.insert_all(beyond.iter().map(key6), |_| panic!("there is room for all"));
    prefixes.iter().for_each(|prefix| levels.show(*prefix));
    let lengths: BTreeSet<u8> = beyond.iter().map(|prefix| prefix.length()).collect();
    let longer = lengths.range(65..);
    let mut settings = SixSettings {
        last_level_start: levels::size::last_start(size),
        has_table: 1,
        to_64: lengths.range(1..=64).fold(0, |bits, length| bits | 1 << (64 - length)),
        shorter: lengths.range(..64).count() as u64,
        longer: longer.clone().count() as u64,
        buckets: geometry.buckets().into(),
        index_bits: geometry.index_bits().into(),
        key64,
        pairs: hash.pairs(),
        ..SixSettings::OFF
    };
    for (place, length) in settings.lengths.iter_mut().zip(longer) {
        *place = LengthSettings::new(&hash, *length);
    }
    (settings, level_words, words)
}

/// As the daemon makes the levels: with little more room than these take.
fn size_for(prefixes: &[Prefix6]) -> u32 {
    let mut ways: Vec<Way> = prefixes.iter().filter_map(|prefix| Way::to(*prefix)).collect();
    ways.sort_unstable();
    let mut joined: Vec<Way> = Vec::new();
    for way in ways {
        match joined.last().and_then(|last| last.joined(way)) {
            Some(both) => *joined.last_mut().expect("it was joined with that") = both,
            None => joined.push(way),
        }
    }
    levels::size::for_words(levels::words_of(joined.into_iter(), u32::MAX))
}

fn zeros(words: u32) -> Memory {
    vec![Cell::new(0); words as usize].into()
}
