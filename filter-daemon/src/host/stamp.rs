//! Detects changes of files without reading them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use crate::clock;

/// The kernel's timestamps of files have coarse steps. A file that was changed this recently may change
/// again with the same stamp.
const RECENT: Duration = Duration::from_millis(100);

/// Identifies the contents of some files.
#[derive(Clone, Debug, Default)]
pub struct FileStamp {
    files: Vec<Option<[i64; 7]>>,
    /// True if none of the files was changed recently.
    is_settled: bool,
}

impl FileStamp {
    /// The stamp of the files at these paths now. Take it before reading them.
    pub fn of(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        let files: Vec<_> = paths.into_iter().map(|path| of(path.as_ref())).collect();
        let settled = clock::since_1970().saturating_sub(RECENT);
        let changed =
            |file: &[i64; 7]| Duration::new(file[5].try_into().unwrap_or(0), file[6].try_into().unwrap_or(0));
        let is_settled = files.iter().flatten().all(|file| changed(file) < settled);
        Self { files, is_settled }
    }

    /// True if the files are certainly unchanged since this stamp was taken.
    pub fn is_still(&self, now: &Self) -> bool {
        self.is_settled && self.files == now.files
    }
}

fn of(path: &Path) -> Option<[i64; 7]> {
    let file = fs::metadata(path).ok()?;
    let [device, inode, size] = [file.dev(), file.ino(), file.size()].map(u64::cast_signed);
    Some([device, inode, size, file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_change_is_not_trusted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (old, nobody) = ([Path::new("/proc/version")], [Path::new("/nowhere")]);
        assert!(FileStamp::of(nobody).is_still(&FileStamp::of(nobody)));
        let old = FileStamp { is_settled: true, ..FileStamp::of(old) };
        assert!(!old.is_still(&FileStamp::of(nobody)));
        fs::write(file.path(), "1").unwrap();
        let just_changed = FileStamp::of([file.path()]);
        assert!(
            !just_changed.is_still(&FileStamp::of([file.path()])),
            "it may be written again within a tick"
        );
    }
}
