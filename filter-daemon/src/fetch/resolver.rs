//! Resolves names for each redirect again, and judges each address before it is asked. An address in a URL
//! is judged in the same way.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use super::error::FetchError;
use super::order::FetchOrder;
use super::reachable;
use super::url::Url;

/// The most addresses of one name that are tried.
const MOST: usize = 8;

/// Resolves names, and refuses addresses that must not be asked.
pub struct SafeResolver {
    own: Vec<IpAddr>,
    allow_private: bool,
    /// The host that the list names.
    configured: String,
}

impl SafeResolver {
    /// The resolver with the limits of this order.
    pub fn of(order: &FetchOrder) -> Self {
        Self {
            own: order.own.clone(),
            allow_private: order.allow_private,
            configured: order.url.host().to_owned(),
        }
    }

    /// The addresses that may be asked.
    fn judge(&self, host: &str, found: &[SocketAddr]) -> Result<Vec<SocketAddr>, FetchError> {
        let mut refused = None;
        let mut kept = Vec::new();
        for at in found {
            match reachable::why_not(at.ip(), &self.own).filter(|_| !self.allow_private) {
                Some(why) => refused = refused.or(Some((at.ip(), why))),
                None if kept.len() < MOST && !kept.contains(at) => kept.push(*at),
                None => {}
            }
        }
        match refused {
            _ if !kept.is_empty() => Ok(kept),
            Some((address, why)) => {
                let is_redirect = !host.eq_ignore_ascii_case(&self.configured);
                Err(FetchError::Refused { host: host.to_owned(), address, why, is_redirect })
            }
            None => Err(no_such_host(host, "it has no address")),
        }
    }
}

/// The addresses of the host of this URL.
fn look_up(url: &Url) -> Result<Vec<SocketAddr>, FetchError> {
    if let Ok(address) = url.host().parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, url.port())]);
    }
    let found = (url.host(), url.port()).to_socket_addrs();
    Ok(found.map_err(|error| no_such_host(url.host(), &error.to_string()))?.collect())
}

fn no_such_host(host: &str, why: &str) -> FetchError {
    let why = why.strip_prefix("failed to lookup address information: ").unwrap_or(why);
    FetchError::NoSuchHost { host: host.to_owned(), why: why.to_owned() }
}

impl Resolver for SafeResolver {
    fn resolve(&self, uri: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let url = Url::parse(&uri.to_string()).map_err(|error| ureq::Error::BadUri(error.to_string()))?;
        let found = look_up(&url).and_then(|found| self.judge(url.host(), &found));
        let mut addresses = self.empty();
        found
            .map_err(|error| ureq::Error::Other(Box::new(error)))?
            .into_iter()
            .for_each(|at| addresses.push(at));
        Ok(addresses)
    }
}

impl fmt::Debug for SafeResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Judging")
    }
}
