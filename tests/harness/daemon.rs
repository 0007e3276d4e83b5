//! A running filterd: started, asked to stop, or killed, always by its own process id.

use std::fs::{self, File};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::Home;

/// Starting and stopping take milliseconds; this is for machines under load.
const PATIENCE: Duration = Duration::from_secs(30);

/// The process; killed when dropped.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    log: PathBuf,
    /// What of its log was forgotten, in bytes.
    forgotten: usize,
}

impl Daemon {
    /// Starts it and waits until it answers.
    #[track_caller]
    pub fn start(command: &mut Command, home: &Home) -> Self {
        let mut daemon = Self::spawn(command, home);
        daemon.wait_for("it does not listen", || UnixStream::connect(home.socket()).ok());
        // It listens while it still reads its lists. On a busy machine a million entries take longer than a ping waits.
        daemon.wait_for("it does not answer", || home.filterd(["ping"]).is_success().then_some(()));
        daemon
    }

    /// Starts it, and waits for nothing.
    pub fn spawn(command: &mut Command, home: &Home) -> Self {
        let log = home.path("log");
        let file = File::options().create(true).append(true).open(&log).expect("a home can be written");
        let also = file.try_clone().expect("a file can be shared");
        command.env("NO_COLOR", "1").stdin(Stdio::null()).stdout(file).stderr(also);
        let child = command.spawn().unwrap_or_else(|error| panic!("cannot start filterd: {error}"));
        Self { child, log, forgotten: 0 }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Has it not ended yet?
    pub fn is_running(&self) -> bool {
        is_running(self.id())
    }

    /// What it has written so far.
    pub fn log(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        log.get(self.forgotten..).unwrap_or_default().to_owned()
    }

    /// Forgets what it has written so far.
    pub fn forget_log(&mut self) {
        self.forgotten += self.log().len();
    }

    /// Waits until it has written this.
    #[track_caller]
    pub fn wait_for_log(&mut self, words: &str) {
        let log = self.log.clone();
        let forgotten = self.forgotten;
        self.wait_for(&format!("it does not say {words:?}"), || {
            std::fs::read_to_string(&log).ok()?.get(forgotten..)?.contains(words).then_some(())
        });
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.id()).expect("process ids are small");
        kill(Pid::from_raw(id), signal).expect("it is our child and not yet waited for");
    }

    /// Sends it a signal that should end it, and waits for the end.
    #[track_caller]
    pub fn end(self, signal: Signal) -> ExitStatus {
        self.signal(signal);
        self.wait()
    }

    /// Waits for its end.
    #[track_caller]
    pub fn wait(mut self) -> ExitStatus {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                return status;
            }
            thread::sleep(Duration::from_millis(2));
        }
        panic!("it does not end; its log:\n{}", self.log());
    }

    /// Waits until that is so, alive or not.
    #[track_caller]
    pub fn wait_for_silence(&mut self, otherwise: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < PATIENCE, "{otherwise}; its log:\n{}", self.log());
        }
    }

    /// Waits until `look` finds what it looks for.
    #[track_caller]
    pub fn wait_for<T>(&mut self, otherwise: &str, look: impl Fn() -> Option<T>) -> T {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(found) = look() {
                return found;
            }
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                panic!("filterd ended ({status}); its log:\n{}", self.log());
            }
            thread::sleep(Duration::from_millis(2));
        }
        panic!("{otherwise}; its log:\n{}", self.log());
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("-- the log of filterd:\n{}", self.log());
        }
    }
}

/// True unless the process has ended. A zombie has ended: it only waits for its parent to ask how.
pub fn is_running(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The state stands behind the name.
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.starts_with(" Z"))
}

/// The processes that this one has started and that have not been waited for.
pub fn children_of(process: u32) -> io::Result<Vec<u32>> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"))?;
    Ok(children.split_whitespace().filter_map(|child| child.parse().ok()).collect())
}
