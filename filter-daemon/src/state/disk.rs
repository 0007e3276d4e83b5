//! Every change of a file goes through here, so that tests can let each of them fail.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;

/// The file system. In tests, one operation or all operations from one on can fail.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    #[cfg(test)]
    pub faults: Option<std::sync::Arc<super::tests::faults::Faults>>,
}

impl Disk {
    #[cfg(not(test))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "tests let operations fail")]
    fn permit(&self) -> io::Result<()> {
        Ok(())
    }

    #[cfg(test)]
    fn permit(&self) -> io::Result<()> {
        self.faults.as_ref().map_or(Ok(()), |faults| faults.next())
    }

    /// Makes a directory with its parents, which only its owner can enter.
    pub fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.permit()?;
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    /// Makes a new file that only its owner can read.
    pub fn create(&self, path: &Path) -> io::Result<File> {
        self.permit()?;
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
    }

    pub fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        self.permit()?;
        file.write_all(bytes)
    }

    /// Replaces bytes of an existing file, which takes no room. They are on disk when this returns.
    pub fn overwrite(&self, path: &Path, bytes: &[u8], at: u64) -> io::Result<()> {
        self.permit()?;
        let file = OpenOptions::new().write(true).open(path)?;
        file.write_all_at(bytes, at)?;
        file.sync_data()
    }

    pub fn sync(&self, file: &File) -> io::Result<()> {
        self.permit()?;
        file.sync_all()
    }

    /// A name is on disk only when its directory is.
    pub fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.permit()?;
        File::open(path)?.sync_all()
    }

    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.permit()?;
        fs::rename(from, to)
    }

    /// Removes a file. A missing file is no error.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        self.permit()?;
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}
