//! Every way in which settings can switch lookups on and off.

use std::fmt;

use filterd::kernel::Needs;

/// The /64 is looked up by itself; all other lengths one by one.
const NET64: u8 = 64;

/// The most other lengths there are.
const MOST_LENGTHS: usize = 128;

/// Blocklists have fewer.
const USUAL: usize = 16;

/// How many other IPv6 lengths are combined with everything else.
const LENGTHS: [usize; 3] = [0, 1, MOST_LENGTHS];

/// So many addresses that the table is cut into so many lanes.
const LANES: [(u64, &str); 5] = [(0, "none"), (1, "2"), (10_000, "3"), (200_000, "4"), (4_200_000, "5")];

/// One way.
pub struct Combination {
    pub enforce: bool,
    networks: bool,
    lanes: (u64, &'static str),
    nets64: bool,
    lengths: usize,
}

impl Combination {
    /// All of them.
    pub fn all() -> Vec<Self> {
        let switches = || [false, true].into_iter();
        let mut all = Vec::new();
        for (lanes, lengths) in LANES.into_iter().flat_map(|lanes| LENGTHS.map(|lengths| (lanes, lengths))) {
            for (enforce, networks) in switches().flat_map(|on| switches().map(move |also| (on, also))) {
                all.extend(switches().map(|nets64| Self { enforce, networks, lanes, nets64, lengths }));
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
            nets64: is_on,
            lengths,
        };
        let numbers = (0..USUAL).chain((USUAL..=MOST_LENGTHS).step_by(8));
        numbers.flat_map(|lengths| [false, true].map(|is_on| combination(lengths, is_on))).collect()
    }

    /// What asks the tables for it.
    pub fn needs(&self) -> Needs {
        let others = (0..=128).rev().filter(|&length| length != NET64).take(self.lengths);
        let lengths = others.chain(self.nets64.then_some(NET64)).collect();
        let six = self.lengths as u64 + u64::from(self.nets64);
        Needs { addresses: self.lanes.0, networks: self.networks, six, lengths }
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = |is_on| if is_on { "on" } else { "off" };
        let Self { enforce, networks, lanes, nets64, lengths } = self;
        let (enforce, networks, nets64) = (on(*enforce), on(*networks), on(*nets64));
        write!(
            f,
            "enforce {enforce}, networks {networks}, lanes {}, /64s {nets64}, lengths {lengths}",
            lanes.1
        )
    }
}
