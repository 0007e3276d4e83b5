//! The default paths of filterd.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::text::printable;

/// The path of the control socket.
pub const SOCKET: &str = "/run/filterd/control.sock";

/// The state directory, for what survives a restart.
pub const STATE: &str = "/var/lib/filterd";

/// The pins, which continue to filter while no daemon runs.
pub const PINS: &str = "/sys/fs/bpf/filterd";

/// The path of the configuration.
pub const CONFIG: &str = "/etc/filterd/filterd.yaml";

/// What records the configuration that last took effect, in the state directory. An earlier filterd had the
/// second name.
pub const CONFIG_COPIES: [&str; 2] = ["current", "configuration.yaml"];

/// The longest path of a Unix socket, without the terminating zero.
const LONGEST_SOCKET: usize = 107;

/// Checks a directory for pins. Its path must be UTF-8, because it is sent in a line of text.
pub fn pins(path: OsString) -> Result<PathBuf, String> {
    path.into_string().map(PathBuf::from).map_err(|_| "the path of the pins must be UTF-8".to_owned())
}

/// Checks that there can be a socket at this path.
pub fn check_socket(path: &Path) -> Result<(), String> {
    match path.as_os_str().as_bytes() {
        [] => Err("the path of the control socket is empty".to_owned()),
        bytes if bytes.len() > LONGEST_SOCKET => Err(format!(
            "the path of the control socket has {} bytes, but Unix sockets have at most {LONGEST_SOCKET}: {}",
            bytes.len(),
            printable::path(path)
        )),
        bytes if bytes.contains(&0) => Err("the path of the control socket has a zero byte".to_owned()),
        _ => Ok(()),
    }
}
