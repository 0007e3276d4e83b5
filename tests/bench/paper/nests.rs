//! From the notes on cuckoo hashing: more nests for each key, or more keys in each bucket.

use anyhow::{Result, ensure};
use filterd_measure::figures::Figures;
use filterd_measure::tables::Table;
use filterd_paper::Filter;
use filterd_paper::cuckoo::{Plain, Room, Shape};
use filterd_paper::hash::Choices;
use filterd_paper::nests::{Arrays, Nests};
use pages::arguments::Effort;
use pages::clock;
use pages::page::Chapter;

use crate::keys;

/// What the theory says that tables of this kind reach, in a hundred.
const KINDS: [(&str, Kind, &str); 8] = [
    ("two nests, two arrays", Kind::Nests(2, Arrays::Own), "50"),
    ("two nests, one array", Kind::Nests(2, Arrays::Shared), "50"),
    ("three nests", Kind::Nests(3, Arrays::Shared), "91.8"),
    ("four nests", Kind::Nests(4, Arrays::Shared), "97.7"),
    ("five nests", Kind::Nests(5, Arrays::Shared), "99.2"),
    ("two blocks of five nests (RocksDB)", Kind::Blocks(2, 5), ""),
    ("two buckets of four, f = 16", Kind::Buckets(4), "98.0"),
    ("two buckets of eight, f = 16", Kind::Buckets(8), "99.8"),
];

#[derive(Clone, Copy)]
enum Kind {
    Nests(u64, Arrays),
    Blocks(u64, u64),
    Buckets(u32),
}

/// Nanoseconds each, and the load at which one was refused.
#[derive(Clone, Copy)]
struct Sample([f64; 4]);

/// All kinds in turn.
pub fn chapter(effort: Effort, rounds: usize) -> Result<Chapter> {
    let bits = effort.of(16, 20, 24);
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); KINDS.len()];
    for _ in 0..rounds {
        for ((_, kind, _), samples) in KINDS.iter().zip(&mut samples) {
            samples.push(sample(*kind, bits)?);
        }
    }
    let row = |((name, _, theory), samples): (&(&str, Kind, &str), &Vec<Sample>)| {
        let median = |at: usize| Figures::of(samples.iter().map(|sample| sample.0[at]).collect()).median;
        let cells = [median(0) * 100.0, median(1), median(2), median(3)].map(|number| format!("{number:.1}"));
        [(*name).to_owned(), cells[0].clone(), (*theory).to_owned()]
            .into_iter()
            .chain(cells[1..].to_vec())
            .collect()
    };
    let heads = ["", "load, %", "theory", "insert, ns", "member, ns", "non-member, ns"];
    Ok(Chapter {
        title: "More nests, or larger buckets".to_owned(),
        words: format!(
            "Tables of 2^{bits} slots filled until one is refused, room being made by breadth-first search throughout: of \
             whole 64-bit keys with so many nests (Pagh and Rodler; Fotakis et al.) or in RocksDB's blocks, and filterd's \
             buckets. An insert is the mean over the whole filling; theory is the threshold for infinitely large tables."
        ),
        tables: vec![Table {
            title: "Cuckoo hashing of both kinds".to_owned(),
            heads: heads.map(str::to_owned).into(),
            rows: KINDS.iter().zip(&samples).map(row).collect(),
        }],
        plots: Vec::new(),
        remark: "Nests lie in so many cache lines, buckets in two: that is why filterd has two homes of several slots. Whole \
                 keys take 64 bits here, fingerprints 16, so the lines are not of the same size in memory. RocksDB's \
                 blocks begin at any nest and overlap. That should fill them further than buckets; but a search looks at \
                 4,096 nests at most, comes to many of them again and again, and gives up before."
            .to_owned(),
    })
}

fn sample(kind: Kind, bits: u32) -> Result<Sample> {
    match kind {
        Kind::Nests(choices, arrays) => {
            let nests = Nests::new(1 << bits, choices, arrays);
            let slots = nests.slots();
            fill(nests, slots)
        }
        Kind::Blocks(choices, block) => fill(Nests::in_blocks(1 << bits, choices, block), 1 << bits),
        Kind::Buckets(bucket) => {
            let shape = Shape { fingerprint: 16, bucket, index_bits: bits - bucket.ilog2() };
            fill(Plain::new(shape, Room::Path), 1 << bits)
        }
    }
}

fn fill(mut filter: impl Filter, slots: u64) -> Result<Sample> {
    let (insert, members) =
        clock::counted(|| (0..).take_while(|&number| filter.insert(keys::member(number)).is_ok()).count());
    const LOOKUPS: usize = 400_000;
    let mut choices = Choices::default();
    let mut ask = |percent| {
        let keys = keys::lookups(LOOKUPS, members as u64, percent, &mut choices);
        clock::lookups(&keys, |key| filter.contains(key))
    };
    let ((member, found), (non_member, _)) = (ask(100), ask(0));
    ensure!(found == LOOKUPS, "{} members are lost", LOOKUPS - found);
    Ok(Sample([members as f64 / slots as f64, insert, member, non_member]))
}
