//! `filterd status`: shows what the daemon does at the moment, and how full its tables are.

use clap::Args;

use super::ask::trouble::CommandError;
use super::render::console::Console;
use super::render::entry;
use super::render::figure::{bytes, count, counted, table};
use super::render::hits;
use super::render::moment::Clock;
use super::render::protection::ProtectionInput;
use super::render::remark;
use crate::control::client::{Client, Endpoint};
use crate::control::wire::crowdsec::CrowdSecState;
use crate::control::wire::status::{Flows, Interface, ListStatus, NOT_FILTERED, Reply, Table};
use crate::control::wire::{self, Fault};
use crate::exit::Exit;
use crate::text::Explanation;

#[derive(Debug, Args)]
pub struct Status {}

const NOTHING_IS_DROPPED: &str = "\
*** NOTHING IS DROPPED: `enforce: false` in the configuration, so packets are only counted ***";

const NOTHING_IS_SEEN: &str = "\
*** NOTHING IS DROPPED: filterd is attached to no interface ***";

impl Status {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let status = Client::connect(socket)?.call(&wire::Status {})?;
        let clock = console.clock();
        console.answer(&status, |status| render(status, &clock))?;
        Ok(if status.faults.is_empty() { Exit::Done } else { Exit::Partly })
    }
}

fn render(status: &Reply, clock: &Clock) -> String {
    let up = clock.elapsed(status.started);
    let config = status.config.as_deref().unwrap_or("none");
    let mut text = format!(
        "{}\nfilterd {}, pid {}, up {up}, config {config}\n",
        protection(status).told(clock),
        status.filterd,
        status.pid
    );
    for fault in &status.faults {
        text.push_str(&format!("\n{}", told(fault, clock)));
    }
    if status.interfaces.iter().all(|interface| interface.mode == NOT_FILTERED) {
        text.push_str(&format!("\n{NOTHING_IS_SEEN}\n"));
    } else if !status.enforce {
        text.push_str(&format!("\n{NOTHING_IS_DROPPED}\n"));
    }
    for remark in &status.remarks {
        text.push_str(&format!("\n{}", paragraph(remark, |first| format!("Note: {first}"))));
    }
    if let Some(reload) = &status.reload {
        text.push_str(&format!("\n{reload} the configuration\n"));
    }
    section(&mut text, "Interfaces", &interfaces(status, clock));
    section(&mut text, "Tables (each grows by itself)", &tables(status));
    section(&mut text, "Own flows (`match: new`: their packets pass)", &flows(status));
    section(&mut text, "CrowdSec", &crowdsec(status, clock));
    section(&mut text, "Lists", &lists(status, false, clock));
    section(&mut text, "Lists that allow, whatever is blocked", &lists(status, true, clock));
    section(&mut text, "Process", &process(status));
    text
}

fn protection(status: &Reply) -> ProtectionInput<'_> {
    let told_by_lists = || status.lists.iter().filter(|list| !list.allows).map(|list| list.targets).sum();
    ProtectionInput {
        interfaces: &status.interfaces,
        // An earlier daemon reports only the number of targets of each list.
        targets: status.targets.unwrap_or_else(told_by_lists),
        targets_out: status.targets_out,
        faults: &status.faults,
        enforce: status.enforce,
        paused: status.paused.as_ref(),
    }
}

/// Formats a fault, marked so that it stands out, with its remedy below.
fn told(fault: &Fault, clock: &Clock) -> String {
    paragraph(&fault.told, |first| format!("*** {first} ({}) ***", clock.since(fault.since)))
}

/// Formats a text: its first line through `put`, and the further lines indented below.
fn paragraph(told: &Explanation, put: impl FnOnce(&str) -> String) -> String {
    let mut lines = told.lines();
    let first = put(lines.next().unwrap_or_default());
    let rest: String = lines.map(|line| format!("    {line}\n")).collect();
    format!("{first}\n{rest}")
}

fn section<const COLUMNS: usize>(text: &mut String, title: &str, rows: &[[String; COLUMNS]]) {
    if !rows.is_empty() {
        let indented: String = table(rows).lines().map(|line| format!("  {line}\n")).collect();
        text.push_str(&format!("\n{title}\n{indented}"));
    }
}

fn interfaces(status: &Reply, clock: &Clock) -> Vec<[String; 3]> {
    let row = |interface: &Interface| {
        let mode = match interface.mode.as_str() {
            NOT_FILTERED if interface.accepted => "missing, as accepted",
            NOT_FILTERED => "NOT FILTERED",
            mode => mode,
        };
        let told =
            [history(interface), traffic(interface, clock)].into_iter().filter(|told| !told.is_empty());
        [interface.name.clone(), mode.to_owned(), told.collect::<Vec<_>>().join(", ")]
    };
    status.interfaces.iter().map(row).collect()
}

/// Describes where an interface is attached, and how long it was without protection.
fn history(interface: &Interface) -> String {
    let times = if interface.gaps == 1 { "once" } else { "several times" };
    let gone = (interface.gaps > 0).then(|| format!("lost its filter {times}"));
    let unprotected =
        (interface.unprotected > 0).then(|| format!("{} s without protection", count(interface.unprotected)));
    let note = interface.note.as_deref().filter(|_| !interface.accepted);
    let first = note.and_then(|note| note.lines().next()).map(str::to_owned);
    [first, gone, unprotected].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Describes an interface: its driver, since when it is filtered, and its packet rates.
fn traffic(interface: &Interface, clock: &Clock) -> String {
    let up = interface.up_since.map(|since| format!("up {}", clock.elapsed(since)));
    let packets = interface.packets_per_second.map(|rate| format!("{} received/s", hits::rate(rate)));
    let drops = interface.drops_per_second.map(|rate| format!("{} to drop/s", hits::rate(rate)));
    [interface.driver.clone(), up, packets, drops].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Rows for the tables. Their capacity is not shown, because a table that must grow is neither full then
/// nor needs attention.
fn tables(status: &Reply) -> Vec<[String; 5]> {
    let row = |table: &Table| {
        let noun = if table.entries == 1 { "entry" } else { "entries" };
        let (entries, size) = (count(table.entries), bytes(table.bytes));
        [table.name.clone(), entries, noun.to_owned(), size, table.certainty.clone()]
    };
    status.tables.iter().map(row).collect()
}

/// Describes the flows: how many are remembered, for how long, and which are forgotten.
fn flows(status: &Reply) -> Vec<[String; 1]> {
    let Some(Flows { room, begun, found, tcp_age, age, ports }) = &status.flows else { return Vec::new() };
    let day = 24 * 60 * 60;
    let told = [
        format!(
            "{} started so far, {} found open; at least {} are remembered at a time",
            count(*begun),
            count(*found),
            count(*room)
        ),
        "beyond that, the least recently used are forgotten, and replies to them are dropped".to_owned(),
        format!("each until this host has sent nothing for {} s (TCP: {} d)", age, tcp_age / day),
        format!("TCP and pings of this host, and UDP from its ports {ports} without a service"),
    ];
    told.into_iter().map(|line| [line]).collect()
}

/// Describes each CrowdSec: whether it answers, and how many decisions are enforced.
fn crowdsec(status: &Reply, clock: &Clock) -> Vec<[String; 3]> {
    let row = |one: &CrowdSecState| {
        let state = match one.connected_since {
            Some(_) => "connected",
            None => "NOT CONNECTED",
        };
        let enforced = format!("{} of {} decisions enforced", count(one.enforced), count(one.decided));
        let guarded = (one.guarded > 0).then(|| format!("{} guarded, which pass", count(one.guarded)));
        let answer = one.last_pull.map(|then| format!("last answer {}", clock.ago(then)));
        let told: Vec<_> = [Some(enforced), guarded, answer].into_iter().flatten().collect();
        [one.name.clone(), state.to_owned(), told.join(", ")]
    };
    status.crowdsec.iter().map(row).collect()
}

fn lists(status: &Reply, allows: bool, clock: &Clock) -> Vec<[String; 5]> {
    let row = |list: &ListStatus| {
        let targets = if list.targets == 1 { "target" } else { "targets" };
        let told = match &list.error {
            // The error is printed at the top.
            Some(_) => remark::of(0, list.special, list.expired)
                .into_iter()
                .chain(["not updated".to_owned()])
                .collect(),
            None => remark::of(list.rejected, list.special, list.expired),
        };
        let guarded = (list.guarded > 0).then(|| format!("{} guarded, which pass", count(list.guarded)));
        let hits = list.hits.map(|hits| hits.all()).filter(|hits| *hits > 0).map(|hits| counted(hits, "hit"));
        let read = list.read.map(|read| (clock.elapsed(read), read));
        let age = read.filter(|(_, read)| clock.is_long_ago(*read)).map(|(age, _)| format!("{age} old"));
        let next = list.next.map(|next| format!("next {}", clock.at(next)));
        let times = [hits, age, next].into_iter().flatten();
        let direction = list.direction.as_deref().map(|word| entry::told_direction(word).to_owned());
        let told: Vec<_> =
            list.ports.clone().into_iter().chain(direction).chain(told).chain(guarded).chain(times).collect();
        [list.name.clone(), list.kind.clone(), count(list.targets), targets.to_owned(), told.join(", ")]
    };
    status.lists.iter().filter(|list| list.allows == allows).map(row).collect()
}

/// Describes the daemon's user and rights. An earlier daemon does not report them.
fn process(status: &Reply) -> Vec<[String; 1]> {
    let confined = match status.landlock_version {
        Some(version) => format!("writes only its state and its socket (Landlock {version})"),
        None => "may write where that user may (this kernel has no Landlock)".to_owned(),
    };
    let told = format!("runs as {}, without capabilities; {confined}", status.user);
    if status.user.is_empty() { Vec::new() } else { vec![[told]] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::wire::About;
    use crate::control::wire::Hits;
    use crate::control::wire::status::Paused;

    const NOW: u64 = 1_795_296_480;

    fn status() -> Reply {
        let list = |name: &str, kind: &str, targets, rejected, error: Option<&str>| ListStatus {
            name: name.into(),
            kind: kind.into(),
            allows: false,
            ports: None,
            direction: None,
            targets,
            rejected,
            special: 0,
            expired: 0,
            guarded: 0,
            error: error.map(str::to_owned),
            ..ListStatus::default()
        };
        Reply {
            version: 1,
            filterd: "0.1.0".into(),
            pid: 812,
            started: NOW - 3 * 86_400 - 4 * 3600,
            user: "filterd".into(),
            landlock_version: Some(2),
            config: Some("/etc/filterd/filterd.yaml".into()),
            state_dir: None,
            faults: vec![],
            enforce: true,
            remarks: vec![],
            paused: None,
            trial: None,
            reload: None,
            targets: None,
            targets_out: 0,
            interfaces: vec![Interface {
                name: "eth0".into(),
                mode: "native".into(),
                ..Interface::default()
            }],
            tables: vec![Table {
                name: "ipv4 addresses".into(),
                entries: 1_000_000,
                capacity: 1_245_184,
                bytes: 1 << 21,
                certainty: "exact".into(),
                ..Default::default()
            }],
            flows: None,
            crowdsec: vec![],
            lists: vec![
                list("manual", "live", 1, 0, None),
                list("drop", "file", 1204, 3, None),
                list("gone", "file", 0, 0, Some("no such file")),
            ],
        }
    }

    #[test]
    fn missing_confinement_is_reported() {
        let status = Reply { landlock_version: None, user: "root".into(), ..status() };
        let told = render(&status, &Clock::standing(NOW));
        let line = "  runs as root, without capabilities; may write where that user may (this kernel has no Landlock)";
        assert_eq!(told.lines().last(), Some(line));
        let of_before = Reply { landlock_version: None, user: String::new(), ..status };
        assert!(!render(&of_before, &Clock::standing(NOW)).contains("runs as"));
    }

    #[test]
    fn expected_conditions_are_notes_with_remedies() {
        let note = Explanation::new("http://0.0.0.0:9477/ shows names", "restrict access with a firewall");
        let told = render(&Reply { remarks: vec![note], ..status() }, &Clock::standing(NOW));
        assert!(told.starts_with("Protected as configured"), "{told}");
        let lines = "\n\nNote: http://0.0.0.0:9477/ shows names\n    restrict access with a firewall\n\n";
        assert!(told.contains(lines), "{told}");
    }

    #[test]
    fn own_flows_explain_a_full_memory() {
        let flows = Flows {
            room: 65_536,
            begun: 1234,
            found: 5,
            tcp_age: 432_000,
            age: 180,
            ports: "32768-60999".into(),
        };
        let told = render(&Reply { flows: Some(flows), ..status() }, &Clock::standing(NOW));
        let expected = "
Own flows (`match: new`: their packets pass)
  1,234 started so far, 5 found open; at least 65,536 are remembered at a time
  beyond that, the least recently used are forgotten, and replies to them are dropped
  each until this host has sent nothing for 180 s (TCP: 5 d)
  TCP and pings of this host, and UDP from its ports 32768-60999 without a service
";
        assert!(told.contains(expected), "{told}");
    }

    #[test]
    fn status_shows_everything_at_a_glance() {
        let expected = "\
Protected as configured: packets from 1,205 targets on eth0 are dropped
filterd 0.1.0, pid 812, up 3 d 4 h, config /etc/filterd/filterd.yaml

Interfaces
  eth0  native

Tables (each grows by itself)
  ipv4 addresses  1,000,000  entries  2.0 MiB  exact

Lists
  manual  live      1  target
  drop    file  1,204  targets  3 lines were not understood
  gone    file      0  targets  not updated

Process
  runs as filterd, without capabilities; writes only its state and its socket (Landlock 2)
";
        assert_eq!(render(&status(), &Clock::standing(NOW)), expected);
    }

    #[test]
    fn shared_targets_count_once() {
        let told = render(&Reply { targets: Some(1204), ..status() }, &Clock::standing(NOW));
        assert!(
            told.starts_with("Protected as configured: packets from 1,204 targets on eth0 are dropped\n"),
            "{told}"
        );
    }

    #[test]
    fn an_interface_that_is_not_filtered_shouts() {
        let waiting = |name: &str, mode: &str, note: Option<&str>, unprotected, gaps| Interface {
            name: name.into(),
            mode: mode.into(),
            note: note.map(str::to_owned),
            unprotected,
            gaps,
            accepted: note == Some("accepted"),
            ..Interface::default()
        };
        let interfaces = vec![
            waiting("eth0", "native", None, 3, 1),
            waiting("eth1", "none", Some("there is no interface eth1"), 1200, 0),
            waiting("eth2", "native", Some("its name is now lan0"), 0, 0),
            waiting("usb0", "none", Some("accepted"), 0, 0),
        ];
        let text = render(&Reply { interfaces, ..status() }, &Clock::standing(NOW));
        let expected = "\
Interfaces
  eth0  native                lost its filter once, 3 s without protection
  eth1  NOT FILTERED          there is no interface eth1, 1,200 s without protection
  eth2  native                its name is now lan0
  usb0  missing, as accepted
";
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("***"), "{text}");
    }

    #[test]
    fn faults_come_first_with_remedies() {
        let told = Explanation::new("the journal cannot be written: no space left", "make room on the disk");
        let faults = vec![Fault { about: About::Durability, since: NOW - 90, told, id: None }];
        let expected = "\
Protected as configured: packets from 1,205 targets on eth0 are dropped; there is one other problem
filterd 0.1.0, pid 812, up 3 d 4 h, config /etc/filterd/filterd.yaml

*** the journal cannot be written: no space left (since 1 min 30 s ago) ***
    make room on the disk

Interfaces
";
        let text = render(&Reply { faults, ..status() }, &Clock::standing(NOW));
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn status_shows_packet_rates_and_list_ages() {
        let mut busy = status();
        busy.interfaces[0].driver = Some("virtio_net".into());
        busy.interfaces[0].up_since = Some(NOW - 7200);
        busy.interfaces[0].packets_per_second = Some(1_234_567.0);
        busy.interfaces[0].drops_per_second = Some(12.5);
        busy.lists[1].hits = Some(Hits { dropped: 5, would_drop: 2, ..Hits::default() });
        busy.lists[1].read = Some(NOW - 7200);
        busy.lists[1].next = Some(NOW + 720);
        let told = render(&busy, &Clock::standing(NOW));
        let interface = "\n  eth0  native  virtio_net, up 2 h, 1,234,567 received/s, 12.5 to drop/s\n";
        assert!(told.contains(interface), "{told}");
        let list = "  drop    file  1,204  targets  3 lines were not understood, 7 hits, 2 h old, next 21:40 (in 12 min)\n";
        assert!(told.contains(list), "{told}");
    }

    #[test]
    fn first_line_summarises_protection() {
        let first = |status: Reply| {
            render(&status, &Clock::standing(NOW)).lines().next().unwrap_or_default().to_owned()
        };
        let fault =
            |about| Fault { about, since: NOW, told: Explanation::new("it is so", "mend it"), id: None };
        assert!(first(Reply { interfaces: vec![], ..status() }).starts_with("NOT PROTECTED: "));
        assert!(
            first(Reply { faults: vec![fault(About::Protection)], ..status() })
                .starts_with("NOT AS CONFIGURED: ")
        );
        for about in [About::Lists, About::Configuration] {
            let faults = vec![fault(About::Time), fault(about)];
            assert_eq!(
                first(Reply { faults: faults.clone(), ..status() }),
                "Protected, BUT NOT ALL AS CONFIGURED: packets from 1,205 targets on eth0 are dropped; see the problems below"
            );
            assert!(
                first(Reply { faults, enforce: false, ..status() })
                    .starts_with("Counted, BUT NOT ALL AS CONFIGURED: ")
            );
            let nothing = Reply { targets: Some(0), lists: vec![], faults: vec![fault(about)], ..status() };
            assert_eq!(first(nothing), "NOTHING IS BLOCKED on eth0: see the problems below");
        }
        assert!(
            first(Reply { faults: vec![fault(About::Time)], ..status() })
                .starts_with("Protected as configured: ")
        );
        let paused = Some(Paused { since: NOW, until: NOW + 720, by: "root".into() });
        assert!(first(Reply { paused, ..status() }).starts_with("PAUSED until 21:40 (in 12 min): "));
        assert!(first(Reply { enforce: false, ..status() }).starts_with("As configured, "));
    }

    #[test]
    fn a_filter_that_drops_nothing_shouts() {
        let idle = Reply { enforce: false, ..status() };
        assert!(render(&idle, &Clock::standing(NOW)).contains("*** NOTHING IS DROPPED: `enforce: false`"));
        let detached = Reply { interfaces: vec![], ..status() };
        assert!(
            render(&detached, &Clock::standing(NOW))
                .contains("*** NOTHING IS DROPPED: filterd is attached to no")
        );
        assert!(!render(&status(), &Clock::standing(NOW)).contains("***"));
    }
}
