//! The secrets for feeds' servers. They are read again for each fetch, from a file that no other user may
//! read, or from the credentials that systemd provided at the start. They are never shown.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::{getegid, geteuid};

use super::{Auth, LapiConfig, LapiCredential, Scheme, Secret};
use crate::fetch::{ClientIdentity, Credentials, check_authority};
use crate::source::{file, permission};
use crate::text::{Explain, Explanation, printable};

/// No secret is longer.
const LONGEST: u64 = 1 << 14;

/// No chain of certificates is longer. Two of them fit into an order to fetch.
const LONGEST_CHAIN: u64 = 1 << 16;

/// The most credentials that are read.
const MOST: usize = 256;

/// The credentials that systemd provides (`LoadCredential=`), by name. Only root may read them, so they are
/// read before root privileges are dropped.
#[derive(Clone, Default)]
pub struct SystemdCredentials {
    credentials: BTreeMap<String, Result<Vec<u8>, Explanation>>,
    /// The reason why there may be more credentials.
    unseen: Option<String>,
}

impl fmt::Debug for SystemdCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.credentials.keys()).finish()
    }
}

impl SystemdCredentials {
    /// All credentials. Empty if systemd does not run or provides none.
    pub fn by_systemd() -> Self {
        env::var_os("CREDENTIALS_DIRECTORY")
            .map_or_else(Self::default, |directory| Self::of(directory.as_ref()))
    }

    /// The error of an unreadable credential is kept, and reported to the feed that names it.
    fn of(directory: &Path) -> Self {
        let cannot = |error: std::io::Error| format!("{}: {error}", printable::path(directory));
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries.take(MOST + 1),
            Err(error) => return Self { unseen: Some(cannot(error)), ..Self::default() },
        };
        let mut this = Self::default();
        for entry in entries {
            match entry {
                Ok(_) if this.credentials.len() == MOST => {
                    this.unseen = Some(format!("at most {MOST} credentials are read"));
                }
                Ok(entry) => {
                    let read = file::open(&entry.path()).and_then(|file| read(&entry.path(), file));
                    let name = entry.file_name().to_string_lossy().into_owned();
                    this.credentials.insert(name, read.map_err(|error| error.explain()));
                }
                Err(error) => this.unseen = Some(cannot(error)),
            }
        }
        this
    }

    fn get(&self, name: &str) -> Result<Vec<u8>, Explanation> {
        let shown = printable::word(name);
        match self.credentials.get(name) {
            Some(Ok(bytes)) => Ok(bytes.clone()),
            Some(Err(told)) => Err(Explanation {
                message: format!("the credential {shown} cannot be read: {}", told.message),
                remedy: told.remedy.clone(),
            }),
            None => {
                let why = self.unseen.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
                Err(Explanation::new(
                    format!("systemd did not pass a credential {shown}{why}"),
                    "add LoadCredential= for it to the unit, then restart filterd",
                ))
            }
        }
    }
}

/// Reads the secret of these credentials and checks it.
pub fn credentials(auth: &Auth, handed: &SystemdCredentials) -> Result<Credentials, Explanation> {
    let secret = line(&auth.secret, handed)?;
    Ok(match &auth.scheme {
        Scheme::Basic(user) => Credentials::Basic { user: user.clone(), password: secret },
        Scheme::Bearer => Credentials::Bearer(secret),
        Scheme::Header(name) => Credentials::Header { name: name.clone(), value: secret },
    })
}

/// What proves to a LAPI that filterd is one of its bouncers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LapiAccess {
    /// A header with the key.
    Key(Credentials),
    /// A certificate that names filterd, and its private key.
    Certificate(ClientIdentity),
}

/// Reads the key or the certificate for a LAPI, and checks it.
pub fn lapi(credential: &LapiCredential, handed: &SystemdCredentials) -> Result<LapiAccess, Explanation> {
    match credential {
        LapiCredential::Key(key) => {
            let value = line(key, handed)?;
            Ok(LapiAccess::Key(Credentials::Header { name: "X-Api-Key".to_owned(), value }))
        }
        LapiCredential::Certificate { certificate, key } => {
            let (bytes, place) = anywhere(key, handed)?;
            let wrong = |why: &str| Explanation::from(format!("{place} {why}"));
            let key = String::from_utf8(bytes).map_err(|_| wrong("is no text"))?;
            let identity = ClientIdentity { certificate: pem(certificate)?, key };
            identity.check().map_err(|why| {
                let message = format!(
                    "{}: this client certificate cannot be used: {why}",
                    printable::path(certificate)
                );
                Explanation::new(
                    message,
                    "check `cert` and `key` of `crowdsec`: both are PEM files, without a passphrase",
                )
            })?;
            Ok(LapiAccess::Certificate(identity))
        }
    }
}

/// The warning about a LAPI whose key or certificates cannot be read. What systemd hands over, only the daemon
/// sees.
pub fn unreadable(config: &LapiConfig) -> Option<Explanation> {
    let (LapiCredential::Key(secret) | LapiCredential::Certificate { key: secret, .. }) = &config.credential;
    let is_a_file = matches!(secret, Secret::File(_));
    let read = || lapi(&config.credential, &SystemdCredentials::default()).map(drop);
    let found = if is_a_file { read() } else { Ok(()) };
    let found = found.and_then(|()| config.authority.as_deref().map(authority).transpose().map(drop));
    let missing = config.database.iter().find(|path| !path.exists());
    let missing = missing.map(|path| Explanation::from(format!("{}: no such file", printable::path(path))));
    let told = found.err().or(missing)?;
    Some(Explanation {
        message: format!("CrowdSec \"{}\": {}", config.name, told.message),
        remedy: told.remedy,
    })
}

/// Reads the certificates of the authorities that may vouch for a LAPI.
pub fn authority(path: &Path) -> Result<String, Explanation> {
    let pem = pem(path)?;
    check_authority(&pem).map_err(|why| {
        let message = format!("{}: this authority cannot be used: {why}", printable::path(path));
        Explanation::new(
            message,
            "name the certificate of the authority that signed LAPI's certificate, as a PEM file",
        )
    })?;
    Ok(pem)
}

/// Reads certificates, which need not be secret.
fn pem(path: &Path) -> Result<String, Explanation> {
    let read = file::open(path).and_then(|file| read_up_to(LONGEST_CHAIN, path, file));
    let bytes = read.map_err(|error| error.explain())?;
    String::from_utf8(bytes).map_err(|_| {
        Explanation::new(
            format!("{}: this file is no PEM", printable::path(path)),
            "convert it: `openssl x509 -inform der`",
        )
    })
}

/// Reads a secret that has one line.
fn line(secret: &Secret, handed: &SystemdCredentials) -> Result<String, Explanation> {
    let (bytes, place) = anywhere(secret, handed)?;
    let wrong = |what: &str| Explanation::new(format!("{place} {what}"), "write it there, on one line");
    let text = String::from_utf8(bytes).map_err(|_| wrong("is no text"))?;
    let secret = text.trim_end_matches(['\n', '\r']).to_owned();
    if secret.is_empty() {
        return Err(wrong("is empty"));
    }
    if secret.chars().any(char::is_control) {
        return Err(wrong("has more than one line, or characters that cannot be sent"));
    }
    Ok(secret)
}

/// Reads a secret, and describes its place.
fn anywhere(secret: &Secret, handed: &SystemdCredentials) -> Result<(Vec<u8>, String), Explanation> {
    Ok(match secret {
        Secret::File(path) => (of_file(path)?, format!("{}: the secret in this file", printable::path(path))),
        Secret::Credential(name) => (handed.get(name)?, format!("the credential {}", printable::word(name))),
    })
}

/// Reads a secret from a file. A secret that other users may read is refused. The file is opened once, so the
/// permissions that are checked are those of the bytes that are read. The path may be a link, as is usual for
/// secrets that are replaced as a whole. The permissions of the file that it leads to count.
fn of_file(path: &Path) -> Result<Vec<u8>, Explanation> {
    let file = file::open(path).map_err(|error| error.explain())?;
    let about = file.metadata().map_err(|error| file::FileError::new(path, error).explain())?;
    if let Some(why) = readable_by_others(&about) {
        let (shown, detour) = (printable::path(path), permission::detour(path));
        let message = format!("{shown}: the secret in this file is not sent: {why}");
        let remedy = detour.map_or_else(
            || format!("`chown root:filterd {shown}; chmod 0640 {shown}`"),
            |detour| format!("check it first ({detour}), then let only root and filterd read it"),
        );
        return Err(Explanation::new(message, remedy));
    }
    read(path, file).map_err(|error| error.explain())
}

fn readable_by_others(about: &Metadata) -> Option<&'static str> {
    let is_ours = [0, geteuid().as_raw()].contains(&about.uid());
    let is_our_group = [0, getegid().as_raw()].contains(&about.gid());
    if !is_ours {
        Some("it belongs to another user")
    } else if about.mode() & 0o007 != 0 {
        Some("all users may read or change it")
    } else if about.mode() & 0o020 != 0 {
        Some("its group may change it")
    } else if about.mode() & 0o040 != 0 && !is_our_group {
        Some("a group other than filterd's may read it")
    } else {
        None
    }
}

fn read(path: &Path, file: File) -> Result<Vec<u8>, file::FileError> {
    read_up_to(LONGEST, path, file)
}

fn read_up_to(most: u64, path: &Path, file: File) -> Result<Vec<u8>, file::FileError> {
    let mut bytes = Vec::new();
    let read = file.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|error| file::FileError::new(path, error))?;
    if bytes.len() as u64 > most {
        return Err(file::FileError::TooLarge { path: path.into(), most });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn told(contents: &str, mode: u32, scheme: Scheme) -> Result<Credentials, String> {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("secret");
        fs::write(&path, contents).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let auth = Auth { scheme, secret: Secret::File(path) };
        credentials(&auth, &SystemdCredentials::default()).map_err(|told| told.to_string())
    }

    #[test]
    fn secret_is_the_single_line_in_file() {
        let basic = Credentials::Basic { user: "ann".to_owned(), password: "pass word".to_owned() };
        assert_eq!(told("pass word\n", 0o640, Scheme::Basic("ann".to_owned())), Ok(basic));
        assert_eq!(told("abc", 0o400, Scheme::Bearer), Ok(Credentials::Bearer("abc".to_owned())));
        for (contents, why) in
            [("", "is empty"), ("\n", "is empty"), ("sesame\nsesame", "more than one line")]
        {
            let told = told(contents, 0o600, Scheme::Bearer).unwrap_err();
            assert!(told.contains(why) && !told.contains("sesame"), "{told}");
        }
    }

    #[test]
    fn secret_readable_by_others_is_refused() {
        for (mode, why) in [(0o644, "all users"), (0o604, "all users"), (0o660, "its group may change it")] {
            let told = told("sesame", mode, Scheme::Bearer).unwrap_err();
            assert!(told.contains(why) && told.contains("chmod 0640") && !told.contains("sesame"), "{told}");
        }
    }

    #[test]
    fn systemd_credentials_are_found_by_name() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("feed"), "sesame\n").unwrap();
        fs::write(place.path().join("long"), vec![b'a'; 1 << 15]).unwrap();
        fs::create_dir(place.path().join("folder")).unwrap();
        let handed = SystemdCredentials::of(place.path());
        let auth = |name: &str| Auth { scheme: Scheme::Bearer, secret: Secret::Credential(name.to_owned()) };
        assert_eq!(credentials(&auth("feed"), &handed), Ok(Credentials::Bearer("sesame".to_owned())));
        for (name, handed, why) in [
            ("other", &handed, "did not pass a credential `other`\nadd LoadCredential="),
            ("long", &handed, "the credential `long` cannot be read: "),
            ("folder", &handed, "this is a directory"),
            (
                "feed",
                &SystemdCredentials::of(Path::new("/nowhere")),
                "a credential `feed` (/nowhere: No such file",
            ),
        ] {
            let told = credentials(&auth(name), handed).unwrap_err();
            let told = told.lines().collect::<Vec<_>>().join("\n");
            assert!(told.contains(why), "{told}");
        }
        assert!(!format!("{handed:?}").contains("sesame"));
    }

    /// Writes these files, and reads the credential that consists of them.
    fn access(certificate: &str, key: &str, mode: u32) -> Result<LapiAccess, String> {
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, contents: &str, mode: u32| {
            let path = place.path().join(name);
            fs::write(&path, contents).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let key = Secret::File(write("key", key, mode));
        let certificate = write("certificate", certificate, 0o644);
        let credential = LapiCredential::Certificate { certificate, key };
        lapi(&credential, &SystemdCredentials::default()).map_err(|told| told.to_string())
    }

    #[test]
    fn key_for_lapi_is_sent_in_its_header() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("crowdsec"), "sesame\n").unwrap();
        let key = LapiCredential::Key(Secret::Credential("crowdsec".to_owned()));
        let sent = Credentials::Header { name: "X-Api-Key".to_owned(), value: "sesame".to_owned() };
        assert_eq!(lapi(&key, &SystemdCredentials::of(place.path())), Ok(LapiAccess::Key(sent)));
        assert!(lapi(&key, &SystemdCredentials::default()).is_err());
    }

    #[test]
    fn certificate_for_lapi_is_checked() {
        let certificate = include_str!("../fetch/api/pem/client.crt");
        let key = include_str!("../fetch/api/pem/client.sec1.key");
        let other = include_str!("../fetch/api/pem/rsa.pkcs8.key");
        let (pem, secret) = (certificate.to_owned(), key.to_owned());
        let identity = ClientIdentity { certificate: pem, key: secret };
        assert_eq!(access(certificate, key, 0o600), Ok(LapiAccess::Certificate(identity)));
        for (certificate, key, mode, why) in [
            (certificate, key, 0o644, "the secret in this file is not sent: all users may read"),
            (certificate, other, 0o600, "it belongs to another private key"),
            (certificate, "", 0o600, "there is no private key"),
            ("", key, 0o600, "there is no certificate"),
        ] {
            let told = access(certificate, key, mode).unwrap_err();
            assert!(told.contains(why) && !told.contains("BEGIN EC"), "{told}");
        }
    }

    #[test]
    fn authority_of_lapi_is_checked() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("ca.crt");
        let pem = include_str!("../fetch/api/pem/authority.crt");
        fs::write(&path, pem).unwrap();
        assert_eq!(authority(&path), Ok(pem.to_owned()));
        for (contents, why) in
            [(&b"\xff"[..], "this file is no PEM"), (b"x", "this authority cannot be used")]
        {
            fs::write(&path, contents).unwrap();
            let told = authority(&path).unwrap_err().to_string();
            assert!(told.contains(why), "{told}");
        }
        let long = vec![b'\n'; 1 << 17];
        fs::write(&path, long).unwrap();
        assert!(authority(&path).is_err());
    }
}
