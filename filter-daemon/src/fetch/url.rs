//! An http or https URL without user name and password.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use ureq::http::Uri;

use crate::text::printable;

/// The most bytes of a URL. Longer ones are mistakes, and servers refuse them.
const LONGEST: usize = 4096;

/// A URL that can be fetched.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Url(Uri);

/// The origin of a URL. Credentials are for one origin alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlOrigin {
    pub is_secure: bool,
    pub host: String,
    pub port: u16,
}

/// Why a text is no valid URL.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotAUrl {
    /// The scheme is neither http nor https.
    #[error("it begins with neither http:// nor https://")]
    Scheme,
    /// There is no host.
    #[error("it names no host")]
    Host,
    /// It contains a user name or password.
    #[error("it contains a user name or password: write these under `auth`")]
    UserInfo,
    /// It exceeds the length limit.
    #[error("it is longer than {LONGEST} bytes")]
    TooLong,
    /// It has characters that a URL cannot have.
    #[error("{0}")]
    Malformed(String),
}

impl Url {
    /// Parses a URL, without surrounding spaces.
    pub fn parse(text: &str) -> Result<Self, NotAUrl> {
        let text = text.trim();
        if text.len() > LONGEST {
            return Err(NotAUrl::TooLong);
        }
        let scheme = text.split("://").next().unwrap_or_default().to_ascii_lowercase();
        if !["http", "https"].contains(&scheme.as_str()) || !text.contains("://") {
            return Err(NotAUrl::Scheme);
        }
        let uri: Uri = text.parse().map_err(|error| NotAUrl::Malformed(format!("{error}")))?;
        let authority = uri.authority().ok_or(NotAUrl::Host)?;
        if authority.as_str().contains('@') {
            return Err(NotAUrl::UserInfo);
        }
        let has_bad_port = authority.port_u16().is_none() && has_colon_behind_host(authority.as_str());
        match uri.host() {
            None | Some("") => Err(NotAUrl::Host),
            Some(_) if has_bad_port || authority.port_u16() == Some(0) => {
                Err(NotAUrl::Malformed("its port is no number from 1 to 65535".to_owned()))
            }
            Some(_) => Ok(Self(uri)),
        }
    }

    /// The URL to which a redirect to `location` leads from here.
    pub fn join(&self, location: &str) -> Result<Self, NotAUrl> {
        let location = location.trim().split('#').next().unwrap_or_default();
        let scheme = self.0.scheme_str().unwrap_or("http");
        let authority = self.0.authority().map_or("", |authority| authority.as_str());
        let path = self.0.path();
        if has_scheme(location) {
            return Self::parse(location);
        }
        let text = match location.as_bytes() {
            [] => return Ok(self.clone()),
            [b'/', b'/', ..] => format!("{scheme}:{location}"),
            [b'/', ..] => format!("{scheme}://{authority}{}", without_dots(location)),
            [b'?', ..] => format!("{scheme}://{authority}{path}{location}"),
            _ => {
                let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
                format!("{scheme}://{authority}{}", without_dots(&format!("{directory}/{location}")))
            }
        };
        Self::parse(&text)
    }

    /// The URL that has `rest` after the path of this one, which must have no query.
    pub fn append(&self, rest: &str) -> Result<Self, NotAUrl> {
        Self::parse(&format!("{}{rest}", self.as_text().trim_end_matches('/')))
    }

    /// The whole URL, whose query may contain a secret.
    pub fn as_text(&self) -> String {
        self.0.to_string()
    }

    /// The form that the client needs.
    pub fn uri(&self) -> &Uri {
        &self.0
    }

    /// True if the host is this host: `localhost`, or a loopback address.
    pub fn is_loopback(&self) -> bool {
        let host = self.host().trim_end_matches('.');
        let is_address = host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback());
        is_address || host.eq_ignore_ascii_case("localhost")
    }

    /// True if the transfer is encrypted.
    pub fn is_secure(&self) -> bool {
        self.0.scheme_str() == Some("https")
    }

    /// The host name or address; an IPv6 address without brackets.
    pub fn host(&self) -> &str {
        let host = self.0.host().expect("an address without a host is not parsed");
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// The port, or the default of the scheme.
    pub fn port(&self) -> u16 {
        self.0.port_u16().unwrap_or(if self.is_secure() { 443 } else { 80 })
    }

    pub fn origin(&self) -> UrlOrigin {
        let host = self.host().trim_end_matches('.').to_ascii_lowercase();
        UrlOrigin { is_secure: self.is_secure(), host, port: self.port() }
    }
}

/// The colons of `[::1]` do not start a port.
fn has_colon_behind_host(authority: &str) -> bool {
    authority.rsplit(']').next().is_some_and(|behind| behind.contains(':'))
}

fn has_scheme(location: &str) -> bool {
    let beginning = location.split(['/', '?']).next().unwrap_or_default();
    beginning.contains(':')
}

/// Removes dot segments: `/a/./b/../c?d` becomes `/a/c?d`.
fn without_dots(location: &str) -> String {
    let (path, query) = location.split_at(location.find('?').unwrap_or(location.len()));
    let mut kept: Vec<&str> = Vec::new();
    let mut parts = path.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        match part {
            "." | ".." => {
                if part == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            _ => kept.push(part),
        }
    }
    format!("/{}{query}", kept.join("/"))
}

/// The form for people and logs. The query is omitted, because it often contains a key.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authority = self.0.authority().map_or("", |authority| authority.as_str());
        let shown = format!("{}://{authority}{}", self.0.scheme_str().unwrap_or("http"), self.0.path());
        f.write_str(&printable::line(&shown))?;
        if self.0.query().is_some() { f.write_str("?…") } else { Ok(()) }
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({self})")
    }
}

impl FromStr for Url {
    type Err = NotAUrl;

    fn from_str(text: &str) -> Result<Self, NotAUrl> {
        Self::parse(text)
    }
}

impl TryFrom<String> for Url {
    type Error = NotAUrl;

    fn try_from(text: String) -> Result<Self, NotAUrl> {
        Self::parse(&text)
    }
}

impl From<Url> for String {
    fn from(url: Url) -> Self {
        url.as_text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn only_http_without_credentials_is_accepted() {
        for text in ["http://a.example/x", "HTTPS://A.example", "https://[2001:db8::1]:8443/", " http://a/ "]
        {
            url(text);
        }
        let cases = [
            ("ftp://a/x", NotAUrl::Scheme),
            ("file:///etc/shadow", NotAUrl::Scheme),
            ("/etc/shadow", NotAUrl::Scheme),
            ("http", NotAUrl::Scheme),
            ("", NotAUrl::Scheme),
            ("http://ann:secret@a/x", NotAUrl::UserInfo),
            ("http://ann@a/x", NotAUrl::UserInfo),
        ];
        for (text, why) in cases {
            assert_eq!(Url::parse(text).unwrap_err(), why, "{text}");
        }
        for text in [
            "http://",
            "http:///x",
            "http://:80/",
            "http://a:0/",
            "http://a:99999/",
            "http://a:x/",
            "http://a b/",
        ] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
        assert_eq!(Url::parse(&format!("http://a/{}", "x".repeat(5000))), Err(NotAUrl::TooLong));
    }

    #[test]
    fn ports_and_hosts_are_distinguished() {
        let cases = [
            ("http://a/", "a", 80),
            ("https://a/", "a", 443),
            ("http://a:8080/", "a", 8080),
            ("https://[2001:db8::1]/", "2001:db8::1", 443),
            ("https://[2001:db8::1]:80/", "2001:db8::1", 80),
        ];
        for (text, host, port) in cases {
            assert_eq!((url(text).host(), url(text).port()), (host, port), "{text}");
        }
    }

    #[test]
    fn origin_is_scheme_host_and_port() {
        let same = ["https://a/x", "https://a:443/y?z", "https://A/", "https://a./"];
        assert!(same.iter().all(|text| url(text).origin() == url(same[0]).origin()));
        for text in ["http://a/", "https://b/", "https://a:444/", "https://sub.a/"] {
            assert_ne!(url(text).origin(), url(same[0]).origin(), "{text}");
        }
    }

    #[test]
    fn a_redirect_leads_where_browsers_go() {
        let from = url("https://a.example/lists/today/drop.txt?x=1");
        let cases = [
            ("https://b.example/y", "https://b.example/y"),
            ("//b.example/y", "https://b.example/y"),
            ("/y", "https://a.example/y"),
            ("/y/../z", "https://a.example/z"),
            ("y", "https://a.example/lists/today/y"),
            ("./y", "https://a.example/lists/today/y"),
            ("../y?d=../e", "https://a.example/lists/y?d=../e"),
            ("../../../../y", "https://a.example/y"),
            ("..", "https://a.example/lists/"),
            ("?z", "https://a.example/lists/today/drop.txt?z"),
            ("#z", "https://a.example/lists/today/drop.txt?x=1"),
            ("http://a.example/#z", "http://a.example/"),
        ];
        for (location, there) in cases {
            assert_eq!(from.join(location).unwrap().as_text(), there, "{location}");
        }
        for location in ["ftp://a/", "file:///etc/shadow", "javascript:x", "https://ann:pw@b/", "http://"] {
            assert!(from.join(location).is_err(), "{location}");
        }
    }

    #[test]
    fn loopback_hosts_are_recognized() {
        for host in
            ["localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.9.9.9", "[::1]", "[::ffff:127.0.0.1]"]
        {
            assert!(url(&format!("http://{host}:8080/")).is_loopback(), "{host}");
        }
        for host in
            ["localhost.example", "lapi", "127.1", "128.0.0.1", "127.0.0.1.example", "[::2]", "10.0.0.1"]
        {
            assert!(!url(&format!("http://{host}:8080/")).is_loopback(), "{host}");
        }
    }

    #[test]
    fn path_is_appended() {
        for (base, whole) in [
            ("http://a:8080", "http://a:8080/v1/x?y=z"),
            ("http://a:8080/", "http://a:8080/v1/x?y=z"),
            ("http://a/lapi", "http://a/lapi/v1/x?y=z"),
        ] {
            assert_eq!(url(base).append("/v1/x?y=z").unwrap().as_text(), whole);
        }
        assert_eq!(url("http://a/").append(&"x".repeat(5000)), Err(NotAUrl::TooLong));
    }

    #[test]
    fn query_is_not_shown() {
        let url = url("https://a.example/list?key=secret");
        assert_eq!(format!("{url} {url:?}"), "https://a.example/list?… Url(https://a.example/list?…)");
        assert_eq!(url.as_text(), "https://a.example/list?key=secret");
    }
}
