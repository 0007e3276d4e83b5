//! The clients of the moment: so many and no more, and the silent ones make room.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::{AbortHandle, Id, JoinSet};

/// All connections. Dropping them ends every session.
pub struct Connections {
    most: usize,
    sessions: JoinSet<()>,
    taken: HashMap<Id, (Connection, AbortHandle)>,
    turns: Arc<AtomicU64>,
}

/// One client's connection: it knows whether its session waits for the client, and since which turn.
#[derive(Clone)]
pub struct Connection {
    /// Counts every beginning of a wait on this server, so that a lower turn means a longer wait.
    turns: Arc<AtomicU64>,
    waiting_since: Arc<AtomicU64>,
}

/// The turn of a connection that does not wait for its client.
const AT_WORK: u64 = 0;

impl Connection {
    /// From now on the client is waited for: to ask, or to take its answer.
    pub fn waits(&self) {
        self.waiting_since.store(self.turns.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// From now on the client waits for its answer, and keeps its connection.
    pub fn works(&self) {
        self.waiting_since.store(AT_WORK, Ordering::Relaxed);
    }

    fn waiting_since(&self) -> u64 {
        self.waiting_since.load(Ordering::Relaxed)
    }
}

impl Connections {
    /// So many connections, all free.
    pub fn new(most: usize) -> Self {
        let turns = Arc::new(AtomicU64::new(AT_WORK + 1));
        Self { most, sessions: JoinSet::new(), taken: HashMap::new(), turns }
    }

    /// A free connection, if need be by ending the session that has waited for its client the longest. None
    /// if every client waits for its answer.
    pub fn free(&mut self) -> Option<Connection> {
        if self.taken.len() >= self.most {
            let waiting =
                self.taken.iter().filter(|(_, (connection, _))| connection.waiting_since() != AT_WORK);
            let (&id, _) = waiting.min_by_key(|(_, (connection, _))| connection.waiting_since())?;
            if let Some((_, session)) = self.taken.remove(&id) {
                session.abort();
            }
        }
        let connection =
            Connection { turns: self.turns.clone(), waiting_since: Arc::new(AtomicU64::new(AT_WORK)) };
        connection.waits();
        Some(connection)
    }

    /// Begins a session on a connection that was free.
    pub fn take(&mut self, connection: Connection, session: impl Future<Output = ()> + Send + 'static) {
        let handle = self.sessions.spawn(session);
        self.taken.insert(handle.id(), (connection, handle));
    }

    /// Waits until a session ends, and frees its connection. For ever, while there is none.
    pub async fn vacated(&mut self) {
        let ended = match self.sessions.join_next_with_id().await {
            Some(Ok((id, ()))) => id,
            Some(Err(error)) => error.id(),
            None => return std::future::pending().await,
        };
        self.taken.remove(&ended);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn the_one_waited_for_longest_makes_room() {
        let mut connections = Connections::new(2);
        let (patient, busy) = (connections.free().unwrap(), connections.free().unwrap());
        connections.take(patient.clone(), pending());
        connections.take(busy.clone(), pending());
        patient.waits();
        busy.works();
        let third = connections.free().unwrap();
        connections.take(third.clone(), pending());
        connections.vacated().await;
        assert_eq!(connections.taken.len(), 2);
        third.works();
        assert!(connections.free().is_none(), "both are at work");
        busy.waits();
        assert!(connections.free().is_some());
    }

    #[tokio::test]
    async fn a_seat_is_free_again_when_its_session_ends() {
        let mut connections = Connections::new(1);
        let connection = connections.free().unwrap();
        connection.works();
        connections.take(connection, async {});
        connections.vacated().await;
        assert!(connections.taken.is_empty());
    }
}
