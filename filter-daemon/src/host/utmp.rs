//! Logins from utmp(5), for systems without logind: records of a fixed size.

use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

use super::{HostRole, ProtectedAddress, plain};

/// The size of a record on Linux, equal on all known processors.
const RECORD: usize = 384;

/// The most bytes that are read: ten thousand sessions.
const MOST: u64 = 10_000 * RECORD as u64;

/// The type of a record of a login session.
const USER_PROCESS: u16 = 7;

const PROCESS: std::ops::Range<usize> = 4..8;
const USER: std::ops::Range<usize> = 44..76;
const ADDRESS: std::ops::Range<usize> = 348..364;

/// Reads the file, up to the limit.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut records = Vec::new();
    File::open(path)?.take(MOST).read_to_end(&mut records)?;
    Ok(records)
}

/// The remote hosts of all sessions. A record whose process is gone is left over from a crash, and is
/// skipped.
pub fn facts(utmp: &[u8]) -> impl Iterator<Item = ProtectedAddress> + '_ {
    facts_of(utmp, |process| kill(Pid::from_raw(process), None) != Err(Errno::ESRCH))
}

fn facts_of(utmp: &[u8], is_alive: impl Fn(i32) -> bool) -> impl Iterator<Item = ProtectedAddress> {
    utmp.chunks_exact(RECORD).filter_map(move |record| fact(record, &is_alive))
}

fn fact(record: &[u8], is_alive: impl Fn(i32) -> bool) -> Option<ProtectedAddress> {
    if u16::from_ne_bytes(*record.first_chunk()?) != USER_PROCESS {
        return None;
    }
    let process = i32::from_ne_bytes(record.get(PROCESS)?.try_into().ok()?);
    // Zero or a process group identifies no process.
    if process > 0 && !is_alive(process) {
        return None;
    }
    let bytes: [u8; 16] = record.get(ADDRESS)?.try_into().ok()?;
    // An IPv4 address fills the first four bytes; the others are zero.
    let address: IpAddr = match bytes {
        [a, b, c, d, rest @ ..] if rest == [0; 12] => Ipv4Addr::from([a, b, c, d]).into(),
        bytes => Ipv6Addr::from(bytes).into(),
    };
    let user = record.get(USER)?.split(|byte| *byte == 0).next()?;
    let what = HostRole::Session(String::from_utf8_lossy(user).into_owned());
    (!address.is_unspecified()).then(|| ProtectedAddress { address: plain(address), what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u16, process: i32, user: &str, address: &[u8]) -> Vec<u8> {
        let mut record = vec![0; RECORD];
        record[..2].copy_from_slice(&kind.to_ne_bytes());
        record[PROCESS].copy_from_slice(&process.to_ne_bytes());
        record[USER.start..][..user.len()].copy_from_slice(user.as_bytes());
        record[ADDRESS.start..][..address.len()].copy_from_slice(address);
        record
    }

    #[test]
    fn only_live_remote_logins_count() {
        let six: Ipv6Addr = "2001:db8::7".parse().unwrap();
        let utmp = [
            record(USER_PROCESS, 5, "root", &[192, 0, 2, 7]),
            record(8, 5, "gone", &[192, 0, 2, 8]),
            record(USER_PROCESS, 5, "console", &[]),
            record(USER_PROCESS, 5, "six", &six.octets()),
            record(USER_PROCESS, 6, "crashed", &[192, 0, 2, 9]),
            record(USER_PROCESS, 0, "unknown", &[192, 0, 2, 10]),
            vec![7; 100],
        ];
        let told = facts_of(&utmp.concat(), |process| process == 5)
            .map(|fact| format!("{}: {}", fact.address, fact.what))
            .collect::<Vec<_>>();
        assert_eq!(
            told,
            [
                "192.0.2.7: root is logged in from it",
                "2001:db8::7: six is logged in from it",
                "192.0.2.10: unknown is logged in from it"
            ]
        );
    }

    #[test]
    fn process_liveness_is_checked() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(facts(&record(USER_PROCESS, own, "root", &[192, 0, 2, 7])).count(), 1);
        assert_eq!(facts(&record(USER_PROCESS, i32::MAX, "root", &[192, 0, 2, 7])).count(), 0);
    }
}
