//! What is here at the moment: interfaces of this machine, lists and entries of the filterd that runs. Where it cannot be
//! asked, or not by this user, there is nothing to offer, and nothing is said: a shell shows an error in the middle of a line.

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

/// Whoever has pressed a key waits no longer.
const PATIENCE: Duration = Duration::from_millis(500);

/// More than anybody reads are not fetched.
const MOST: usize = 200;

/// Entries that begin as what was typed.
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
        // What the host itself is guarded by is nobody's to remove.
        let own = found.into_iter().filter(|entry| entry.list != GUARD_LIST);
        let targets = own.map(|entry| entry.target).filter(|target| is_meant(target));
        let mut targets: Vec<_> = targets.collect();
        // One that several lists have is told for each.
        targets.dedup();
        targets.into_iter().take(MOST).map(CompletionCandidate::new).collect()
    }
}

impl Entries {
    /// The first page: the daemon stops where nobody reads on.
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

/// Where the line says, else the environment, else where filterd usually listens.
fn endpoint() -> Endpoint {
    let said = socket_in(std::env::args_os());
    let socket = said.or_else(|| std::env::var_os("FILTERD_SOCKET")).filter(|path| !path.is_empty());
    let socket = socket.map_or_else(|| places::SOCKET.into(), PathBuf::from);
    Endpoint { socket, timeout: Some(PATIENCE) }
}

pub fn socket_in(words: impl IntoIterator<Item = OsString>) -> Option<OsString> {
    words.into_iter().skip_while(|word| word != "--socket").nth(1)
}

/// The prefix in which everything lies that begins so, as far as whole octets or groups say: of a large list the page that is
/// wanted, rather than the first.
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

/// Behind `::` nobody knows which group is meant.
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
