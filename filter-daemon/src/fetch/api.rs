//! The part of an order that only APIs need: a body to post, a client certificate, the authorities to trust and
//! the name of the client.

use std::fmt;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use ureq::http::HeaderValue;
use ureq::tls::{Certificate, ClientCert, PrivateKey};

use super::error::FetchError;

/// The most bytes of a body. With its certificates, an order stays far below the limit of a message.
const LONGEST_BODY: usize = 32 * 1024;

/// A request to an API. Redirects of it are not followed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiRequest {
    /// The JSON to send by POST. Without it, the request is a GET.
    pub body: Option<Vec<u8>>,
    /// The client certificate, if the API asks for one.
    pub identity: Option<ClientIdentity>,
    /// The only authorities to trust, as PEM. Without it, those of the system.
    pub authority: Option<String>,
    /// How filterd names itself to the API (`User-Agent`).
    pub agent: String,
}

/// A client certificate and its key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientIdentity {
    /// The certificate as PEM, followed by those that lead to its authority.
    pub certificate: String,
    /// The private key as PEM: PKCS#8, PKCS#1 or SEC1.
    pub key: String,
}

/// Why a certificate, or a file of authorities, cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnusablePem {
    /// There is no certificate.
    #[error("there is no certificate (BEGIN CERTIFICATE) in it")]
    NoCertificate,
    /// A certificate is damaged.
    #[error("its certificate is damaged")]
    BadCertificate,
    /// There is no private key.
    #[error("there is no private key (BEGIN PRIVATE KEY) in it")]
    NoKey,
    /// The private key needs a passphrase.
    #[error("its private key is encrypted, and filterd has no passphrase for it")]
    EncryptedKey,
    /// The TLS library does not accept the key.
    #[error("its private key cannot be used: {0}")]
    BadKey(String),
    /// The certificate was made for another key.
    #[error("it belongs to another private key")]
    OtherKey,
}

impl ApiRequest {
    /// Checks that the request can be sent.
    pub fn check(&self) -> Result<(), FetchError> {
        let unsendable = |why: &str| Err(FetchError::Unsendable(why.to_owned()));
        if self.body.as_ref().is_some_and(|body| body.len() > LONGEST_BODY) {
            return unsendable(&format!("its body has more than {LONGEST_BODY} bytes"));
        }
        if HeaderValue::from_str(&self.agent).is_err() {
            return unsendable("the name of the client has characters that a request cannot carry");
        }
        self.client_certificate()?;
        self.authorities().transpose()?;
        Ok(())
    }

    /// The client certificate in the form that the client needs.
    pub fn client_certificate(&self) -> Result<Option<ClientCert>, FetchError> {
        let identity = self.identity.as_ref().map(ClientIdentity::client_certificate);
        identity.transpose().map_err(|why| FetchError::Unsendable(format!("the client certificate: {why}")))
    }

    /// The authorities to trust, if they are not those of the system.
    pub fn authorities(&self) -> Option<Result<Vec<Certificate<'static>>, FetchError>> {
        let found = certificates(self.authority.as_deref()?);
        Some(found.map_err(|why| FetchError::Unsendable(format!("the file of the authority: {why}"))))
    }
}

impl ClientIdentity {
    /// Checks that certificate and key can be used, and belong together.
    pub fn check(&self) -> Result<(), UnusablePem> {
        self.client_certificate().map(drop)
    }

    /// The client panics at a certificate that the TLS library refuses, so the library is asked before.
    fn client_certificate(&self) -> Result<ClientCert, UnusablePem> {
        let chain = certificates(&self.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(|_| self.no_key())?;
        let ders = chain.iter().map(|one| CertificateDer::from(one.der().to_vec())).collect();
        CertifiedKey::from_der(ders, key, &ring::default_provider()).map_err(|error| refusal(&error))?;
        let key = PrivateKey::from_pem(self.key.as_bytes()).map_err(|_| self.no_key())?;
        Ok(ClientCert::new_with_certs(&chain, key))
    }

    fn no_key(&self) -> UnusablePem {
        if self.key.contains("ENCRYPTED") { UnusablePem::EncryptedKey } else { UnusablePem::NoKey }
    }
}

/// Checks that this PEM has certificates of authorities.
pub fn check_authority(pem: &str) -> Result<(), UnusablePem> {
    certificates(pem).map(drop)
}

fn certificates(pem: &str) -> Result<Vec<Certificate<'static>>, UnusablePem> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let found = found.map_err(|_| UnusablePem::BadCertificate)?;
    if found.is_empty() {
        return Err(UnusablePem::NoCertificate);
    }
    Ok(found.iter().map(|one| Certificate::from_der(one).to_owned()).collect())
}

fn refusal(error: &rustls::Error) -> UnusablePem {
    if let rustls::Error::InconsistentKeys(_) = error {
        UnusablePem::OtherKey
    } else if let rustls::Error::InvalidCertificate(_) = error {
        UnusablePem::BadCertificate
    } else {
        UnusablePem::BadKey(error.to_string())
    }
}

/// Shows neither the body nor anything of the certificates.
impl fmt::Debug for ApiRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = if self.body.is_some() { "POST" } else { "GET" };
        f.debug_struct("ApiRequest")
            .field("method", &method)
            .field("agent", &self.agent)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientIdentity")
    }
}

#[cfg(test)]
pub mod tests;
