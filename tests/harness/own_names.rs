//! Names and authorities of its own for a filterd: whoever has a name there, and whoever is trusted, is what a story says.

use std::fs;
use std::path::PathBuf;

use crate::{Authority, Home};

/// What is done in a namespace of mounts, before the program behind it.
const WITH_OWN_NAMES: &str = r#"
: >> /etc/hosts && : >> /etc/resolv.conf && mount --bind "$0/hosts" /etc/hosts && mount --bind "$0/resolv.conf" /etc/resolv.conf &&
export SSL_CERT_FILE="$0/trusted.pem" && unset SSL_CERT_DIR && exec "$@""#;

/// Their files, in a home; `Net::starts_through` has a filterd live with them.
#[derive(Clone, Debug)]
pub struct OwnNames {
    directory: PathBuf,
    words: Vec<String>,
}

impl OwnNames {
    /// Nobody has a name, nobody is trusted, and whoever asks for names asks this server.
    pub fn in_home(home: &Home, server: &str) -> Self {
        let directory = home.path("names");
        fs::create_dir_all(&directory).expect("a home can be written");
        let resolv = format!("nameserver {server}\noptions timeout:1 attempts:1\n");
        fs::write(directory.join("resolv.conf"), resolv).expect("a home can be written");
        let place = directory.display().to_string();
        let words = ["unshare", "--mount", "--", "sh", "-c", WITH_OWN_NAMES, &place];
        let this = Self { words: words.map(str::to_owned).into(), directory };
        this.knows(&[]);
        this.trusts(&[]);
        this
    }

    /// What is put before a command that is to live with them, which keeps its process id.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    /// These have names from now on, each with its address, and nobody else.
    pub fn knows(&self, hosts: &[(&str, &str)]) {
        let lines: String = hosts.iter().map(|(name, address)| format!("{address} {name}\n")).collect();
        // The very file that is mounted.
        fs::write(self.directory.join("hosts"), lines).expect("a home can be written");
    }

    /// These are trusted from now on, and nobody else.
    pub fn trusts(&self, authorities: &[&Authority]) {
        let all: String = authorities.iter().map(|authority| authority.pem()).collect();
        fs::write(self.directory.join("trusted.pem"), all).expect("a home can be written");
    }
}
