//! filterd: the daemon as shipped, on a wire of its own.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use aya::maps::{Map, MapData, MapInfo, ProgramArray};
use filterd::control::client::Client;
use filterd::control::wire::Add;
use harness::Net;

use super::{Fill, kernel, timed};
use crate::judge;
use crate::lists;

/// A daemon with a list, and a line to it.
pub struct Holding {
    net: Net,
    client: RefCell<Client>,
}

/// Loads a list in both ways.
pub fn fills(entries: u32) -> Result<Vec<Fill>> {
    let text = lists::lines(entries);
    let (file, bytes) = reloaded(&text)?;
    let (file6, bytes6) = reloaded(&lists::networks(entries))?;
    let net = Net::with_filterd("");
    let (_, input) = timed(|| net.filterd_reading(["add", "-"], &text).succeeds());
    let fill = |way, took: Duration, bytes| Fill { way, entries, seconds: vec![took.as_secs_f64()], bytes };
    Ok(vec![
        fill("filterd, list file", file, Some(bytes)),
        fill("filterd, list file of IPv6 /64s", file6, Some(bytes6)),
        fill("filterd add -", input, None),
    ])
}

/// How long until a running daemon has taken in a list, and the memory of its maps.
fn reloaded(list: &str) -> Result<(Duration, u64)> {
    let net = Net::with_filterd(lists::CROWD);
    net.file("crowd.txt", list);
    let (_, took) = timed(|| net.filterd(["reload"]).succeeds());
    Ok((took, memory(net.home().pins())?))
}

/// A daemon with a list of so many.
pub fn holding(entries: u32, durable: bool) -> Holding {
    let mut net = Net::new();
    net.file("crowd.txt", &lists::lines(entries));
    net.start(&format!("mode: native\ndurable: {durable}\n{}", lists::CROWD));
    let client = Client::connect(&net.home().socket()).expect("it listens");
    Holding { net, client: RefCell::new(client) }
}

impl Holding {
    /// Adds an address by a command.
    pub fn command(&self, address: &str) -> Duration {
        timed(|| self.net.filterd(["add", address]).succeeds()).1
    }

    /// Adds addresses over the line that is open, one after the other.
    pub fn calls(&self, addresses: &[String]) -> Result<Vec<Duration>> {
        let mut client = self.client.borrow_mut();
        let mut call = |address| {
            let add = Add { targets: [address].into_iter().collect(), ..Add::default() };
            let (changed, took) = timed(|| client.call(&add));
            changed.context("filterd does not add").map(|_| took)
        };
        addresses.iter().map(&mut call).collect()
    }

    /// Stores another's judge into the slot, and then the own one again: all that switching asks of the kernel.
    pub fn switch(&self, other: &Self) -> Result<Duration> {
        let pins = self.net.home().pins();
        let judges = [other.net.home().pins(), pins].map(|pins| Ok(judge::at_work(pins)?.fd()?));
        let judges = judges.into_iter().collect::<Result<Vec<_>>>()?;
        let mut slot = ProgramArray::try_from(Map::ProgramArray(MapData::from_pin(pins.join("next"))?))?;
        let (stored, took) = timed(|| judges.iter().try_for_each(|judge| slot.set(0, judge, 0)));
        stored.context("cannot switch")?;
        Ok(took / 2)
    }
}

/// Bytes of all maps pinned here: the slot, the counters, and the tables in a directory of their own.
pub fn memory(pins: &Path) -> Result<u64> {
    let others = ["next", "counters"].map(|name| pins.join(name));
    Ok(bytes(&tables(pins, "")?)? + bytes(&others)?)
}

/// The pins of those tables whose names begin so.
pub fn tables(pins: &Path, beginning: &str) -> Result<Vec<PathBuf>> {
    let all = fs::read_dir(pins.join("tables"))?.map(|entry| Ok(entry?.path()));
    let name = |pin: &Path| pin.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(all.collect::<Result<Vec<_>>>()?.into_iter().filter(|pin| name(pin).starts_with(beginning)).collect())
}

/// What the kernel has charged for these maps.
pub fn bytes(pins: &[PathBuf]) -> Result<u64> {
    pins.iter().map(|pin| kernel::bytes(MapInfo::from_pin(pin)?.id())).sum()
}
