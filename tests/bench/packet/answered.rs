//! What the question costs whether this host began it: packets of a listed source, through filterd's own programs.

use std::net::Ipv4Addr;

use anyhow::Result;
use aya::programs::{TestRun, TestRunOptions, Xdp};
use aya_obj::programs::XdpAttachType;
use filter_common::flow::{Key, Protocol, mapped};
use filter_common::target::{Prefix4, Target};
use filterd::blocklist::{Effects, Settings};
use filterd::daemon::needs;
use filterd::kernel::Filter;
use harness::{ATTACKER, Frame, Home};

use crate::sent::{REPEATS, ROUNDS, datagram, median, segment};
use crate::subject;

/// Its ports, of flows that this host has.
const FLOW: (u16, u16) = (40_000, 53);

fn cases() -> [(&'static str, Frame); 5] {
    let from = |protocol, content: Vec<u8>| Frame::from(ATTACKER).transport(protocol, content);
    let (ours, theirs) = FLOW;
    [
        ("TCP: a SYN, which is never part of a flow", from(6, segment(50_000, 22, Frame::SYN))),
        ("TCP: of no flow of this host's", from(6, segment(50_000, 22, Frame::ACK))),
        ("UDP: of no flow of this host's", from(17, datagram(50_000, 53))),
        ("TCP: an answer", from(6, segment(theirs, ours, Frame::ACK))),
        ("UDP: an answer", from(17, datagram(theirs, ours))),
    ]
}

/// Nanoseconds for each, with `match: all` and with `match: new`.
pub fn measure() -> Result<Vec<(&'static str, [f64; 2])>> {
    let both = [listing(false)?, listing(true)?];
    let mut rounds = vec![[Vec::new(), Vec::new()]; cases().len()];
    for _ in 0..ROUNDS {
        for (measured, (_, frame)) in rounds.iter_mut().zip(cases()) {
            let frame = frame.bytes([6; 6]);
            for (measured, (root, ..)) in measured.iter_mut().zip(&both) {
                let options =
                    TestRunOptions { data_in: Some(&frame), repeat: REPEATS, ..TestRunOptions::new() };
                measured.push(root.test_run(options)?.duration.as_nanos() as f64);
            }
        }
    }
    Ok(cases().iter().map(|case| case.0).zip(rounds.into_iter().map(|both| both.map(median))).collect())
}

/// filterd with one listed source, whose flows it remembers. The pins are dropped last.
fn listing(match_new: bool) -> Result<(Xdp, Filter, Home)> {
    let home = Home::new();
    let mut filter = Filter::open(home.pins())?;
    let listed = ATTACKER.parse::<Ipv4Addr>()?.to_bits();
    let wanted = subject::wanted([Target::from(Prefix4::host(listed))].into_iter().collect())?;
    filter.reserve(&needs::anew(&wanted), &wanted)?;
    let settings = Some(Settings { match_new, ..Settings::default() });
    filter.apply(&Effects { settings, ..wanted.everything() }, &wanted)?;
    let flow = |protocol| Key::new(mapped(listed), protocol, FLOW.0, FLOW.1).0;
    filter.seed(vec![flow(Protocol::Tcp), flow(Protocol::Udp)])?;
    let root = Xdp::from_pin(home.pins().join("root"), XdpAttachType::Interface)?;
    Ok((root, filter, home))
}
