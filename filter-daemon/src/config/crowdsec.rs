//! The key `crowdsec`: the local APIs (LAPIs) of CrowdSec whose decisions filterd enforces.

mod words;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use filter_common::ports::Clause;

use super::feed::{self, Secret};
use super::limits::{entries, share};
use super::path::path;
use super::ports::{self, PortKeys};
use super::raw::{Node, YamlValue};
use super::shape::{MapKey, TextValue, ValueFaults, kind};
use super::{Config, chosen};
use crate::blocklist::{LONGEST_END, name_end};
use crate::fetch::{NotAUrl, Permit, Url};
use crate::source::Limits;
use crate::text::printable::excerpt;
use crate::text::quantity;
use words::{origins, scenarios, scopes, types};

/// A LAPI to ask for decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LapiConfig {
    /// The name that tells it from other LAPIs.
    pub name: String,
    /// The address before /v1.
    pub url: Url,
    pub credential: LapiCredential,
    /// The time between two requests for new decisions.
    pub frequency: Duration,
    /// The types of decisions to enforce, in lower case.
    pub types: Vec<String>,
    /// The origins of decisions to enforce. All if none.
    pub origins: Vec<String>,
    /// The scopes of decisions to enforce: some of `ip`, `range`, `as` and `country`.
    pub scopes: Vec<String>,
    /// Only scenarios with one of these words count. All if none.
    pub scenarios_containing: Vec<String>,
    /// Scenarios with one of these words do not count.
    pub scenarios_not_containing: Vec<String>,
    /// The ports on which decisions block. All ports if none.
    pub ports: Option<Clause>,
    /// The databases with the networks of countries and autonomous systems.
    pub database: Vec<PathBuf>,
    /// The share of decisions, in percent, that may go because an answer lacks them.
    pub max_shrink: u8,
    /// The largest number of decisions.
    pub max_entries: u64,
    /// The longest time that one request may take.
    pub timeout: Duration,
    /// The file with the only authorities that may vouch for the LAPI. Those of the system if none.
    pub authority: Option<PathBuf>,
}

/// What proves to a LAPI that filterd is one of its bouncers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LapiCredential {
    /// A key that `cscli bouncers add` made.
    Key(Secret),
    /// A client certificate, and its private key.
    Certificate { certificate: PathBuf, key: Secret },
}

/// The name of a LAPI by default. The names of its lists do not contain it.
pub const MAIN: &str = "main";

/// Each LAPI costs a process for each request.
const MOST_LAPIS: usize = 8;

/// A list is named after LAPI and origin, and has at most 32 characters.
const LONGEST_NAME: usize = 12;

/// The origins of CrowdSec begin with these words, and so do the names of the lists of the LAPI `main`.
pub const ORIGIN_WORDS: [&str; 5] = ["capi", "cscli", "crowdsec", "lists", "console"];

const SHORTEST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(60 * 60);
const OFTEN: Duration = Duration::from_secs(1);
const SELDOM: Duration = Duration::from_secs(10);

const EXAMPLE: &str = "write {api_url: http://127.0.0.1:8080, api_key: {file: secrets/crowdsec}}";
const KEY_EXAMPLE: &str =
    "write `api_key: {file: secrets/crowdsec}`, or `api_key: {credential: NAME}` for one of systemd's";
const KEY_NEEDED: &str = "`sudo cscli bouncers add filterd` shows a key: write it to the file secrets/crowdsec beside this one, and \
                          here `api_key: {file: secrets/crowdsec}`";
const DATABASE_EXAMPLE: &str =
    "write [/usr/share/GeoIP/GeoLite2-ASN.mmdb, /usr/share/GeoIP/GeoLite2-Country.mmdb]";

const KEYS: [MapKey<LapiDraft>; 18] = [
    MapKey { name: "name", take: name },
    MapKey { name: "api_url", take: api_url },
    MapKey { name: "api_key", take: api_key },
    MapKey {
        name: "cert",
        take: |faults, node, draft| {
            let number = node.number;
            draft.certificate = Some((file(faults, node, "the path of a certificate"), number));
        },
    },
    MapKey { name: "key", take: certificate_key },
    MapKey { name: "ca", take: ca },
    MapKey { name: "update_frequency", take: update_frequency },
    MapKey { name: "types", take: |faults, node, draft| types(faults, node, &mut draft.types) },
    MapKey { name: "origins", take: |faults, node, draft| origins(faults, node, &mut draft.origins) },
    MapKey { name: "scopes", take: |faults, node, draft| scopes(faults, node, &mut draft.scopes) },
    MapKey {
        name: "scenarios_containing",
        take: |faults, node, draft| {
            scenarios(faults, node, "`scenarios_containing`", &mut draft.containing);
        },
    },
    MapKey {
        name: "scenarios_not_containing",
        take: |faults, node, draft| {
            scenarios(faults, node, "`scenarios_not_containing`", &mut draft.not_containing);
        },
    },
    MapKey {
        name: "database",
        take: |faults, node, draft| {
            draft.database = chosen::paths(faults, node, DATABASE_EXAMPLE).unwrap_or_default();
        },
    },
    MapKey {
        name: "max_shrink",
        take: |faults, node, draft| share(faults, node, "`max_shrink`", &mut draft.limits.max_shrink),
    },
    MapKey {
        name: "max_entries",
        take: |faults, node, draft| {
            entries(faults, node, "`max_entries`", 1, &mut draft.limits.max_entries);
        },
    },
    MapKey {
        name: "timeout",
        take: |faults, node, draft| draft.timeout = feed::request_timeout(faults, node),
    },
    MapKey { name: "ports", take: |faults, node, draft| ports::only(faults, node, &mut draft.ports) },
    MapKey {
        name: "except_ports",
        take: |faults, node, draft| ports::except(faults, node, &mut draft.ports),
    },
];

/// Keys of CrowdSec's own bouncers, and the key here that means the same.
const ELSEWHERE: [(&str, &str); 12] = [
    ("url", "api_url"),
    ("lapi_url", "api_url"),
    ("lapi_key", "api_key"),
    ("cert_path", "cert"),
    ("key_path", "key"),
    ("ca_cert", "ca"),
    ("ca_cert_path", "ca"),
    ("only_include_decisions_from", "origins"),
    ("include_scenarios_containing", "scenarios_containing"),
    ("exclude_scenarios_containing", "scenarios_not_containing"),
    ("supported_decisions_types", "types"),
    ("supported_decisions_type", "types"),
];

/// The names of these keys.
#[cfg(test)]
pub fn keys() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.name)
}

/// A LAPI before all its keys were checked. A value that was given but is invalid is `Some(None)`.
#[derive(Default)]
struct LapiDraft {
    /// The number of the whole map.
    node: usize,
    name: Option<(String, usize)>,
    url: Option<(Url, usize)>,
    key: Option<(Option<Secret>, usize)>,
    certificate: Option<(Option<PathBuf>, usize)>,
    certificate_key: Option<Option<Secret>>,
    authority: Option<(Option<PathBuf>, usize)>,
    frequency: Option<Duration>,
    types: Vec<String>,
    origins: Vec<String>,
    scopes: Vec<String>,
    containing: Vec<String>,
    not_containing: Vec<String>,
    ports: PortKeys,
    database: Vec<PathBuf>,
    limits: Limits,
    timeout: Option<Duration>,
}

/// Parses the value of `crowdsec`: one LAPI, or a list of them.
pub fn crowdsec(faults: &mut ValueFaults, node: Node, config: &mut Config) {
    if matches!(node.value, YamlValue::Nothing) {
        return;
    }
    let items = node.one_or_several();
    if let Some(beyond) = items.get(MOST_LAPIS) {
        let message = format!("`crowdsec` has at most {MOST_LAPIS} LAPIs");
        return faults.tell(beyond.number, message, "let one LAPI collect the decisions of others");
    }
    let mut names = HashMap::new();
    for item in items {
        let YamlValue::Map(map) = item.value else {
            let message =
                format!("`crowdsec` must be a map of keys, or a list of maps, not {}", kind(&item.value));
            faults.tell(item.number, message, EXAMPLE);
            continue;
        };
        let (mut draft, before) = (LapiDraft { node: item.number, ..LapiDraft::default() }, faults.0.len());
        let map = without_keys_from_elsewhere(faults, map);
        let said = faults.fields(map, &KEYS, &mut draft);
        if !said.contains_key("api_url") {
            faults.tell(item.number, "this LAPI has no `api_url`", EXAMPLE);
        }
        let (name, node) = match draft.name.take() {
            Some(name) => name,
            None if said.contains_key("name") => continue,
            None => (MAIN.to_owned(), item.number),
        };
        let is_first = is_first(faults, &mut names, &name, node);
        let clause = std::mem::take(&mut draft.ports).check(false, faults);
        if let Some((clause, node)) = clause {
            ports::must_be_few(faults, config, clause, node);
            must_fit_names(faults, clause, node);
        }
        let ports = clause.map(|(clause, _)| clause);
        let Some(lapi) = draft.check(name, ports, faults) else { continue };
        if faults.0.len() == before && is_first && is_other_than(&config.crowdsec, &lapi, item.number, faults)
        {
            config.crowdsec.push(lapi);
        }
    }
}

/// Reports keys that CrowdSec's own bouncers have under another name, and removes them.
fn without_keys_from_elsewhere(faults: &mut ValueFaults, mut map: Vec<(Node, Node)>) -> Vec<(Node, Node)> {
    let is_ours = |(key, _): &(Node, Node)| {
        let YamlValue::Text(word) = &key.value else { return true };
        if word == "insecure_skip_verify" {
            let help = "name the file of the authority that signed LAPI's certificate: `ca: PATH`";
            faults.tell(key.number, "filterd never skips the check of a certificate", help);
            return false;
        }
        let Some((_, here)) = ELSEWHERE.iter().find(|(there, _)| there == word) else { return true };
        faults.tell(key.number, format!("unknown key `{word}`"), format!("filterd calls it `{here}`"));
        false
    };
    map.retain(is_ours);
    map
}

/// True if no other LAPI has this name.
fn is_first(faults: &mut ValueFaults, names: &mut HashMap<String, usize>, name: &str, node: usize) -> bool {
    if names.insert(name.to_owned(), node).is_none() {
        return true;
    }
    let message = format!("two LAPIs have the name `{}`", excerpt(name));
    faults.tell(node, message, "give each another `name`: their lists are named after it");
    false
}

/// The names of its lists end in the ports.
fn must_fit_names(faults: &mut ValueFaults, clause: Clause, node: usize) {
    if name_end(Some(clause)).len() > LONGEST_END {
        let message = "the ports of a LAPI are too long: the names of its lists end in them";
        let help = format!(
            "name fewer, or join neighbours: {LONGEST_END} characters are possible, as in `-only-22-80-443-8000_8100`"
        );
        faults.tell(node, message, help);
    }
}

/// A LAPI remembers for each key and client what it told last. Two readers with one key would each miss what
/// the other read, whatever their filters are.
fn is_other_than(known: &[LapiConfig], lapi: &LapiConfig, node: usize, faults: &mut ValueFaults) -> bool {
    let is_same = |other: &&LapiConfig| other.url == lapi.url && other.credential == lapi.credential;
    let Some(same) = known.iter().find(is_same) else { return true };
    let message = format!(
        "`{}` has the `api_url` and the key of `{}`, so each would miss decisions that the other reads",
        lapi.name, same.name
    );
    let help = format!("make a key for each: `sudo cscli bouncers add filterd-{}`", lapi.name);
    faults.tell(node, message, help);
    false
}

impl LapiDraft {
    /// Checks all keys together.
    fn check(mut self, name: String, ports: Option<Clause>, faults: &mut ValueFaults) -> Option<LapiConfig> {
        let credential = self.credential(faults);
        let (url, node) = self.url.take()?;
        self.check_encryption(&url, node, faults);
        let default = if url.is_loopback() { OFTEN } else { SELDOM };
        let or = |words: Vec<String>, default: &[&str]| match words.is_empty() {
            true => default.iter().map(|word| (*word).to_owned()).collect(),
            false => words,
        };
        let lapi = LapiConfig {
            name,
            url,
            credential: credential?,
            frequency: self.frequency.unwrap_or(default),
            types: or(self.types, &["ban"]),
            origins: self.origins,
            scopes: or(self.scopes, &words::SCOPES),
            scenarios_containing: self.containing,
            scenarios_not_containing: self.not_containing,
            ports,
            database: self.database,
            max_shrink: self.limits.max_shrink,
            max_entries: self.limits.max_entries,
            timeout: self.timeout.unwrap_or(feed::TIMEOUT),
            authority: self.authority.and_then(|(path, _)| path),
        };
        if lapi.decisions_url(true).is_err() {
            let help = "name fewer `origins` and scenarios: LAPI gets them within one URL of 4096 bytes";
            faults.tell(self.node, "the filters of this LAPI are too long", help);
        }
        Some(lapi)
    }

    /// None if it is missing or invalid, which is reported.
    fn credential(&mut self, faults: &mut ValueFaults) -> Option<LapiCredential> {
        match (self.key.take(), &self.certificate, self.certificate_key.take()) {
            (None, None, None) => {
                faults.tell(self.node, "this LAPI has neither `api_key` nor `cert`", KEY_NEEDED);
                None
            }
            (Some((key, _)), None, None) => key.map(LapiCredential::Key),
            (Some((_, node)), _, _) => {
                let message = "this LAPI has both an `api_key` and a certificate";
                faults.tell(node, message, "remove `api_key`, or `cert` and `key`");
                None
            }
            (None, Some((certificate, _)), Some(key)) => {
                Some(LapiCredential::Certificate { certificate: certificate.clone()?, key: key? })
            }
            (None, Some(_), None) => {
                faults.tell(self.node, "this LAPI has a `cert` without its `key`", "write `key: PATH`");
                None
            }
            (None, None, Some(_)) => {
                let help = "write `cert: PATH`; the key of a bouncer is `api_key`";
                faults.tell(self.node, "this LAPI has a `key` without its `cert`", help);
                None
            }
        }
    }

    fn check_encryption(&self, url: &Url, node: usize, faults: &mut ValueFaults) {
        if url.is_secure() {
            return;
        }
        if let Some((_, node)) = self.certificate {
            faults.tell(node, "a client certificate needs https", "write https:// in `api_url`");
        } else if !url.is_loopback() {
            let help = "write https://, or reach LAPI through a tunnel that ends at 127.0.0.1";
            faults.tell(node, "the key would be sent over plain http to another host", help);
        }
        if let Some((_, node)) = self.authority {
            faults.tell(
                node,
                "`ca` has no effect without https",
                "write https:// in `api_url`, or remove `ca`",
            );
        }
    }
}

impl LapiConfig {
    /// The URL of the decisions: all of them, or what changed since the last request.
    ///
    /// # Errors
    /// Never for a checked configuration: its filters fit.
    pub fn decisions_url(&self, all: bool) -> Result<Url, NotAUrl> {
        let mut query = format!("startup={all}&dedup=false&scopes={}", self.scopes.join(","));
        for (key, words) in [
            ("origins", &self.origins),
            ("scenarios_containing", &self.scenarios_containing),
            ("scenarios_not_containing", &self.scenarios_not_containing),
        ] {
            let words: Vec<_> = words.iter().map(|word| words::escaped(word)).collect();
            if !words.is_empty() {
                query += &format!("&{key}={}", words.join(","));
            }
        }
        self.url.append(&format!("/v1/decisions/stream?{query}"))
    }

    /// The address as the configuration says it.
    #[must_use]
    pub fn shown_url(&self) -> String {
        self.url.to_string().trim_end_matches('/').to_owned()
    }

    /// All filters of decisions.
    #[must_use]
    pub fn filters(&self) -> [&[String]; 5] {
        let Self { types, origins, scopes, scenarios_containing, scenarios_not_containing, .. } = self;
        [types, origins, scopes, scenarios_containing, scenarios_not_containing]
    }

    /// The URL that takes usage metrics.
    ///
    /// # Errors
    /// Never for a checked configuration: it is shorter than the URL of the decisions.
    pub fn metrics_url(&self) -> Result<Url, NotAUrl> {
        self.url.append("/v1/usage-metrics")
    }

    /// The permit for all requests to this LAPI. It may be on this host, and only there it is asked over http.
    #[must_use]
    pub fn permit(&self) -> Permit {
        let insecure = !self.url.is_secure();
        Permit { url: self.url.clone(), insecure, allow_private: true, is_api: true }
    }

    /// Resolves relative paths against the folder of the configuration.
    pub(super) fn relate_to(&mut self, folder: &Path) {
        let (secret, certificate) = match &mut self.credential {
            LapiCredential::Key(secret) => (secret, None),
            LapiCredential::Certificate { certificate, key } => (key, Some(certificate)),
        };
        let secret = match secret {
            Secret::File(path) => Some(path),
            Secret::Credential(_) => None,
        };
        let paths = self.database.iter_mut().chain(&mut self.authority).chain(secret).chain(certificate);
        paths.for_each(|path| *path = folder.join(&*path));
    }
}

fn name(faults: &mut ValueFaults, node: Node, draft: &mut LapiDraft) {
    let Some(TextValue { node, text }) = faults.text(node, "the name of a LAPI") else { return };
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    let begins =
        |word: &&&str| text.strip_prefix(**word).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    if text.is_empty() || text.len() > LONGEST_NAME || !text.bytes().all(is_plain) {
        let message = format!("`{}` cannot be the name of a LAPI", excerpt(&text));
        faults.tell(node, message, format!("write 1 to {LONGEST_NAME} of a-z, 0-9, _ and -, as in office"));
    } else if let Some(word) = ORIGIN_WORDS.iter().find(begins) {
        let message =
            format!("the name `{text}` is reserved: a list `crowdsec-{word}` belongs to the LAPI `{MAIN}`");
        faults.tell(node, message, "choose another name, such as office");
    } else {
        draft.name = Some((text, node));
    }
}

fn api_url(faults: &mut ValueFaults, node: Node, draft: &mut LapiDraft) {
    let example = "write it as in http://127.0.0.1:8080";
    let Some(TextValue { node, text }) = faults.text(node, "`api_url`") else { return };
    match Url::parse(&text) {
        Ok(url) if url.as_text().contains('?') => {
            faults.tell(node, "`api_url` cannot have a query", "remove it from the ? on");
        }
        Ok(url) => {
            let whole = url.as_text();
            let base = whole.trim_end_matches('/');
            let before = ["/v1", "/v1/decisions", "/v1/decisions/stream"]
                .iter()
                .find_map(|end| base.strip_suffix(end));
            match (before, Url::parse(base)) {
                (Some(before), _) => {
                    let message = "`api_url` is the address before /v1, which filterd adds";
                    faults.tell(node, message, format!("write {}", excerpt(before)));
                }
                (None, Ok(url)) => draft.url = Some((url, node)),
                (None, Err(error)) => {
                    faults.tell(node, format!("`api_url` cannot be used: {error}"), example)
                }
            }
        }
        Err(NotAUrl::UserInfo) => {
            let message = "`api_url` cannot be used: it contains a user name or password";
            faults.tell(node, message, "remove it: LAPI knows filterd by `api_key`, or by `cert` and `key`");
        }
        Err(error) => faults.tell(node, format!("`api_url` cannot be used: {error}"), example),
    }
}

/// A key in the configuration itself is refused, and not shown.
fn api_key(faults: &mut ValueFaults, node: Node, draft: &mut LapiDraft) {
    let number = node.number;
    draft.key = Some((secret(faults, node, "`api_key`", KEY_EXAMPLE), number));
}

/// A private key is a file, which may be named without a map.
fn certificate_key(faults: &mut ValueFaults, node: Node, draft: &mut LapiDraft) {
    let key = match &node.value {
        YamlValue::Text(text) if text.contains("-----BEGIN") => {
            faults.tell_secret(node.number, "`key` is a file, not the key itself", "write `key: PATH`");
            None
        }
        YamlValue::Text(_) => file(faults, node, "the path of a private key").map(Secret::File),
        YamlValue::Nothing
        | YamlValue::Bool(_)
        | YamlValue::Number(_)
        | YamlValue::List(_)
        | YamlValue::Map(_)
        | YamlValue::Tagged => {
            secret(faults, node, "`key`", "write `key: PATH`, or `key: {credential: NAME}`")
        }
    };
    draft.certificate_key = Some(key);
}

fn secret(faults: &mut ValueFaults, node: Node, subject: &str, example: &str) -> Option<Secret> {
    let number = node.number;
    match node.value {
        YamlValue::Map(map) => feed::secret(faults, map, number, subject, example),
        YamlValue::Text(_) | YamlValue::Number(_) => {
            let message = format!("{subject} is not the key itself, because others may read this file");
            faults.tell_secret(number, message, format!("put the key into a file, then {example}"));
            None
        }
        other @ (YamlValue::Nothing | YamlValue::Bool(_) | YamlValue::List(_) | YamlValue::Tagged) => {
            faults.tell(number, format!("{subject} must be a map of keys, not {}", kind(&other)), example);
            None
        }
    }
}

fn ca(faults: &mut ValueFaults, node: Node, draft: &mut LapiDraft) {
    let number = node.number;
    draft.authority = Some((file(faults, node, "the path of an authority"), number));
}

fn file(faults: &mut ValueFaults, node: Node, subject: &str) -> Option<PathBuf> {
    let word = faults.text(node, subject)?;
    path(faults, word, subject)
}

fn update_frequency(faults: &mut ValueFaults, node: Node, draft: &mut LapiDraft) {
    let parse = |word: &str| match word.strip_suffix("ms").map(|millis| millis.trim_end().parse()) {
        Some(millis) => millis.ok().map(Duration::from_millis),
        None => quantity::duration(word).ok(),
    };
    let help = "write 250ms to 1h, as in 10s";
    draft.frequency = feed::time_by(parse, faults, node, "`update_frequency`", SHORTEST..=LONGEST, help);
}
