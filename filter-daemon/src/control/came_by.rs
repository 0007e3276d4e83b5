//! Finds the SSH connection of the user who runs a command. sshd passes it in the environment. After sudo,
//! only a process further up has it, whose environment root may read.
//!
//! Requests that may cut this host off carry it, and filterd asks the kernel whether the connection is open
//! (`host::Connection`).

use std::fs;

/// The name of sshd's variable.
const NAME: &str = "SSH_CONNECTION";

/// The most processes between a command and its sshd.
const MOST: usize = 32;

/// The value of the variable: address and port of the client, then those of this host.
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

/// Finds the variable in an environment as the kernel shows it.
fn in_(environment: &[u8]) -> Option<String> {
    let of = |word: &[u8]| Some(word.strip_prefix(NAME.as_bytes())?.strip_prefix(b"=")?.to_vec());
    String::from_utf8(environment.split(|byte| *byte == 0).find_map(of)?).ok()
}

/// Reads the parent from a process's `stat`. The name in it may contain any characters, even brackets.
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
