//! `filterd watch`: prints what filterd does, what it is asked to do, and what it drops, as it happens.

mod journal;
mod pcap;

use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::ask::trouble::CommandError;
use super::ask::{left_at_work, reader};
use super::render::console::Console;
use super::render::figure::{count, counted};
use crate::clock;
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::wire::watch::{Drop, Event, Reply};
use crate::control::wire::{self, Failure};
use crate::exit::Exit;
use crate::text::{Explanation, quantity};
use journal::SystemdJournal;
use pcap::Pcap;

#[derive(Debug, Args)]
pub struct Watch {
    /// Print only drops [default: drops and changes]
    #[arg(long)]
    drops: bool,
    /// Print only changes: what filterd does and is asked to do
    #[arg(long)]
    changes: bool,
    /// Only what concerns this list [default: all lists]
    #[arg(long, value_name = "NAME")]
    list: Option<String>,
    /// Stop after this time: 90 (seconds), 10m, 2h [default: never]
    #[arg(long = "for", value_name = "TIME", value_parser = length)]
    length: Option<Duration>,
    /// Stop after this many events and drops [default: never]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Write dropped frames to this new file for tcpdump and Wireshark, or to standard output with -
    #[arg(long, value_name = "FILE", conflicts_with_all = ["changes", "journald"])]
    pcap: Option<PathBuf>,
    /// Write drops to the systemd journal, in fields [default: /run/systemd/journal/socket]
    #[arg(
        long,
        value_name = "SOCKET",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = journal::SOCKET,
        conflicts_with = "changes"
    )]
    journald: Option<PathBuf>,
}

/// Progress over all daemons that were watched.
struct WatchProgress {
    begun: Instant,
    told: u64,
}

/// The destination of events and drops.
enum WatchOutput {
    /// The output of the command.
    Console,
    Pcap(Pcap),
    Journal(SystemdJournal),
}

impl Watch {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        reader::end_with_it();
        let mut goal = self.goal()?;
        let mut progress = WatchProgress { begun: clock::instant(), told: 0 };
        let mut client = Client::connect(socket)?;
        loop {
            client.send(&self.request(&progress))?;
            match follow(&mut client, console, &mut goal, &mut progress) {
                Err(CommandError::Daemon(ClientError::Closed(_))) => {
                    client = another_one(socket)?;
                    console.note("(another filterd has taken over: events in between are missing)");
                }
                ended => return ended,
            }
        }
    }

    /// The request for the rest of the time and of the events.
    fn request(&self, progress: &WatchProgress) -> wire::Watch {
        let left = |length: &Duration| {
            length.saturating_sub(progress.begun.elapsed()).as_secs_f64().ceil().max(1.0) as u64
        };
        let drops_only = self.pcap.is_some() || self.journald.is_some();
        wire::Watch {
            changes: self.changes,
            drops: self.drops || drops_only,
            frames: self.pcap.is_some(),
            list: self.list.clone(),
            seconds: self.length.as_ref().map(left),
            count: self.count.map(|count| count.saturating_sub(progress.told).max(1)),
        }
    }

    fn goal(&self) -> Result<WatchOutput, CommandError> {
        Ok(match (&self.pcap, &self.journald) {
            (Some(path), _) => WatchOutput::Pcap(Pcap::begin(path)?),
            (None, Some(socket)) => WatchOutput::Journal(SystemdJournal::at(socket)?),
            (None, None) => WatchOutput::Console,
        })
    }
}

fn follow(
    client: &mut Client,
    console: &mut Console,
    goal: &mut WatchOutput,
    progress: &mut WatchProgress,
) -> Result<Exit, CommandError> {
    let clock = console.clock();
    loop {
        let line = client.receive::<wire::Watch>()?;
        let (reply, continues) = (line.parameters, line.continues);
        if let Some(why) = reply.no_drops {
            return Err(CommandError::Refused(Failure::Kernel(why)));
        }
        progress.told += u64::from(reply.event.is_some() || reply.drop.is_some());
        // The last line only marks the end, unless something was lost before it.
        let says_nothing = !continues && reply.lost == 0 && reply.event.is_none() && reply.drop.is_none();
        match goal {
            WatchOutput::Console if says_nothing => {}
            WatchOutput::Console => {
                console.answer(&reply, |reply| render(reply, clock.zone()))?;
                console.flush()?;
            }
            WatchOutput::Pcap(pcap) => pcap.write(&reply)?,
            WatchOutput::Journal(journal) => journal.tell(&reply)?,
        }
        if !continues {
            return Ok(Exit::Done);
        }
    }
}

/// How long a daemon may take to stop after its socket is gone.
const STOPPING: Duration = Duration::from_secs(5);

/// Connects to the daemon that replaces the one that closed the connection. Without a successor, this is an
/// error.
fn another_one(socket: &Endpoint) -> Result<Client, CommandError> {
    let begun = clock::instant();
    loop {
        // A daemon that is about to end may still accept a connection.
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
                let told = Explanation::new("filterd has stopped", remedy);
                return Err(CommandError::Refused(Failure::Unavailable(told)));
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
        lost => format!("({} lost: not read in time)\n", counted(lost, "line")),
    };
    let event = reply.event.as_ref().map(|event| told(event, zone));
    lost + &event.or_else(|| Some(dropped(reply.drop.as_ref()?, zone))).unwrap_or_default()
}

fn time(milliseconds: u64, zone: &TimeZone) -> String {
    let at = i64::try_from(milliseconds).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    at.unwrap_or_default().to_zoned(zone.clone()).strftime("%H:%M:%S").to_string()
}

/// Formats a drop with its time. A packet that is listed but passes is shown as `would drop`.
fn dropped(drop: &Drop, zone: &TimeZone) -> String {
    let lost = match drop.lost {
        0 => String::new(),
        lost => format!("({} not sampled: they came too fast)\n", counted(lost, "drop")),
    };
    format!("{lost}{} {}", time(drop.at, zone), in_words(drop))
}

/// Formats a drop in one line.
fn in_words(drop: &Drop) -> String {
    let mut source = drop.source.as_deref().unwrap_or("somebody").to_owned();
    if let Some(destination) = &drop.destination {
        source.push_str(&format!(" to {destination}"));
    }
    let verb = match drop.outcome.as_str() {
        "would_drop" => "would drop",
        "paused" => "paused: would drop",
        outcome => outcome,
    };
    let protocol = drop.protocol.as_deref().map(|protocol| format!(" {protocol}")).unwrap_or_default();
    let port = drop.port.map(|port| format!(" to port {port}")).unwrap_or_default();
    let interface = drop.interface.as_deref().map(|name| format!(" on {name}")).unwrap_or_default();
    let list = drop.list.as_deref().map(|list| format!(" list={list}")).unwrap_or_default();
    let weight = if drop.weight == 1 { String::new() } else { format!(" (for {})", count(drop.weight)) };
    let (reason, bytes) = (&drop.reason, count(drop.bytes.into()));
    format!("{verb} {source}{protocol}{port}{interface}{list} {reason} {bytes} B{weight}")
}

/// Fields that name the user, which come after what an event is about.
const OF_WHOM: [&str; 5] = ["user", "uid", "login", "process", "pid"];

fn told(event: &Event, zone: &TimeZone) -> String {
    let word = if event.level == "info" { String::new() } else { format!("{}: ", event.level) };
    let fields = event.fields.iter().filter(|(name, _)| !OF_WHOM.contains(&name.as_str()));
    let fields: String = fields.map(|(name, value)| format!(" {name}={value}")).collect();
    format!("{} {word}{}{fields}{}", time(event.at, zone), event.what, who(event))
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
        let reply = Reply { event: Some(event.clone()), ..Reply::new() };
        let line = r#"21:28:00 add 203.0.113.7 changed=1 list="ssh" by ann as root (filterd)"#;
        assert_eq!(render(&reply, &TimeZone::UTC), line);
        let warning = Event { level: "warn".into(), fields: Default::default(), ..event };
        let reply = Reply { lost: 3, event: Some(warning), ..Reply::new() };
        let lines = "(3 lines lost: not read in time)\n21:28:00 warn: add 203.0.113.7";
        assert_eq!(render(&reply, &TimeZone::UTC), lines);
        assert_eq!(render(&Reply::default(), &TimeZone::UTC), "");
    }

    #[test]
    fn drop_is_one_line_with_its_weight() {
        let drop = Drop {
            at: 1_795_296_480_123,
            weight: 1,
            source: Some("203.0.113.7".into()),
            protocol: Some("tcp".into()),
            port: Some(22),
            interface: Some("eth0".into()),
            list: Some("ssh".into()),
            reason: "ipv4_address".into(),
            outcome: "drop".into(),
            bytes: 60,
            ..Drop::default()
        };
        let told = |drop: &Drop| render(&Reply { drop: Some(drop.clone()), ..Reply::new() }, &TimeZone::UTC);
        let line = "21:28:00 drop 203.0.113.7 tcp to port 22 on eth0 list=ssh ipv4_address 60 B";
        assert_eq!(told(&drop), line);
        let many = Drop { weight: 2048, lost: 3, port: None, list: None, outcome: "paused".into(), ..drop };
        let lines = "(3 drops not sampled: they came too fast)\n\
                     21:28:00 paused: would drop 203.0.113.7 tcp on eth0 ipv4_address 60 B (for 2,048)";
        assert_eq!(told(&many), lines);
    }
}
