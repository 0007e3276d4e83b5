//! Reports the state of the daemon.

use filter_common::sets::{SetName, Slot};
use tracing::info;

use super::interfaces::WatchedInterface;
use super::owner::Owner;
use crate::blocklist::Polarity;
use crate::control::wire::{Fault, reload, status};
use crate::kernel::Occupancy;
use crate::text::{Explanation, printable};

/// How certain the answers of a table are.
const EXACT: &str = "exact";
/// The certainty of IPv6 tables: prefixes longer than /64 are stored as hashes.
const UP_TO_64: &str = "exact up to /64, else wrong for less than one packet in 10^17";

impl Owner {
    /// All differences from the configured state, collected from each part.
    pub(super) fn faults(&self) -> Vec<Fault> {
        let mut faults: Vec<Fault> = self.attachment.interfaces.faults().collect();
        faults.extend(self.clocks.sleep.fault());
        faults.extend(self.guard.faults());
        faults.extend(self.attachment.flows.faults());
        // With `enforce: false`, nothing is dropped and a pause changes nothing.
        faults.extend(self.pause.fault().filter(|_| self.core.protection.filter().settings().enforce));
        faults.extend(self.core.persistence.faults());
        faults.extend(self.attachment.pinned.fault());
        faults.extend(self.attachment.pinned.gap());
        faults.extend(self.attachment.tampered.faults());
        faults.extend(self.configuration.faults(self.core.lists.config_fault()));
        faults.extend(self.core.lists.faults(self.core.protection.blocklist()));
        faults.extend(self.sources.feeds.faults(self.core.protection.blocklist(), &self.core.lists.sources));
        faults.extend(self.crowdsec.faults());
        faults.extend(self.sources.refreshing.fault());
        faults.extend(self.process.http.faults());
        faults.extend(self.clock_fault());
        faults.extend(self.process.privileges.fault());
        faults.sort_by_key(|fault| (fault.about, fault.since));
        faults
    }

    /// The absolute path of the state directory, because users may be in another directory.
    pub(super) fn state_directory(&self) -> String {
        let path = &self.run.state_dir;
        printable::path(std::path::absolute(path).as_deref().unwrap_or(path)).to_string()
    }

    /// Remarks about a state that agrees with the configuration.
    pub(super) fn remarks(&self) -> Vec<Explanation> {
        let paused = self.pause.fault().filter(|_| !self.core.protection.filter().settings().enforce);
        let paused = paused.map(|Fault { told: Explanation { message, remedy }, .. }| {
            let message = format!("{message}; with `enforce: false` the pause changes nothing");
            Explanation { message, remedy }
        });
        let remarks =
            paused.into_iter().chain(self.attachment.tampered.remarks()).chain(self.mode().warning());
        let remarks = remarks.chain(self.attachment.interfaces.iter().filter_map(WatchedInterface::warning));
        let remarks = remarks
            .chain(self.attachment.pinned.remark())
            .chain(self.configuration.config.metrics.warnings());
        remarks.chain(self.process.privileges.remarks()).collect()
    }

    /// One line for systemd.
    pub fn summary(&self) -> String {
        let targets = |count| match count {
            1 => "1 target".to_owned(),
            several => format!("{several} targets"),
        };
        let blocked = match (self.targets(), self.targets_out()) {
            (from, 0) => format!("from {}", targets(from)),
            (0, to) => format!("to {}", targets(to)),
            (from, to) => format!("from {} and to {}", targets(from), targets(to)),
        };
        format!("{} packets {blocked} on {}", self.doing(), self.links())
    }

    /// One line for the log once everything is in place.
    pub(super) fn tell_ready(&self) {
        let lists = self.core.protection.blocklist().lists().iter().count();
        let outbound = Some(self.targets_out()).filter(|count| *count > 0);
        info!(
            targets = self.targets(),
            outbound,
            lists,
            "ready: {} packets on {}",
            self.doing(),
            self.links()
        );
    }

    fn doing(&self) -> String {
        let verb = if self.core.protection.filter().settings().enforce {
            "dropping"
        } else {
            "counting, not dropping,"
        };
        let paused = if self.is_paused() { "paused: " } else { "" };
        format!("{paused}{verb}")
    }

    fn links(&self) -> String {
        let attached = |one: &WatchedInterface| Some(format!("{} ({})", one.name(), one.attached()?.mode()));
        let mut links: Vec<_> = self.attachment.interfaces.iter().filter_map(attached).collect();
        if links.is_empty() {
            links.push("no interface yet".to_owned());
        }
        links.join(", ")
    }

    /// The number of targets packets from which are blocked. Targets on several lists count once.
    pub(super) fn targets(&self) -> u64 {
        let sides = self.core.protection.blocklist().sides(Polarity::Block);
        let of_sources = sides.filter(|(set, _)| *set != SetName::Out);
        of_sources.map(|(_, side)| side.len() as u64).sum()
    }

    /// The number of targets packets to which are blocked.
    pub(super) fn targets_out(&self) -> u64 {
        self.core.protection.blocklist().side(SetName::Out).len() as u64
    }

    pub(super) fn tables(&self) -> Vec<status::Table> {
        let (filter, blocklist) = (self.core.protection.filter(), self.core.protection.blocklist());
        let none = Occupancy::default();
        let networks = up_to(24, blocklist.block().lengths4());
        let networks =
            Occupancy { entries: networks, capacity: 1 << 24, bytes: filter.networks_bytes(), ..none };
        let levels = up_to(32, blocklist.block().lengths6());
        let levels = Occupancy { entries: levels, capacity: 1 << 32, bytes: filter.levels_bytes(), ..none };
        let mut tables = vec![
            blocks("ipv4 addresses", filter.addresses(), EXACT),
            blocks("ipv4 prefixes", networks, EXACT),
            blocks("ipv6", filter.six(), UP_TO_64),
            blocks("ipv6 up to /32", levels, EXACT),
        ];
        if filter.allowed_bytes() > 0 {
            let ([addresses, six], [networks, levels]) = (filter.allowed(), filter.allowed_prefixes_bytes());
            let prefixes = |entries, capacity, bytes| Occupancy { entries, capacity, bytes, ..none };
            let networks = prefixes(up_to(24, blocklist.allow().lengths4()), 1 << 24, networks);
            let levels = prefixes(up_to(32, blocklist.allow().lengths6()), 1 << 32, levels);
            let allowed = [
                ("allowed ipv4 addresses", addresses, EXACT),
                ("allowed ipv4 prefixes", networks, EXACT),
                ("allowed ipv6", six, UP_TO_64),
                ("allowed ipv6 up to /32", levels, EXACT),
            ];
            let in_use = allowed.into_iter().filter(|(_, table, _)| table.bytes > 0);
            tables.extend(in_use.map(|(name, occupancy, certainty)| table(name, occupancy, certainty)));
        }
        let clauses = Slot::all().zip(blocklist.clauses());
        let on_ports =
            clauses.filter_map(|(slot, clause)| Some((SetName::Clause(slot), clause.as_ref()?.to_string())));
        for (set, words) in on_ports.chain([(SetName::Out, "as destinations".to_owned())]) {
            let side = blocklist.side(set);
            let ([addresses, six], [networks, levels]) = filter.occupancy_of(set);
            let prefixes = |entries, capacity, bytes| Occupancy { entries, capacity, bytes, ..none };
            let networks = prefixes(up_to(24, side.lengths4()), 1 << 24, networks);
            let levels = prefixes(up_to(32, side.lengths6()), 1 << 32, levels);
            let each = [
                ("ipv4 addresses", addresses, EXACT),
                ("ipv4 prefixes", networks, EXACT),
                ("ipv6", six, UP_TO_64),
                ("ipv6 up to /32", levels, EXACT),
            ];
            let in_use = each.into_iter().filter(|(_, table, _)| table.bytes > 0);
            tables.extend(
                in_use.map(|(kind, in_it, certainty)| blocks(&format!("{kind} {words}"), in_it, certainty)),
            );
        }
        if let Some((bytes, labels)) = filter.list_counters_bytes() {
            let lists =
                Occupancy { entries: blocklist.lists().count_all() as u64, capacity: labels, bytes, ..none };
            tables.push(table("counters of lists", lists, EXACT));
        }
        tables
    }
}

/// Logs what a reload changed. If a client waits for the reload, the audit line already names it and its
/// result.
pub fn log_reload(verb: &'static str, reloaded: &reload::Reply, is_waited_for: bool) {
    super::reload::tell_log(reloaded);
    let reload::Reply { entered, left, allowed, disallowed, unchanged, milliseconds, .. } = reloaded;
    if !is_waited_for {
        let settings = reloaded.switched().join("; ");
        let settings = (!settings.is_empty()).then_some(settings.as_str());
        let event = if verb == "rollback" { "rolled back" } else { "reloaded" };
        let interfaces = |names: &[String]| (!names.is_empty()).then(|| names.join(", "));
        let lists = reloaded.lists().join(", ");
        let [attached, detached] = [interfaces(&reloaded.attached), interfaces(&reloaded.detached)];
        info!(
            settings,
            attached = attached.as_deref(),
            detached = detached.as_deref(),
            entered,
            left,
            allowed,
            disallowed,
            unchanged,
            milliseconds,
            watch.verb = verb,
            watch.lists = lists,
            "{event}"
        );
    }
}

/// The number of prefixes up to this length.
fn up_to(longest: u8, lengths: impl Iterator<Item = (u8, u64)>) -> u64 {
    lengths.filter(|(length, _)| *length <= longest).map(|(_, count)| count).sum()
}

fn table(name: &str, occupancy: Occupancy, certainty: &str) -> status::Table {
    let Occupancy { entries, capacity, bytes, growths, relocations } = occupancy;
    let (name, certainty) = (name.to_owned(), certainty.to_owned());
    status::Table { name, entries, capacity, bytes, certainty, blocks: false, growths, relocations }
}

/// A table whose entries cause drops.
fn blocks(name: &str, occupancy: Occupancy, certainty: &str) -> status::Table {
    status::Table { blocks: true, ..table(name, occupancy, certainty) }
}
