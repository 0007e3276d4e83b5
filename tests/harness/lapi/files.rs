//! The configuration of a LAPI in a home, and the files of CrowdSec's package that it needs.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{BOUNCERS, KEY, LapiSetup};
use crate::give_to_daemon;

/// CrowdSec's parsers and scenarios, and their index.
const HUB: &str = "usr/share/crowdsec/hub";

/// What the hub must have to parse lines of sshd and to find brute force.
const ITEMS: [&str; 4] = [
    "parsers/s00-raw/crowdsecurity/syslog-logs.yaml",
    "parsers/s01-parse/crowdsecurity/sshd-logs.yaml",
    "parsers/s02-enrich/crowdsecurity/dateparse-enrich.yaml",
    "scenarios/crowdsecurity/ssh-bf.yaml",
];

/// The patterns that these items use. All of them together take five seconds longer to load.
const PATTERNS: [&str; 3] = ["linux-syslog", "ssh", "nginx"];

const PROFILES: &str = "\
name: ban
filters: ['Alert.Remediation == true && Alert.GetScope() == \"Ip\"']
decisions: [{type: ban, duration: 4h}]
on_success: break
";

/// Where CrowdSec's package is installed, or unpacked by `cargo xtask`.
pub fn root() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let directories = env::split_paths(&path).filter(|directory| directory.join("crowdsec").is_file());
    // The program itself is in ROOT/usr/bin. A wrapper of it is in the directory `bin` beside ROOT.
    let mut roots =
        directories.flat_map(|directory| [directory.join("../.."), directory.join("../crowdsec")]);
    roots.find(|root| root.join(HUB).is_dir())
}

/// The main configuration file.
pub fn configuration(directory: &Path) -> PathBuf {
    directory.join("config.yaml")
}

/// Makes the directory of a LAPI with everything but its database.
pub fn write(directory: &Path, setup: &LapiSetup<'_>) {
    for part in ["data", "hub", "etc", "plugins", "notifications"] {
        fs::create_dir_all(directory.join(part)).expect("a home can be written");
    }
    let write = |name: &str, text: &str| {
        let path = directory.join(name);
        fs::write(&path, text).expect("a home can be written");
        path
    };
    write("profiles.yaml", PROFILES);
    write("simulation.yaml", "simulation: false\n");
    write("credentials.yaml", "");
    let key = write("key", &format!("{KEY}\n"));
    give_to_daemon(&key);
    if let Some(authority) = setup.authority {
        let (certificate, key) = authority.written("127.0.0.1");
        write("certificate.pem", &certificate);
        write("certificate-key.pem", &key);
        authority.write(&directory.join("authority.pem"));
    }
    if let Some(log) = setup.log {
        write("acquisition.yaml", &format!("filenames: ['{}']\nlabels: {{type: syslog}}\n", log.display()));
        link_items(directory);
    }
    write("config.yaml", &configured(directory, setup));
}

/// The access of cscli and of CrowdSec itself.
pub fn write_credentials(directory: &Path, url: &str, machine: &str, password: &str) {
    let authority = directory.join("authority.pem");
    let trusted = match authority.exists() {
        true => format!("ca_cert_path: {}\n", authority.display()),
        false => String::new(),
    };
    let credentials = format!("url: {url}\nlogin: {machine}\npassword: {password}\n{trusted}");
    fs::write(directory.join("credentials.yaml"), credentials).expect("a home can be written");
}

pub fn remove_database(directory: &Path) {
    let data = directory.join("data");
    fs::remove_dir_all(&data).and_then(|()| fs::create_dir(&data)).expect("a home can be written");
}

/// Lets CrowdSec find the parsers and the scenario, as its package's installation does.
fn link_items(directory: &Path) {
    let root = root().expect("it was just asked its version");
    let link = |from: PathBuf, to: PathBuf| {
        fs::create_dir_all(to.parent().expect("it is in a directory")).expect("a home can be written");
        symlink(from, to).expect("a home can be written");
    };
    fs::remove_dir(directory.join("hub")).expect("it is still empty");
    link(root.join(HUB).canonicalize().expect("it is there"), directory.join("hub"));
    for item in ITEMS {
        // CrowdSec counts directories, and wants no vendor among them.
        link(
            directory.join("hub").join(item),
            directory.join("etc").join(item.replace("crowdsecurity/", "")),
        );
    }
    for pattern in PATTERNS {
        let from = root.join("etc/crowdsec/patterns").join(pattern);
        link(from.canonicalize().expect("it is there"), directory.join("etc/patterns").join(pattern));
    }
}

/// Without `online_client` there is no central API.
fn configured(directory: &Path, setup: &LapiSetup<'_>) -> String {
    let (here, port) = (directory.display(), setup.port);
    let tls = match setup.authority {
        Some(_) => format!(
            "    tls: {{cert_file: {here}/certificate.pem, key_file: {here}/certificate-key.pem, \
             ca_cert_path: {here}/authority.pem, client_verification: VerifyClientCertIfGiven, \
             bouncers_allowed_ou: [{BOUNCERS}], agents_allowed_ou: [agents]}}\n"
        ),
        None => String::new(),
    };
    let service = match setup.log {
        Some(_) => {
            format!("crowdsec_service: {{acquisition_path: {here}/acquisition.yaml, parser_routines: 1}}\n")
        }
        None => String::new(),
    };
    format!(
        "\
common: {{daemonize: false, log_media: stdout, log_level: info}}
config_paths:
  config_dir: {here}/etc
  data_dir: {here}/data
  simulation_path: {here}/simulation.yaml
  hub_dir: {here}/hub
  index_path: {here}/hub/.index.json
  notification_dir: {here}/notifications
  plugin_dir: {here}/plugins
cscli: {{output: human, color: 'no'}}
db_config: {{type: sqlite, db_path: {here}/data/crowdsec.db, use_wal: true, log_level: info}}
api:
  client: {{insecure_skip_verify: false, credentials_path: {here}/credentials.yaml}}
  server:
    log_level: info
    listen_uri: 127.0.0.1:{port}
    profiles_path: {here}/profiles.yaml
    console_path: {here}/console.yaml
{tls}{service}prometheus: {{enabled: false}}
"
    )
}
