//! The lists, and whose addresses are looked up in each.

use filter_common::target::Target;
use real::sources::{From, Sources4, Sources6};

/// Of each kind.
pub const SOURCES: usize = 500_000;

/// Everything is the same in every run.
const SEED: u64 = 1;

/// One of them.
pub struct List {
    pub name: &'static str,
    pub is_six: bool,
    pub targets: Vec<Target>,
    pub kinds: Vec<Kind>,
}

/// Sources of one kind, and how many of them are listed. An IPv4 address is the lowest bits.
pub struct Kind {
    pub from: From,
    pub sources: Vec<u128>,
    pub listed: usize,
}

impl List {
    pub fn all() -> Vec<Self> {
        let (six, four) = (real::world6(SEED), real::world4(SEED));
        let part = real::part(&six, 4, SEED);
        let of_six = |name, list: &[_], froms: &[From]| {
            let sources = Sources6::new(&six, list);
            let kind = |&from| Kind::new(from, sources.some(from, SOURCES, SEED), |one| sources.lists(one));
            let targets = list.iter().copied().map(Target::V6).collect();
            Self { name, is_six: true, targets, kinds: froms.iter().map(kind).collect() }
        };
        let sources = Sources4::new(&four, &four);
        let kind = |from| {
            let some = sources.some(from, SOURCES, SEED).into_iter().map(u128::from).collect();
            Kind::new(from, some, |one| sources.lists(one as u32))
        };
        let of_four = Self {
            name: "IPv4, all countries",
            is_six: false,
            targets: four.iter().copied().map(Target::V4).collect(),
            kinds: [From::Unannounced, From::Listed].map(kind).into(),
        };
        let all = [From::Unannounced, From::Unlisted, From::AsItFalls, From::Deep, From::Listed];
        vec![
            of_six("IPv6, all countries", &six, &[From::Unannounced, From::Deep, From::Listed]),
            of_six("IPv6, four in ten", &part, &all),
            of_four,
        ]
    }
}

impl Kind {
    fn new(from: From, sources: Vec<u128>, lists: impl Fn(u128) -> bool) -> Self {
        let listed = sources.iter().filter(|&&source| lists(source)).count();
        Self { from, sources, listed }
    }
}
