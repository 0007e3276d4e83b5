//! Translates errors of the HTTP client into messages that show an operator where to look.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "others' errors are many, and most of them are told in their own words"
)]

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use rustls::{AlertDescription, CertificateError, InvalidMessage};
use ureq::Error;

use super::error::{FetchError, SELF_SIGNED};
use super::url::Url;

/// The circumstances of an error.
pub struct ErrorContext<'a> {
    pub url: &'a Url,
    pub patience: Duration,
    pub last_failed: Option<SocketAddr>,
}

impl ErrorContext<'_> {
    /// Translates an error after this many bytes of the body.
    pub fn of(&self, error: Error, bytes: u64) -> FetchError {
        match error {
            Error::Other(ours) => match ours.downcast::<FetchError>() {
                Ok(ours) => *ours,
                Err(other) => FetchError::Nonsense(other.to_string()),
            },
            Error::Timeout(_) => FetchError::TooSlow { patience: self.patience, bytes },
            Error::HostNotFound => {
                FetchError::NoSuchHost { host: self.host(), why: "it has no address".to_owned() }
            }
            Error::Rustls(error) => self.distrust(&error),
            Error::Tls(why) => FetchError::Tls { host: self.host(), why: why.to_owned() },
            Error::Decompress(_, error) => broken_off(bytes, &error),
            Error::Io(error) => self.of_io(&error, bytes),
            Error::ConnectionFailed => self.not_reached("no answer"),
            other => FetchError::Nonsense(other.to_string()),
        }
    }

    fn of_io(&self, error: &io::Error, bytes: u64) -> FetchError {
        if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return self.distrust(error);
        }
        match error.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => {
                FetchError::TooSlow { patience: self.patience, bytes }
            }
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                broken_off(bytes, error)
            }
            _ => self.not_reached(&error.to_string()),
        }
    }

    fn distrust(&self, error: &rustls::Error) -> FetchError {
        if let rustls::Error::AlertReceived(alert) = error
            && let Some(why) = refusal(*alert)
        {
            return FetchError::IdentityRefused { host: self.host(), why: why.to_owned() };
        }
        let why = match error {
            // The first byte cannot begin a TLS message.
            rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
                return FetchError::NoTls { host: self.host(), port: self.url.port() };
            }
            rustls::Error::InvalidCertificate(certificate) => doubt(certificate),
            other => other.to_string(),
        };
        FetchError::Tls { host: self.host(), why }
    }

    fn not_reached(&self, why: &str) -> FetchError {
        let at = self.last_failed.map_or_else(|| self.url.port().to_string(), |at| at.to_string());
        FetchError::NotReached { host: self.host(), at, why: why.to_owned() }
    }

    fn host(&self) -> String {
        self.url.host().to_owned()
    }
}

fn broken_off(bytes: u64, error: &io::Error) -> FetchError {
    let why = match error.kind() {
        ErrorKind::UnexpectedEof => "the server closed the connection early".to_owned(),
        _ => error.to_string(),
    };
    FetchError::BrokenOff { bytes, why }
}

/// Why the server refuses the client's certificate, if its alert is about that.
const fn refusal(alert: AlertDescription) -> Option<&'static str> {
    Some(match alert {
        AlertDescription::CertificateRequired => "it asks for one",
        AlertDescription::CertificateExpired => "it has expired",
        AlertDescription::CertificateRevoked => "it is revoked",
        AlertDescription::UnknownCA => "the server does not know its authority",
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::AccessDenied => "the server gives no reason",
        _ => return None,
    })
}

/// Describes the usual certificate errors in plain words.
fn doubt(error: &CertificateError) -> String {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet (is the clock right?)".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another name".to_owned()
        }
        CertificateError::UnknownIssuer => {
            "its certificate is from an authority that this system does not know".to_owned()
        }
        CertificateError::BadSignature => {
            "its certificate is not signed by the authority it names".to_owned()
        }
        other if other.to_string().contains("CaUsedAsEndEntity") => SELF_SIGNED.to_owned(),
        other => other.to_string(),
    }
}
