//! Finds which end opened a TCP connection. The kernel does not report this, but it counts acknowledged bytes
//! from the sequence number with which a socket began.
//!
//! For the end that connected, this is the number of its SYN, which is acknowledged like a byte. For the end
//! that accepted, it is the number after that (`tcp_snd_una_update` after `tcp_connect_init` and
//! `tcp_create_openreq_child`). On the connecting end, the bytes acknowledged and under way are therefore one
//! more than the bytes sent.

use netlink_packet_sock_diag::constants::{
    TCP_CLOSE_WAIT, TCP_CLOSING, TCP_ESTABLISHED, TCP_FIN_WAIT1, TCP_FIN_WAIT2, TCP_LAST_ACK, TCP_SYN_RECV,
    TCP_SYN_SENT,
};
use netlink_packet_sock_diag::inet::InetResponse;
use netlink_packet_sock_diag::inet::nlas::Nla;

/// The end that opened a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenedBy {
    /// This host opened the connection.
    Here,
    /// The peer opened the connection.
    There,
    /// The kernel's counters do not show it.
    Untold,
}

/// Counts of a connection, in bytes.
#[derive(Clone, Copy, Debug)]
struct ByteCounts {
    acknowledged: u64,
    /// All bytes sent, with retransmissions.
    sent: u64,
    again: u64,
    /// Bytes in the queue that were never sent.
    waiting: u64,
}

impl OpenedBy {
    /// Finds which end opened the connection of this socket.
    pub fn of(response: &InetResponse) -> Self {
        let (state, queued) = (response.header.state, u64::from(response.header.send_queue));
        let info = response.nlas.iter().find_map(|attribute| {
            if let Nla::TcpInfo(bytes) = attribute { ByteCounts::of(bytes) } else { None }
        });
        match (state, info) {
            (TCP_SYN_SENT, _) => Self::Here,
            (TCP_SYN_RECV, _) => Self::There,
            (_, Some(counted)) => counted.opened(state, queued),
            (_, None) => Self::Untold,
        }
    }
}

impl ByteCounts {
    /// Reads a `struct tcp_info`, which only grows at its end. Linux 4.19 and later have all of these fields.
    fn of(info: &[u8]) -> Option<Self> {
        let long = |at: usize| Some(u64::from_ne_bytes(info.get(at..at + 8)?.try_into().ok()?));
        let short = |at: usize| Some(u32::from_ne_bytes(info.get(at..at + 4)?.try_into().ok()?));
        Some(Self {
            acknowledged: long(120)?,
            waiting: short(144)?.into(),
            sent: long(200)?,
            again: long(208)?,
        })
    }

    /// Computes which end opened it. `queued` counts bytes that are not acknowledged, sent or not.
    fn opened(self, state: u8, queued: u64) -> OpenedBy {
        let Self { acknowledged, sent, again, waiting } = self;
        // A FIN takes a sequence number like a byte, and is sent last.
        let fin = match state {
            TCP_ESTABLISHED | TCP_CLOSE_WAIT => 0,
            TCP_FIN_WAIT2 => 1,
            TCP_FIN_WAIT1 | TCP_CLOSING | TCP_LAST_ACK => u64::from(waiting == 0),
            _ => return OpenedBy::Untold,
        };
        let once = sent.wrapping_sub(again).wrapping_add(fin);
        match acknowledged.wrapping_add(queued).wrapping_sub(waiting).wrapping_sub(once) {
            0 => OpenedBy::There,
            1 => OpenedBy::Here,
            // Bytes were sent or acknowledged while the kernel read the counters.
            _ => OpenedBy::Untold,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_end_acknowledged_one_more() {
        let counted = |acknowledged, sent, again, waiting| ByteCounts { acknowledged, sent, again, waiting };
        for (counted, state, queued, expected, why) in [
            (counted(0, 0, 0, 0), TCP_ESTABLISHED, 0, OpenedBy::There, "nothing sent"),
            (counted(1, 0, 0, 0), TCP_ESTABLISHED, 0, OpenedBy::Here, "nothing sent but the SYN"),
            (counted(101, 130, 30, 0), TCP_CLOSE_WAIT, 0, OpenedBy::Here, "30 sent twice"),
            (counted(50, 130, 30, 7), TCP_ESTABLISHED, 57, OpenedBy::There, "50 under way, 7 wait"),
            (counted(51, 130, 30, 7), TCP_ESTABLISHED, 57, OpenedBy::Here, "the same"),
            (counted(10, 10, 0, 0), TCP_FIN_WAIT1, 1, OpenedBy::There, "its FIN is under way"),
            (counted(11, 10, 0, 0), TCP_LAST_ACK, 1, OpenedBy::Here, "the same"),
            (counted(11, 10, 0, 5), TCP_FIN_WAIT1, 5, OpenedBy::Here, "its FIN waits behind four"),
            (counted(11, 10, 0, 0), TCP_FIN_WAIT2, 0, OpenedBy::There, "its FIN is acknowledged"),
            (counted(12, 10, 0, 0), TCP_FIN_WAIT2, 0, OpenedBy::Here, "the same"),
            (counted(7, 3, 0, 0), TCP_ESTABLISHED, 0, OpenedBy::Untold, "it cannot be"),
            (counted(1, 0, 0, 0), 12, 0, OpenedBy::Untold, "a state that is none of these"),
        ] {
            assert_eq!(counted.opened(state, queued), expected, "{why}");
        }
        assert!(ByteCounts::of(&[0; 215]).is_none(), "an older kernel's");
        assert!(ByteCounts::of(&[0; 216]).is_some());
    }
}
