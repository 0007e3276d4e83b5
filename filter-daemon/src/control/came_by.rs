//! By which SSH connection whoever runs a command has come, as sshd tells those it starts: in their environment. Behind sudo it
//! is in that of a process further up, which root may read.
//!
//! filterd is told it with what may cut this host off from others, and asks the kernel whether it stands (`host::Connection`).

use std::fs;

/// What sshd calls it.
const NAME: &str = "SSH_CONNECTION";

/// More processes between a command and its sshd than anybody has.
const MOST: usize = 32;

/// As it is said there: address and port of the other end, and ours.
pub fn connection() -> Option<String> {
    if let Some(own) = std::env::var_os(NAME) {
        return own.into_string().ok();
    }
    let mut process = nix::unistd::getppid().as_raw();
    for _ in 0..MOST {
        if process <= 1 {
            return None;
        }
        if let Some(connection) = fs::read(format!("/proc/{process}/environ")).ok().and_then(|all| in_(&all))
        {
            return Some(connection);
        }
        process = parent(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)?;
    }
    None
}

/// In an environment as the kernel shows it.
fn in_(environment: &[u8]) -> Option<String> {
    let of = |word: &[u8]| Some(word.strip_prefix(NAME.as_bytes())?.strip_prefix(b"=")?.to_vec());
    String::from_utf8(environment.split(|byte| *byte == 0).find_map(of)?).ok()
}

/// The parent of a process, of which this is said. Its name may have any characters, brackets too.
fn parent(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_and_a_family_are_read() {
        let environment = b"HOME=/root\0SSH_CONNECTION=192.0.2.7 5 192.0.2.1 22\0X_SSH_CONNECTION=1\0";
        assert_eq!(in_(environment).as_deref(), Some("192.0.2.7 5 192.0.2.1 22"));
        assert_eq!(in_(b"SSH_CONNECTIONS=1\0X=SSH_CONNECTION=2\0"), None);
        assert_eq!(parent("7 (a ) b) S 42 7 7 0"), Some(42));
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        assert_eq!(parent(&own), Some(nix::unistd::getppid().as_raw()));
    }
}
