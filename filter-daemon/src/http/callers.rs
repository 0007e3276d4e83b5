//! Admits connections, within a total limit and a limit for each source. Silent callers make room for new
//! ones, and one extra connection is reserved for `/healthz`.

use std::net::{IpAddr, Ipv6Addr};

use crate::control::connections::{Connection, Connections};

/// The most connections, each of which may hold a request and a response.
pub const CONNECTIONS: usize = 64;

/// The most connections from one source. A browser, a scraper and a supervisor on one machine need fewer.
pub const OF_A_SOURCE: usize = 16;

/// The bits of an IPv6 address that identify the source, because one host may use a whole /64.
const SOURCE_BITS: u32 = 64;

/// The requests that a caller may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// All requests are served.
    Everything,
    /// Only `/healthz`, because callers who are being served use all other connections.
    Health,
}

/// All connections; dropping them closes them.
pub struct Callers {
    usual: Connections<IpAddr>,
    reserved: Connections<IpAddr>,
}

impl Callers {
    /// Starts without any connections.
    pub fn new() -> Self {
        Self { usual: Connections::new(CONNECTIONS), reserved: Connections::new(1) }
    }

    /// Admits a caller from this address, if there is room. The caller that has kept filterd waiting the
    /// longest makes room. If the source has reached its limit, one of its own callers does.
    pub fn admit<S: Future<Output = ()> + Send + 'static>(
        &mut self,
        address: IpAddr,
        session: impl FnOnce(Connection, Offer) -> S,
    ) {
        self.usual.vacate_ended();
        self.reserved.vacate_ended();
        let source = source_of(address);
        let is_own = |other: &IpAddr| *other == source;
        let may_be_more = self.usual.count(is_own) < OF_A_SOURCE || self.usual.evict(is_own);
        let usual = if may_be_more { self.usual.free() } else { None };
        if let Some(connection) = usual {
            self.usual.take(source, connection.clone(), session(connection, Offer::Everything));
        } else if let Some(connection) = self.reserved.free() {
            self.reserved.take(source, connection.clone(), session(connection, Offer::Health));
        }
        // Otherwise the stream is dropped together with the unused session.
    }
}

fn source_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let network = address.to_bits() & (u128::MAX << (Ipv6Addr::BITS - SOURCE_BITS));
            Ipv6Addr::from_bits(network).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Callers whose sessions never end, with the offer to each.
    struct TestCallers {
        callers: Callers,
        admitted: Arc<Mutex<Vec<(Connection, Offer)>>>,
    }

    impl TestCallers {
        fn new() -> Self {
            Self { callers: Callers::new(), admitted: Arc::default() }
        }

        /// Admits a caller from this address, and returns its offer.
        fn comes(&mut self, address: &str) -> Option<(Connection, Offer)> {
            let before = self.admitted.lock().unwrap().len();
            let admitted = self.admitted.clone();
            self.callers.admit(address.parse().unwrap(), |connection, offer| {
                admitted.lock().unwrap().push((connection, offer));
                pending()
            });
            self.admitted.lock().unwrap().get(before).cloned()
        }

        fn serve(&mut self, address: &str) {
            self.comes(address).expect("there is room").0.works();
        }

        fn offer(&mut self, address: &str) -> Option<Offer> {
            self.comes(address).map(|(_, offer)| offer)
        }
    }

    #[tokio::test]
    async fn silent_callers_make_room_without_end() {
        let mut hall = TestCallers::new();
        for caller in 0..1000 {
            assert_eq!(hall.offer(&format!("192.0.2.{}", caller % 250)), Some(Offer::Everything));
        }
        assert_eq!(hall.callers.usual.count(|_| true), CONNECTIONS);
    }

    #[tokio::test]
    async fn a_source_takes_places_from_itself_only() {
        let mut hall = TestCallers::new();
        hall.comes("198.51.100.1").unwrap();
        (0..200).for_each(|_| assert_eq!(hall.offer("192.0.2.1"), Some(Offer::Everything)));
        // The first addresses share a /64; the last one is IPv4 in the form of IPv6.
        (0..200).for_each(|host| _ = hall.comes(&format!("2001:db8::{host:x}")).unwrap());
        hall.comes("::ffff:192.0.2.1").unwrap();
        let count =
            |source: &str| hall.callers.usual.count(|other| *other == source.parse::<IpAddr>().unwrap());
        assert_eq!(["198.51.100.1", "192.0.2.1", "2001:db8::"].map(count), [1, OF_A_SOURCE, OF_A_SOURCE]);
    }

    #[tokio::test]
    async fn health_is_offered_when_full() {
        let mut hall = TestCallers::new();
        (0..OF_A_SOURCE).for_each(|_| hall.serve("192.0.2.1"));
        assert_eq!(hall.offer("192.0.2.1"), Some(Offer::Health), "his own places are taken");
        for source in 2..=CONNECTIONS / OF_A_SOURCE {
            (0..OF_A_SOURCE).for_each(|_| hall.serve(&format!("192.0.2.{source}")));
        }
        let (reserved, offer) = hall.comes("198.51.100.1").unwrap();
        assert_eq!(offer, Offer::Health, "all places are taken");
        reserved.works();
        assert_eq!(hall.offer("198.51.100.1"), None);
        reserved.waits();
        assert_eq!(hall.offer("198.51.100.1"), Some(Offer::Health), "who is silent makes room here, too");
    }
}
