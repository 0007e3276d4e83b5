//! A disk that is soon full.

use crate::limited::LimitedCommand;
use std::fs;
use std::process::Command;

use nix::sys::statfs::statfs;

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
        Self::of_state_with(home, "2m")
    }

    /// The same with this size, as `mount` takes it.
    #[track_caller]
    pub fn of_state_with(home: &Home, size: &str) -> Self {
        let at = home.path("state");
        fs::create_dir(&at).expect("a home can be written");
        let at = at.display().to_string();
        let options = format!("size={size},mode=0700");
        let done =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "filterd-test", &at]).limited_status();
        assert!(done.expect("mount can be run").success());
        Self { at }
    }

    /// Takes nothing any more, or does again. Nobody may have a file of it open to write.
    #[track_caller]
    pub fn is_read_only(&self, is_so: bool) {
        self.remount(if is_so { "ro" } else { "rw" });
    }

    /// Takes away all free space at once.
    #[track_caller]
    pub fn shrink_to_its_content(&self) {
        let found = statfs(self.at.as_str()).expect("it is mounted");
        let used = found.blocks() - found.blocks_free();
        self.remount(&format!("size={}", used * u64::try_from(found.block_size()).expect("a size")));
    }

    /// Has this size from now on, as `mount` takes it.
    #[track_caller]
    pub fn resize(&self, size: &str) {
        self.remount(&format!("size={size}"));
    }

    #[track_caller]
    fn remount(&self, how: &str) {
        let how = format!("remount,{how}");
        let done = Command::new("mount").args(["-o", &how, &self.at]).limited_status();
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
