//! Where filterd keeps its things, unless it is told otherwise.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::text::printable;

/// The control socket.
pub const SOCKET: &str = "/run/filterd/control.sock";

/// What must survive a restart.
pub const STATE: &str = "/var/lib/filterd";

/// What keeps filtering while no daemon runs.
pub const PINS: &str = "/sys/fs/bpf/filterd";

/// The configuration.
pub const CONFIG: &str = "/etc/filterd/filterd.yaml";

/// In the state directory: the configuration that came into force last.
pub const CONFIG_COPY: &str = "configuration.yaml";

/// What the kernel takes for the path of a Unix socket, less the closing zero.
const LONGEST_SOCKET: usize = 107;

/// Can the pins be in this directory? Its name goes over a line that is text.
pub fn pins(path: OsString) -> Result<PathBuf, String> {
    path.into_string().map(PathBuf::from).map_err(|_| "the path of the pins must be UTF-8".to_owned())
}

/// Can there be a socket at this path?
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
