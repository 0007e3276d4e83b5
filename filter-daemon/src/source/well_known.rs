//! Ranges that many hosts need: public resolvers and CDNs. An operator who blocks them gets a warning,
//! because more may become unreachable than intended. They are never refused.
//!
//! The ranges are as their owners publish them, noted in November 2026 from memory of these publications (no
//! list was fetched). There may be more of them by now. Missing ranges cause no warning, and nothing else
//! depends on them. Clouds that rent addresses to anyone are excluded on purpose, and so is Akamai, which has
//! no public list.

use std::collections::BTreeSet;

use filter_common::target::{Address, Prefix, Prefix4, Prefix6, Target};

use super::Targets;

/// The ranges of one owner.
#[derive(Debug)]
pub struct WellKnown {
    owner: &'static str,
    /// The service that becomes unreachable.
    what: OwnerKind,
    v4: &'static [([u8; 4], u8)],
    v6: &'static [([u16; 4], u8)],
    /// Single IPv6 addresses of resolvers.
    hosts6: &'static [[u16; 8]],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OwnerKind {
    Resolver,
    Network,
}

/// Resolvers come before the networks that contain them.
static ALL: [WellKnown; 8] = [
    // https://developers.cloudflare.com/1.1.1.1/ip-addresses/
    WellKnown {
        owner: "Cloudflare",
        what: OwnerKind::Resolver,
        v4: &[([1, 1, 1, 0], 30), ([1, 0, 0, 0], 30)],
        v6: &[],
        hosts6: &[[0x2606, 0x4700, 0x4700, 0, 0, 0, 0, 0x1111], [0x2606, 0x4700, 0x4700, 0, 0, 0, 0, 0x1001]],
    },
    // https://developers.google.com/speed/public-dns
    WellKnown {
        owner: "Google",
        what: OwnerKind::Resolver,
        v4: &[([8, 8, 8, 8], 32), ([8, 8, 4, 4], 32)],
        v6: &[],
        hosts6: &[[0x2001, 0x4860, 0x4860, 0, 0, 0, 0, 0x8888], [0x2001, 0x4860, 0x4860, 0, 0, 0, 0, 0x8844]],
    },
    // https://quad9.net/service/service-addresses-and-features/
    WellKnown {
        owner: "Quad9",
        what: OwnerKind::Resolver,
        v4: &[([9, 9, 9, 9], 32), ([149, 112, 112, 112], 32)],
        v6: &[],
        hosts6: &[[0x2620, 0xFE, 0, 0, 0, 0, 0, 0xFE], [0x2620, 0xFE, 0, 0, 0, 0, 0, 9]],
    },
    // https://www.opendns.com/about/innovations/ipv6/
    WellKnown {
        owner: "OpenDNS",
        what: OwnerKind::Resolver,
        v4: &[([208, 67, 222, 222], 32), ([208, 67, 220, 220], 32)],
        v6: &[],
        hosts6: &[[0x2620, 0x119, 0x35, 0, 0, 0, 0, 0x35], [0x2620, 0x119, 0x53, 0, 0, 0, 0, 0x53]],
    },
    // https://adguard-dns.io/en/public-dns.html
    WellKnown {
        owner: "AdGuard",
        what: OwnerKind::Resolver,
        v4: &[([94, 140, 14, 14], 32), ([94, 140, 15, 15], 32)],
        v6: &[],
        hosts6: &[],
    },
    // https://www.cloudflare.com/ips/
    WellKnown {
        owner: "Cloudflare",
        what: OwnerKind::Network,
        v4: &[
            ([103, 21, 244, 0], 22),
            ([103, 22, 200, 0], 22),
            ([103, 31, 4, 0], 22),
            ([104, 16, 0, 0], 13),
            ([104, 24, 0, 0], 14),
            ([108, 162, 192, 0], 18),
            ([131, 0, 72, 0], 22),
            ([141, 101, 64, 0], 18),
            ([162, 158, 0, 0], 15),
            ([172, 64, 0, 0], 13),
            ([173, 245, 48, 0], 20),
            ([188, 114, 96, 0], 20),
            ([190, 93, 240, 0], 20),
            ([197, 234, 240, 0], 22),
            ([198, 41, 128, 0], 17),
        ],
        v6: &[
            ([0x2400, 0xCB00, 0, 0], 32),
            ([0x2405, 0x8100, 0, 0], 32),
            ([0x2405, 0xB500, 0, 0], 32),
            ([0x2606, 0x4700, 0, 0], 32),
            ([0x2803, 0xF800, 0, 0], 32),
            ([0x2A06, 0x98C0, 0, 0], 29),
            ([0x2C0F, 0xF248, 0, 0], 32),
        ],
        hosts6: &[],
    },
    // https://api.fastly.com/public-ip-list
    WellKnown {
        owner: "Fastly",
        what: OwnerKind::Network,
        v4: &[
            ([23, 235, 32, 0], 20),
            ([43, 249, 72, 0], 22),
            ([103, 244, 50, 0], 24),
            ([103, 245, 222, 0], 23),
            ([103, 245, 224, 0], 24),
            ([104, 156, 80, 0], 20),
            ([140, 248, 64, 0], 18),
            ([140, 248, 128, 0], 17),
            ([146, 75, 0, 0], 17),
            ([151, 101, 0, 0], 16),
            ([157, 52, 64, 0], 18),
            ([167, 82, 0, 0], 17),
            ([167, 82, 128, 0], 20),
            ([167, 82, 160, 0], 20),
            ([167, 82, 224, 0], 20),
            ([172, 111, 64, 0], 18),
            ([185, 31, 16, 0], 22),
            ([199, 27, 72, 0], 21),
            ([199, 232, 0, 0], 16),
        ],
        v6: &[([0x2A04, 0x4E40, 0, 0], 32), ([0x2A04, 0x4E42, 0, 0], 32)],
        hosts6: &[],
    },
    // https://support.google.com/a/answer/10026322, without the ranges of its cloud.
    WellKnown {
        owner: "Google",
        what: OwnerKind::Network,
        v4: &[
            ([8, 8, 4, 0], 24),
            ([8, 8, 8, 0], 24),
            ([64, 233, 160, 0], 19),
            ([66, 102, 0, 0], 20),
            ([66, 249, 64, 0], 19),
            ([72, 14, 192, 0], 18),
            ([74, 125, 0, 0], 16),
            ([108, 177, 0, 0], 17),
            ([142, 250, 0, 0], 15),
            ([172, 217, 0, 0], 16),
            ([172, 253, 0, 0], 16),
            ([173, 194, 0, 0], 16),
            ([209, 85, 128, 0], 17),
            ([216, 58, 192, 0], 19),
            ([216, 239, 32, 0], 19),
        ],
        v6: &[
            ([0x2001, 0x4860, 0, 0], 32),
            ([0x2404, 0x6800, 0, 0], 32),
            ([0x2607, 0xF8B0, 0, 0], 32),
            ([0x2800, 0x03F0, 0, 0], 32),
            ([0x2A00, 0x1450, 0, 0], 32),
            ([0x2C0F, 0xFB50, 0, 0], 32),
        ],
        hosts6: &[],
    },
];

impl WellKnown {
    /// The owner, and what becomes unreachable.
    #[must_use]
    pub fn words(&self) -> String {
        match self.what {
            OwnerKind::Resolver => format!("a public resolver of {}, which many hosts use", self.owner),
            OwnerKind::Network => format!("{} serves many sites from it", self.owner),
        }
    }

    /// True if this target is wider than one of these ranges.
    #[must_use]
    pub fn is_within(&self, target: Target) -> bool {
        let (v4, v6) = (self.v4().map(Target::V4), self.v6().map(Target::V6));
        v4.chain(v6).any(|range| range != target && target.covers(&range))
    }

    fn v4(&self) -> impl Iterator<Item = Prefix4> {
        self.v4.iter().map(|(first, length)| Prefix::covering(u32::from_be_bytes(*first), *length))
    }

    fn v6(&self) -> impl Iterator<Item = Prefix6> {
        let high = |words: &[u16]| words.iter().fold(0, |sum, word| sum << 16 | u128::from(*word));
        let ranges = self.v6.iter().map(move |(first, length)| Prefix::covering(high(first) << 64, *length));
        ranges.chain(self.hosts6.iter().map(move |host| Prefix::host(high(host))))
    }
}

/// The owner of a range that overlaps this target.
#[must_use]
pub fn of(target: Target) -> Option<&'static WellKnown> {
    ALL.iter().find(|one| match target {
        Target::V4(prefix) => one.v4().any(|range| overlap(&prefix, &range)),
        Target::V6(prefix) => one.v6().any(|range| overlap(&prefix, &range)),
    })
}

/// A sentence about `what` with the number of these sorted targets that overlap such ranges. None if there
/// are none.
#[must_use]
pub fn told(what: &str, targets: &Targets) -> Option<String> {
    sentence(&format!("{what} has"), counted(targets))
}

/// A sentence that begins with `what_has`, from counts and owners. None if there are none.
pub fn sentence(what_has: &str, counted: impl IntoIterator<Item = (String, u64)>) -> Option<String> {
    let counted: Vec<_> = counted.into_iter().map(|(whose, count)| format!("{count} {whose}")).collect();
    let all = counted.join(", ");
    (!counted.is_empty()).then(|| format!("{what_has} entries that many hosts need: {all}"))
}

/// The number of these sorted targets that overlap such ranges, for each owner.
#[must_use]
pub fn counted(targets: &Targets) -> Vec<(String, u64)> {
    ALL.iter()
        .filter_map(|one| {
            let mut around = BTreeSet::new();
            let within = one.v4().map(|range| count4(targets, range, &mut around)).sum::<usize>()
                + one.v6().map(|range| count6(targets, range, &mut around)).sum::<usize>();
            let count = within + around.len();
            let whose = match one.what {
                OwnerKind::Resolver => format!("of {}'s public resolvers", one.owner),
                OwnerKind::Network => format!("in {}'s network", one.owner),
            };
            (count > 0).then_some((whose, count as u64))
        })
        .collect()
}

/// Adds further counts to these.
pub fn add(all: &mut Vec<(String, u64)>, more: impl IntoIterator<Item = (String, u64)>) {
    for (whose, count) in more {
        match all.iter_mut().find(|(known, _)| *known == whose) {
            Some((_, sum)) => *sum += count,
            None => all.push((whose, count)),
        }
    }
}

fn count4(targets: &Targets, range: Prefix4, around: &mut BTreeSet<Target>) -> usize {
    let addresses = between(&targets.addresses, range.first(), range.last());
    let shorter = (0..range.length()).map(|shorter| Target::V4(Prefix::covering(range.first(), shorter)));
    around.extend(shorter.filter(|target| targets.contains(*target)));
    let (first, last) = (Target::V4(range), Target::V4(Prefix::host(range.last())));
    addresses + between(&targets.others, first, last)
}

fn count6(targets: &Targets, range: Prefix6, around: &mut BTreeSet<Target>) -> usize {
    let half = |address: u128| (address >> 64) as u64;
    let is_longer = range.length() > 64;
    let nets = if is_longer { 0 } else { between(&targets.nets64, half(range.first()), half(range.last())) };
    let shorter = (0..range.length()).map(|shorter| Target::V6(Prefix::covering(range.first(), shorter)));
    around.extend(shorter.filter(|target| targets.contains(*target)));
    let (first, last) = (Target::V6(range), Target::V6(Prefix::host(range.last())));
    nets + between(&targets.others, first, last)
}

fn between<T: Ord>(sorted: &[T], first: T, last: T) -> usize {
    sorted.partition_point(|one| *one <= last) - sorted.partition_point(|one| *one < first)
}

fn overlap<A: Address>(one: &Prefix<A>, other: &Prefix<A>) -> bool {
    one.covers(other) || other.covers(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(word: &str) -> Target {
        word.parse().unwrap()
    }

    #[test]
    fn overlapping_well_known_ranges_are_found() {
        let owner = |word: &str| of(target(word)).map(|one| (one.owner, one.what));
        for (word, expected) in [
            ("1.1.1.1", Some(("Cloudflare", OwnerKind::Resolver))),
            ("8.8.8.8", Some(("Google", OwnerKind::Resolver))),
            ("9.9.9.9", Some(("Quad9", OwnerKind::Resolver))),
            ("8.8.8.9", Some(("Google", OwnerKind::Network))),
            ("2001:4860:4860::8888", Some(("Google", OwnerKind::Resolver))),
            ("2606:4700:10::1", Some(("Cloudflare", OwnerKind::Network))),
            ("104.16.0.0/12", Some(("Cloudflare", OwnerKind::Network))),
            ("151.101.1.0/24", Some(("Fastly", OwnerKind::Network))),
            ("203.0.113.7", None),
            ("2001:db8::1", None),
        ] {
            assert_eq!(owner(word), expected, "{word}");
        }
    }

    /// A prefix with host bits would stand for another prefix.
    #[test]
    fn every_range_is_written_as_it_is() {
        for one in &ALL {
            for ((first, _), range) in one.v4.iter().zip(one.v4()) {
                assert_eq!(u32::from_be_bytes(*first), range.first(), "{range}");
            }
            for ((first, _), range) in one.v6.iter().zip(one.v6()) {
                let first = first.iter().fold(0, |sum, word| sum << 16 | u128::from(*word)) << 64;
                assert_eq!(first, range.first(), "{range}");
            }
        }
    }

    #[test]
    fn warning_has_counts_for_each_owner() {
        let words = ["1.1.1.1", "104.16.1.1", "104.16.1.2", "104.0.0.0/8", "203.0.113.7", "2a04:4e42::/64"];
        let targets: Targets = words.iter().map(|word| target(word)).collect();
        let expected = "list \"drop\" has entries that many hosts need: 1 of Cloudflare's public resolvers, \
                        3 in Cloudflare's network, 2 in Fastly's network";
        assert_eq!(told("list \"drop\"", &targets).as_deref(), Some(expected));
        let everything: Targets = [target("0.0.0.0/0"), target("::/0")].into_iter().collect();
        let told_of = told("`block:`", &everything).unwrap();
        assert!(
            told_of.contains("2 of Quad9's public resolvers") && told_of.ends_with("2 in Google's network"),
            "{told_of}"
        );
        assert_eq!(told("list \"drop\"", &[target("203.0.113.7")].into_iter().collect()), None);
    }
}
