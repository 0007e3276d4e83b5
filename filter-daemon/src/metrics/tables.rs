//! Series of the tables in the kernel: entries, size and growth.

use super::exposition::Exposition;
use super::{MetricFamily, Snapshot};
use crate::control::wire::status::Table;

pub const FAMILIES: [MetricFamily; 5] = [
    MetricFamily::gauge("filterd_table_entries", "Number of entries in a table.", |snapshot, series| {
        each(snapshot, series, |table| table.entries);
    }),
    MetricFamily::gauge(
        "filterd_table_capacity",
        "Number of entries that fit before filterd makes a table larger.",
        |snapshot, series| each(snapshot, series, |table| table.capacity),
    ),
    MetricFamily::gauge("filterd_table_bytes", "Kernel memory of a table in bytes.", |snapshot, series| {
        each(snapshot, series, |table| table.bytes);
    }),
    MetricFamily::counter(
        "filterd_table_growths_total",
        "Number of times a table was made larger, since filterd started.",
        |snapshot, series| each(snapshot, series, |table| table.growths),
    ),
    MetricFamily::counter(
        "filterd_table_relocations_total",
        "Number of entries that moved within a table to make room for others, since filterd started.",
        |snapshot, series| each(snapshot, series, |table| table.relocations),
    ),
];

fn each(snapshot: &Snapshot, series: &mut Exposition, of: fn(&Table) -> u64) {
    for table in &snapshot.tables {
        series.tell(&[("table", &table.name)], of(table));
    }
}
