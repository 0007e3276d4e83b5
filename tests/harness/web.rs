//! A web server that answers what a story has it answer, however wrong that is, with or without TLS; and an authority that
//! says who it is, or somebody else.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::{Namespace, unique_name};

/// What a server was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Such as `GET`.
    pub method: String,
    /// Such as `/list.txt`, with the query.
    pub path: String,
    /// All headers, each with its name in small letters.
    pub headers: Vec<String>,
    /// What a POST brings.
    pub body: Vec<u8>,
}

impl Asked {
    /// What a header says.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    }

    /// The value of a parameter of the query, as it was sent.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let (_, query) = self.path.split_once('?')?;
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }
}

/// Where a server is, and whether it speaks TLS.
pub struct Where<'a> {
    /// In which namespace.
    pub namespace: &'a Namespace,
    /// At which address and port.
    pub at: &'a str,
    /// With which certificate.
    pub tls: Option<Arc<ServerConfig>>,
}

/// A server.
#[derive(Debug)]
pub struct Web {
    asked: Mutex<Receiver<Asked>>,
}

impl Web {
    /// Answers whoever asks there: `answer` writes everything, from the status line on, and then hangs up.
    pub fn serve(place: Where<'_>, answer: impl Fn(&Asked, &mut dyn Write) + Send + Sync + 'static) -> Self {
        let at: SocketAddr = place.at.parse().expect("a story names an address");
        let listener = place.namespace.inside(|| TcpListener::bind(at).expect("nobody else listens there"));
        let (tell, asked) = mpsc::channel();
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for caller in listener.incoming().flatten() {
                let (tls, answer, tell) = (place.tls.clone(), answer.clone(), tell.clone());
                thread::spawn(move || match tls {
                    None => converse(caller, &*answer, &tell),
                    Some(tls) => {
                        let connection = ServerConnection::new(tls).expect("a certificate that can be shown");
                        converse(StreamOwned::new(connection, caller), &*answer, &tell);
                    }
                });
            }
        });
        Self { asked: Mutex::new(asked) }
    }

    /// What it was asked since the last time.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("one story at a time").try_iter().collect()
    }
}

/// Reads a request, and answers. Whoever talks no HTTP, or hangs up, is let go.
fn converse(
    mut caller: impl Read + Write + HangsUp,
    answer: &dyn Fn(&Asked, &mut dyn Write),
    tell: &mpsc::Sender<Asked>,
) {
    let Some(asked) = request(&mut caller) else { return };
    _ = tell.send(asked.clone());
    answer(&asked, &mut caller);
    _ = caller.flush();
    caller.hang_up();
}

fn request(caller: &mut impl Read) -> Option<Asked> {
    let mut reader = BufReader::new(caller);
    let mut lines = reader.by_ref().lines();
    let first = lines.next()?.ok()?;
    let mut words = first.split(' ').map(ToOwned::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    for line in lines {
        let line = line.ok()?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push(format!("{}:{value}", name.to_ascii_lowercase()));
    }
    let mut asked = Asked { method, path, headers, body: Vec::new() };
    let length = asked.header("content-length").map_or(Some(0), |length| length.parse().ok())?;
    reader.take(length).read_to_end(&mut asked.body).ok()?;
    Some(asked)
}

/// Ends a connection as its kind does.
trait HangsUp {
    fn hang_up(&mut self);
}

impl HangsUp for TcpStream {
    fn hang_up(&mut self) {}
}

impl HangsUp for StreamOwned<ServerConnection, TcpStream> {
    fn hang_up(&mut self) {
        self.conn.send_close_notify();
        _ = self.flush();
    }
}

/// Somebody who says who others are.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// A new one, which nobody knows.
    #[expect(clippy::new_without_default, reason = "each is another")]
    pub fn new() -> Self {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, unique_name());
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("there are random numbers");
        Self(CertifiedIssuer::self_signed(parameters, key).expect("it can sign"))
    }

    /// Writes down whom to trust.
    pub fn write(&self, path: &Path) {
        std::fs::write(path, self.pem()).expect("a home can be written");
    }

    /// The same in words.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// What a server shows that is called this, from a day before `until_day` days from now, to then.
    pub fn certificate(&self, name: &str, until_day: i64) -> Arc<ServerConfig> {
        let (certificate, key) = self.signed(name, until_day);
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("it is a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring knows them")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key);
        Arc::new(config.expect("the key is the certificate's"))
    }

    /// The same for a server that reads it from files: the certificate, and its key.
    pub fn written(&self, name: &str) -> (String, String) {
        let (certificate, key) = self.signed(name, 1);
        (certificate.pem(), key.serialize_pem())
    }

    /// The same for a client of this name, in this unit of the organization.
    pub fn written_for_client(&self, name: &str, unit: &str) -> (String, String) {
        let mut parameters = Self::parameters(name, 1);
        let mut subject = DistinguishedName::new();
        subject.push(DnType::OrganizationalUnitName, unit);
        subject.push(DnType::CommonName, name);
        parameters.distinguished_name = subject;
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let (certificate, key) = self.sign(&parameters);
        (certificate.pem(), key.serialize_pem())
    }

    /// A client that trusts this authority and nobody else.
    pub fn trusting_client(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        let certificate: &Certificate = self.0.as_ref();
        roots.add(certificate.der().clone()).expect("it is an authority");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring knows them")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Arc::new(config)
    }

    fn signed(&self, name: &str, until_day: i64) -> (Certificate, KeyPair) {
        self.sign(&Self::parameters(name, until_day))
    }

    fn parameters(name: &str, until_day: i64) -> CertificateParams {
        let mut parameters = CertificateParams::new([name.to_owned()]).expect("it is a name");
        let day = Duration::from_secs(24 * 3600);
        let days = |days: i64| {
            let by = day * u32::try_from(days.unsigned_abs()).expect("some days");
            if days < 0 { SystemTime::now() - by } else { SystemTime::now() + by }
        };
        parameters.not_before = days(until_day.min(1) - 2).into();
        parameters.not_after = days(until_day).into();
        parameters
    }

    fn sign(&self, parameters: &CertificateParams) -> (Certificate, KeyPair) {
        let key = KeyPair::generate().expect("there are random numbers");
        (parameters.signed_by(&key, &self.0).expect("it can sign"), key)
    }
}
