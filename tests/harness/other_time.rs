//! Another time for a filterd to live in: later by the time since boot while the clock on the wall says what it says, as if
//! somebody had set it back; and perhaps in another boot.
//!
//! Nobody sets the clock of the machine on which stories run. A namespace of time shifts the time since boot, and another
//! file lies where the kernel says which boot it is.

use crate::limited::LimitedChild;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::Home;

/// What is done in a namespace of mounts, before the program behind it.
const IN_ANOTHER_BOOT: &str = r#"mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@""#;

/// Which time it is; gone when dropped.
#[derive(Debug)]
pub struct OtherTime {
    /// Holds the namespace.
    holder: Option<Child>,
    words: Vec<String>,
}

impl OtherTime {
    /// The same boot, so much later by the time since boot.
    pub fn later(by: Duration) -> Self {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "unshare", "--time", &format!("--boottime={}", by.as_secs())]);
        command.args(["--fork", "--kill-child", "sh", "-c", "echo; exec sleep 1000000"]);
        let mut holder =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("unshare is there");
        let said = holder.stdout.take().expect("it is piped");
        // It says a word once it is in there.
        let begun = BufReader::new(said).lines().next();
        assert!(matches!(begun, Some(Ok(_))), "root may make a namespace of time");
        let time = format!("--time=/proc/{}/ns/time_for_children", holder.id());
        Self { holder: Some(holder), words: ["nsenter".to_owned(), time, "--".to_owned()].into() }
    }

    /// Another boot, whose name is in a file of this home.
    pub fn after_a_reboot(home: &Home) -> Self {
        let id = home.path("boot-id");
        fs::write(&id, "01234567-89ab-4cde-8f01-23456789abcd\n").expect("a home can be written");
        let id = id.display().to_string();
        let words = ["unshare", "--mount", "--", "sh", "-c", IN_ANOTHER_BOOT, &id];
        Self { holder: None, words: words.map(str::to_owned).into() }
    }

    /// The boot of this number (0: the one that it is), so much later by the time since boot than it is.
    pub fn of(home: &Home, boot: u32, later: Duration) -> Self {
        let mut time = Self::later(later);
        if boot > 0 {
            let id = home.path("boot-id");
            // A file of its own each time: a filterd that runs goes on reading the one it has.
            let _ = fs::remove_file(&id);
            fs::write(&id, format!("{boot:08x}-89ab-4cde-8f01-23456789abcd\n"))
                .expect("a home can be written");
            let id = id.display().to_string();
            time.words
                .extend(["unshare", "--mount", "--", "sh", "-c", IN_ANOTHER_BOOT, &id].map(str::to_owned));
        }
        time
    }

    /// What is put before a command that is to live in it, which keeps its process id.
    pub fn words(&self) -> &[String] {
        &self.words
    }
}

impl Drop for OtherTime {
    fn drop(&mut self) {
        if let Some(mut holder) = self.holder.take() {
            let _ = holder.kill();
            let _ = holder.limited_wait();
        }
    }
}
