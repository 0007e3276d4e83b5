//! Limits the number of open connections: silent clients are disconnected to make room. The control socket
//! and the HTTP listener use it; the latter also counts by address.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

/// All connections with their origins. Dropping this ends every session.
pub struct Connections<O = ()> {
    most: usize,
    sessions: JoinSet<()>,
    taken: HashMap<Id, ConnectionSlot<O>>,
    turns: Arc<AtomicU64>,
}

/// A connection with its session.
struct ConnectionSlot<O> {
    origin: O,
    connection: Connection,
    session: AbortHandle,
}

/// One client's connection. It records whether its session waits for the client, and since which turn.
#[derive(Clone)]
pub struct Connection {
    /// Counts every start of a wait on this server, so that a lower number means a longer wait.
    turns: Arc<AtomicU64>,
    waiting_since: Arc<AtomicU64>,
}

/// The turn of a connection that does not wait for its client.
const AT_WORK: u64 = 0;

impl Connection {
    /// Records that the session waits for the client to send or to read.
    pub fn waits(&self) {
        self.waiting_since.store(self.turns.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Records that the client waits for its answer, so that it keeps its connection.
    pub fn works(&self) {
        self.waiting_since.store(AT_WORK, Ordering::Relaxed);
    }

    fn waiting_since(&self) -> u64 {
        self.waiting_since.load(Ordering::Relaxed)
    }
}

impl<O> Connections<O> {
    /// Room for this many connections.
    pub fn new(most: usize) -> Self {
        let turns = Arc::new(AtomicU64::new(AT_WORK + 1));
        Self { most, sessions: JoinSet::new(), taken: HashMap::new(), turns }
    }

    /// A free connection. If needed, this ends the session that has waited longest for its client. Returns
    /// none if every client waits for its answer.
    pub fn free(&mut self) -> Option<Connection> {
        if self.taken.len() >= self.most && !self.evict(|_| true) {
            return None;
        }
        let connection =
            Connection { turns: self.turns.clone(), waiting_since: Arc::new(AtomicU64::new(AT_WORK)) };
        connection.waits();
        Some(connection)
    }

    /// The number of connections with such an origin.
    pub fn count(&self, is_from: impl Fn(&O) -> bool) -> usize {
        self.taken.values().filter(|taken| is_from(&taken.origin)).count()
    }

    /// Ends the session with such an origin that has waited longest for its client. Returns false if none of
    /// them waits.
    pub fn evict(&mut self, is_from: impl Fn(&O) -> bool) -> bool {
        let waiting = self.taken.iter().filter_map(|(id, taken)| {
            let since = taken.connection.waiting_since();
            (since != AT_WORK && is_from(&taken.origin)).then_some((since, *id))
        });
        let longest = waiting.min_by_key(|(since, _)| *since);
        let evicted = longest.and_then(|(_, id)| self.taken.remove(&id));
        evicted.inspect(|taken| taken.session.abort()).is_some()
    }

    /// Begins a session on a connection that was free.
    pub fn take(
        &mut self,
        origin: O,
        connection: Connection,
        session: impl Future<Output = ()> + Send + 'static,
    ) {
        let session = self.sessions.spawn(session);
        self.taken.insert(session.id(), ConnectionSlot { origin, connection, session });
    }

    /// Waits until a session ends, and frees its connection. Waits forever if there is none.
    pub async fn vacated(&mut self) {
        match self.sessions.join_next_with_id().await {
            Some(ended) => self.vacate(ended),
            None => std::future::pending().await,
        }
    }

    /// Frees the connections of sessions that have ended.
    pub fn vacate_ended(&mut self) {
        while let Some(ended) = self.sessions.try_join_next_with_id() {
            self.vacate(ended);
        }
    }

    fn vacate(&mut self, ended: Result<(Id, ()), JoinError>) {
        let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
        self.taken.remove(&id);
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
        connections.take((), patient.clone(), pending());
        connections.take((), busy.clone(), pending());
        patient.waits();
        busy.works();
        let third = connections.free().unwrap();
        connections.take((), third.clone(), pending());
        connections.vacated().await;
        assert_eq!(connections.taken.len(), 2);
        third.works();
        assert!(connections.free().is_none(), "both are at work");
        busy.waits();
        assert!(connections.free().is_some());
    }

    #[tokio::test]
    async fn slot_is_free_after_its_session() {
        let mut connections = Connections::new(1);
        let connection = connections.free().unwrap();
        connection.works();
        connections.take((), connection, async {});
        connections.vacated().await;
        assert!(connections.taken.is_empty());
    }

    #[tokio::test]
    async fn full_origin_replaces_its_own_connections() {
        let mut connections = Connections::new(3);
        for origin in [1, 2, 2] {
            let connection = connections.free().unwrap();
            connections.take(origin, connection, pending());
        }
        assert!(connections.evict(|origin| *origin == 2));
        assert_eq!([1, 2].map(|one| connections.count(|origin| *origin == one)), [1, 1]);
        assert!(!connections.evict(|origin| *origin == 3), "nobody is there from there");
    }
}
