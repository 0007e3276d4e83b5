//! What an operator can do about a failed request to CrowdSec's local API. Its keys in the configuration have
//! other names than those of lists.

use super::error::{BadRedirect, FetchError, SELF_SIGNED};
use crate::text::{Explain, Explanation};

impl FetchError {
    /// The explanation of a failed request to a LAPI, with a remedy that names the keys of `crowdsec`.
    pub fn explain_api(&self) -> Explanation {
        Explanation { message: self.to_string(), remedy: self.api_remedy() }
    }

    fn api_remedy(&self) -> Option<String> {
        let remedy = match self {
            Self::NotReached { .. } => {
                "check that LAPI runs (`systemctl status crowdsec`), and that `api_url` is its address"
            }
            Self::ApiStatus { status: 401 | 403, .. } => {
                "LAPI does not know the key: `sudo cscli bouncers list` shows the keys that it knows, by name\n\
                 for a new key: sudo cscli bouncers delete filterd; sudo cscli bouncers add filterd"
            }
            Self::ApiStatus { status: 404 | 405, .. } => {
                "check `api_url`: it is the address before /v1, such as http://127.0.0.1:8080"
            }
            Self::TooLarge(_) => {
                "if LAPI has that many decisions, name the `origins` that you want under `crowdsec`"
            }
            Self::TooSlow { .. } => "if LAPI is slow, raise `timeout` of `crowdsec`",
            Self::Tls { why, .. } if why == SELF_SIGNED => {
                "have it signed by an authority (your own is fine), and name the file of that authority with `ca`"
            }
            Self::Tls { .. } => "if its authority is your own, name the file of that authority with `ca`",
            Self::NoTls { .. } => "use the port that speaks TLS, or write http:// in `api_url`",
            Self::IdentityRefused { .. } => {
                "check `cert` and `key`, and that LAPI trusts the authority of the certificate (`ca_cert_path`)"
            }
            Self::Redirect { why: BadRedirect::OfApi, .. } => "write the address of LAPI itself as `api_url`",
            Self::InTheClear(_) => "write https:// in `api_url`",
            Self::Gone(_) => "restart filterd; decisions stay in force",
            Self::NotNamed(_) => {
                "check the configuration (`filterd check`) and reload it (`filterd reload`); decisions stay in force"
            }
            Self::ApiStatus { .. } => return None,
            // The remedy does not depend on the configuration.
            Self::NoSuchHost { .. }
            | Self::Refused { .. }
            | Self::Status(..)
            | Self::BrokenOff { .. }
            | Self::Redirect { .. }
            | Self::Credentials
            | Self::Unsendable(_)
            | Self::Packed(_)
            | Self::Nonsense(_)
            | Self::NoAuthorities(_)
            | Self::Unrestricted(_)
            | Self::Interrupted(_)
            | Self::Busy => return self.remedy(),
        };
        Some(remedy.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn status_of_an_api_shows_its_message() {
        let forbidden = FetchError::ApiStatus {
            status: 403,
            after: Some(Duration::from_secs(60)),
            message: Some("access forbidden\n".to_owned()),
        };
        assert_eq!(forbidden.to_string(), "the server answered 403 (forbidden): access forbidden\\n");
        assert_eq!(forbidden.retry_after(), Some(Duration::from_secs(60)));
        assert!(forbidden.explain_api().remedy.is_some_and(|remedy| remedy.contains("cscli bouncers list")));
        let failed = FetchError::ApiStatus { status: 500, after: None, message: None };
        assert_eq!(failed.explain_api().to_string(), "the server answered 500 (internal server error)");
    }

    /// A LAPI has no `auth`, no `insecure` and no `allow_private`.
    #[test]
    fn remedies_name_keys_of_crowdsec() {
        let host = || "lapi.example".to_owned();
        for error in [
            FetchError::Tls { host: host(), why: "?".to_owned() },
            FetchError::Tls { host: host(), why: SELF_SIGNED.to_owned() },
            FetchError::NoTls { host: host(), port: 8080 },
            FetchError::InTheClear(host()),
            FetchError::Redirect { to: host(), why: BadRedirect::OfApi },
            FetchError::NotNamed(host()),
            FetchError::TooLarge(1),
        ] {
            let remedy = error.explain_api().remedy.expect("there is one");
            assert!(!remedy.contains("list") && !remedy.contains("insecure"), "{error:?}: {remedy}");
        }
        let same = FetchError::NoAuthorities("none".to_owned());
        assert_eq!(same.explain_api(), same.explain());
    }
}
