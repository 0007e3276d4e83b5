//! The credentials for the server of a feed. They are never shown.

use std::fmt;

use serde::{Deserialize, Serialize};
use ureq::http::{HeaderName, HeaderValue, header};

/// Credentials that are sent to the origin of the list's URL, and to no other.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Credentials {
    /// A user name and password.
    Basic {
        /// The name, without a colon.
        user: String,
        password: String,
    },
    /// A token for bearer authentication.
    Bearer(String),
    /// A header that the server defines.
    Header {
        /// The header name, such as `X-Api-Key`.
        name: String,
        value: String,
    },
}

/// Headers that must not carry credentials, because they have other meanings.
const NOT_FOR_KEYS: [HeaderName; 8] = [
    header::HOST,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
    header::UPGRADE,
    header::EXPECT,
    header::TE,
    header::TRAILER,
];

impl Credentials {
    /// The header with the credentials; none if they are not valid in a header.
    pub fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        let (name, value) = match self {
            Self::Basic { user, .. } if user.contains(':') => return None,
            Self::Basic { user, password } => {
                (header::AUTHORIZATION, format!("Basic {}", base64(format!("{user}:{password}").as_bytes())))
            }
            Self::Bearer(token) => (header::AUTHORIZATION, format!("Bearer {token}")),
            Self::Header { name, value } => (name.parse().ok()?, value.clone()),
        };
        let mut value = HeaderValue::try_from(value).ok()?;
        value.set_sensitive(true);
        (!NOT_FOR_KEYS.contains(&name)).then_some((name, value))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

/// Encodes by RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letter = |bits: u32| char::from(LETTERS[bits as usize & 63]);
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let at = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        text.extend([letter(bits >> 18), letter(bits >> 12)]);
        text.push(if three.len() > 1 { letter(bits >> 6) } else { '=' });
        text.push(if three.len() > 2 { letter(bits) } else { '=' });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_as_the_rfc_has_it() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (bytes, text) in cases {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    fn said(credentials: &Credentials) -> Option<String> {
        let (name, value) = credentials.header()?;
        Some(format!("{name}: {}", value.to_str().unwrap()))
    }

    #[test]
    fn each_is_said_in_one_header() {
        let basic = Credentials::Basic { user: "Aladdin".to_owned(), password: "open sesame".to_owned() };
        assert_eq!(said(&basic).unwrap(), "authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(said(&Credentials::Bearer("abc".to_owned())).unwrap(), "authorization: Bearer abc");
        let own =
            |name: &str, value: &str| Credentials::Header { name: name.to_owned(), value: value.to_owned() };
        assert_eq!(said(&own("X-Api-Key", "abc")).unwrap(), "x-api-key: abc");
        for wrong in
            [own("X Key", "a"), own("", "a"), own("X-Key", "a\r\nHost: b"), own("Host", "b"), own("TE", "x")]
        {
            assert_eq!(said(&wrong), None);
        }
        assert_eq!(said(&Credentials::Bearer("a\nb".to_owned())), None);
        assert_eq!(said(&Credentials::Basic { user: "a:b".to_owned(), password: String::new() }), None);
    }

    #[test]
    fn credentials_are_never_shown() {
        let shown = format!("{:?}", Credentials::Bearer("secret".to_owned()));
        assert!(!shown.contains("secret"), "{shown}");
    }
}
