//! Series of packets and their verdicts. Passing packets have counters by reason only, because a packet that passes
//! must cost nothing else. The kernel's own counters say what an interface receives.

use super::exposition::Exposition;
use super::{MetricFamily, Snapshot};
use crate::control::wire::snapshot::Sampled;
use crate::control::wire::stats::OnInterface;
use crate::control::wire::status::Received;

pub const FAMILIES: [MetricFamily; 11] = [
    MetricFamily::counter(
        "filterd_packets_total",
        "Packets on all interfaces by verdict and reason, since the filter was first attached.",
        |snapshot, series| {
            for row in &snapshot.reasons {
                series.tell(&[("verdict", &row.verdict), ("reason", &row.reason)], row.packets);
            }
        },
    ),
    MetricFamily::counter(
        "filterd_interface_packets_total",
        "Packets of listed sources by interface: dropped, or passed because the filter only counts (would_drop) or is \
         paused. Interfaces without counters of their own have no name.",
        |snapshot, series| on_interfaces(snapshot, series, |row| row.packets),
    ),
    MetricFamily::counter(
        "filterd_interface_bytes_total",
        "Bytes of the same packets.",
        |snapshot, series| on_interfaces(snapshot, series, |row| row.bytes),
    ),
    MetricFamily::counter(
        "filterd_interface_kernel_rx_packets_total",
        "Packets that the kernel counts as received. Some drivers include packets that are dropped in XDP.",
        |snapshot, series| received(snapshot, series, |received| received.kernel_rx_packets),
    ),
    MetricFamily::counter(
        "filterd_interface_kernel_rx_bytes_total",
        "Bytes of the same packets.",
        |snapshot, series| received(snapshot, series, |received| received.kernel_rx_bytes),
    ),
    MetricFamily::counter(
        "filterd_interface_kernel_rx_dropped_total",
        "Received packets that the kernel discarded, because no protocol took them or there was no memory. Packets that filterd \
         drops are not included.",
        |snapshot, series| received(snapshot, series, |received| received.kernel_rx_dropped),
    ),
    MetricFamily::counter(
        "filterd_interface_kernel_rx_errors_total",
        "Packets that arrived damaged, as the kernel counts them.",
        |snapshot, series| received(snapshot, series, |received| received.kernel_rx_errors),
    ),
    MetricFamily::counter(
        "filterd_flows_begun_total",
        "Flows that this host initiated, with `match: new`.",
        |snapshot, series| series.known(&[], snapshot.flows.as_ref().map(|flows| flows.begun)),
    ),
    MetricFamily::gauge(
        "filterd_flows_room",
        "Number of flows that are remembered at most. If there are more, those used least recently are forgotten.",
        |snapshot, series| series.known(&[], snapshot.flows.as_ref().map(|flows| flows.room)),
    ),
    MetricFamily::gauge(
        "filterd_source_packets_per_second",
        "Packets to be dropped from the sources that sent the most, as many sources as `metrics.sources` says. An \
         estimate from samples of the last ten seconds.",
        |snapshot, series| of_sources(snapshot, series, |source| source.packets),
    ),
    MetricFamily::gauge(
        "filterd_source_bytes_per_second",
        "Bytes of the same packets.",
        |snapshot, series| of_sources(snapshot, series, |source| source.bytes),
    ),
];

fn on_interfaces(snapshot: &Snapshot, series: &mut Exposition, of: fn(&OnInterface) -> u64) {
    for row in &snapshot.by_interface {
        let interface = row.interface.as_deref().unwrap_or("");
        let labels = [("interface", interface), ("verdict", &row.verdict), ("reason", &row.reason)];
        series.tell(&labels, of(row));
    }
}

fn received(snapshot: &Snapshot, series: &mut Exposition, of: fn(&Received) -> u64) {
    for one in &snapshot.interfaces {
        series.known(&[("interface", &one.name)], one.received.as_ref().map(of));
    }
}

fn of_sources(snapshot: &Snapshot, series: &mut Exposition, of: fn(&Sampled) -> u64) {
    let Some(top) = snapshot.top_sources.as_ref().filter(|top| top.over > 0.0) else { return };
    for source in &top.rows {
        let labels = [("source", source.name.as_str()), ("list", source.list.as_deref().unwrap_or(""))];
        series.tell(&labels, of(source) as f64 / top.over);
    }
}
