//! `filterd diff`: shows what a reload would change, and which peers it would cut off.

use clap::Args;

use super::ask::trouble::CommandError;
use super::ask::waiting;
use super::render::console::Console;
use super::render::figure::{count, counted, counted_as};
use super::render::moment::Clock;
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::wire;
use crate::control::wire::diff::{Cut, EntryDifference, ListDifference, Reply, Role, Stays};
use crate::exit::Exit;
use crate::text::printable;

#[derive(Debug, Args)]
pub struct Diff {}

/// At most this many entries of a list are shown, of those added and of those removed.
const MOST_TOLD: usize = 5;

/// Further peers are counted, but not shown.
const MOST_CUT: usize = 20;

impl Diff {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let mut client = Client::connect(socket)?;
        let found = waiting::shown(console.progress, "reading what would change", || ask(&mut client))?;
        let clock = console.clock();
        console.answer(&found, |found| render(found, &clock))?;
        found.warnings.iter().for_each(|warning| console.note(&format!("warning: {warning}")));
        let interfaces = found.faults.iter().map(|fault| &fault.told);
        let told: Vec<_> = interfaces.chain(found.held_back.iter().map(|held| &held.told)).collect();
        if !told.is_empty() {
            console.flush()?;
            told.into_iter().for_each(|told| console.complain(told));
            return Ok(Exit::Partly);
        }
        Ok(if found.is_empty() { Exit::Done } else { Exit::No })
    }
}

fn ask(client: &mut Client) -> Result<Reply, ClientError> {
    client.send(&wire::Diff {})?;
    let mut part = client.receive::<wire::Diff>()?;
    let mut all = std::mem::take(&mut part.parameters);
    while part.continues {
        part = client.receive::<wire::Diff>()?;
        all.entries.append(&mut part.parameters.entries);
    }
    Ok(all)
}

fn render(found: &Reply, clock: &Clock) -> String {
    let mut lines = Vec::new();
    lines.extend(found.enforce.map(|enforce| match enforce {
        true => "enforce: true, packets would be dropped".to_owned(),
        false => "enforce: false, packets would only be counted, NONE WOULD BE DROPPED".to_owned(),
    }));
    lines.extend(found.settings.iter().map(|setting| printable::on_one_line(setting).to_string()));
    let how = match found.attach_mode.as_deref() {
        Some("native") => " in native mode",
        Some("tc" | "generic") => " by TC",
        _ => " in native mode if its driver can, by TC on veth and elsewhere",
    };
    lines.extend(interfaces("would try to attach to", &found.attach).map(|line| line + how));
    lines.extend(interfaces("would detach from", &found.detach));
    found.lists.iter().for_each(|list| lines.extend(of_list(list, found)));
    if found.is_empty() {
        lines.push("nothing would change".to_owned());
    }
    lines.extend(found.on_trial_until.map(|until| {
        let until = clock.at(until);
        format!(
            "a reload is on trial until {until}, and other reloads are refused until then\nto keep it: filterd confirm\nto roll back now: filterd rollback"
        )
    }));
    let not_fetched = &found.not_fetched;
    lines.extend(
        (!not_fetched.is_empty())
            .then(|| format!("not fetched yet, so its effect is unknown: {}", not_fetched.join(", "))),
    );
    let unseen = found.unseen.iter().map(|why| format!("not checked: {}", printable::on_one_line(why)));
    lines.extend(peers(found, clock));
    lines.extend(later(found, clock));
    lines.extend(guarded(found));
    lines.extend(unseen);
    lines.join("\n")
}

fn interfaces(verb: &str, names: &[String]) -> Option<String> {
    let told: Vec<_> = names.iter().map(|name| printable::on_one_line(name)).collect();
    (!names.is_empty()).then(|| format!("{verb} {}", told.join(", ")))
}

fn of_list(list: &ListDifference, found: &Reply) -> Vec<String> {
    let ListDifference { come, go, .. } = list;
    if list.allows_before.is_some() {
        return of_reversed(list, found);
    }
    let moves = match (come, go) {
        (0, 0) => "no entry would be added or removed".to_owned(),
        (come, 0) => would_come(*come),
        (0, go) => would_go(*go),
        (come, go) => format!("{}, {} would go", would_come(*come), count(*go)),
    };
    let mut lines = vec![format!("{}{}: {moves}", headed(list), about(list, found))];
    lines.extend(entries(list, true, found));
    lines.extend(entries(list, false, found));
    lines
}

/// Describes a list that would exchange block and allow: first as it would be, then as it is.
fn of_reversed(list: &ListDifference, found: &Reply) -> Vec<String> {
    let ListDifference { name, was, allows, come, go, .. } = list;
    let (verb, verb_now) = if *allows { ("allow", "block") } else { ("block", "allow") };
    let now = was.as_ref().map(|was| format!("now `{was}`, ")).unwrap_or_default();
    let mut lines = vec![format!("{} ({now}would {verb}): {}", headed(list), would_come(*come))];
    lines.extend(entries(list, true, found));
    let (kind_now, name_now) = (kind(!allows), was.as_ref().unwrap_or(name));
    lines.push(format!("{kind_now} `{name_now}` (would no longer {verb_now}): {}", would_go(*go)));
    lines.extend(entries(list, false, found));
    lines
}

/// The list's name, and the ports on which it would block.
fn headed(list: &ListDifference) -> String {
    let ports = match (&list.ports, &list.ports_before) {
        (Some(ports), _) => format!(" {ports}"),
        (None, Some(_)) => " on all ports".to_owned(),
        (None, None) => String::new(),
    };
    let direction = match (&list.direction, &list.direction_before) {
        (None, None) => String::new(),
        (direction, _) => format!(" on {}", packets(direction.as_deref())),
    };
    format!("{} `{}`{ports}{direction}", kind(list.allows), list.name)
}

/// The packets that a list with this direction blocks.
fn packets(direction: Option<&str>) -> &'static str {
    match direction {
        Some("out") => "packets to its targets",
        Some("both") => "packets from and to its targets",
        _ => "packets from its targets",
    }
}

const fn kind(allows: bool) -> &'static str {
    if allows { "allow list" } else { "list" }
}

/// The present state of the list, to follow its name.
fn about(list: &ListDifference, found: &Reply) -> String {
    let ListDifference { was, ports_before, direction_before, new, gone, .. } = list;
    let ports = ports_before.as_deref().map(|ports| on_ports(ports).to_owned());
    let direction = direction_before.as_deref().map(|direction| format!("on {}", packets(Some(direction))));
    let now: Vec<_> = was.iter().map(|was| format!("`{was}`")).chain(ports).chain(direction).collect();
    match (new, gone) {
        (true, _) => " (new)".to_owned(),
        (_, true) => match takes_its_name(list, found) {
            Some(other) => format!(" (no longer in the configuration, `{other}` takes its name)"),
            None => " (no longer in the configuration)".to_owned(),
        },
        _ if now.is_empty() => String::new(),
        _ => format!(" (now {})", now.join(", ")),
    }
}

fn would_come(entries: u64) -> String {
    format!("{} would come", counted_as(entries, ["entry", "entries"]))
}

fn would_go(entries: u64) -> String {
    format!("{} would go", counted_as(entries, ["entry", "entries"]))
}

/// The first entries that would be added to the list, or removed from it.
fn entries(list: &ListDifference, comes: bool, found: &Reply) -> Vec<String> {
    let (all, sign) = if comes { (list.come, '+') } else { (list.go, '-') };
    let is_one =
        |entry: &&EntryDifference| (&entry.list, entry.gone, entry.comes) == (&list.name, list.gone, comes);
    let of_it = found.entries.iter().filter(is_one);
    let mut told: Vec<_> = of_it.take(MOST_TOLD).map(|entry| format!("  {sign} {}", entry.target)).collect();
    let left = all.saturating_sub(told.len() as u64);
    if left > 0 {
        told.push(format!("  {sign} and {} more", count(left)));
    }
    told
}

/// The present name of the list that would take the name of this removed one.
fn takes_its_name<'a>(list: &ListDifference, found: &'a Reply) -> Option<&'a str> {
    let other = found.lists.iter().find(|other| !other.gone && other.name == list.name)?;
    other.was.as_deref()
}

fn on_ports(ports: &str) -> &str {
    if ports == "all" { "on all ports" } else { ports }
}

/// Lists the peers that would be cut off, with an eye-catching head.
fn peers(found: &Reply, clock: &Clock) -> Vec<String> {
    let looked = format!("{} looked at", counted(found.peers, "live peer"));
    if found.cuts == 0 {
        return vec![format!("none of {looked} would be cut")];
    }
    let paused = found.paused_until.map(|until| format!(", once the pause ends: {}", clock.at(until)));
    let paused = paused.unwrap_or_default();
    let mut lines = vec![format!("*** {} of {looked} WOULD BE CUT{paused} ***", count(found.cuts))];
    lines.extend(found.cut.iter().take(MOST_CUT).map(one));
    let left = found.cuts.saturating_sub(MOST_CUT as u64);
    if left > 0 {
        lines.push(format!("  and {} more", count(left)));
    }
    lines
}

/// Lists the peers that would be cut off later, when the entries that allow them expire.
fn later(found: &Reply, clock: &Clock) -> Vec<String> {
    if found.cut_later.is_empty() {
        return Vec::new();
    }
    let all = counted(found.cut_later.len() as u64, "live peer");
    let mut lines = vec![format!("*** {all} WOULD BE CUT LATER, when allow entries expire ***")];
    lines.extend(found.cut_later.iter().take(MOST_CUT).map(|cut| {
        let until = cut.allowed_until.map(|until| clock.at(until)).unwrap_or_default();
        format!("{}, allowed until {until}", one(cut))
    }));
    let left = found.cut_later.len().saturating_sub(MOST_CUT);
    lines.extend((left > 0).then(|| format!("  and {} more", count(left as u64))));
    lines
}

/// Lists the guarded peers, which stay connected although an entry covers them.
fn guarded(found: &Reply) -> Vec<String> {
    let told = found.guarded.iter().take(MOST_CUT).map(|Stays { address, why, target, list }| {
        let why = printable::on_one_line(why);
        format!("{address} is guarded ({why}) and stays, although {target} of list `{list}` covers it")
    });
    let mut lines: Vec<_> = told.collect();
    let left = found.guarded.len().saturating_sub(MOST_CUT);
    lines.extend((left > 0).then(|| format!("and {} more who are guarded", count(left as u64))));
    lines
}

fn one(cut: &Cut) -> String {
    let Cut { address, is, target, list, .. } = cut;
    let is: Vec<_> = is.iter().map(role).collect();
    format!("  {address}, {}: by {target} of list `{list}`", is.join(", "))
}

fn role(role: &Role) -> String {
    let Role { role, protocol, port, connections } = role;
    let connections = counted(connections.unwrap_or(1), "connection");
    match (role.as_str(), protocol, port) {
        ("name_server", ..) => "name server".to_owned(),
        ("client", Some(protocol), Some(port)) => format!("{connections} to {protocol} port {port} here"),
        ("server", Some(protocol), Some(port)) => format!("{connections} to its {protocol} port {port}"),
        (role, ..) => printable::on_one_line(role).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_795_296_480;

    fn clock() -> Clock {
        Clock::standing(NOW)
    }

    #[test]
    fn empty_diff_says_so() {
        let found = Reply { peers: 3, ..Reply::default() };
        assert_eq!(
            render(&found, &clock()),
            "nothing would change\nnone of 3 live peers looked at would be cut"
        );
        assert!(found.is_empty());
    }

    #[test]
    fn changes_are_shown_and_cuts_are_highlighted() {
        let entry = |list: &str, target: String, comes| EntryDifference {
            list: list.into(),
            target,
            allows: false,
            gone: list == "old",
            comes,
        };
        let mut entries: Vec<_> = (0..6).map(|host| entry("drop", format!("192.0.2.{host}"), true)).collect();
        entries.push(entry("old", "198.51.100.0/24".into(), false));
        let list = |name: &str, come, go| ListDifference {
            name: name.into(),
            come,
            go,
            ..ListDifference::default()
        };
        let ssh = Role {
            role: "client".into(),
            protocol: Some("tcp".into()),
            port: Some(22),
            connections: Some(2),
        };
        let server = Role { role: "name_server".into(), protocol: None, port: None, connections: None };
        let cut = Cut {
            address: "192.0.2.1".into(),
            is: vec![ssh, server],
            target: "192.0.2.1".into(),
            list: "drop".into(),
            allowed_until: None,
        };
        let found = Reply {
            enforce: Some(true),
            attach: vec!["eth1".into()],
            lists: vec![
                ListDifference { new: true, ..list("drop", 2000, 0) },
                ListDifference { gone: true, ..list("old", 0, 1) },
            ],
            peers: 7,
            cuts: 1,
            cut: vec![cut],
            entries,
            ..Reply::default()
        };
        let expected = "\
enforce: true, packets would be dropped
would try to attach to eth1 in native mode if its driver can, by TC on veth and elsewhere
list `drop` (new): 2,000 entries would come
  + 192.0.2.0
  + 192.0.2.1
  + 192.0.2.2
  + 192.0.2.3
  + 192.0.2.4
  + and 1,995 more
list `old` (no longer in the configuration): 1 entry would go
  - 198.51.100.0/24
*** 1 of 7 live peers looked at WOULD BE CUT ***
  192.0.2.1, 2 connections to tcp port 22 here, name server: by 192.0.2.1 of list `drop`";
        assert_eq!(render(&found, &clock()), expected);
        assert!(!found.is_empty());
    }

    #[test]
    fn during_pause_cuts_are_announced_for_its_end() {
        let found = Reply { peers: 2, cuts: 1, paused_until: Some(NOW + 120), ..Reply::default() };
        let told = render(&found, &clock());
        assert!(told.contains("WOULD BE CUT, once the pause ends: 21:30 (in 2 min) ***"), "{told}");
        let nobody = render(&Reply { cuts: 0, ..found }, &clock());
        assert!(nobody.ends_with("none of 2 live peers looked at would be cut"), "{nobody}");
    }

    #[test]
    fn reversed_list_shows_entries_by_new_effect() {
        let entry = |allows| EntryDifference {
            list: "office".into(),
            target: "192.0.2.1".into(),
            allows,
            gone: false,
            comes: allows,
        };
        let list = ListDifference {
            name: "office".into(),
            allows: true,
            allows_before: Some(false),
            come: 1,
            go: 1,
            ..ListDifference::default()
        };
        let found = Reply { lists: vec![list], entries: vec![entry(true), entry(false)], ..Reply::default() };
        assert_eq!(
            render(&found, &clock()),
            "allow list `office` (would allow): 1 entry would come\n  + 192.0.2.1\n\
             list `office` (would no longer block): 1 entry would go\n  - 192.0.2.1\n\
             none of 0 live peers looked at would be cut"
        );
        let renamed = ListDifference {
            allows: false,
            allows_before: Some(true),
            was: Some("friends".into()),
            ports: Some("on port 22 only".into()),
            ..found.lists[0].clone()
        };
        let told = render(&Reply { lists: vec![renamed], ..Reply::default() }, &clock());
        assert!(
            told.starts_with(
                "list `office` on port 22 only (now `friends`, would block): 1 entry would come\n"
            )
        );
        assert!(
            told.contains("\nallow list `friends` (would no longer allow): 1 entry would go\n"),
            "{told}"
        );
    }
}
