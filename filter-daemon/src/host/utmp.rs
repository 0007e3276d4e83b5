//! Who is logged in, as utmp(5) tells it where there is no logind: records of one size.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Fact, What, plain};

/// Bytes of a record on Linux, on every processor that we know.
const RECORD: usize = 384;

/// The kind of a record of somebody who is logged in.
const USER_PROCESS: u16 = 7;

const USER: std::ops::Range<usize> = 44..76;
const ADDRESS: std::ops::Range<usize> = 348..364;

/// The remote hosts of everybody in it.
pub fn facts(utmp: &[u8]) -> impl Iterator<Item = Fact> + '_ {
    utmp.chunks_exact(RECORD).filter_map(fact)
}

fn fact(record: &[u8]) -> Option<Fact> {
    if u16::from_ne_bytes(*record.first_chunk()?) != USER_PROCESS {
        return None;
    }
    let bytes: [u8; 16] = record.get(ADDRESS)?.try_into().ok()?;
    // An IPv4 address takes the first four bytes, and the others are zero.
    let address: IpAddr = match bytes {
        [a, b, c, d, rest @ ..] if rest == [0; 12] => Ipv4Addr::from([a, b, c, d]).into(),
        bytes => Ipv6Addr::from(bytes).into(),
    };
    let user = record.get(USER)?.split(|byte| *byte == 0).next()?;
    let what = What::Session(String::from_utf8_lossy(user).into_owned());
    (!address.is_unspecified()).then(|| Fact { address: plain(address), what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u16, user: &str, address: &[u8]) -> Vec<u8> {
        let mut record = vec![0; RECORD];
        record[..2].copy_from_slice(&kind.to_ne_bytes());
        record[USER.start..][..user.len()].copy_from_slice(user.as_bytes());
        record[ADDRESS.start..][..address.len()].copy_from_slice(address);
        record
    }

    #[test]
    fn only_those_who_are_logged_in_from_elsewhere_count() {
        let six: Ipv6Addr = "2001:db8::7".parse().unwrap();
        let utmp = [
            record(USER_PROCESS, "root", &[192, 0, 2, 7]),
            record(8, "gone", &[192, 0, 2, 8]),
            record(USER_PROCESS, "console", &[]),
            record(USER_PROCESS, "six", &six.octets()),
            vec![7; 100],
        ];
        let told =
            facts(&utmp.concat()).map(|fact| format!("{}: {}", fact.address, fact.what)).collect::<Vec<_>>();
        assert_eq!(
            told,
            ["192.0.2.7: root is logged in from there", "2001:db8::7: six is logged in from there"]
        );
    }
}
