//! Writes drops to the journal with a field for each part, by systemd's native protocol: a datagram for
//! each entry, NAME=value on each line.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use super::in_words;
use crate::command::ask::trouble::CommandError;
use crate::control::wire::Failure;
use crate::control::wire::watch::{Drop, Reply};
use crate::text::{Explanation, printable};

/// The socket of journald.
pub const SOCKET: &str = "/run/systemd/journal/socket";

/// The same ID for every drop, so that `journalctl MESSAGE_ID=…` finds them.
const ID: &str = "7d1f0c9be45f4c0d9f3a52d16c8eb0a4";

/// The syslog priority of a drop, which is not an error.
const INFORMATION: &str = "6";

/// The connection to the journal.
pub struct SystemdJournal(UnixDatagram);

impl SystemdJournal {
    /// Connects to the journal at this socket.
    pub fn at(socket: &Path) -> Result<Self, CommandError> {
        let connected = UnixDatagram::unbound().and_then(|datagrams| {
            datagrams.connect(socket)?;
            Ok(Self(datagrams))
        });
        connected.map_err(|error| {
            let message = format!("cannot reach journald at {}: {error}", printable::path(socket));
            let remedy = "pass --journald=SOCKET, or use --json";
            CommandError::Refused(Failure::Unavailable(Explanation::new(message, remedy)))
        })
    }

    /// Writes the drop of this reply, if it contains one.
    pub fn tell(&mut self, reply: &Reply) -> io::Result<()> {
        match &reply.drop {
            Some(drop) => self.0.send(entry(drop).as_bytes()).map(|_| ()),
            None => Ok(()),
        }
    }
}

/// Formats an entry. No value contains the end of a line: they are numbers, and names without one.
fn entry(drop: &Drop) -> String {
    let number = |number: Option<u16>| number.map(|number| number.to_string());
    let fields = [
        ("MESSAGE", Some(printable::on_one_line(&in_words(drop)))),
        ("MESSAGE_ID", Some(ID.to_owned())),
        ("PRIORITY", Some(INFORMATION.to_owned())),
        ("SYSLOG_IDENTIFIER", Some("filterd-drop".to_owned())),
        ("FILTERD_OUTCOME", Some(drop.outcome.clone())),
        ("FILTERD_REASON", Some(drop.reason.clone())),
        ("FILTERD_SOURCE", drop.source.clone()),
        ("FILTERD_PROTOCOL", drop.protocol.clone()),
        ("FILTERD_DESTINATION", drop.destination.clone()),
        ("FILTERD_SOURCE_PORT", number(drop.source_port)),
        ("FILTERD_PORT", number(drop.port)),
        ("FILTERD_INTERFACE", drop.interface.clone()),
        ("FILTERD_LIST", drop.list.clone()),
        ("FILTERD_BYTES", Some(drop.bytes.to_string())),
        ("FILTERD_WEIGHT", Some(drop.weight.to_string())),
        ("FILTERD_LOST", (drop.lost > 0).then(|| drop.lost.to_string())),
    ];
    let written = fields.into_iter().filter_map(|(name, value)| Some((name, value?)));
    written.map(|(name, value)| format!("{name}={}\n", printable::on_one_line(&value))).collect()
}
