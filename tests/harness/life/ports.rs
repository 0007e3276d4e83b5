//! On which ports a list blocks: all, some, or all but some.

use super::packets::Sent;

/// On which ports a list blocks; the first port and the last of each range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ports {
    #[default]
    All,
    Only(&'static [(u16, u16)]),
    Except(&'static [(u16, u16)]),
}

impl Ports {
    /// What lists may say: as many different clauses as there may be. No two of them make up all ports.
    pub const ANY: [Self; 5] = [
        Self::All,
        Self::Only(&[(22, 22)]),
        Self::Only(&[(80, 80), (8000, 8100)]),
        Self::Except(&[(443, 443)]),
        Self::Except(&[(1, 21), (443, 8050)]),
    ];

    /// Does the list want such a packet dropped?
    pub fn want(self, sent: Sent) -> bool {
        let is_one =
            |ranges: &[(u16, u16)], port| ranges.iter().any(|(first, last)| (*first..=*last).contains(&port));
        match (self, sent) {
            (Self::All, _) => true,
            (Self::Only(own), Sent::Tcp(port) | Sent::Udp(port)) => is_one(own, port),
            (Self::Except(own), Sent::Tcp(port) | Sent::Udp(port)) => !is_one(own, port),
            (Self::Only(_), Sent::Other(_)) => false,
            (Self::Except(_), Sent::Other(_)) => true,
            // Without the first one it comes to nothing.
            (Self::Only(_) | Self::Except(_), Sent::Later(_)) => false,
            // Nobody knows where it goes.
            (Self::Only(_) | Self::Except(_), Sent::Hidden) => true,
        }
    }

    /// As a list of the configuration says it.
    pub fn key(self) -> String {
        let said = |ranges: &[(u16, u16)]| -> String {
            let words = ranges.iter().map(|(first, last)| match first == last {
                true => first.to_string(),
                false => format!("{first}-{last}"),
            });
            words.collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::All => String::new(),
            Self::Only(ranges) => format!(", ports: [{}]", said(ranges)),
            Self::Except(ranges) => format!(", except_ports: [{}]", said(ranges)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_clauses_leave_nothing_open() {
        let (some, ports) = (&Ports::ANY[1..], [1, 22, 80, 443, 500, 8000, 8051, 8100, 8101]);
        for one in some {
            for other in some {
                let open =
                    ports.iter().any(|port| ![one, other].iter().any(|ports| ports.want(Sent::Tcp(*port))));
                assert!(open, "{one:?} and {other:?}");
            }
        }
    }
}
