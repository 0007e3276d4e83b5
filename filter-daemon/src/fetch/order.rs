//! An order: the URL to fetch, and its limits.

use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use ureq::http::{HeaderName, HeaderValue};

use super::api::ApiRequest;
use super::credentials::Credentials;
use super::error::FetchError;
use super::url::Url;

/// The order for one fetch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FetchOrder {
    /// The address to fetch.
    pub url: Url,
    /// The server's tag of the present version.
    pub etag: Option<String>,
    /// When that version was last modified, in the server's words.
    pub last_modified: Option<String>,
    /// The credentials to send.
    pub credentials: Option<Credentials>,
    /// Whether credentials may be sent unencrypted, and whether https may redirect to http.
    pub insecure: bool,
    /// Whether addresses may be asked that not everybody can reach, or that belong to this host.
    pub allow_private: bool,
    /// The addresses of this host.
    pub own: Vec<IpAddr>,
    /// The most bytes it may have, unpacked.
    pub most_bytes: u64,
    /// The time limit for the whole fetch.
    pub patience: Duration,
    /// What an API needs besides, if the order asks an API rather than fetching a list.
    pub api: Option<ApiRequest>,
}

impl FetchOrder {
    /// Checks that the order can be sent, and does not reveal credentials.
    pub fn check(&self) -> Result<(), FetchError> {
        if let Some(api) = &self.api {
            api.check()?;
        }
        let Some(credentials) = &self.credentials else { return Ok(()) };
        if credentials.header().is_none() {
            return Err(FetchError::Credentials);
        }
        if !self.may_send_credentials(&self.url) {
            return Err(FetchError::InTheClear(self.url.to_string()));
        }
        Ok(())
    }

    /// The credentials to send to `url`, if it may receive them.
    pub fn credentials_for(&self, url: &Url) -> Option<(HeaderName, HeaderValue)> {
        let credentials = self.credentials.as_ref().filter(|_| self.may_send_credentials(url))?;
        credentials.header()
    }

    /// Only the origin of the list may receive them, and only encrypted unless `insecure` is set.
    fn may_send_credentials(&self, url: &Url) -> bool {
        url.origin() == self.url.origin() && (url.is_secure() || self.insecure)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn order(url: &str) -> FetchOrder {
        FetchOrder {
            url: url.parse().unwrap(),
            etag: None,
            last_modified: None,
            credentials: None,
            insecure: false,
            allow_private: false,
            own: Vec::new(),
            most_bytes: 1 << 20,
            patience: Duration::from_secs(10),
            api: None,
        }
    }

    fn with_key(url: &str, insecure: bool) -> FetchOrder {
        FetchOrder { credentials: Some(Credentials::Bearer("key".to_owned())), insecure, ..order(url) }
    }

    #[test]
    fn a_key_goes_to_its_own_origin_alone() {
        let order = with_key("https://a.example/list", false);
        let goes_to = |url: &str| order.credentials_for(&url.parse().unwrap()).is_some();
        assert!(goes_to("https://a.example/other?x"));
        for elsewhere in [
            "http://a.example/list",
            "https://a.example:8443/",
            "https://b.example/",
            "https://www.a.example/",
        ] {
            assert!(!goes_to(elsewhere), "{elsewhere}");
        }
    }

    #[test]
    fn unencrypted_key_needs_insecure() {
        assert_eq!(with_key("https://a.example/", false).check(), Ok(()));
        assert_eq!(with_key("http://a.example/", true).check(), Ok(()));
        let refused = with_key("http://a.example/", false);
        assert_eq!(refused.check(), Err(FetchError::InTheClear("http://a.example/".to_owned())));
        assert_eq!(refused.credentials_for(&refused.url), None);
        assert_eq!(order("http://a.example/").check(), Ok(()));
    }

    #[test]
    fn redirect_to_http_gets_no_key() {
        let order = with_key("https://a.example/", true);
        assert_eq!(order.credentials_for(&"http://a.example/".parse().unwrap()), None);
    }
}
