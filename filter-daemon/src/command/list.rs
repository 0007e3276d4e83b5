//! `filterd list`: what is blocked, entry by entry.

use std::sync::mpsc;
use std::thread;

use clap::Args;

use super::ask::trouble::Trouble;
use super::render::console::Console;
use super::render::moment::{self, Clock};
use crate::config::ListName;
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::wire::words;
use crate::control::wire::{self, Entry};
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  filterd list
  filterd list --list ssh --family 6
  filterd list --json | jq -r .target
  filterd list --list ssh | filterd remove -")]
pub struct List {
    /// Only entries of this list
    #[arg(long, value_name = "NAME", value_parser = words::list_name)]
    list: Option<ListName>,
    /// Only IPv4 or only IPv6
    #[arg(long, value_name = "4|6", value_parser = ["4", "6"])]
    family: Option<String>,
}

impl List {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
        let mut client = Client::connect(socket)?;
        client.send(&self.request())?;
        let clock = Clock::system();
        let (pages, arriving) = mpsc::channel();
        // A pager that nobody scrolls must not keep the daemon waiting, which would hang up: so the answer is
        // fetched as fast as it comes, whatever becomes of the output.
        let fetching = thread::spawn(move || fetch(client, &pages));
        let mut shown = 0;
        for page in arriving {
            shown += page.len();
            page.iter().try_for_each(|entry| console.answer(entry, |entry| render(entry, &clock)))?;
        }
        fetching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        if shown == 0 {
            console.note("nothing is blocked");
        }
        Ok(Exit::Done)
    }

    fn request(&self) -> wire::List {
        let family = self.family.as_ref().and_then(|family| family.parse().ok());
        wire::List { list: self.list.as_ref().map(ToString::to_string), family }
    }
}

fn fetch(mut client: Client, pages: &mpsc::Sender<Vec<Entry>>) -> Result<(), ClientError> {
    loop {
        let page = client.receive::<wire::List>()?;
        let reader_left = pages.send(page.parameters.entries).is_err();
        if reader_left || !page.continues {
            return Ok(());
        }
    }
}

/// Did this command write that line?
pub fn wrote(line: &[u8]) -> bool {
    let Some(comment) = line.iter().position(|byte| *byte == b'#') else { return false };
    let comment = String::from_utf8_lossy(&line[comment..]);
    let Some((list, times)) = comment.strip_prefix("# ").and_then(|rest| rest.split_once(", ")) else {
        return false;
    };
    let is_time = times.starts_with(moment::SINCE) || times.starts_with(moment::READ);
    let has_end = [moment::PERMANENT, moment::EXPIRES].iter().any(|end| times.contains(&format!(", {end}")));
    list.parse::<ListName>().is_ok() && is_time && has_end
}

fn render(entry: &Entry, clock: &Clock) -> String {
    let Entry { target, list, until, note, .. } = entry;
    let (since, until) = (clock.of(entry), clock.until(*until));
    let note = note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    format!("{target:<20} # {list}, {since}, {until}{note}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_target_and_a_comment() {
        let now = 1_795_296_480;
        let entry = Entry {
            target: "203.0.113.7".into(),
            list: "ssh".into(),
            since: now - 60,
            until: Some(now + 720),
            note: Some("x".into()),
            origin: None,
        };
        let clock = Clock::standing(now);
        let line = render(&entry, &clock);
        assert_eq!(line, "203.0.113.7          # ssh, since 1 min ago, expires 21:40 (in 12 min): x");
        assert!(wrote(line.as_bytes()));
        let of_file = render(&Entry { until: None, origin: Some("file".into()), ..entry }, &clock);
        assert_eq!(of_file, "203.0.113.7          # ssh, read 1 min ago, permanent: x");
        assert!(wrote(of_file.as_bytes()));
    }

    #[test]
    fn a_comment_of_somebody_else_is_no_line_of_ours() {
        for line in ["203.0.113.7", "203.0.113.7 # ssh", "203.0.113.7 # ssh, since Monday", "# a, permanent"]
        {
            assert!(!wrote(line.as_bytes()), "{line}");
        }
    }
}
