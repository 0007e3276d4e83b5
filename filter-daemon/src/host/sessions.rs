//! Who is logged in from elsewhere, as logind tells it: a file for each session, `KEY=value` a line.

use std::fs;
use std::path::Path;

use super::{Fact, What, plain, text};

/// The remote hosts of all sessions in this directory.
pub fn facts(directory: &Path) -> Vec<Fact> {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    files.filter_map(|file| fact(&text(&file.path()))).collect()
}

/// The remote host of one. A name in place of an address says nothing: whoever resolves it may be told anything.
fn fact(session: &str) -> Option<Fact> {
    let value = |key: &str| session.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let host = value("REMOTE_HOST").filter(|_| value("REMOTE") == Some("1"))?;
    let address = host.split('%').next()?.parse().ok()?;
    let user = value("USER").unwrap_or_default().to_owned();
    Some(Fact { address: plain(address), what: What::Session(user) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_tells_where_it_comes_from() {
        let remote = "# This is private data.\nUID=0\nUSER=root\nACTIVE=1\nREMOTE=1\nREMOTE_HOST=192.0.2.7\n";
        let what = What::Session("root".to_owned());
        assert_eq!(fact(remote), Some(Fact { address: "192.0.2.7".parse().unwrap(), what }));
        assert_eq!(fact("REMOTE=0\nREMOTE_HOST=192.0.2.7\n"), None);
        assert_eq!(fact("REMOTE=1\nREMOTE_HOST=desk.example.org\n"), None);
        assert_eq!(
            fact("REMOTE=1\nREMOTE_HOST=::ffff:192.0.2.7\n").unwrap().address.to_string(),
            "192.0.2.7"
        );
        assert_eq!(fact(""), None);
    }

    #[test]
    fn a_host_without_logind_has_no_sessions() {
        assert_eq!(facts(Path::new("/nowhere")), []);
    }
}
