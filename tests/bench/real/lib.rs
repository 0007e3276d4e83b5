//! Lists shaped like real ones, and sources that meet them: the same in every run, made from a seed.
//!
//! Real lists may not lie in this repository, and they change daily. So `histogram` has the numbers of prefixes of each
//! length as they were counted in country lists, and `six`, `deep` and `four` deal them out as registries do: in runs,
//! within the blocks that each registry has, sparsely. `netset` is a mix as lists of attackers are, `bans` are single
//! hosts and networks, `cover` tells plainly what a list covers, and `sources` whose packets meet it; `told` says of each of a billion
//! sources whether a list covers it.

#![forbid(unsafe_code)]

pub mod bans;
pub mod chance;
pub mod cover;
mod deep;
mod four;
pub mod histogram;
pub mod netset;
#[path = "../../../filter-ebpf/soak/numbered.rs"]
mod numbered;
mod region;
mod six;
pub mod sources;
pub mod told;

pub use four::world as world4;
pub use six::world as world6;

use chance::Chance;

/// So many in ten of a list, each by itself: what somebody lists who blocks many countries, but not all.
#[must_use]
pub fn part<T: Copy>(of: &[T], in_ten: u64, seed: u64) -> Vec<T> {
    let mut chance = Chance::new("part", seed);
    of.iter().copied().filter(|_| chance.below(10) < in_ten).collect()
}
