//! The UDP ports from which this host begins flows: those that the kernel assigns automatically, except those
//! of services.

use std::fmt;
use std::fs;
use std::io;

use filter_common::flow::PORT_WORDS;

/// The range of ports that the kernel assigns.
const RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// The ports of that range that the kernel never assigns.
const RESERVED: &str = "/proc/sys/net/ipv4/ip_local_reserved_ports";

/// The present set of ports that begin flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpPorts {
    range: PortRange,
    /// One bit for each port.
    begin: Vec<u64>,
}

/// Ports from the first to the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortRange {
    first: u16,
    last: u16,
}

impl UdpPorts {
    /// Reads the present ports, which takes some 50 µs if there are few sockets.
    pub fn look() -> io::Result<Self> {
        let read = |path: &str| {
            let named = |error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"));
            fs::read_to_string(path).map_err(named)
        };
        let strange = |path: &str, text: &str| io::Error::other(format!("{path} says {:?}", text.trim()));
        let text = read(RANGE)?;
        let range = PortRange::of(&text).ok_or_else(|| strange(RANGE, &text))?;
        let text = read(RESERVED)?;
        let reserved = reserved(&text).ok_or_else(|| strange(RESERVED, &text))?;
        Ok(Self::of(range, &reserved, &super::services()?))
    }

    fn of(range: PortRange, reserved: &[PortRange], services: &[u16]) -> Self {
        let mut begin = vec![0; PORT_WORDS as usize];
        (range.first..=range.last).for_each(|port| begin[word(port)] |= bit(port));
        let reserved = reserved.iter().flat_map(|range| range.first..=range.last);
        reserved.chain(services.iter().copied()).for_each(|port| begin[word(port)] &= !bit(port));
        Self { range, begin }
    }

    /// The range that the kernel assigns.
    pub fn range(&self) -> PortRange {
        self.range
    }

    /// Whether packets sent from this port begin a flow.
    pub fn begins(&self, port: u16) -> bool {
        self.begin[word(port)] & bit(port) != 0
    }

    /// One bit for each port that begins flows.
    pub fn bits(&self) -> &[u64] {
        &self.begin
    }
}

impl PortRange {
    fn of(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
        let (first, last) = (numbers.next()??, numbers.next()??);
        Some(Self { first, last })
    }

    pub fn has(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

/// Parses the format of the kernel: `80,1000-1010`, or nothing.
fn reserved(text: &str) -> Option<Vec<PortRange>> {
    let ranges = text.trim().split(',').filter(|range| !range.is_empty()).map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(PortRange { first: first.parse().ok()?, last: last.parse().ok()? })
    });
    ranges.collect()
}

fn word(port: u16) -> usize {
    usize::from(port >> 6)
}

fn bit(port: u16) -> u64 {
    1 << (port & 63)
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The usual range, with one service.
    pub fn usual(service: u16) -> UdpPorts {
        UdpPorts::of(PortRange::of("32768\t60999\n").unwrap(), &[], &[service])
    }

    #[test]
    fn ephemeral_port_without_service_begins_flows() {
        let range = PortRange::of("32768\t60999\n").unwrap();
        assert_eq!(range.to_string(), "32768-60999");
        let ports = UdpPorts::of(range, &reserved("80,40000-40002,65535\n").unwrap(), &[51820, 53]);
        for (port, expected) in [
            (32767, false),
            (32768, true),
            (39999, true),
            (40000, false),
            (40002, false),
            (40003, true),
            (51820, false),
            (60999, true),
            (61000, false),
            (53, false),
        ] {
            assert_eq!(ports.begins(port), expected, "{port}");
        }
        let all: u32 = ports.bits().iter().map(|bits| bits.count_ones()).sum();
        assert_eq!(all, 60999 - 32768 + 1 - 3 - 1);
    }

    #[test]
    fn only_the_kernel_format_is_accepted() {
        assert_eq!(reserved("\n"), Some(Vec::new()));
        assert_eq!(reserved("8-9,7\n").map(|ranges| ranges.len()), Some(2));
        for nonsense in ["", "5", "a b", "1 70000"] {
            assert_eq!(PortRange::of(nonsense), None, "{nonsense:?}");
        }
        for nonsense in ["x", "1-", "1-2-3", "70000"] {
            assert_eq!(reserved(nonsense), None, "{nonsense:?}");
        }
    }
}
