//! Makes replies from a snapshot, and uses nothing else.

use filter_common::counters;
use filter_common::reason::Outcome;

use crate::control::wire::snapshot::Reply as Snapshot;
use crate::control::wire::{lists, stats, status};
use crate::kernel::PacketCounts;

/// The state of the daemon, with the occupancy of its tables.
pub fn status(snapshot: Snapshot) -> status::Reply {
    status::Reply {
        version: snapshot.version,
        filterd: snapshot.filterd,
        pid: snapshot.pid,
        started: snapshot.started,
        user: snapshot.user,
        landlock_version: snapshot.landlock_version,
        config: snapshot.config,
        state_dir: snapshot.state_dir,
        faults: snapshot.faults,
        enforce: snapshot.enforce,
        remarks: snapshot.remarks,
        paused: snapshot.paused,
        trial: snapshot.trial,
        reload: snapshot.reload,
        interfaces: snapshot.interfaces,
        targets: snapshot.targets,
        targets_out: snapshot.targets_out,
        tables: snapshot.tables,
        flows: snapshot.flows,
        crowdsec: snapshot.crowdsec,
        lists: snapshot.lists.into_iter().map(list_status).collect(),
    }
}

/// The packet counts by outcome.
pub fn stats(snapshot: Snapshot) -> stats::Reply {
    let of_list = |list: lists::ListDetails| {
        let (list, since, hits) = (list.name, list.since?, list.hits?);
        Some(stats::OfList { list, since, hits })
    };
    stats::Reply {
        version: snapshot.version,
        enforce: snapshot.enforce,
        packets_since: snapshot.packets_since,
        reasons: snapshot.reasons,
        interfaces: snapshot.by_interface,
        counted_since: snapshot.counted_since,
        lists: snapshot.lists.into_iter().filter_map(of_list).collect(),
        other: snapshot.other,
        gone: snapshot.gone,
    }
}

/// Every list with its counts and sources.
pub fn lists(snapshot: Snapshot) -> lists::Reply {
    let Snapshot { version, counted_since, rate_over, other, gone, lists, .. } = snapshot;
    lists::Reply { version, counted_since, rate_over, other, gone, lists }
}

/// The packet counts, one row for each outcome.
pub fn reasons(counts: &PacketCounts) -> Vec<stats::Counted> {
    let mut drop = 0;
    let row = |(outcome, packets): (Outcome, &u64)| {
        let reason = outcome.reason();
        let bytes = counters::drop_number(outcome).map(|_| {
            drop += 1;
            counts.interfaces.iter().filter_map(|one| Some(one.counts.get(drop - 1)?[1])).sum()
        });
        stats::Counted {
            reason: reason.name().to_owned(),
            verdict: outcome.name().to_owned(),
            packets: *packets,
            bytes,
            meaning: reason.meaning().to_owned(),
        }
    };
    Outcome::all().zip(&counts.packets).map(row).collect()
}

/// The drops of each interface. Outcomes that only occur while nothing is enforced are included if there are
/// any.
pub fn by_interface(counts: &PacketCounts) -> Vec<stats::OnInterface> {
    let drops: Vec<_> = Outcome::all().filter(|outcome| counters::drop_number(*outcome).is_some()).collect();
    let rows = counts.interfaces.iter().flat_map(|one| {
        let interface = one.interface.as_ref().map(|(_, name)| name);
        drops.iter().zip(&one.counts).map(move |(outcome, [packets, bytes])| stats::OnInterface {
            interface: interface.cloned(),
            reason: outcome.reason().name().to_owned(),
            verdict: outcome.name().to_owned(),
            packets: *packets,
            bytes: *bytes,
        })
    });
    rows.filter(|row| row.packets > 0 || row.interface.is_some() && row.verdict == "drop").collect()
}

fn list_status(list: lists::ListDetails) -> status::ListStatus {
    status::ListStatus {
        name: list.name,
        kind: list.kind,
        allows: list.allows,
        ports: list.ports,
        direction: list.direction,
        targets: list.entries,
        largest: list.largest,
        rejected: list.rejected,
        special: list.special,
        expired: list.expired,
        guarded: list.guarded,
        error: list.fault.map(|fault| fault.told.message),
        read: list.read,
        next: list.fetching.map(|feed| feed.next),
        hits: list.hits,
    }
}
