//! Whoever asks filterd for what may cut somebody off, and has come by SSH: logind or utmp know of most of them, but neither is
//! everywhere, and `ssh HOST filterd add …` has no terminal that utmp would name.

use std::collections::VecDeque;

use tokio::sync::mpsc;

use crate::host::{Connection, Fact, What};

/// More than these at once have their own connections looked at by others' requests; the latest are kept.
const MOST: usize = 64;

/// The connections by which they have come, as long as these stand.
#[derive(Default)]
pub struct Askers {
    told: Option<mpsc::Receiver<String>>,
    known: VecDeque<Connection>,
}

impl Askers {
    /// These tell it from now on.
    pub fn listen(&mut self, told: mpsc::Receiver<String>) {
        self.told = Some(told);
    }

    /// Takes in what was told since. What the kernel does not know of is nobody's.
    pub fn hear(&mut self) {
        while let Some(words) = self.told.as_mut().and_then(|told| told.try_recv().ok()) {
            if let Some(connection) = Connection::parse(&words) {
                self.take(connection, stands(&connection));
            }
        }
    }

    /// Forgets those whose connections are over.
    pub fn forget_gone(&mut self) {
        self.known.retain(stands);
    }

    /// Where they come from.
    pub fn facts(&self) -> impl Iterator<Item = Fact> + '_ {
        self.known.iter().map(|connection| Fact { address: connection.peer.ip(), what: What::Asker })
    }

    fn take(&mut self, connection: Connection, stands: bool) {
        self.known.retain(|known| *known != connection);
        if stands {
            self.known.push_back(connection);
        }
        if self.known.len() > MOST {
            self.known.pop_front();
        }
    }
}

/// Where the kernel does not tell, whoever asks is believed: they could have any address allowed.
fn stands(connection: &Connection) -> bool {
    connection.is_open().unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_who_are_there_are_known_and_not_too_many() {
        let connection = |port: usize| Connection::parse(&format!("192.0.2.7 {port} 192.0.2.1 22")).unwrap();
        let mut askers = Askers::default();
        for port in 1..=2 * MOST {
            askers.take(connection(port), true);
            askers.take(connection(port), true);
        }
        assert_eq!(askers.facts().count(), MOST);
        assert_eq!(askers.known.back(), Some(&connection(2 * MOST)));
        askers.take(connection(2 * MOST), false);
        assert_eq!(askers.facts().count(), MOST - 1);
        askers.forget_gone();
        assert_eq!(askers.facts().count(), 0, "the kernel knows of none of them");
    }
}
