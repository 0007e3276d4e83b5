//! The keys of a list that is fetched: `url`, the interval, the timeout, the credentials, and exceptions from
//! security rules.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::raw::{Node, YamlValue};
use super::shape::{MapKey, TextValue, ValueFaults, kind, truth};
use crate::fetch::Url;
use crate::text::printable::excerpt;
use crate::text::quantity;

/// A list to fetch, and its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// The address of the list.
    pub url: Url,
    /// The time between two fetches.
    pub refresh: Duration,
    /// The longest time that a fetch may take.
    pub timeout: Duration,
    /// The credentials for the server.
    pub auth: Option<Auth>,
    /// Whether credentials may be sent unencrypted, and https may redirect to http.
    pub insecure: bool,
    /// Whether the server may have a private address.
    pub allow_private: bool,
}

/// The credentials for a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Auth {
    /// How the secret is sent.
    pub scheme: Scheme,
    pub secret: Secret,
}

/// The way to send a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// As the password of this user.
    Basic(String),
    /// As a bearer token.
    Bearer,
    /// As the value of this header.
    Header(String),
}

/// The place of a secret. The configuration never contains the secret itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// The file that contains it.
    File(PathBuf),
    /// A credential that systemd provides under this name (`LoadCredential=`).
    Credential(String),
}

/// The values of these keys in one list.
#[derive(Default)]
pub struct FeedKeys {
    url: Option<(Url, usize)>,
    refresh: Option<Duration>,
    timeout: Option<Duration>,
    auth: Option<Auth>,
    insecure: bool,
    allow_private: bool,
    /// The first key that is useless without `url`.
    beside: Option<(&'static str, usize)>,
}

/// A default that servers can bear, and that keeps lists useful.
const REFRESH: Duration = Duration::from_secs(6 * 60 * 60);
const SHORTEST_REFRESH: Duration = Duration::from_secs(60);
const LONGEST_REFRESH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

pub const TIMEOUT: Duration = Duration::from_secs(2 * 60);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60 * 60);

const AUTH_EXAMPLE: &str = "write {basic: USER, file: PATH}, {bearer: true, file: PATH} or {header: X-Api-Key, file: PATH}; \
                            in place of `file`, `credential` names one of systemd's";

/// Parses the value of `url`.
pub fn url(faults: &mut ValueFaults, node: Node, said: &mut FeedKeys) {
    let Some(TextValue { node, text }) = faults.text(node, "`url`") else { return };
    match Url::parse(&text) {
        Ok(url) => said.url = Some((url, node)),
        Err(error) => {
            faults.tell(
                node,
                format!("`url` cannot be fetched: {error}"),
                "write it as in https://host/list.txt",
            );
        }
    }
}

/// Parses the value of `refresh`, such as `6h`.
pub fn refresh(faults: &mut ValueFaults, node: Node, said: &mut FeedKeys) {
    said.note("refresh", &node);
    said.refresh =
        time(faults, node, "`refresh`", SHORTEST_REFRESH..=LONGEST_REFRESH, "write 1m to 30d, as in 6h");
}

/// Parses the value of `timeout`, such as `2m`.
pub fn timeout(faults: &mut ValueFaults, node: Node, said: &mut FeedKeys) {
    said.note("timeout", &node);
    said.timeout = request_timeout(faults, node);
}

/// Parses the time limit of a request.
pub fn request_timeout(faults: &mut ValueFaults, node: Node) -> Option<Duration> {
    let limits = Duration::from_secs(1)..=LONGEST_TIMEOUT;
    time(faults, node, "`timeout`", limits, "write 1s to 1h, as in 2m")
}

/// Parses the value of `insecure`, such as `true`.
pub fn insecure(faults: &mut ValueFaults, node: Node, said: &mut FeedKeys) {
    said.note("insecure", &node);
    let meaning = "write true only where others may read or change the secret or the list on its way";
    said.insecure = truth(faults, node, "`insecure`", meaning).unwrap_or_default();
}

/// Parses the value of `allow_private`, such as `true`.
pub fn allow_private(faults: &mut ValueFaults, node: Node, said: &mut FeedKeys) {
    said.note("allow_private", &node);
    let meaning = "write true if the list is on a private host";
    said.allow_private = truth(faults, node, "`allow_private`", meaning).unwrap_or_default();
}

/// Parses the value of `auth`, which is a map.
pub fn auth(faults: &mut ValueFaults, node: Node, said: &mut FeedKeys) {
    said.note("auth", &node);
    let number = node.number;
    let YamlValue::Map(map) = node.value else {
        faults.tell(number, format!("`auth` must be a map of keys, not {}", kind(&node.value)), AUTH_EXAMPLE);
        return;
    };
    let (mut draft, before) = (AuthDraft::default(), faults.0.len());
    faults.fields(map, &AUTH_KEYS, &mut draft);
    if faults.0.len() > before {
        return;
    }
    match draft.check() {
        Ok(auth) => said.auth = Some(auth),
        Err(message) => faults.tell(number, message, AUTH_EXAMPLE),
    }
}

impl FeedKeys {
    fn note(&mut self, key: &'static str, node: &Node) {
        // A message about any other key is more useful than one about `refresh`.
        let before = self.beside.filter(|(before, _)| *before != "refresh" || key == "refresh");
        self.beside = before.or(Some((key, node.number)));
    }

    /// The interval at which the files of a database list are checked. Such a list has no other of these
    /// keys.
    pub fn refresh_alone(&mut self) -> Option<Duration> {
        self.beside = self.beside.filter(|(key, _)| *key != "refresh");
        self.refresh
    }

    /// The feed, if the list has a `url`.
    pub fn check(self, faults: &mut ValueFaults) -> Option<Feed> {
        let Some((url, node)) = self.url else {
            if let Some((key, node)) = self.beside {
                let message = match key {
                    "refresh" => {
                        "`refresh` needs a `url` or a `database`, and this list has neither".to_owned()
                    }
                    key => format!("`{key}` needs a `url`, and this list has none"),
                };
                faults.tell(node, message, "remove it, or write `url` in place of `path`");
            }
            return None;
        };
        if self.auth.is_some() && !url.is_secure() && !self.insecure {
            let help = "write https://, or set `insecure: true` if others may read the secret on its way";
            faults.tell(node, "a secret would be sent over plain http", help);
        }
        Some(Feed {
            url,
            refresh: self.refresh.unwrap_or(REFRESH),
            timeout: self.timeout.unwrap_or(TIMEOUT),
            auth: self.auth,
            insecure: self.insecure,
            allow_private: self.allow_private,
        })
    }
}

impl Feed {
    /// The name under which people see the feed. It contains no secrets.
    #[must_use]
    pub fn shown(&self) -> PathBuf {
        self.url.to_string().into()
    }

    /// Identifies the feed among all feeds: its URL, its credentials, and its exceptions from security rules.
    #[must_use]
    pub fn key(&self) -> Vec<u8> {
        let mut key = self.url.as_text().into_bytes();
        if let Some(Auth { scheme, secret }) = &self.auth {
            key.extend(format!("\0{scheme:?}\0{secret:?}").into_bytes());
        }
        for (is_said, said) in [(self.insecure, "\0insecure"), (self.allow_private, "\0allow_private")] {
            if is_said {
                key.extend(said.bytes());
            }
        }
        key
    }

    /// Resolves the path of the secret against the folder of the configuration.
    pub(super) fn relate_to(&mut self, folder: &Path) {
        if let Some(Auth { secret: Secret::File(path), .. }) = &mut self.auth {
            *path = folder.join(&path);
        }
    }
}

/// The place of a secret, from a map with `file` or `credential` at `node`.
pub fn secret(
    faults: &mut ValueFaults,
    map: Vec<(Node, Node)>,
    node: usize,
    subject: &str,
    example: &str,
) -> Option<Secret> {
    let (mut secrets, before) = (Vec::new(), faults.0.len());
    faults.fields(map, &SECRET_KEYS, &mut secrets);
    if faults.0.len() == before && secrets.len() != 1 {
        faults.tell(node, format!("{subject} needs either a `file` or a `credential`"), example);
    }
    secrets.pop().filter(|_| faults.0.len() == before)
}

fn secret_file(faults: &mut ValueFaults, node: Node, secrets: &mut Vec<Secret>) {
    let path = faults.text(node, "the path of a secret");
    secrets.extend(path.map(|path| Secret::File(path.text.into())));
}

fn secret_credential(faults: &mut ValueFaults, node: Node, secrets: &mut Vec<Secret>) {
    let Some(name) = faults.text(node, "the name of a credential") else { return };
    if name.text.contains('/') || [".", ".."].contains(&name.text.as_str()) {
        faults.tell(name.node, "a credential has a name, not a path", "write its name in LoadCredential=");
    } else {
        secrets.push(Secret::Credential(name.text));
    }
}

const SECRET_KEYS: [MapKey<Vec<Secret>>; 2] =
    [MapKey { name: "file", take: secret_file }, MapKey { name: "credential", take: secret_credential }];

#[derive(Default)]
struct AuthDraft {
    schemes: Vec<Scheme>,
    secrets: Vec<Secret>,
}

const AUTH_KEYS: [MapKey<AuthDraft>; 5] = [
    MapKey {
        name: "basic",
        take: |faults, node, draft| {
            let user = faults.text(node, "the user of `basic`");
            draft.schemes.extend(user.map(|user| Scheme::Basic(user.text)));
        },
    },
    MapKey {
        name: "bearer",
        take: |faults, node, draft| {
            let is_bearer = truth(faults, node, "`bearer`", "write true");
            draft.schemes.extend(is_bearer.filter(|is| *is).map(|_| Scheme::Bearer));
        },
    },
    MapKey {
        name: "header",
        take: |faults, node, draft| {
            let name = faults.text(node, "the name of a header");
            draft.schemes.extend(name.map(|name| Scheme::Header(name.text)));
        },
    },
    MapKey { name: "file", take: |faults, node, draft| secret_file(faults, node, &mut draft.secrets) },
    MapKey {
        name: "credential",
        take: |faults, node, draft| secret_credential(faults, node, &mut draft.secrets),
    },
];

/// The names of these keys.
#[cfg(test)]
pub fn keys() -> impl Iterator<Item = &'static str> {
    AUTH_KEYS.iter().map(|key| key.name)
}

impl AuthDraft {
    fn check(mut self) -> Result<Auth, &'static str> {
        let (Some(scheme), true) = (self.schemes.pop(), self.schemes.is_empty()) else {
            return Err("`auth` needs one of `basic`, `bearer` and `header`");
        };
        let (Some(secret), true) = (self.secrets.pop(), self.secrets.is_empty()) else {
            return Err("`auth` needs a `file` or a `credential` with its secret");
        };
        match &scheme {
            Scheme::Basic(user) if user.is_empty() || user.contains([':', '\n', '\r']) => {
                Err("the user of `basic` cannot be empty or contain a colon")
            }
            Scheme::Header(name) if !is_header(name) => Err("a header cannot have this name"),
            Scheme::Basic(_) | Scheme::Bearer | Scheme::Header(_) => Ok(Auth { scheme, secret }),
        }
    }
}

/// A token as RFC 9110 defines it.
fn is_header(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.len() <= 256 && name.bytes().all(is_token)
}

fn time(
    faults: &mut ValueFaults,
    node: Node,
    subject: &str,
    limits: std::ops::RangeInclusive<Duration>,
    help: &str,
) -> Option<Duration> {
    time_by(|word| quantity::duration(word).ok(), faults, node, subject, limits, help)
}

/// Parses a time by a function for its words.
pub fn time_by(
    parse: impl Fn(&str) -> Option<Duration>,
    faults: &mut ValueFaults,
    node: Node,
    subject: &str,
    limits: std::ops::RangeInclusive<Duration>,
    help: &str,
) -> Option<Duration> {
    let (time, said) = match &node.value {
        YamlValue::Number(Some(seconds)) => (Some(Duration::from_secs(*seconds)), seconds.to_string()),
        YamlValue::Text(word) => (parse(word), format!("`{}`", excerpt(word))),
        other @ (YamlValue::Nothing
        | YamlValue::Bool(_)
        | YamlValue::Number(None)
        | YamlValue::List(_)
        | YamlValue::Map(_)
        | YamlValue::Tagged) => (None, kind(other).to_owned()),
    };
    let time = time.filter(|time| limits.contains(time));
    if time.is_none() {
        faults.tell(node.number, format!("{subject} cannot be {said}"), help);
    }
    time
}
