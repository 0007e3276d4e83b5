//! What each feature costs an unlisted packet.

use filterd_measure::tables::{Table, grouped};
use pages::page::Chapter;

use super::{Report, costs};
use crate::peer::{Feature, LENGTHS, OWN, Peer};
use crate::plan::{Pace, Senders, Spec, USUAL};

pub fn chapter(report: &Report<'_>) -> Chapter {
    let peers = [OWN].into_iter().chain(Feature::ALL.map(Peer::Filterd));
    let heads = ["filterd", "overlapping", "more than as shipped", "alone", "more than as shipped"];
    let table = Table {
        title: format!("Nanoseconds for an unlisted packet, {} entries", grouped(USUAL.into())),
        heads: heads.map(str::to_owned).into(),
        rows: peers.filter_map(|peer| row(report, peer)).collect(),
    };
    Chapter {
        title: "Each feature on and off".to_owned(),
        words: format!(
            "The row `as shipped` has the root program, the jump, counters, and the check whether the stash \
             is empty. filterd cannot be set up without counters or without a stash: those programs are made \
             for this benchmark. IPv4 prefixes are /24s, and IPv6 prefixes are as many each of {}. Lists with \
             the same `ports:` or `except_ports:` share a clause. Each clause in use costs a packet from an \
             unlisted source one more lookup. The last four rows are about IPv6 packets, the others about \
             IPv4 packets.",
            LENGTHS.map(|length| format!("/{length}")).join(", ")
        ),
        tables: vec![table],
        ..Chapter::default()
    }
}

fn row(report: &Report<'_>, peer: Peer) -> Option<Vec<String>> {
    let name = if let Peer::Filterd(feature) = peer { feature.to_string() } else { peer.to_string() };
    let mut row = vec![name];
    for pace in Pace::ALL {
        let figures =
            |peer| Some(&report.find(Spec { peer, entries: USUAL }, Senders::Unlisted, pace)?.above_parsing);
        let (own, shipped) = (figures(peer)?, figures(OWN)?);
        let more = if peer == OWN { String::new() } else { format!("{:+.1}", own.median - shipped.median) };
        row.extend([costs::above(own), more]);
    }
    Some(row)
}
