//! What monitoring reads: the snapshot as series, in the text format of Prometheus. A table tells all of them; whoever wants
//! another one adds a row, and the documentation follows.
//!
//! Labels are configured interfaces, names of lists and tables, and fixed words: nothing that a stranger could make many of,
//! but for sources, of which there are as many at a time as `metrics.sources` says, and none unless it does.

mod exposition;
mod lists;
mod packets;
mod program;
mod tables;

use exposition::{Exposition, Kind};

use crate::control::wire::snapshot::Reply as Snapshot;

/// What such text is, for whoever asks by HTTP.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Some series that have their name in common.
pub struct Family {
    name: &'static str,
    kind: Kind,
    help: &'static str,
    tell: fn(&Snapshot, &mut Exposition),
}

impl Family {
    /// A number that goes up and down.
    const fn gauge(name: &'static str, help: &'static str, tell: fn(&Snapshot, &mut Exposition)) -> Self {
        Self { name, kind: Kind::Gauge, help, tell }
    }

    /// A number that only grows, until what counts it begins anew.
    const fn counter(name: &'static str, help: &'static str, tell: fn(&Snapshot, &mut Exposition)) -> Self {
        Self { name, kind: Kind::Counter, help, tell }
    }
}

/// All there are, in the order in which they are told.
fn families() -> impl Iterator<Item = &'static Family> {
    [&program::FAMILIES[..], &packets::FAMILIES, &lists::FAMILIES, &tables::FAMILIES].into_iter().flatten()
}

/// All series of this moment.
pub fn text(snapshot: &Snapshot) -> String {
    let mut exposition = Exposition::default();
    for family in families() {
        exposition.begin(family.name, family.kind, family.help);
        (family.tell)(snapshot, &mut exposition);
    }
    exposition.into()
}

#[cfg(test)]
mod tests;
