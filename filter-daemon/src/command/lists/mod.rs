//! `filterd lists`: shows every list with its number of entries and of dropped packets.

pub mod refresh;

use clap::{Args, Subcommand};

use super::ask::trouble;
use super::render::console::Console;
use super::render::figure::{count, counted_as, headed};
use super::render::hits::{self, rate};
use super::render::moment::Clock;
use super::render::remark;
use crate::cli::WithGlobals;
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::wire;
use crate::control::wire::lists::{Fetching, ListDetails, Reply, Trouble};
use crate::exit::Exit;
use crate::text::printable;

#[derive(Debug, Args)]
pub struct Lists {
    #[command(flatten)]
    pub show: WithGlobals<Show>,
    #[command(subcommand)]
    pub verb: Option<ListsVerb>,
}

// The further verbs of `lists`. (As a doc comment this would become the help of `lists`.)
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum ListsVerb {
    /// Fetch lists now
    Refresh(WithGlobals<refresh::Refresh>),
}

#[derive(Debug, Args)]
pub struct Show {}

impl Show {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, trouble::CommandError> {
        let lists = ask(socket)?;
        let clock = console.clock();
        console.answer(&lists, |lists| render(lists, &clock))?;
        let has_failed =
            |list: &ListDetails| list.fetching.as_ref().is_some_and(|fetching| fetching.failed.is_some());
        let is_well = lists.lists.iter().all(|list| list.fault.is_none() && !has_failed(list));
        Ok(if is_well { Exit::Done } else { Exit::Partly })
    }
}

/// Requests the state of every list.
pub fn ask(socket: &Endpoint) -> Result<Reply, ClientError> {
    Client::connect(socket)?.call(&wire::Lists {})
}

fn render(lists: &Reply, clock: &Clock) -> String {
    let heads = ["list", "kind", "entries", "shared", "hits", "per second", "age"];
    let figures = [false, false, true, true, true, true, false];
    let rows: Vec<_> = lists.lists.iter().map(|list| row(list, clock)).collect();
    let mut text = headed(heads, figures, &rows);
    let remarks: String = lists.lists.iter().map(|list| remarks(list, clock)).collect();
    if !remarks.is_empty() {
        text += &format!("\n{remarks}");
    }
    text + &format!("\n{}", hits::how_counted(lists.counted_since, lists.other, lists.gone, clock))
}

fn row(list: &ListDetails, clock: &Clock) -> [String; 7] {
    let direction = list.direction.as_deref().map(|direction| format!(", {direction}")).unwrap_or_default();
    let kind = if list.allows { format!("{}, allows", list.kind) } else { list.kind.clone() + &direction };
    // Zero shared entries are not shown.
    let shared = if list.shared == 0 { String::new() } else { count(list.shared) };
    let hits = match &list.hits {
        Some(hits) => count(hits.all()),
        None if list.counted_with_others => "with others".to_owned(),
        None => String::new(),
    };
    let age = list.written.or(list.read).map(|then| clock.elapsed(then)).unwrap_or_default();
    let rate = list.rate.map(rate).unwrap_or_default();
    [list.name.clone(), kind, count(list.entries), shared, hits, rate, age]
}

/// Remarks about a list: its faults with their remedies, and other facts.
fn remarks(list: &ListDetails, clock: &Clock) -> String {
    let not_fetched = list.fetching.as_ref().and_then(|fetching| fetching.failed.as_ref());
    let fault =
        list.fault.iter().chain(not_fetched).map(|fault| told(fault, clock)).reduce(|all, one| all + &one);
    // How many lines were not understood, the fault says itself.
    let rejected = if fault.is_some() { 0 } else { list.rejected };
    let mut others: Vec<_> = list.largest.map(|largest| trend(list.entries, largest)).into_iter().collect();
    others.extend(remark::of(rejected, list.special, list.expired));
    let replies = list.hits.map_or(0, |hits| hits.replies);
    others.extend(list.fetching.as_ref().map(|fetching| fetched(fetching, clock)));
    others.extend((replies > 0).then(|| format!("{} replies to this host passed", count(replies))));
    let is_plain = ["", "plain"].contains(&list.format.as_str());
    others.extend((!is_plain).then(|| format!("read as {}", list.format)));
    let others = (!others.is_empty()).then(|| format!("{}: {}\n", list.name, others.join(", ")));
    let origin = list.origin.as_ref().filter(|_| list.fetching.is_some());
    let origin = origin.map(|origin| format!("    {}\n", printable::on_one_line(origin)));
    let examples = list.examples.iter().map(|line| format!("    {}\n", printable::on_one_line(line)));
    fault.into_iter().chain(others).chain(examples).chain(origin).collect()
}

/// Formats a fault of a list, with its remedy below.
fn told(fault: &Trouble, clock: &Clock) -> String {
    let mut lines = fault.told.lines();
    let first = format!("{} ({})\n", lines.next().unwrap_or_default(), clock.since(fault.since));
    first + &lines.map(|line| format!("    {line}\n")).collect::<String>()
}

/// Compares the number of entries with the highest recent number.
fn trend(entries: u64, largest: u64) -> String {
    let entries = counted_as(entries, ["entry", "entries"]);
    format!("{entries}, {} at most within the last 7 days", count(largest))
}

/// Describes when the list was fetched, and when it is fetched next.
fn fetched(fetching: &Fetching, clock: &Clock) -> String {
    let before = match (fetching.fetched, fetching.checked) {
        (None, _) => "not fetched yet".to_owned(),
        (Some(fetched), Some(checked)) if checked > fetched => {
            format!("fetched {}, the same {}", clock.ago(fetched), clock.ago(checked))
        }
        (Some(fetched), _) => format!("fetched {}", clock.ago(fetched)),
    };
    let next = if fetching.now {
        "being fetched now".to_owned()
    } else {
        format!("next {}", clock.at(fetching.next))
    };
    format!("{before}, {next}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::wire::Hits;
    use crate::text::Explanation;

    const NOW: u64 = 1_795_296_480;

    fn list(name: &str, kind: &str, entries: u64, dropped: u64) -> ListDetails {
        let hits = Some(Hits { dropped, ..Hits::default() });
        ListDetails {
            name: name.into(),
            kind: kind.into(),
            entries,
            hits,
            rate: Some(0.0),
            ..ListDetails::default()
        }
    }

    fn reply() -> Reply {
        let file = ListDetails {
            shared: 17,
            rate: Some(12.34),
            written: Some(NOW - 7200),
            rejected: 3,
            ..list("drop", "file", 1204, 1_234_567)
        };
        let told = Explanation::new(
            "list \"ipsum\": drop.txt: there is no such file\nits last good version, if there is one, remains in force",
            "put it there",
        );
        let (fault, largest) = (Some(Trouble { since: NOW - 60, told }), Some(900_000));
        let written = Some(NOW - 14 * 86_400);
        let held = ListDetails { written, fault, largest, ..list("ipsum", "file", 500_000, 90_112) };
        let office = ListDetails { hits: None, rate: None, allows: true, ..list("office", "file", 3, 0) };
        let late =
            ListDetails { hits: None, rate: None, counted_with_others: true, ..list("late", "live", 1, 0) };
        let lists =
            vec![list("config", "config", 3, 0), file, held, office, list("ssh", "live", 12, 44), late];
        let other = Some(Hits { dropped: 7, ..Hits::default() });
        Reply { version: 1, counted_since: Some(NOW - 3600), rate_over: Some(7.0), other, gone: None, lists }
    }

    #[test]
    fn every_list_has_a_row_and_faults_follow() {
        let expected = "\
list    kind          entries  shared         hits  per second  age
config  config              3                    0         0.0
drop    file            1,204      17    1,234,567        12.3  2 h
ipsum   file          500,000               90,112         0.0  14 d
office  file, allows        3
ssh     live               12                   44         0.0
late    live                1          with others

drop: 3 lines were not understood
list \"ipsum\": drop.txt: there is no such file (since 1 min ago)
    its last good version, if there is one, remains in force
    put it there
ipsum: 500,000 entries, 900,000 at most within the last 7 days

A packet counts for the first list that has its entry. Prefixes of /24 and wider
are looked up before single addresses. Counted since 20:28 (1 h ago). Lists without counters of their own, together: 7 hits
";
        let told = render(&reply(), &Clock::standing(NOW));
        assert_eq!(told, expected);
        let table = told.lines().take(7);
        assert!(table.map(|line| line.chars().count()).max() <= Some(80));
    }

    #[test]
    fn without_list_counters_hits_are_omitted() {
        let lists = reply().lists.into_iter().map(|list| ListDetails {
            hits: None,
            rate: None,
            counted_with_others: false,
            ..list
        });
        let reply = Reply { counted_since: None, other: None, lists: lists.collect(), ..reply() };
        let told = render(&reply, &Clock::standing(NOW));
        assert!(told.starts_with("list    kind          entries  shared  age\n"), "{told}");
        assert!(
            told.ends_with("Packets are not counted per list (`counters: total` in the configuration)\n"),
            "{told}"
        );
    }
}
