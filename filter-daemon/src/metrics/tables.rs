//! Tables in the kernel: how full they are, and what it took.

use super::exposition::Exposition;
use super::{Family, Snapshot};
use crate::control::wire::status::Table;

pub const FAMILIES: [Family; 5] = [
    Family::gauge("filterd_table_entries", "Entries in a table.", |snapshot, series| {
        each(snapshot, series, |table| table.entries);
    }),
    Family::gauge(
        "filterd_table_capacity",
        "How many entries fit before a table is made larger, which it is by itself.",
        |snapshot, series| each(snapshot, series, |table| table.capacity),
    ),
    Family::gauge("filterd_table_bytes", "Kernel memory that a table takes.", |snapshot, series| {
        each(snapshot, series, |table| table.bytes);
    }),
    Family::counter(
        "filterd_table_growths_total",
        "How often a table was made larger since filterd started.",
        |snapshot, series| each(snapshot, series, |table| table.growths),
    ),
    Family::counter(
        "filterd_table_relocations_total",
        "How many entries have moved within a table, to make room for others, since filterd started.",
        |snapshot, series| each(snapshot, series, |table| table.relocations),
    ),
];

fn each(snapshot: &Snapshot, series: &mut Exposition, of: fn(&Table) -> u64) {
    for table in &snapshot.tables {
        series.tell(&[("table", &table.name)], of(table));
    }
}
