//! Ranges that no published list intends to name: private, loopback, link-local, multicast and reserved ones.
//! They are removed from list files, because a feed that names them would cut a host off from its own
//! network.
//!
//! The source is IANA's registries of special-purpose addresses and of multicast. Ranges for documentation
//! and benchmarks are not included, because no host has neighbours there.

use filter_common::target::{Address, Prefix, Prefix4, Prefix6, Target};

use super::Targets;

/// The doubtful ranges that a list is allowed to name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpecialRanges {
    /// Whether special ranges are meant. Otherwise they are removed.
    pub included: bool,
    /// Whether a prefix shorter than /8, or than /16 for IPv6, is meant. Otherwise its line is rejected.
    pub wide: bool,
}

impl SpecialRanges {
    /// Neither is meant, as for most lists.
    pub const EXCLUDED: Self = Self { included: false, wide: false };
    /// Both kinds are meant.
    pub const INCLUDED: Self = Self { included: true, wide: true };

    /// True if this is a large part of the internet without permission. A range that is special as a whole is
    /// not doubted: it is either meant or removed.
    pub fn doubts(self, target: Target) -> bool {
        !self.wide && target.is_wide() && !is_special(target)
    }
}

/// The first address and the length of each range.
const V4: [(u32, u8); 9] = [
    (0x0000_0000, 8),  // this host: 0.0.0.0/8
    (0x0A00_0000, 8),  // private: 10.0.0.0/8
    (0x6440_0000, 10), // carrier-grade NAT: 100.64.0.0/10
    (0x7F00_0000, 8),  // loopback: 127.0.0.0/8
    (0xA9FE_0000, 16), // link-local: 169.254.0.0/16
    (0xAC10_0000, 12), // private: 172.16.0.0/12
    (0xC000_0000, 24), // protocols: 192.0.0.0/24
    (0xC0A8_0000, 16), // private: 192.168.0.0/16
    (0xE000_0000, 3),  // multicast and reserved: 224.0.0.0/3
];

const V6: [(u128, u8); 6] = [
    (0, 127),            // unspecified and loopback: ::, ::1
    (0x0100 << 112, 64), // discarded: 100::/64
    (0xFC00 << 112, 7),  // unique local: fc00::/7
    (0xFE80 << 112, 10), // link-local: fe80::/10
    (0xFEC0 << 112, 10), // site-local, deprecated: fec0::/10
    (0xFF00 << 112, 8),  // multicast: ff00::/8
];

/// Removes exceptions from sorted targets: the exceptions themselves, and their addresses from wider targets.
/// Targets inside an exception stay, as in a set of the kernel.
pub fn except(targets: &mut Targets, exceptions: &[Target]) {
    if exceptions.is_empty() {
        return;
    }
    let mut around = Vec::new();
    let all = targets.iter().filter(|target| {
        let is_touched = exceptions.iter().any(|exception| target.covers(exception));
        around.extend(is_touched.then_some(*target));
        !is_touched
    });
    let mut left: Targets = all.collect();
    let v4: Vec<_> = exceptions
        .iter()
        .filter_map(|target| if let Target::V4(prefix) = target { Some(*prefix) } else { None })
        .collect();
    let v6: Vec<_> = exceptions
        .iter()
        .filter_map(|target| if let Target::V6(prefix) = target { Some(*prefix) } else { None })
        .collect();
    for target in around {
        match target {
            Target::V4(prefix) => rest(prefix, &within(prefix, &v4), &mut |part| left.push(Target::V4(part))),
            Target::V6(prefix) => rest(prefix, &within(prefix, &v6), &mut |part| left.push(Target::V6(part))),
        }
    }
    left.sort();
    *targets = left;
}

/// The targets without the exceptions.
pub fn minus(targets: impl IntoIterator<Item = Target>, exceptions: &[Target]) -> Targets {
    let mut targets: Targets = targets.into_iter().collect();
    except(&mut targets, exceptions);
    targets
}

fn within<A: Address>(prefix: Prefix<A>, ranges: &[Prefix<A>]) -> Vec<Prefix<A>> {
    ranges.iter().copied().filter(|range| prefix.covers(range)).collect()
}

/// Removes special ranges from sorted targets, which stay sorted. Returns the number of targets that were
/// special as a whole or in part.
pub fn take_out(targets: &mut Targets) -> u64 {
    let before = targets.addresses.len() + targets.nets64.len();
    for range in v4() {
        drop_between(&mut targets.addresses, range.first(), range.last());
    }
    // A target shorter than /64 is not inside any of these ranges as a whole.
    for range in v6().filter(|range| range.length() <= 64) {
        let network = |address: u128| (address >> 64) as u64;
        drop_between(&mut targets.nets64, network(range.first()), network(range.last()));
    }
    let mut special = before - targets.addresses.len() - targets.nets64.len();
    // The /64 of :: and ::1 is special in part.
    let mut split: Vec<Target> = Vec::new();
    if targets.nets64.first() == Some(&0) {
        targets.nets64.remove(0);
        split.push(Target::V6(Prefix::covering(0, 64)));
    }
    targets.others.retain(|target| {
        let is_special = is_special_in_part(*target);
        split.extend(is_special.then_some(*target));
        !is_special
    });
    if split.is_empty() {
        return special as u64;
    }
    special += split.len();
    split.into_iter().for_each(|target| match target {
        Target::V4(prefix) => {
            rest(prefix, &v4().collect::<Vec<_>>(), &mut |left| targets.push(Target::V4(left)))
        }
        Target::V6(prefix) => {
            rest(prefix, &v6().collect::<Vec<_>>(), &mut |left| targets.push(Target::V6(left)))
        }
    });
    targets.sort();
    special as u64
}

/// The rest of a target without its special part. None if no part of it is special.
pub fn without(target: Target) -> Option<Targets> {
    is_special_in_part(target).then(|| {
        let mut left: Targets = [target].into_iter().collect();
        take_out(&mut left);
        left
    })
}

fn v4() -> impl Iterator<Item = Prefix4> {
    V4.into_iter().map(|(first, length)| Prefix::covering(first, length))
}

fn v6() -> impl Iterator<Item = Prefix6> {
    V6.into_iter().map(|(first, length)| Prefix::covering(first, length))
}

fn drop_between<T: Ord>(sorted: &mut Vec<T>, first: T, last: T) {
    let begin = sorted.partition_point(|one| *one < first);
    let end = sorted.partition_point(|one| *one <= last);
    sorted.drain(begin..end);
}

fn is_special(target: Target) -> bool {
    match target {
        Target::V4(prefix) => v4().any(|range| range.covers(&prefix)),
        Target::V6(prefix) => v6().any(|range| range.covers(&prefix)),
    }
}

fn is_special_in_part(target: Target) -> bool {
    match target {
        Target::V4(prefix) => v4().any(|range| overlap(&prefix, &range)),
        Target::V6(prefix) => v6().any(|range| overlap(&prefix, &range)),
    }
}

fn overlap<A: Address>(one: &Prefix<A>, other: &Prefix<A>) -> bool {
    one.covers(other) || other.covers(one)
}

/// Calls `tell` with the prefixes that make up `prefix` without `ranges`. It divides the prefix into halves
/// as long as they contain any of the ranges.
fn rest<A: Address>(prefix: Prefix<A>, ranges: &[Prefix<A>], tell: &mut impl FnMut(Prefix<A>)) {
    if ranges.iter().any(|range| range.covers(&prefix)) {
        return;
    }
    if !ranges.iter().any(|range| prefix.covers(range)) {
        return tell(prefix);
    }
    let longer = prefix.length() + 1;
    rest(Prefix::covering(prefix.first(), longer), ranges, tell);
    rest(Prefix::covering(prefix.last(), longer), ranges, tell);
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;

    use super::*;

    fn without(words: &[&str]) -> (Vec<String>, u64) {
        let mut targets: Targets = words.iter().map(|word| word.parse::<Target>().unwrap()).collect();
        let special = take_out(&mut targets);
        (targets.iter().map(|target| target.to_string()).collect(), special)
    }

    #[test]
    fn special_ranges_are_removed_and_counted() {
        let words =
            ["10.0.0.1", "9.255.255.255", "192.168.7.0/24", "fe80::1", "fd00::/64", "2001:db8::/64", "::1"];
        assert_eq!(without(&words), (vec!["9.255.255.255".to_owned(), "2001:db8::/64".to_owned()], 5));
        assert_eq!(
            without(&["198.51.100.7", "203.0.113.0/24", "198.18.0.1", "2001:db8::1"]).1,
            0,
            "documentation"
        );
    }

    #[test]
    fn partly_special_targets_are_reduced() {
        assert_eq!(without(&["8.0.0.0/6"]), (vec!["8.0.0.0/7".to_owned(), "11.0.0.0/8".to_owned()], 1));
        let (left, special) = without(&["::/64"]);
        assert_eq!((left.len(), special), (63, 1), "all but ::/127: {left:?}");
        assert_eq!(without(&["224.0.0.0/4", "255.255.255.255"]), (Vec::new(), 2));
    }

    proptest! {
        #[test]
        fn exactly_the_rest_stays(length4 in 0_u8..=32, length6 in 0_u8..=128, at: (u32, u128), asked: (u32, u128)) {
            let (four, six) = (Prefix::covering(at.0, length4), Prefix::covering(at.1, length6));
            let mut targets: Targets = [Target::V4(four), Target::V6(six)].into_iter().collect();
            take_out(&mut targets);
            // Half of the tested addresses are in the prefix, and the others at the edges of special ranges.
            let edges4 = v4().flat_map(|range| [range.first(), range.last()]).flat_map(|edge| [edge.wrapping_sub(1), edge, edge.wrapping_add(1)]);
            for address in edges4.chain([asked.0, four.first(), four.last(), four.first() | asked.0 & !u32::MAX.checked_shl(32 - u32::from(length4)).unwrap_or(0)]) {
                let target = Target::from(std::net::IpAddr::from(Ipv4Addr::from(address)));
                let stays = targets.iter().any(|left| left.covers(&target));
                prop_assert_eq!(stays, four.contains(address) && !v4().any(|range| range.contains(address)));
            }
            let edges6 = v6().flat_map(|range| [range.first(), range.last()]).flat_map(|edge| [edge.wrapping_sub(1), edge, edge.wrapping_add(1)]);
            for address in edges6.chain([asked.1, six.first(), six.last()]) {
                let target = Target::from(std::net::IpAddr::from(Ipv6Addr::from(address)));
                let stays = targets.iter().any(|left| left.covers(&target));
                prop_assert_eq!(stays, six.contains(address) && !v6().any(|range| range.contains(address)));
            }
        }
    }
}
