//! A disk that is soon full.

use std::fs;
use std::process::Command;

/// A file system of two mebibytes.
#[derive(Debug)]
pub struct SmallDisk {
    at: String,
}

impl SmallDisk {
    /// Mounts it there.
    #[track_caller]
    pub fn mount(at: &str) -> Self {
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m,mode=0700", "filterd-test", at])
            .status();
        assert!(done.expect("mount can be run").success());
        Self { at: at.to_owned() }
    }

    /// Takes nothing any more, or does again. Nobody may have a file of it open to write.
    #[track_caller]
    pub fn is_read_only(&self, is_so: bool) {
        let how = if is_so { "remount,ro" } else { "remount,rw" };
        let done = Command::new("mount").args(["-o", how, &self.at]).status();
        assert!(done.expect("mount can be run").success());
    }

    /// Fills it, by a file of which filterd believes that it is its own: it is to start beside it.
    pub fn fill(&self) {
        // Until it is full, which it says by an error.
        let _ = fs::write(format!("{}/live.redb.ballast", self.at), vec![1; 4 << 20]);
    }

    /// What was filled is empty again.
    pub fn make_room(&self) {
        fs::remove_file(format!("{}/live.redb.ballast", self.at)).expect("it is there");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l", &self.at]).status();
    }
}
