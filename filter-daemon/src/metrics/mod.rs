//! Writes the snapshot as series in the text format of Prometheus. To add a series, add a row to one of the tables of
//! families; docs/reference/metrics.md is made from them.
//!
//! Labels are configured interfaces, names of lists and tables, and fixed words. A sender cannot create labels, with
//! one exception: sources, of which there are at most as many as `metrics.sources` says, and none by default.

mod crowdsec;
mod exposition;
mod lists;
mod packets;
mod program;
mod tables;

use exposition::{Exposition, MetricKind};

use crate::control::wire::snapshot::Reply as Snapshot;

/// The content type of this text over HTTP.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All series of one name.
pub struct MetricFamily {
    name: &'static str,
    kind: MetricKind,
    help: &'static str,
    tell: fn(&Snapshot, &mut Exposition),
}

impl MetricFamily {
    /// A number that goes up and down.
    const fn gauge(name: &'static str, help: &'static str, tell: fn(&Snapshot, &mut Exposition)) -> Self {
        Self { name, kind: MetricKind::Gauge, help, tell }
    }

    /// A number that only grows, until its counter restarts.
    const fn counter(name: &'static str, help: &'static str, tell: fn(&Snapshot, &mut Exposition)) -> Self {
        Self { name, kind: MetricKind::Counter, help, tell }
    }
}

/// All families, in the order in which they are written.
fn families() -> impl Iterator<Item = &'static MetricFamily> {
    [&program::FAMILIES[..], &packets::FAMILIES, &lists::FAMILIES, &crowdsec::FAMILIES, &tables::FAMILIES]
        .into_iter()
        .flatten()
}

/// Writes all series of a snapshot.
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
