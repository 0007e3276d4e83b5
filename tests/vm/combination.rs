//! Every way in which settings can switch lookups on and off.

use std::collections::BTreeSet;
use std::fmt;

use filter_common::labels::Counters;
use filter_common::sets::{MOST_CLAUSES, PerSet, SLOTS};
use filter_common::target::Prefix6;
use filterd::kernel::{Needs, SetNeeds, Ways};

/// Up to here prefixes are told by the levels.
const TOLD: u8 = 32;

/// The most other lengths there are.
const MOST_LENGTHS: usize = 96;

/// Blocklists have fewer.
const USUAL: usize = 16;

/// How many IPv6 lengths beyond 32 are combined with everything else.
const LENGTHS: [usize; 3] = [0, 1, MOST_LENGTHS];

/// So many addresses that the table is cut into so many lanes; but for the first, in no power of two of buckets.
const LANES: [(u64, &str); 5] = [(0, "none"), (1, "2"), (30_000, "3"), (600_000, "4"), (12_000_000, "5")];

/// So many IPv6 prefixes that the number of buckets is a power of two, a bit more, a bit less, and anything.
const SIZES: [u64; 6] = [1, 480, 490, 960, 123_456, 1_000_000];

/// The lengths of `lengths` that the covering set has: both ends, both sides of the usual ones, and the dearest.
const COVERING_LENGTHS: [usize; 8] = [0, 1, 8, 15, 16, 24, 88, MOST_LENGTHS];

/// Two settings of a combination: the number and the value of each.
type Pair = ((usize, u64), (usize, u64));

/// One way.
#[derive(Clone)]
pub struct Combination {
    pub enforce: bool,
    pub paused: bool,
    pub match_new: bool,
    pub counters: Counters,
    networks: bool,
    lanes: (u64, &'static str),
    levels: bool,
    lengths: usize,
    /// IPv6 prefixes, if these are more than there are lengths.
    six: u64,
    allow: Allow,
    /// How many clauses block the same on some ports.
    pub ports: usize,
}

/// What of the set to allow is looked up.
#[derive(Clone, Copy)]
enum Allow {
    Nothing,
    /// Addresses and prefixes of IPv4.
    Four,
    /// The same as of the set to block.
    Same,
}

impl Combination {
    /// All of them.
    pub fn all() -> Vec<Self> {
        let switches = || [false, true].into_iter();
        let mut all = Vec::new();
        for (lanes, lengths) in LANES.into_iter().flat_map(|lanes| LENGTHS.map(|lengths| (lanes, lengths))) {
            for (enforce, networks) in switches().flat_map(|on| switches().map(move |also| (on, also))) {
                let allow = Allow::Nothing;
                all.extend(switches().map(|levels| Self {
                    enforce,
                    paused: false,
                    match_new: false,
                    counters: lists_if(enforce),
                    networks,
                    lanes,
                    levels,
                    lengths,
                    six: 0,
                    allow,
                    ports: 0,
                }));
            }
            let rest = |allow, ports| Self {
                enforce: true,
                paused: false,
                match_new: false,
                counters: lists_if(true),
                networks: true,
                lanes,
                levels: true,
                lengths,
                six: 0,
                allow,
                ports,
            };
            all.extend([Allow::Four, Allow::Same].map(|allow| rest(allow, 0)));
            all.extend([1, MOST_CLAUSES, SLOTS].map(|ports| rest(Allow::Same, ports)));
        }
        all
    }

    /// Some of `all`: each pair of settings that occurs there occurs here, too. The last one, with everything on, is the
    /// dearest and always there.
    pub fn covering() -> Vec<Self> {
        let all = Self::all();
        let pairs: Vec<_> = all.iter().map(Self::pairs).collect();
        let mut missing: BTreeSet<Pair> = pairs.iter().flatten().copied().collect();
        let (mut chosen, mut next) = (Vec::new(), all.len() - 1);
        while !missing.is_empty() {
            missing.retain(|pair| !pairs[next].contains(pair));
            chosen.push(all[next].clone());
            let gain = |number: &usize| missing.iter().filter(|pair| pairs[*number].contains(pair)).count();
            next = (0..all.len()).max_by_key(gain).unwrap_or_default();
        }
        chosen
    }

    /// The same of `lengths`.
    pub fn covering_lengths() -> Vec<Self> {
        let lengths = Self::lengths().into_iter();
        lengths.filter(|combination| COVERING_LENGTHS.contains(&combination.lengths)).collect()
    }

    /// The same of `sizes`: each size, with as many lengths as there can be.
    pub fn covering_sizes() -> Vec<Self> {
        Self::sizes().into_iter().filter(|combination| combination.lengths == MOST_LENGTHS).collect()
    }

    fn pairs(&self) -> BTreeSet<Pair> {
        let settings: Vec<_> = self.settings().into_iter().enumerate().collect();
        let pairs = settings.iter().flat_map(|one| settings.iter().map(move |other| (*one, *other)));
        pairs.filter(|(one, other)| one.0 < other.0).collect()
    }

    /// Each setting as a number.
    fn settings(&self) -> [u64; 11] {
        [
            u64::from(self.enforce),
            u64::from(self.paused),
            u64::from(self.match_new),
            u64::from(self.counters == Counters::Lists),
            u64::from(self.networks),
            self.lanes.0,
            u64::from(self.levels),
            self.lengths as u64,
            self.six,
            self.allow as u64,
            self.ports as u64,
        ]
    }

    /// Numbers of IPv6 lengths, the usual ones all, with nothing else on, and with everything, a pause included.
    pub fn lengths() -> Vec<Self> {
        let combination = |lengths, is_on| Self {
            enforce: is_on,
            paused: is_on,
            match_new: is_on,
            counters: lists_if(is_on),
            networks: is_on,
            lanes: if is_on { (1, "2") } else { (0, "none") },
            levels: is_on,
            lengths,
            six: 0,
            allow: if is_on { Allow::Same } else { Allow::Nothing },
            ports: if is_on && lengths <= USUAL { MOST_CLAUSES } else { 0 },
        };
        let numbers = (0..USUAL).chain((USUAL..=MOST_LENGTHS).step_by(8));
        numbers.flat_map(|lengths| [false, true].map(|is_on| combination(lengths, is_on))).collect()
    }

    /// Sizes of the IPv6 table and of the levels in front, with few lengths and with many.
    pub fn sizes() -> Vec<Self> {
        let combination = |six, lengths| Self {
            paused: false,
            match_new: false,
            counters: lists_if(true),
            enforce: true,
            networks: false,
            lanes: LANES[0],
            levels: true,
            lengths,
            six,
            allow: Allow::Nothing,
            ports: 0,
        };
        SIZES
            .into_iter()
            .flat_map(|six| [65, MOST_LENGTHS].map(|lengths| combination(six, lengths)))
            .collect()
    }

    /// What asks the tables for it.
    pub fn needs(&self) -> Needs {
        let block = self.block();
        let allow = match self.allow {
            Allow::Nothing => SetNeeds::default(),
            Allow::Four => SetNeeds { addresses: 1, networks: true, ..SetNeeds::default() },
            Allow::Same => block.clone(),
        };
        let clause = |number| if number < self.ports { block.clone() } else { SetNeeds::default() };
        let clauses = std::array::from_fn(clause);
        Needs { sets: PerSet { block, allow, clauses, out: SetNeeds::default() }, counters: self.counters }
    }

    fn block(&self) -> SetNeeds {
        let lengths = (TOLD + 1..=128).rev().take(self.lengths).collect();
        let six = self.six.max(self.lengths as u64 + u64::from(self.levels));
        let (addresses, networks) = (self.lanes.0, self.networks);
        SetNeeds { addresses, networks, levels: six > 0, ways: self.ways(), six, lengths }
    }

    /// To one prefix in ten, each in a /24 of its own: so the levels have as many sizes as the table.
    fn ways(&self) -> Ways {
        let mut ways = Ways::default();
        (0..self.six / 10).for_each(|number| ways.add(Prefix6::covering(u128::from(number) << 104, 48)));
        ways
    }
}

fn lists_if(is_on: bool) -> Counters {
    if is_on { Counters::Lists } else { Counters::Total }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = |is_on| if is_on { "on" } else { "off" };
        let Self { enforce, paused, match_new, counters, .. } = self;
        let Self { networks, lanes, levels, lengths, six, allow, ports, .. } = self;
        let allow = match allow {
            Allow::Nothing => "nothing",
            Allow::Four => "ipv4",
            Allow::Same => "the same",
        };
        let (enforce, paused) = (on(*enforce), if *paused { ", paused" } else { "" });
        let matches = if *match_new { ", match new" } else { "" };
        let counters = if *counters == Counters::Lists { ", counters for lists" } else { "" };
        let (networks, levels) = (on(*networks), on(*levels));
        write!(
            f,
            "enforce {enforce}{paused}{matches}{counters}, networks {networks}, lanes {}, levels {levels}, lengths {lengths}, six {six}, allow {allow}, {ports} clauses",
            lanes.1
        )
    }
}

#[test]
fn covering_set_has_every_pair_of_settings() {
    let (all, covering) = (Combination::all(), Combination::covering());
    let pairs_of = |some: &[Combination]| some.iter().flat_map(Combination::pairs).collect::<BTreeSet<_>>();
    let (expected, covered) = (pairs_of(&all), pairs_of(&covering));
    println!("{} of {} combinations cover {} pairs", covering.len(), all.len(), covered.len());
    assert_eq!(covered, expected);
    assert!(5 * covering.len() < all.len(), "{} of {} are not few", covering.len(), all.len());
}

#[test]
fn covering_set_has_no_combination_twice() {
    let covering = Combination::covering();
    let different: BTreeSet<_> = covering.iter().map(Combination::settings).collect();
    assert_eq!(different.len(), covering.len());
}

#[test]
fn covering_set_has_everything_on() {
    let most = |one: &Combination| one.ports == SLOTS && one.lanes == LANES[4] && one.lengths == MOST_LENGTHS;
    assert!(Combination::covering().iter().any(most));
}

#[test]
fn covering_lengths_are_all_there() {
    let lengths: BTreeSet<_> = Combination::covering_lengths().iter().map(|one| one.lengths).collect();
    assert_eq!(lengths, BTreeSet::from(COVERING_LENGTHS));
    let sizes: BTreeSet<_> = Combination::covering_sizes().iter().map(|one| one.six).collect();
    assert_eq!(sizes, BTreeSet::from(SIZES));
}
