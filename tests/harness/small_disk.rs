//! A disk that is soon full.

use crate::limited::LimitedCommand;
use std::fs;
use std::process::Command;

use crate::Home;

/// A file system of two mebibytes.
#[derive(Debug)]
pub struct SmallDisk {
    at: String,
}

impl SmallDisk {
    /// It is the state directory of this home, in which there was none.
    #[track_caller]
    pub fn of_state(home: &Home) -> Self {
        let at = home.path("state");
        fs::create_dir(&at).expect("a home can be written");
        let at = at.display().to_string();
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m,mode=0700", "filterd-test", &at])
            .limited_status();
        assert!(done.expect("mount can be run").success());
        Self { at }
    }

    /// Takes nothing any more, or does again. Nobody may have a file of it open to write.
    #[track_caller]
    pub fn is_read_only(&self, is_so: bool) {
        let how = if is_so { "remount,ro" } else { "remount,rw" };
        let done = Command::new("mount").args(["-o", how, &self.at]).limited_status();
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
        let _ = Command::new("umount").args(["-l", &self.at]).limited_status();
    }
}
