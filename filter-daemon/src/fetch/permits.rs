//! Permits the fetches that the configuration names. The spawner reads the file itself, and a compromised
//! daemon cannot write that file.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::error::FetchError;
use super::order::FetchOrder;
use super::url::Url;

/// How many versions of the configuration are remembered. After a rollback, an earlier version is active
/// while the file contains another one.
const REMEMBERED: usize = 4;

/// One fetch that the configuration names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    pub url: Url,
    /// Whether credentials may be sent unencrypted, and whether https may redirect to http.
    pub insecure: bool,
    /// Whether addresses may be asked that not everybody can reach.
    pub allow_private: bool,
    /// Whether `url` is the base of an API. Then everything below `url`/v1/ may be asked, also by POST.
    pub is_api: bool,
}

impl Permit {
    fn covers(&self, order: &FetchOrder) -> bool {
        self.is_api == order.api.is_some()
            && (if self.is_api {
                self.is_base_of(&order.url)
            } else {
                self.url.as_text() == order.url.as_text()
            })
            && (self.insecure || !order.insecure)
            && (self.allow_private || !order.allow_private)
    }

    /// Only plain paths count: a server could take `..` and escaped letters for a path elsewhere.
    fn is_base_of(&self, url: &Url) -> bool {
        let (base, asked) = (self.url.as_text(), url.as_text());
        let below = asked.strip_prefix(base.trim_end_matches('/')).and_then(|rest| rest.strip_prefix("/v1/"));
        let path = below.map(|below| below.split('?').next().unwrap_or_default());
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_".contains(&byte);
        path.is_some_and(|path| path.bytes().all(is_plain))
    }
}

/// The permits of a fetching process.
#[derive(Debug, Serialize, Deserialize)]
pub enum Permits {
    /// Everything, because an operator ordered it with `filterd check`.
    All,
    /// Only the fetches with these permits.
    Named(Vec<Permit>),
}

impl Permits {
    /// Checks that the order has a permit.
    pub fn check(&self, order: &FetchOrder) -> Result<(), FetchError> {
        match self {
            Self::Named(permits) if !permits.iter().any(|permit| permit.covers(order)) => {
                Err(FetchError::NotNamed(order.url.to_string()))
            }
            Self::All | Self::Named(_) => Ok(()),
        }
    }
}

/// Reads the configuration as it is now; none if it is missing or invalid.
pub type PermitReader = Box<dyn FnMut() -> Option<Vec<Permit>>>;

/// The versions of the configuration since the process started.
pub struct PermitVersions {
    reader: Option<PermitReader>,
    /// The remembered versions, the newest last.
    read: VecDeque<Vec<Permit>>,
}

impl PermitVersions {
    /// Starts with the present configuration. Without a reader, everything is permitted.
    pub fn begin(reader: Option<PermitReader>) -> Self {
        let mut versions = Self { reader, read: VecDeque::new() };
        versions.read_again();
        versions
    }

    /// Reads the configuration again, and returns the permits.
    pub fn permits(&mut self) -> Permits {
        self.read_again();
        if self.reader.is_none() {
            Permits::All
        } else {
            Permits::Named(self.read.iter().flatten().cloned().collect())
        }
    }

    fn read_again(&mut self) {
        let Some(version) = self.reader.as_mut().and_then(|read| read()) else { return };
        self.read.retain(|known| *known != version);
        self.read.push_back(version);
        if self.read.len() > REMEMBERED {
            self.read.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::super::api::tests::request;
    use super::super::order::tests::order;
    use super::*;

    fn permit(url: &str) -> Permit {
        Permit { url: url.parse().unwrap(), insecure: false, allow_private: false, is_api: false }
    }

    #[test]
    fn only_what_the_configuration_names_is_fetched() {
        let permits = Permits::Named(vec![permit("https://a.example/list?key=1")]);
        assert_eq!(permits.check(&order("https://a.example/list?key=1")), Ok(()));
        for other in [
            "https://a.example/list?key=2",
            "https://a.example/",
            "http://a.example/list?key=1",
            "https://b.example/",
        ] {
            assert!(matches!(permits.check(&order(other)), Err(FetchError::NotNamed(_))), "{other}");
        }
        assert_eq!(Permits::All.check(&order("http://anything.example/")), Ok(()));
    }

    #[test]
    fn order_cannot_exceed_its_permit() {
        let named = permit("https://a.example/");
        let bold = [
            FetchOrder { allow_private: true, ..order("https://a.example/") },
            FetchOrder { insecure: true, ..order("https://a.example/") },
        ];
        for order in &bold {
            assert!(Permits::Named(vec![named.clone()]).check(order).is_err());
            let all = Permit { allow_private: true, insecure: true, ..named.clone() };
            assert_eq!(Permits::Named(vec![all]).check(order), Ok(()));
        }
    }

    #[test]
    fn permit_of_an_api_covers_all_below_v1() {
        let permits = |base: &str| Permits::Named(vec![Permit { is_api: true, ..permit(base) }]);
        let asks = |url: &str| FetchOrder { api: Some(request()), ..order(url) };
        for (base, url) in [
            ("https://a.example", "https://a.example/v1/decisions/stream?startup=true&origins=a/../b"),
            ("https://a.example/", "https://a.example/v1/usage-metrics"),
            ("https://a.example/lapi", "https://a.example/lapi/v1/decisions/stream"),
        ] {
            assert_eq!(permits(base).check(&asks(url)), Ok(()), "{url}");
            assert!(permits(base).check(&order(url)).is_err(), "it is not a list");
        }
        for url in [
            "https://a.example/lapi",
            "https://a.example/lapi/",
            "https://a.example/v1/decisions",
            "https://a.example/lapi/v2/x",
            "https://a.example/lapi/v1",
            "https://a.example/lapi/v1?/v1/",
            "https://a.example/lapi/v1/../admin",
            "https://a.example/lapi/v1/%2e%2e/admin",
            "https://a.example/lapi.example/v1/x",
            "http://a.example/lapi/v1/x",
            "https://a.example:8443/lapi/v1/x",
            "https://a.example.org/lapi/v1/x",
        ] {
            assert!(permits("https://a.example/lapi").check(&asks(url)).is_err(), "{url}");
        }
    }

    #[test]
    fn permit_of_a_list_covers_no_api() {
        let permits = Permits::Named(vec![permit("https://a.example/v1/list")]);
        let asks = FetchOrder { api: Some(request()), ..order("https://a.example/v1/list") };
        assert!(matches!(permits.check(&asks), Err(FetchError::NotNamed(_))));
        assert_eq!(Permits::All.check(&asks), Ok(()));
    }

    #[test]
    fn earlier_versions_stay_permitted_for_rollbacks() {
        let file = Rc::new(RefCell::new(Some(vec![permit("http://first.example/")])));
        let its = Rc::clone(&file);
        let mut versions = PermitVersions::begin(Some(Box::new(move || its.borrow().clone())));
        *file.borrow_mut() = Some(vec![permit("http://second.example/")]);
        let permits = versions.permits();
        for url in ["http://first.example/", "http://second.example/"] {
            assert_eq!(permits.check(&order(url)), Ok(()), "{url}");
        }
        // While the file cannot be read, the earlier versions stay permitted.
        *file.borrow_mut() = None;
        assert_eq!(versions.permits().check(&order("http://second.example/")), Ok(()));
        for number in 0..REMEMBERED {
            *file.borrow_mut() = Some(vec![permit(&format!("http://{number}.example/"))]);
            versions.permits();
        }
        assert!(versions.permits().check(&order("http://second.example/")).is_err());
    }
}
