//! The saved times of a list whose entries expire: when each entry was added and when it ends, and which
//! entries are over. The list's file may have changed by the next start, so these times are stored nowhere
//! else.
//!
//! The format is little-endian words. The targets that are over come first, followed by runs. Each run has
//! its beginning, its end (0 for none) and its targets. Targets are three counts (of addresses, /64s and
//! others), followed by the targets themselves.

use std::io::{self, BufWriter, Write};

use filter_common::target::{Prefix, Target};

use crate::blocklist::{EntryTimes, Targets, TimedTargets, Timestamp};

/// A prefix takes one byte for its family, one for its length, and its address.
const PREFIX: usize = 18;

/// The number of bytes written at once.
const BUFFER: usize = 64 << 10;

/// The number of bytes that these times take.
pub fn length(times: &EntryTimes) -> u64 {
    let runs = times.runs.iter().map(|run| 8 + length_of(&run.targets));
    length_of(&times.spent) + runs.sum::<u64>()
}

fn length_of(targets: &Targets) -> u64 {
    let [addresses, nets64, others] = targets.counts();
    (12 + 4 * addresses + 8 * nets64 + PREFIX * others) as u64
}

pub fn write(times: &EntryTimes, into: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, into);
    write_targets(&times.spent, &mut out)?;
    for TimedTargets { since, until, targets } in &times.runs {
        out.write_all(&word(*since).to_le_bytes())?;
        out.write_all(&until.map_or(0, word).to_le_bytes())?;
        write_targets(targets, &mut out)?;
    }
    out.flush()
}

fn word(time: Timestamp) -> u32 {
    u32::try_from(time.secs()).unwrap_or(u32::MAX)
}

fn write_targets(targets: &Targets, out: &mut impl Write) -> io::Result<()> {
    for count in targets.counts() {
        // The count always fits: a list has at most tens of millions of targets.
        out.write_all(&u32::try_from(count).map_err(io::Error::other)?.to_le_bytes())?;
    }
    targets.addresses.iter().try_for_each(|address| out.write_all(&address.to_le_bytes()))?;
    targets.nets64.iter().try_for_each(|net| out.write_all(&net.to_le_bytes()))?;
    targets.others.iter().try_for_each(|target| out.write_all(&bytes_of(*target)))
}

fn bytes_of(target: Target) -> [u8; PREFIX] {
    let (family, length, address) = match target {
        Target::V4(prefix) => (4, prefix.length(), u128::from(prefix.address())),
        Target::V6(prefix) => (6, prefix.length(), prefix.address()),
    };
    let mut bytes = [0; PREFIX];
    (bytes[0], bytes[1]) = (family, length);
    bytes[2..].copy_from_slice(&address.to_le_bytes());
    bytes
}

/// Reads times that `write` wrote. None if the bytes are invalid.
pub fn parse(mut rest: &[u8]) -> Option<EntryTimes> {
    let spent = targets(&mut rest)?;
    let mut runs = Vec::new();
    while !rest.is_empty() {
        let since = Timestamp::from_secs(number(&mut rest)?);
        let until = Some(number(&mut rest)?).filter(|until| *until > 0).map(Timestamp::from_secs);
        runs.push(TimedTargets { since, until, targets: targets(&mut rest)? });
    }
    Some(EntryTimes { runs, spent })
}

fn targets(rest: &mut &[u8]) -> Option<Targets> {
    let counts = [number(rest)?, number(rest)?, number(rest)?].map(|count| count as usize);
    let [addresses, nets64, others] = counts;
    let addresses = items(rest, addresses, u32::from_le_bytes)?;
    let nets64 = items(rest, nets64, u64::from_le_bytes)?;
    let others = items(rest, others, target_of)?.into_iter().collect::<Option<Vec<_>>>()?;
    let mut targets = Targets { addresses, nets64, others };
    // They were written in order, but lookups depend on it.
    targets.sort();
    Some(targets)
}

fn items<const N: usize, T>(rest: &mut &[u8], count: usize, of: impl Fn([u8; N]) -> T) -> Option<Vec<T>> {
    let (items, behind) = rest.split_at_checked(count.checked_mul(N)?)?;
    *rest = behind;
    let (items, _) = items.as_chunks::<N>();
    Some(items.iter().map(|item| of(*item)).collect())
}

fn target_of(bytes: [u8; PREFIX]) -> Option<Target> {
    let address = u128::from_le_bytes(bytes[2..].try_into().ok()?);
    let length = bytes[1];
    match bytes[0] {
        4 if length <= 32 => Some(Target::V4(Prefix::covering(u32::try_from(address).ok()?, length))),
        6 if length <= 128 => Some(Target::V6(Prefix::covering(address, length))),
        _ => None,
    }
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    let (first, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(u32::from_le_bytes(*first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(words: &[&str]) -> Targets {
        words.iter().map(|word| word.parse::<Target>().unwrap()).collect()
    }

    fn times() -> EntryTimes {
        let at = Timestamp::from_secs;
        let first =
            targets(&["203.0.113.7", "198.51.100.0/24", "2001:db8::/64", "2001:db8::1", "::/0", "0.0.0.0/0"]);
        let runs = vec![
            TimedTargets { since: at(1_795_300_000), until: Some(at(u32::MAX)), targets: first },
            TimedTargets { since: at(7), until: None, targets: targets(&["192.0.2.0", "192.0.2.255"]) },
        ];
        EntryTimes { runs, spent: targets(&["192.0.2.9", "192.0.2.64/26"]) }
    }

    #[test]
    fn times_round_trip_with_expected_length() {
        for times in [times(), EntryTimes::default(), EntryTimes { spent: Targets::default(), ..times() }] {
            let mut written = Vec::new();
            write(&times, &mut written).unwrap();
            assert_eq!(written.len() as u64, length(&times));
            assert_eq!(parse(&written), Some(times));
        }
    }

    #[test]
    fn truncated_or_invalid_times_are_refused() {
        let mut written = Vec::new();
        write(&times(), &mut written).unwrap();
        let runs_end = [length_of(&times().spent) as usize, written.len() - 28];
        for end in (0..written.len()).filter(|end| !runs_end.contains(end)) {
            assert_eq!(parse(&written[..end]), None, "{end} bytes");
        }
        for (family, length) in [(4, 33), (6, 129), (5, 7)] {
            let mut prefix = bytes_of("192.0.2.0/24".parse().unwrap());
            (prefix[0], prefix[1]) = (family, length);
            assert_eq!(target_of(prefix), None, "{length} bits of {family}");
        }
    }
}
