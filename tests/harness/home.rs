//! The places of one filterd: its socket, state, pins, configuration and log, all its own.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use nix::mount::{MsFlags, mount};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use tempfile::TempDir;

use crate::{Reply, leftovers, program};

const BPFFS: &str = "/sys/fs/bpf";

/// Set in guests (tests/vm/init.sh). An emulated kernel may check a program for longer than the usual five seconds.
const PATIENT: &str = "FILTERD_PATIENT";

/// Where one filterd lives; removed when dropped.
#[derive(Debug)]
pub struct Home {
    directory: TempDir,
    pins: PathBuf,
    /// Whoever asks waits for an answer as long as this machine takes.
    is_patient: AtomicBool,
}

impl Home {
    /// A new home, with a name that nobody else on this machine has.
    #[expect(clippy::new_without_default, reason = "a home is a place, not a value")]
    pub fn new() -> Self {
        static PREPARED: Once = Once::new();
        PREPARED.call_once(|| {
            mount_bpffs();
            leftovers::remove();
        });
        let name = leftovers::unique_name();
        let directory = tempfile::Builder::new().prefix(&name).tempdir().expect("/tmp can be written");
        // The daemon is another user, and reads configuration and lists here.
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).expect("it is ours");
        Self {
            directory,
            pins: Path::new(BPFFS).join(name),
            is_patient: AtomicBool::new(env::var_os(PATIENT).is_some()),
        }
    }

    /// A file of this home.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The control socket.
    pub fn socket(&self) -> PathBuf {
        self.path("control.sock")
    }

    /// The directory in which maps and links are pinned.
    pub fn pins(&self) -> &Path {
        &self.pins
    }

    /// Writes a file of this home. `$HOME` in it stands for the home's directory.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let text = text.replace("$HOME", &self.directory.path().display().to_string());
        let path = self.path(name);
        fs::write(&path, text).expect("a home can be written");
        path
    }

    /// The words that make any filterd a daemon of this home. It becomes whom it becomes on this machine: never root.
    pub fn daemon_arguments(&self) -> Vec<String> {
        let word = |flag: &str, path: &Path| [flag.to_owned(), path.display().to_string()];
        let state = word("--state-dir", &self.path("state"));
        [word("--socket", &self.socket()), state, word("--pin-dir", &self.pins)].concat()
    }

    /// From here on nobody gives up after the usual five seconds: for stories that ask for much on machines that do much else.
    pub fn be_patient(&self) {
        self.is_patient.store(true, Ordering::Relaxed);
    }

    /// Runs a verb against the daemon of this home.
    pub fn filterd(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Reply {
        self.run(&mut Command::new(binary()), words, Stdio::null())
    }

    /// Runs a verb with this, `NAME=VALUE`, in its environment.
    pub fn filterd_where(&self, said: &str, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Reply {
        let (name, value) = said.split_once('=').expect("it is NAME=VALUE");
        self.run(Command::new(binary()).env(name, value), words, Stdio::null())
    }

    /// The same, killed where it takes longer: of what may wait for ever.
    pub fn filterd_within(&self, seconds: u32, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Reply {
        let mut bounded = Command::new("timeout");
        bounded.args(["--signal=KILL", &seconds.to_string()]).arg(binary());
        self.run(&mut bounded, words, Stdio::null())
    }

    /// Runs a verb with this on its standard input.
    pub fn filterd_reading(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>, input: &str) -> Reply {
        // A file for each: several clients may ask at once.
        static ASKED: AtomicU32 = AtomicU32::new(0);
        let name = format!("standard-input-{}", ASKED.fetch_add(1, Ordering::Relaxed));
        let path = self.write(&name, input);
        let input = fs::File::open(&path).expect("it was just written");
        fs::remove_file(path).expect("it was just written");
        self.run(&mut Command::new(binary()), words, Stdio::from(input))
    }

    /// Lets every user of the machine read what is in it.
    pub fn readable_by_all(&self) {
        fs::set_permissions(self.directory.path(), Permissions::from_mode(0o755)).expect("it is ours");
    }

    /// Runs a verb as another user of the machine, who may look into this home.
    pub fn filterd_as(&self, user: u32, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Reply {
        // The build may stand where other users cannot reach it.
        let copy = self.path("filterd");
        program::copied(binary(), &copy);
        self.readable_by_all();
        self.run(Command::new(copy).uid(user).gid(user), words, Stdio::null())
    }

    fn run(
        &self,
        filterd: &mut Command,
        words: impl IntoIterator<Item = impl AsRef<OsStr>>,
        input: Stdio,
    ) -> Reply {
        if self.is_patient.load(Ordering::Relaxed) {
            filterd.args(["--timeout", "2m"]);
        }
        filterd.args(words).env("FILTERD_SOCKET", self.socket()).env("NO_COLOR", "1");
        Reply::of(filterd.stdin(input))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.pins);
    }
}

/// The program under test: `FILTERD_BIN`, else the newest build beside this test.
pub fn binary() -> PathBuf {
    if let Some(named) = std::env::var_os("FILTERD_BIN") {
        return PathBuf::from(named);
    }
    let test = std::env::current_exe().expect("a running test has a file");
    let profiles = test.ancestors().nth(3).expect("target/PROFILE/deps/TEST");
    let builds = ["release", "debug"].map(|profile| profiles.join(profile).join("filterd"));
    let built = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
    let newest = builds.into_iter().filter(|path| path.exists()).max_by_key(built);
    newest.expect("build it first: cargo build -p filter-daemon, or set FILTERD_BIN")
}

/// Lets the daemon read this secret, and nobody else.
pub fn give_to_daemon(secret: &Path) {
    chown(secret, None, Some(filterd::accounts::own().gid.as_raw())).expect("we are root");
    fs::set_permissions(secret, Permissions::from_mode(0o640)).expect("it is ours");
}

fn mount_bpffs() {
    let mounted = statfs(BPFFS).is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC);
    if !mounted {
        let nothing = None::<&str>;
        mount(Some("bpf"), BPFFS, Some("bpf"), MsFlags::empty(), nothing).expect("root may mount bpffs");
    }
}
