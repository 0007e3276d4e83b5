//! The program: is all as it should be, and how long does it take to change something?

use super::exposition::{Exposition, Kind};
use super::{Family, Snapshot};
use crate::control::wire::About;
use crate::control::wire::status::NOT_FILTERED;

pub const FAMILIES: [Family; 11] = [
    Family::gauge(
        "filterd_build_info",
        "1; its label tells the version of the program.",
        |snapshot, series| {
            series.tell(&[("version", &snapshot.filterd)], 1);
        },
    ),
    Family::gauge(
        "filterd_start_time_seconds",
        "When this filterd started, in seconds since 1970.",
        |snapshot, series| series.alone(snapshot.started),
    ),
    Family::gauge(
        "filterd_protected",
        "1 while protection is what the configuration says: every interface is filtered, and nothing is paused. \
         Lists that are held back do not matter here.",
        |snapshot, series| series.alone(u8::from(snapshot.is_protected())),
    ),
    Family::gauge(
        "filterd_enforcing",
        "1 while packets from listed sources are dropped, 0 while they are only counted.",
        |snapshot, series| series.alone(u8::from(snapshot.enforce && snapshot.paused.is_none())),
    ),
    Family::gauge("filterd_paused", "1 while protection is paused.", |snapshot, series| {
        series.alone(u8::from(snapshot.paused.is_some()));
    }),
    Family::gauge(
        "filterd_faults",
        "How many things are not as they should be, by what suffers; `filterd status` tells each with its remedy.",
        faults,
    ),
    Family::gauge(
        "filterd_interface_filtered",
        "1 while packets that this interface receives are looked at.",
        |snapshot, series| {
            for one in &snapshot.interfaces {
                series.tell(&[("interface", &one.name)], u8::from(one.mode != NOT_FILTERED));
            }
        },
    ),
    Family::gauge(
        "filterd_interface_mode_info",
        "1; its labels tell how an interface is filtered (native, generic, none), and its driver.",
        |snapshot, series| {
            for one in &snapshot.interfaces {
                let driver = one.driver.as_deref().unwrap_or("");
                series.tell(&[("interface", &one.name), ("mode", &one.mode), ("driver", driver)], 1);
            }
        },
    ),
    Family::counter(
        "filterd_interface_unprotected_seconds_total",
        "For how long an interface was not filtered since filterd started.",
        |snapshot, series| {
            for one in &snapshot.interfaces {
                series.tell(&[("interface", &one.name)], one.unprotected);
            }
        },
    ),
    Family::counter(
        "filterd_interface_gaps_total",
        "How often an interface lost its filter since filterd started.",
        |snapshot, series| {
            for one in &snapshot.interfaces {
                series.tell(&[("interface", &one.name)], one.gaps);
            }
        },
    ),
    Family {
        name: "filterd_change_seconds",
        kind: Kind::Histogram,
        help: "How long changes took until the next packet was judged by them: what is added, removed or has run out, and \
               each part of a reload.",
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
