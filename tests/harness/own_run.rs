//! A /run of its own for a filterd: with the sessions and name servers that a story says, whoever is logged in on the machine.

use std::fs;
use std::path::PathBuf;

use crate::Home;

/// What is done in a namespace of mounts, before the program behind it.
const WITH_OWN_RUN: &str = r#"mount --bind "$0" /run && exec "$@""#;

/// Its directory, in a home.
#[derive(Clone, Debug)]
pub struct OwnRun {
    directory: PathBuf,
    words: Vec<String>,
}

impl OwnRun {
    /// One in which nobody is logged in, and no name server is known.
    pub fn in_home(home: &Home) -> Self {
        let directory = home.path("run");
        for place in ["systemd/sessions", "systemd/resolve"] {
            fs::create_dir_all(directory.join(place)).expect("a home can be written");
        }
        let place = directory.display().to_string();
        let words = ["unshare", "--mount", "--", "sh", "-c", WITH_OWN_RUN, &place];
        Self { words: words.map(str::to_owned).into(), directory }
    }

    /// What is put before a command that is to live with it, which keeps its process id.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// A user comes from there, as logind writes it down.
    pub fn login(&self, user: &str, from: &str) {
        let session =
            format!("UID=1000\nUSER={user}\nACTIVE=1\nSTATE=active\nREMOTE=1\nREMOTE_HOST={from}\n");
        // As logind does it: nobody reads half of one.
        let (new, session_file) = (self.directory.join("new"), self.session(user));
        fs::write(&new, session).expect("a home can be written");
        fs::rename(new, session_file).expect("a home can be written");
    }

    /// That user is gone.
    pub fn logout(&self, user: &str) {
        fs::remove_file(self.session(user)).expect("it was there");
    }

    /// These name servers are asked, and no others.
    pub fn ask_names_of(&self, servers: &[&str]) {
        let lines: String = servers.iter().map(|server| format!("nameserver {server}\n")).collect();
        fs::write(self.directory.join("systemd/resolve/resolv.conf"), lines).expect("a home can be written");
    }

    fn session(&self, user: &str) -> PathBuf {
        self.directory.join("systemd/sessions").join(user)
    }
}
