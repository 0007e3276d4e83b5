//! Why a fetch failed, and what the operator can do about it.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::reachable::UnreachableReason;
use crate::text::{Explain, printable};

/// A certificate must not vouch for itself.
pub const SELF_SIGNED: &str = "its certificate is self-signed, or is an authority's own";

/// Why nothing, or not all, was fetched. It comes from the fetching process, so texts in it are shown only
/// after `printable` has cleaned them.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum FetchError {
    /// The name has no address, or the resolver failed.
    #[error("cannot resolve {}: {}", printable::word(.host), printable::sentence(.why))]
    NoSuchHost {
        host: String,
        /// The answer of the resolver.
        why: String,
    },
    /// Every address of the host is one that not everybody can reach.
    #[error("{} {why}, which filterd does not connect to", at(.host, *.address))]
    Refused {
        /// The host that was to be asked.
        host: String,
        /// The first of its addresses.
        address: IpAddr,
        why: UnreachableReason,
        /// True if a redirect led there, rather than the `url` of the list.
        is_redirect: bool,
    },
    /// No address could be connected to.
    #[error("cannot reach {} at {}: {}", printable::word(.host), printable::word(.at), printable::sentence(.why))]
    NotReached {
        /// The host that was to be asked.
        host: String,
        /// The last address that was tried, and the port.
        at: String,
        why: String,
    },
    /// The server answered with an error status, and perhaps with a time to ask again.
    #[error("the server answered {0}{words}", words = words(*.0))]
    Status(u16, Option<Duration>),
    /// An API answered with another status than success, and perhaps with a message.
    #[error("the server answered {status}{words}{said}", words = words(*.status), said = said(.message.as_deref()))]
    ApiStatus {
        status: u16,
        /// The time after which the server wants to be asked again.
        after: Option<Duration>,
        /// The `message` of its answer.
        message: Option<String>,
    },
    /// More bytes than the limit.
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    /// The fetch exceeded its time limit.
    #[error("it took longer than {} s; {bytes} bytes had arrived", .patience.as_secs_f32())]
    TooSlow {
        /// The time limit of the fetch.
        patience: Duration,
        /// How many bytes had arrived.
        bytes: u64,
    },
    /// The connection ended before the body did.
    #[error("it broke off after {bytes} bytes: {}", printable::sentence(.why))]
    BrokenOff {
        /// How many bytes had arrived.
        bytes: u64,
        why: String,
    },
    /// The server could not prove its identity.
    #[error("cannot verify the server {}: {}", printable::word(.host), printable::sentence(.why))]
    Tls {
        /// The host that was asked.
        host: String,
        why: String,
    },
    /// The port does not speak TLS.
    #[error("the server at port {port} of {} does not speak TLS", printable::word(.host))]
    NoTls {
        /// The host that was asked.
        host: String,
        port: u16,
    },
    /// A redirect that is not followed.
    #[error("it redirects to {}, {why}", printable::word(.to))]
    Redirect {
        /// The target, without its query, which may be secret.
        to: String,
        why: BadRedirect,
    },
    /// The credentials would be sent unencrypted.
    #[error("the credentials for {} would be sent unencrypted", printable::word(.0))]
    InTheClear(String),
    /// The credentials contain characters that are not valid in a request.
    #[error("the credentials contain characters that a request cannot carry")]
    Credentials,
    /// Something in the order keeps it from being sent.
    #[error("the request cannot be sent: {}", printable::sentence(.0))]
    Unsendable(String),
    /// The server does not accept the client certificate.
    #[error("the server {} does not accept the client certificate: {}", printable::word(.host), printable::sentence(.why))]
    IdentityRefused {
        /// The host that was asked.
        host: String,
        why: String,
    },
    /// The encoding of the body was not requested.
    #[error("it is compressed as {}, which was not requested", printable::word(.0))]
    Packed(String),
    /// The response is no valid HTTP.
    #[error("the server's answer is malformed: {}", printable::sentence(.0))]
    Nonsense(String),
    /// The certificates of the trusted authorities are missing.
    #[error("this system has no trusted certificate authorities: {}", printable::sentence(.0))]
    NoAuthorities(String),
    /// The process could not restrict itself, and so asked nothing.
    #[error("the fetching process cannot be restricted: {}", printable::sentence(.0))]
    Unrestricted(String),
    /// The fetching process ended early.
    #[error("the fetching process ended before it was done: {}", printable::sentence(.0))]
    Interrupted(String),
    /// Too many fetches are under way.
    #[error("too many fetches run at once")]
    Busy,
    /// The configuration file does not name this fetch, or not with these settings.
    #[error("the configuration's file does not name {}", printable::word(.0))]
    NotNamed(String),
    /// The process that starts fetches has ended.
    #[error("the process that starts fetches is gone: {}", printable::sentence(.0))]
    Gone(String),
}

/// Why a redirect is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum BadRedirect {
    /// There are too many redirects.
    #[error("after too many redirects")]
    TooMany,
    /// The target is missing, or is no HTTP address.
    #[error("which is not an http or https address")]
    NoUrl,
    /// The redirect leads from https to http.
    #[error("from https to http")]
    InTheClear,
    /// An API redirects, but only its own URL has a permit.
    #[error("and redirects of an API are not followed")]
    OfApi,
    /// The port is neither 80, 443, nor that of the list.
    #[error("at a port that is neither 80 nor 443 nor the list's own")]
    Port,
}

impl FetchError {
    /// How long the server asks to wait before the next request.
    pub const fn retry_after(&self) -> Option<Duration> {
        if let Self::Status(_, after) | Self::ApiStatus { after, .. } = self { *after } else { None }
    }

    /// The reason in an error of [`FetchedBody`](super::body::FetchedBody).
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl From<FetchError> for io::Error {
    fn from(error: FetchError) -> Self {
        Self::other(error)
    }
}

/// A host that is written as an address is not followed by the same address again.
fn at(host: &str, address: IpAddr) -> String {
    let name = printable::word(host);
    if host.trim_matches(['[', ']']).parse() == Ok(address) {
        format!("{name} is")
    } else {
        format!("{name} is at {address},")
    }
}

impl Explain for FetchError {
    fn remedy(&self) -> Option<String> {
        let remedy = match self {
            Self::NoSuchHost { .. } => "check the name and /etc/resolv.conf",
            Self::Refused { is_redirect: true, .. } => {
                "the list's server redirects there, which may be an attack: ask the publisher of the list"
            }
            Self::Refused { .. } => "if that is intended, set `allow_private: true` on the list",
            Self::Status(401 | 403, _) => "check the list's `auth`",
            Self::Status(404 | 410, _) => "check whether the list has moved",
            Self::TooLarge(_) => "if it is meant to be that large, raise the list's limit",
            Self::TooSlow { .. } => "if the server is slow, raise the list's `timeout`",
            Self::Tls { why, .. } if why == SELF_SIGNED => {
                "have it signed by an authority (your own is fine), and add that authority to the system's certificates"
            }
            Self::Tls { .. } => "if its authority is your own, add that to the system's certificates",
            Self::NoTls { .. } => {
                "use the port that speaks TLS, or write http:// in the list's `url` (with `auth` also `insecure: true`)"
            }
            Self::Redirect { why: BadRedirect::InTheClear, .. } => {
                "to follow it, set `insecure: true` on the list"
            }
            Self::Redirect { why: BadRedirect::Port, .. } => {
                "use the address it redirects to as the list's `url`"
            }
            Self::InTheClear(_) => "use https, or set `insecure: true` on the list",
            Self::NoAuthorities(_) => "install the package ca-certificates",
            Self::NotNamed(_) => {
                "check the configuration (`filterd check`) and reload it (`filterd reload`); the list keeps its entries"
            }
            Self::Gone(_) => "restart filterd; lists keep their entries",
            Self::NotReached { .. }
            | Self::Status(..)
            | Self::ApiStatus { .. }
            | Self::BrokenOff { .. }
            | Self::Redirect { .. }
            | Self::Credentials
            | Self::Unsendable(_)
            | Self::IdentityRefused { .. }
            | Self::Packed(_)
            | Self::Nonsense(_)
            | Self::Unrestricted(_)
            | Self::Interrupted(_)
            | Self::Busy => return None,
        };
        Some(remedy.to_owned())
    }
}

fn said(message: Option<&str>) -> String {
    message.map_or_else(String::new, |message| format!(": {}", printable::sentence(message)))
}

/// The meaning of the statuses that servers of lists use.
const fn words(status: u16) -> &'static str {
    match status {
        204 => " (no content)",
        206 => " (partial content)",
        401 => " (unauthorized)",
        403 => " (forbidden)",
        404 => " (not found)",
        410 => " (gone)",
        429 => " (too many requests)",
        500 => " (internal server error)",
        502 => " (bad gateway)",
        503 => " (service unavailable)",
        504 => " (gateway timeout)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise a server could make the operator allow requests to private addresses.
    #[test]
    fn redirect_remedy_never_suggests_allow_private() {
        let remedy = |is_redirect| {
            let (host, address) = ("10.9.9.9".to_owned(), IpAddr::from([10, 9, 9, 9]));
            let told =
                FetchError::Refused { host, address, why: UnreachableReason::Private, is_redirect }.explain();
            told.remedy.expect("there is one")
        };
        assert!(remedy(false).contains("allow_private") && !remedy(true).contains("allow_private"));
    }

    /// A self-signed certificate is refused, even if it is trusted.
    #[test]
    fn self_signed_remedy_suggests_an_authority() {
        let remedy = |why: &str| {
            let told = FetchError::Tls { host: "lists.example".to_owned(), why: why.to_owned() }.explain();
            told.remedy.expect("there is one")
        };
        assert!(remedy(SELF_SIGNED).starts_with("have it signed by an authority"));
        assert!(remedy("its certificate is from nobody we know").starts_with("if its authority is your own"));
    }
}
