//! `filterd watch`: what filterd does and is asked to do, as it happens.

use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::ask::trouble::Trouble;
use super::ask::{left_at_work, reader};
use super::render::console::Console;
use super::render::figure::counted;
use crate::clock;
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::wire::watch::{Event, Reply};
use crate::control::wire::{self, Failure};
use crate::exit::Exit;
use crate::text::{Explanation, quantity};

#[derive(Debug, Args)]
#[command(after_help = "\
Every change that is asked for, with who asked; what expires; lists that are fetched and read; reloads, pauses, interfaces
that come and go: what filterd's log tells, and no less often. With --quiet the daemon tells warnings and errors only.
Whoever reads too slowly loses events, and is told how many. Where another filterd takes this one's place, that is watched
from then on; where filterd stops, this ends with 6.

Examples:
  filterd watch
  filterd watch --list ssh --count 1       until something happens to that list
  filterd watch --for 60s --json           one object a line, the first as soon as nothing is missed any more")]
pub struct Watch {
    /// Only what names this list
    #[arg(long, value_name = "NAME")]
    list: Option<String>,
    /// End after this time: 90 (seconds), 10m, 2h
    #[arg(long = "for", value_name = "TIME", value_parser = length)]
    length: Option<Duration>,
    /// End after so many events
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
}

/// How far it is, over all the daemons that it has watched.
struct Progress {
    begun: Instant,
    events: u64,
}

impl Watch {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, Trouble> {
        reader::end_with_it();
        let mut progress = Progress { begun: clock::instant(), events: 0 };
        let mut client = Client::connect(socket)?;
        loop {
            client.send(&self.request(&progress))?;
            match self.follow(&mut client, console, &mut progress) {
                Err(Trouble::Daemon(ClientError::Closed(_))) => {
                    client = another_one(socket)?;
                    console
                        .note("(another filterd has taken its place: what happened meanwhile is not told)");
                }
                ended => return ended,
            }
        }
    }

    /// What is still to be watched.
    fn request(&self, progress: &Progress) -> wire::Watch {
        let left = |length: &Duration| {
            length.saturating_sub(progress.begun.elapsed()).as_secs_f64().ceil().max(1.0) as u64
        };
        wire::Watch {
            list: self.list.clone(),
            seconds: self.length.as_ref().map(left),
            count: self.count.map(|count| count.saturating_sub(progress.events).max(1)),
        }
    }

    fn follow(
        &self,
        client: &mut Client,
        console: &mut Console,
        progress: &mut Progress,
    ) -> Result<Exit, Trouble> {
        loop {
            let line = client.receive::<wire::Watch>()?;
            let (reply, continues) = (line.parameters, line.continues);
            progress.events += u64::from(reply.event.is_some());
            console.answer(&reply, |reply| render(reply, &TimeZone::system()))?;
            console.flush()?;
            if !continues {
                return Ok(Exit::Done);
            }
        }
    }
}

/// How long one that stops may be at it when its socket is gone already.
const STOPPING: Duration = Duration::from_secs(5);

/// The one that goes on where this one has closed the line; if nobody does, that ends it.
fn another_one(socket: &Endpoint) -> Result<Client, Trouble> {
    let begun = clock::instant();
    loop {
        // One that is about to end may still let somebody in.
        let answered = Client::connect(socket).and_then(|mut client| {
            client.call(&wire::Ping {})?;
            Ok(client)
        });
        match answered {
            Err(ClientError::Closed(_) | ClientError::SocketGone { .. }) if begun.elapsed() < STOPPING => {
                sleep(Duration::from_millis(10));
            }
            Err(ClientError::NotRunning(path)) => {
                let remedy = left_at_work::told(&path).unwrap_or_else(|| "start it again".to_owned());
                let told = Explanation::new("filterd has stopped: there is nothing more to watch", remedy);
                return Err(Trouble::Refused(Failure::Unavailable(told)));
            }
            Err(ClientError::Failed(Failure::Unavailable(_))) if begun.elapsed() < STOPPING => {
                sleep(Duration::from_millis(10));
            }
            answered => return Ok(answered?),
        }
    }
}

fn length(word: &str) -> Result<Duration, &'static str> {
    let length = quantity::duration(word)
        .map_err(|_| "write seconds, or numbers with w, d, h, m or s: 90, 10m, 2h")?;
    if length.is_zero() { Err("at least one second") } else { Ok(length) }
}

fn render(reply: &Reply, zone: &TimeZone) -> String {
    let lost = match reply.lost {
        0 => String::new(),
        lost => format!("({} lost: not read in time)\n", counted(lost, "event")),
    };
    lost + &reply.event.as_ref().map(|event| told(event, zone)).unwrap_or_default()
}

/// What an event is about stands before who wanted it.
const OF_WHOM: [&str; 5] = ["user", "uid", "login", "process", "pid"];

fn told(event: &Event, zone: &TimeZone) -> String {
    let at = i64::try_from(event.at).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    let at = at.unwrap_or_default().to_zoned(zone.clone()).strftime("%H:%M:%S").to_string();
    let word = if event.level == "info" { String::new() } else { format!("{}: ", event.level) };
    let fields = event.fields.iter().filter(|(name, _)| !OF_WHOM.contains(&name.as_str()));
    let fields: String = fields.map(|(name, value)| format!(" {name}={value}")).collect();
    format!("{at} {word}{}{fields}{}", event.what, who(event))
}

fn who(event: &Event) -> String {
    let field = |name: &str| event.fields.get(name).and_then(Value::as_str);
    match (field("user"), field("login"), field("process")) {
        (None, ..) => String::new(),
        (Some(user), login, process) => {
            let user = login.map_or_else(|| user.to_owned(), |login| format!("{login} as {user}"));
            let process = process.map(|process| format!(" ({process})")).unwrap_or_default();
            format!(" by {user}{process}")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_tells_when_what_and_who() {
        let fields = json!({"list": "ssh", "changed": 1, "user": "root", "uid": 0, "login": "ann", "process": "filterd", "pid": 7});
        let fields = serde_json::from_value(fields).unwrap();
        let what = "add 203.0.113.7".into();
        let event = Event { at: 1_795_296_480_123, level: "info".into(), what, fields, ..Event::default() };
        let reply = Reply { version: 1, lost: 0, event: Some(event.clone()) };
        let line = r#"21:28:00 add 203.0.113.7 changed=1 list="ssh" by ann as root (filterd)"#;
        assert_eq!(render(&reply, &TimeZone::UTC), line);
        let warning = Event { level: "warn".into(), fields: Default::default(), ..event };
        let reply = Reply { version: 1, lost: 3, event: Some(warning) };
        let lines = "(3 events lost: not read in time)\n21:28:00 warn: add 203.0.113.7";
        assert_eq!(render(&reply, &TimeZone::UTC), lines);
        assert_eq!(render(&Reply::default(), &TimeZone::UTC), "");
    }
}
