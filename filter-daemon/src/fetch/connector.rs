//! Connects to one address after the other, and keeps in mind to which it came, and which was the last that failed.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ureq::Error;
use ureq::unversioned::transport::time::{Duration as After, Instant};
use ureq::unversioned::transport::{ConnectionDetails, Connector, NextTimeout, TcpConnector};

/// What became of the connections of one fetch.
#[derive(Clone)]
pub struct Connected {
    /// The host that the list names.
    configured: Arc<str>,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
pub struct Seen {
    /// Where the configured host was reached last; not where it led to.
    pub from: Vec<IpAddr>,
    /// Who could not be reached.
    pub last_failed: Option<SocketAddr>,
    /// Was there more behind the last body that was read to its end?
    pub has_surplus: bool,
}

impl Connected {
    /// None yet, for a list that names this host.
    pub fn to(configured: &str) -> Self {
        Self { configured: configured.into(), seen: Arc::default() }
    }

    /// There is one thread; the crate asks for what many could use.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().expect("nobody panics with it")
    }

    /// Notes that somebody answers at this address. Whoever publishes a list chooses where it leads to, so that would be any
    /// address they like: it is not remembered.
    fn note(&self, host: Option<&str>, address: IpAddr) {
        if host.is_some_and(|host| host.eq_ignore_ascii_case(&self.configured)) {
            self.seen().from = vec![address];
        }
    }
}

impl Connector for Connected {
    type Out = <TcpConnector as Connector>::Out;

    fn connect(&self, details: &ConnectionDetails, _: Option<()>) -> Result<Option<Self::Out>, Error> {
        let mut failed = Error::HostNotFound;
        for (index, at) in details.addrs.iter().enumerate() {
            let others = details.addrs.len() - index - 1;
            match TcpConnector::default().connect(&alone(details, *at, others), None) {
                Ok(connected) => {
                    self.note(details.uri.host(), at.ip());
                    return Ok(connected);
                }
                Err(error) => {
                    self.seen().last_failed = Some(*at);
                    failed = error;
                }
            }
        }
        Err(failed)
    }
}

/// The same, to one address. Half of the time that is left is for the others, if there are any.
fn alone<'a>(details: &ConnectionDetails<'a>, at: SocketAddr, others: usize) -> ConnectionDetails<'a> {
    let mut addrs = details.resolver.empty();
    addrs.push(at);
    let after = match details.timeout.after {
        After::Exact(after) => {
            let left = after.saturating_sub(passed_since(details));
            let left = if others > 0 { left / 2 } else { left };
            After::Exact(left.max(Duration::from_millis(10)))
        }
        never @ After::NotHappening => never,
    };
    ConnectionDetails {
        uri: details.uri,
        addrs,
        config: details.config,
        request_level: details.request_level,
        resolver: details.resolver,
        now: (details.current_time)(),
        timeout: NextTimeout { after, ..details.timeout },
        current_time: details.current_time.clone(),
        run_connector: details.run_connector.clone(),
        register_shutdown: details.register_shutdown.clone(),
    }
}

fn passed_since(details: &ConnectionDetails) -> Duration {
    match ((details.current_time)(), details.now) {
        (Instant::Exact(now), Instant::Exact(then)) => now.saturating_duration_since(then),
        _ => Duration::ZERO,
    }
}

impl fmt::Debug for Connected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connected")
    }
}
