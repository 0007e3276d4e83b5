//! Connects to one address after the other, and records which one answered and which one failed last.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ureq::Error;
use ureq::unversioned::transport::time::{Duration as After, Instant};
use ureq::unversioned::transport::{ConnectionDetails, Connector, NextTimeout, TcpConnector};

/// The record of the connections of one fetch.
#[derive(Clone)]
pub struct RecordingConnector {
    /// The host that the list names.
    configured: Arc<str>,
    seen: Arc<Mutex<ConnectionRecord>>,
}

#[derive(Default)]
pub struct ConnectionRecord {
    /// The address at which the configured host was last reached, not those of redirects.
    pub from: Vec<IpAddr>,
    /// The last address that could not be reached.
    pub last_failed: Option<SocketAddr>,
    /// True if more bytes followed the last body that was read to its end.
    pub has_surplus: bool,
}

impl RecordingConnector {
    /// An empty record, for a list that names this host.
    pub fn to(configured: &str) -> Self {
        Self { configured: configured.into(), seen: Arc::default() }
    }

    /// There is one thread. The crate requires a type that several threads could share.
    pub fn seen(&self) -> MutexGuard<'_, ConnectionRecord> {
        self.seen.lock().expect("nobody panics with it")
    }

    /// Records an address that answered. The publisher of a list controls its redirects, and could name any
    /// address, so addresses of redirects are not recorded.
    fn note(&self, host: Option<&str>, address: IpAddr) {
        if host.is_some_and(|host| host.eq_ignore_ascii_case(&self.configured)) {
            self.seen().from = vec![address];
        }
    }
}

impl Connector for RecordingConnector {
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

/// The same details with one address. If other addresses remain, it gets half of the remaining time.
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

impl fmt::Debug for RecordingConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connected")
    }
}
