//! What is told out of a picture: nothing here knows anything else.

use filter_common::reason::Outcome;

use crate::control::wire::snapshot::Reply as Snapshot;
use crate::control::wire::{lists, stats, status};

/// What the daemon is and how full its tables are.
pub fn status(snapshot: Snapshot) -> status::Reply {
    status::Reply {
        version: snapshot.version,
        filterd: snapshot.filterd,
        pid: snapshot.pid,
        started: snapshot.started,
        user: snapshot.user,
        landlock_version: snapshot.landlock_version,
        config: snapshot.config,
        faults: snapshot.faults,
        enforce: snapshot.enforce,
        paused: snapshot.paused,
        trial: snapshot.trial,
        reload: snapshot.reload,
        interfaces: snapshot.interfaces,
        tables: snapshot.tables,
        flows: snapshot.flows,
        lists: snapshot.lists.into_iter().map(list_status).collect(),
    }
}

/// What became of how many packets.
pub fn stats(snapshot: Snapshot) -> stats::Reply {
    let of_list = |list: lists::List| {
        let (list, since, hits) = (list.name, list.since?, list.hits?);
        Some(stats::OfList { list, since, hits })
    };
    stats::Reply {
        version: snapshot.version,
        enforce: snapshot.enforce,
        reasons: snapshot.reasons,
        interfaces: snapshot.by_interface,
        counted_since: snapshot.counted_since,
        lists: snapshot.lists.into_iter().filter_map(of_list).collect(),
        other: snapshot.other,
        gone: snapshot.gone,
    }
}

/// So many packets became this.
pub fn counted(outcome: Outcome, packets: u64) -> stats::Counted {
    let reason = outcome.reason();
    stats::Counted {
        reason: reason.name().to_owned(),
        verdict: outcome.name().to_owned(),
        packets,
        bytes: None,
        meaning: reason.meaning().to_owned(),
    }
}

fn list_status(list: lists::List) -> status::ListStatus {
    status::ListStatus {
        name: list.name,
        kind: list.kind,
        allows: list.allows,
        ports: list.ports,
        targets: list.entries,
        rejected: list.rejected,
        special: list.special,
        expired: list.expired,
        guarded: list.guarded,
        error: list.fault.map(|fault| fault.told.message),
        read: list.read,
    }
}
