//! Series of the program itself: its faults, its interfaces, and how long changes take.

use super::exposition::{Exposition, MetricKind};
use super::{MetricFamily, Snapshot};
use crate::control::wire::About;
use crate::control::wire::status::NOT_FILTERED;

pub const FAMILIES: [MetricFamily; 11] = [
    MetricFamily::gauge(
        "filterd_build_info",
        "Always 1; its label is the version of filterd.",
        |snapshot, series| {
            series.tell(&[("version", &snapshot.filterd)], 1);
        },
    ),
    MetricFamily::gauge(
        "filterd_start_time_seconds",
        "Time at which filterd started, in seconds since 1970.",
        |snapshot, series| series.alone(snapshot.started),
    ),
    MetricFamily::gauge(
        "filterd_protected",
        "1 while every interface is filtered as the configuration says, and nothing is paused. Lists that are out of \
         date do not matter here.",
        |snapshot, series| series.alone(u8::from(snapshot.is_protected())),
    ),
    MetricFamily::gauge(
        "filterd_enforcing",
        "1 while packets from listed sources are dropped, 0 while they are only counted.",
        |snapshot, series| series.alone(u8::from(snapshot.enforce && snapshot.paused.is_none())),
    ),
    MetricFamily::gauge("filterd_paused", "1 during a pause of protection.", |snapshot, series| {
        series.alone(u8::from(snapshot.paused.is_some()));
    }),
    MetricFamily::gauge(
        "filterd_faults",
        "Number of faults, by what they affect; `filterd status` shows each with its remedy.",
        faults,
    ),
    MetricFamily::gauge(
        "filterd_interface_filtered",
        "1 while packets that this interface receives are filtered.",
        |snapshot, series| {
            for one in &snapshot.interfaces {
                series.tell(&[("interface", &one.name)], u8::from(one.mode != NOT_FILTERED));
            }
        },
    ),
    MetricFamily::gauge(
        "filterd_interface_mode_info",
        "Always 1; its labels are the mode of an interface (native, tcx, clsact, none), why it has this mode, and its driver.",
        |snapshot, series| {
            for one in &snapshot.interfaces {
                let [driver, reason] = [&one.driver, &one.reason].map(|text| text.as_deref().unwrap_or(""));
                let mode = [("interface", &*one.name), ("mode", &one.mode), ("reason", reason)];
                series.tell(&[mode[0], mode[1], mode[2], ("driver", driver)], 1);
            }
        },
    ),
    MetricFamily::counter(
        "filterd_interface_unprotected_seconds_total",
        "Seconds for which an interface was not filtered, since filterd started.",
        |snapshot, series| {
            for one in &snapshot.interfaces {
                series.tell(&[("interface", &one.name)], one.unprotected);
            }
        },
    ),
    MetricFamily::counter(
        "filterd_interface_gaps_total",
        "Number of times an interface lost its filter, since filterd started.",
        |snapshot, series| {
            for one in &snapshot.interfaces {
                series.tell(&[("interface", &one.name)], one.gaps);
            }
        },
    ),
    MetricFamily {
        name: "filterd_change_seconds",
        kind: MetricKind::Histogram,
        help: "Time until a change was in force for the next packet: an addition, a removal, an expiry, or a part of \
               a reload.",
        tell: changes,
    },
];

fn faults(snapshot: &Snapshot, series: &mut Exposition) {
    let kinds = [
        (About::Protection, "protection"),
        (About::Durability, "durability"),
        (About::Time, "time"),
        (About::Lists, "lists"),
        (About::Configuration, "configuration"),
        (About::Confinement, "confinement"),
    ];
    for (about, word) in kinds {
        let count = snapshot.faults.iter().filter(|fault| fault.about == about).count();
        series.tell(&[("about", word)], count);
    }
}

fn changes(snapshot: &Snapshot, series: &mut Exposition) {
    let changes = &snapshot.changes;
    for within in &changes.within {
        series.tell_as("_bucket", &[("le", &within.seconds.to_string())], within.changes);
    }
    series.tell_as("_bucket", &[("le", "+Inf")], changes.count);
    series.tell_as("_sum", &[], changes.seconds);
    series.tell_as("_count", &[], changes.count);
}
