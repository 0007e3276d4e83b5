//! Every way in which settings can switch lookups on and off.

use std::fmt;

use filterd::kernel::Needs;

/// Up to here prefixes are told by the levels.
const TOLD: u8 = 32;

/// The most other lengths there are.
const MOST_LENGTHS: usize = 96;

/// Blocklists have fewer.
const USUAL: usize = 16;

/// How many IPv6 lengths beyond 32 are combined with everything else.
const LENGTHS: [usize; 3] = [0, 1, MOST_LENGTHS];

/// So many addresses that the table is cut into so many lanes.
const LANES: [(u64, &str); 5] = [(0, "none"), (1, "2"), (10_000, "3"), (200_000, "4"), (4_200_000, "5")];

/// So many IPv6 prefixes that the number of buckets is a power of two, a bit more, a bit less, and anything.
const SIZES: [u64; 6] = [1, 480, 490, 960, 123_456, 1_000_000];

/// One way.
pub struct Combination {
    pub enforce: bool,
    networks: bool,
    lanes: (u64, &'static str),
    levels: bool,
    lengths: usize,
    /// IPv6 prefixes, if these are more than there are lengths.
    six: u64,
}

impl Combination {
    /// All of them.
    pub fn all() -> Vec<Self> {
        let switches = || [false, true].into_iter();
        let mut all = Vec::new();
        for (lanes, lengths) in LANES.into_iter().flat_map(|lanes| LENGTHS.map(|lengths| (lanes, lengths))) {
            for (enforce, networks) in switches().flat_map(|on| switches().map(move |also| (on, also))) {
                all.extend(switches().map(|levels| Self {
                    enforce,
                    networks,
                    lanes,
                    levels,
                    lengths,
                    six: 0,
                }));
            }
        }
        all
    }

    /// Numbers of IPv6 lengths, the usual ones all, with nothing else on, and with everything.
    pub fn lengths() -> Vec<Self> {
        let combination = |lengths, is_on| Self {
            enforce: is_on,
            networks: is_on,
            lanes: if is_on { (1, "2") } else { (0, "none") },
            levels: is_on,
            lengths,
            six: 0,
        };
        let numbers = (0..USUAL).chain((USUAL..=MOST_LENGTHS).step_by(8));
        numbers.flat_map(|lengths| [false, true].map(|is_on| combination(lengths, is_on))).collect()
    }

    /// Sizes of the IPv6 table, with few lengths and with many.
    pub fn sizes() -> Vec<Self> {
        let combination = |six, lengths| Self {
            enforce: true,
            networks: false,
            lanes: LANES[0],
            levels: true,
            lengths,
            six,
        };
        SIZES
            .into_iter()
            .flat_map(|six| [65, MOST_LENGTHS].map(|lengths| combination(six, lengths)))
            .collect()
    }

    /// What asks the tables for it.
    pub fn needs(&self) -> Needs {
        let lengths = (TOLD + 1..=128).rev().take(self.lengths).collect();
        let six = self.six.max(self.lengths as u64 + u64::from(self.levels));
        Needs { addresses: self.lanes.0, networks: self.networks, levels: six > 0, six, lengths }
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = |is_on| if is_on { "on" } else { "off" };
        let Self { enforce, networks, lanes, levels, lengths, six } = self;
        let (enforce, networks, levels) = (on(*enforce), on(*networks), on(*levels));
        write!(
            f,
            "enforce {enforce}, networks {networks}, lanes {}, levels {levels}, lengths {lengths}, six {six}",
            lanes.1
        )
    }
}
