//! Completions of this moment: interfaces of this machine, and lists and entries of the running filterd. If it does not
//! answer or permit this user, there are none. Errors are not printed, because they would appear in the typed line.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;

use clap_complete::engine::{CompletionCandidate, ValueCompleter};

use super::super::places;
use crate::config::name::GUARD_LIST;
use crate::control::client::{Client, Endpoint};
use crate::control::wire::{self, Method};

/// How long a key press may wait for filterd.
const PATIENCE: Duration = Duration::from_millis(500);

/// The largest number of entries to offer.
const MOST: usize = 200;

/// Entries that begin with the typed characters.
#[derive(Clone, Copy)]
pub enum Entries {
    Blocked,
    Allowed,
}

impl ValueCompleter for Entries {
    fn complete(&self, typed: &OsStr) -> Vec<CompletionCandidate> {
        let typed = typed.to_string_lossy();
        let is_meant = |entry: &str| entry.starts_with(typed.as_ref());
        let found = self.within(span(&typed)).unwrap_or_default();
        // No command can remove entries of the guard.
        let own = found.into_iter().filter(|entry| entry.list != GUARD_LIST);
        let targets = own.map(|entry| entry.target).filter(|target| is_meant(target));
        let mut targets: Vec<_> = targets.collect();
        // A target on several lists comes once for each list.
        targets.dedup();
        targets.into_iter().take(MOST).map(CompletionCandidate::new).collect()
    }
}

impl Entries {
    /// Reads the first page. The daemon sends no more when the connection is closed.
    fn within(self, within: Option<String>) -> Option<Vec<wire::Entry>> {
        let allow = matches!(self, Self::Allowed);
        let mut client = Client::connect(endpoint()).ok()?;
        client.send(&wire::List { within, allow, ..wire::List::default() }).ok()?;
        Some(client.receive::<wire::List>().ok()?.parameters.entries)
    }
}

/// The names of this machine's interfaces.
pub fn interfaces() -> Vec<String> {
    let entries = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let names = entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name());
    let mut names: Vec<_> = names.filter_map(|name| name.into_string().ok()).collect();
    names.sort();
    names
}

/// The names of all lists.
pub fn lists() -> Vec<String> {
    let lists = asked(&wire::Lists {}).map(|reply| reply.lists).unwrap_or_default();
    lists.into_iter().map(|list| list.name).collect()
}

fn asked<M: Method>(what: &M) -> Option<M::Reply> {
    Client::connect(endpoint()).ok()?.call(what).ok()
}

/// The socket of --socket, else of the environment, else the default one.
fn endpoint() -> Endpoint {
    let said = socket_in(std::env::args_os());
    let socket = said.or_else(|| std::env::var_os("FILTERD_SOCKET")).filter(|path| !path.is_empty());
    let socket = socket.map_or_else(|| places::SOCKET.into(), PathBuf::from);
    Endpoint { socket, timeout: Some(PATIENCE) }
}

pub fn socket_in(words: impl IntoIterator<Item = OsString>) -> Option<OsString> {
    words.into_iter().skip_while(|word| word != "--socket").nth(1)
}

/// The prefix of all addresses that begin with the complete octets or groups of `typed`. The daemon then sends the matching
/// page of a large list.
pub fn span(typed: &str) -> Option<String> {
    if typed.contains(':') {
        return groups(typed);
    }
    let whole: Vec<u8> =
        typed.rsplit_once('.')?.0.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    let mut octets = [0; 4];
    octets.get_mut(..whole.len())?.copy_from_slice(&whole);
    Some(format!("{}/{}", IpAddr::from(Ipv4Addr::from(octets)), whole.len() * 8))
}

/// Groups after `::` have no known position.
fn groups(typed: &str) -> Option<String> {
    let before = typed
        .split_once("::")
        .map_or_else(|| typed.rsplit_once(':').map(|(before, _)| before), |(before, _)| Some(before))?;
    let whole: Vec<_> =
        before.split(':').map(|group| u16::from_str_radix(group, 16)).collect::<Result<_, _>>().ok()?;
    let mut groups = [0; 8];
    groups.get_mut(..whole.len())?.copy_from_slice(&whole);
    Some(format!("{}/{}", Ipv6Addr::from(groups), whole.len() * 16))
}
