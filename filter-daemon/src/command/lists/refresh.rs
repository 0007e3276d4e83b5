//! `filterd lists refresh`: makes the daemon fetch and read lists now.

use clap::Args;

use crate::command::ask::trouble::CommandError;
use crate::command::ask::waiting;
use crate::command::render::console::Console;
use crate::command::render::figure::{count, counted, counted_as};
use crate::control::client::{Client, Endpoint};
use crate::control::wire;
use crate::control::wire::refresh::{Outcome, Refreshed, Reply, Transfer};
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct Refresh {
    /// Lists to fetch [default: all lists with a `url`]
    #[arg(value_name = "NAME")]
    lists: Vec<String>,
}

/// Shown on a terminal while the command waits.
const WAITS: &str = "waiting for the servers of these lists (Ctrl-C stops waiting, not fetching)";

/// The status of a server that sends no content, because it has nothing newer.
const NOT_MODIFIED: u16 = 304;

impl Refresh {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let mut client = Client::connect(socket)?;
        let refreshed = waiting::shown(console.progress, WAITS, || {
            client.call(&wire::Refresh { lists: self.lists.clone() })
        })?;
        console.answer(&refreshed, render)?;
        for warning in &refreshed.warnings {
            console.note(&format!("warning: {warning}"));
        }
        let lists = refreshed.lists.iter().filter_map(|list| list.told.as_ref());
        let faults: Vec<_> = lists.chain(&refreshed.not_kept).collect();
        if faults.is_empty() {
            return Ok(Exit::Done);
        }
        console.flush()?;
        faults.into_iter().for_each(|told| console.complain(told));
        Ok(Exit::Partly)
    }
}

fn render(refreshed: &Reply) -> String {
    let Reply { entered, left, allowed, disallowed, lists, .. } = refreshed;
    if lists.is_empty() {
        return "no list has a `url`".to_owned();
    }
    let mut lines: Vec<_> = lists.iter().map(line).collect();
    if entered + left > 0 {
        lines.push(format!("{} entered the filter, {} left it", counted(*entered, "target"), count(*left)));
    }
    if allowed + disallowed > 0 {
        let allowed = counted(*allowed, "target");
        lines.push(format!("{allowed} newly allowed, {} no longer allowed", count(*disallowed)));
    }
    lines.join("\n")
}

fn line(Refreshed { list, outcome, entries, url, transfer, .. }: &Refreshed) -> String {
    let is_not_modified = transfer.as_ref().is_some_and(|transfer| transfer.status == NOT_MODIFIED);
    let outcome = match outcome {
        // It was downloaded earlier, but had not been read since.
        Outcome::Changed if is_not_modified => "the last download takes effect",
        Outcome::Changed => "changed",
        Outcome::Unchanged if is_not_modified => "not modified since the last download",
        Outcome::Unchanged => "unchanged",
        Outcome::HeldBack => "NOT UPDATED",
        Outcome::NotFetched => "NOT FETCHED",
        Outcome::Waits => "waits for the reload on trial",
        Outcome::NotInForce => "NOT IN FORCE",
        Outcome::Gone => "GONE",
    };
    let from = url.as_ref().map(|url| format!(", from {url}")).unwrap_or_default();
    let sent = transfer.as_ref().map(sent).unwrap_or_default();
    format!("{list}: {outcome}, {}{from}{sent}", counted_as(*entries, ["entry", "entries"]))
}

/// Describes a transfer. A server that reports no change sends no content.
fn sent(Transfer { status, bytes, milliseconds }: &Transfer) -> String {
    let seconds = format!("{}.{} s", count(milliseconds / 1000), milliseconds % 1000 / 100);
    match *status {
        NOT_MODIFIED => format!(" ({status}, {seconds})"),
        _ => format!(": {} in {seconds} ({status})", counted(*bytes, "byte")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_list_has_a_line_and_changes_follow() {
        let list = |list: &str, outcome, entries, url: Option<&str>| Refreshed {
            list: list.into(),
            outcome,
            entries,
            url: url.map(str::to_owned),
            transfer: None,
            told: None,
        };
        let sent = |status, bytes, list| Refreshed {
            transfer: Some(Transfer { status, bytes, milliseconds: 1_849 }),
            ..list
        };
        let url = Some("https://lists.example/tor.txt");
        let lists = vec![
            list("drop", Outcome::Changed, 1204, None),
            list("ipsum", Outcome::NotFetched, 1, Some("https://lists.example/ipsum.txt")),
            sent(200, 1_234_567, list("tor", Outcome::Changed, 1204, url)),
            sent(304, 0, list("tor", Outcome::Unchanged, 1204, url)),
            sent(304, 0, list("tor", Outcome::Changed, 1204, url)),
        ];
        let reply = Reply { entered: 20, left: 3, lists, ..Reply::default() };
        let told = "drop: changed, 1,204 entries\n\
                    ipsum: NOT FETCHED, 1 entry, from https://lists.example/ipsum.txt\n\
                    tor: changed, 1,204 entries, from https://lists.example/tor.txt: 1,234,567 bytes in 1.8 s (200)\n\
                    tor: not modified since the last download, 1,204 entries, from https://lists.example/tor.txt (304, 1.8 s)\n\
                    tor: the last download takes effect, 1,204 entries, from https://lists.example/tor.txt (304, 1.8 s)\n\
                    20 targets entered the filter, 3 left it";
        assert_eq!(render(&reply), told);
        assert_eq!(render(&Reply::default()), "no list has a `url`");
    }
}
