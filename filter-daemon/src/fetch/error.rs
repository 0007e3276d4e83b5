//! Why something was not fetched, and what can be done about it.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::reachable::Reason;
use crate::text::{Explain, printable};

/// Nobody vouches for himself.
pub const SELF_SIGNED: &str = "its certificate is self-signed, or is an authority's own";

/// Why nothing, or not all of it, has come. It travels from the fetching process, so its words are shown only as
/// `printable` has them.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum FetchError {
    /// Nobody is called that, or nobody tells.
    #[error("cannot resolve {}: {}", printable::word(.host), printable::sentence(.why))]
    NoSuchHost {
        /// The name.
        host: String,
        /// What the resolver said.
        why: String,
    },
    /// All addresses it has are ones that only some can reach.
    #[error("{} {why}, which filterd does not connect to", at(.host, *.address))]
    Refused {
        /// Who was to be asked.
        host: String,
        /// The first of the addresses.
        address: IpAddr,
        /// What is wrong with it.
        why: Reason,
        /// Did the server lead there, rather than the list's own `url`?
        is_redirect: bool,
    },
    /// Nobody took the call.
    #[error("cannot reach {} at {}: {}", printable::word(.host), printable::word(.at), printable::sentence(.why))]
    NotReached {
        /// Who was to be asked.
        host: String,
        /// The last address that was tried, and the port.
        at: String,
        /// What the system said.
        why: String,
    },
    /// The server refuses, or is not able; and says when to ask again.
    #[error("the server answered {0}{words}", words = words(*.0))]
    Status(u16, Option<Duration>),
    /// More than may come.
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    /// Not within the time it had.
    #[error("it took longer than {} s; {bytes} bytes had arrived", .patience.as_secs_f32())]
    TooSlow {
        /// How long it had.
        patience: Duration,
        /// How much had come.
        bytes: u64,
    },
    /// The connection ended before the body did.
    #[error("it broke off after {bytes} bytes: {}", printable::sentence(.why))]
    BrokenOff {
        /// How much had come.
        bytes: u64,
        /// What was seen.
        why: String,
    },
    /// Who answers has not shown to be who was asked.
    #[error("cannot verify the server {}: {}", printable::word(.host), printable::sentence(.why))]
    Tls {
        /// Who was asked.
        host: String,
        /// What is wrong.
        why: String,
    },
    /// What answers there speaks something else than TLS.
    #[error("the server at port {port} of {} does not speak TLS", printable::word(.host))]
    NoTls {
        /// Who was asked.
        host: String,
        /// At which port.
        port: u16,
    },
    /// It leads to where nobody follows.
    #[error("it redirects to {}, {why}", printable::word(.to))]
    Redirect {
        /// Where, without what may be a secret.
        to: String,
        /// Why it is not followed.
        why: BadRedirect,
    },
    /// Credentials would be sent where others can read them.
    #[error("the credentials for {} would be sent unencrypted", printable::word(.0))]
    InTheClear(String),
    /// They cannot stand in a request.
    #[error("the credentials contain characters that a request cannot carry")]
    Credentials,
    /// It is packed in a way that was not asked for.
    #[error("it is compressed as {}, which was not requested", printable::word(.0))]
    Packed(String),
    /// What was said is no http.
    #[error("the server's answer is malformed: {}", printable::sentence(.0))]
    Nonsense(String),
    /// The certificates of the authorities that this system trusts are not there.
    #[error("this system has no trusted certificate authorities: {}", printable::sentence(.0))]
    NoAuthorities(String),
    /// The process could not be restricted, and so asked nobody.
    #[error("the fetching process cannot be restricted: {}", printable::sentence(.0))]
    Unrestricted(String),
    /// The process that was fetching has ended.
    #[error("the fetching process ended before it was done: {}", printable::sentence(.0))]
    Interrupted(String),
    /// Too many at once.
    #[error("too many fetches run at once")]
    Busy,
    /// The configuration's file does not name it, or not so.
    #[error("the configuration's file does not name {}", printable::word(.0))]
    NotNamed(String),
    /// Nobody is left who could start one.
    #[error("the process that starts fetches is gone: {}", printable::sentence(.0))]
    Gone(String),
}

/// Why a redirect is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum BadRedirect {
    /// It leads on and on.
    #[error("after too many redirects")]
    TooMany,
    /// It says nowhere, or not to http.
    #[error("which is not an http or https address")]
    NoUrl,
    /// What was kept from others would not be any more.
    #[error("from https to http")]
    InTheClear,
    /// Only 80, 443 and the port that the list names are asked.
    #[error("at a port that is neither 80 nor 443 nor the list's own")]
    Port,
}

impl FetchError {
    /// When the server wants to be asked again, from now on.
    pub const fn retry_after(&self) -> Option<Duration> {
        if let Self::Status(_, after) = self { *after } else { None }
    }

    /// What ended a body that was being read.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl From<FetchError> for io::Error {
    fn from(error: FetchError) -> Self {
        Self::other(error)
    }
}

/// A host that is called by its address is not told to be there as well.
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
            | Self::BrokenOff { .. }
            | Self::Redirect { .. }
            | Self::Credentials
            | Self::Packed(_)
            | Self::Nonsense(_)
            | Self::Unrestricted(_)
            | Self::Interrupted(_)
            | Self::Busy => return None,
        };
        Some(remedy.to_owned())
    }
}

/// What the numbers mean that servers of lists use.
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

    /// Else a server could have a private one asked by the operator's own hand.
    #[test]
    fn a_redirect_to_a_private_address_is_not_to_be_allowed() {
        let remedy = |is_redirect| {
            let (host, address) = ("10.9.9.9".to_owned(), IpAddr::from([10, 9, 9, 9]));
            let told = FetchError::Refused { host, address, why: Reason::Private, is_redirect }.explain();
            told.remedy.expect("there is one")
        };
        assert!(remedy(false).contains("allow_private") && !remedy(true).contains("allow_private"));
    }

    /// Trusted or not, a certificate that vouches for itself is refused.
    #[test]
    fn to_trust_what_is_self_signed_is_no_remedy() {
        let remedy = |why: &str| {
            let told = FetchError::Tls { host: "lists.example".to_owned(), why: why.to_owned() }.explain();
            told.remedy.expect("there is one")
        };
        assert!(remedy(SELF_SIGNED).starts_with("have it signed by an authority"));
        assert!(remedy("its certificate is from nobody we know").starts_with("if its authority is your own"));
    }
}
