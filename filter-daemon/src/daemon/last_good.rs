//! The last good copy of the configuration: the text of the configuration that took effect last, and the name
//! of its file. It lies in the state directory and is written in one piece. It is used only if no other user
//! can have written it.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf, absolute};
use std::time::SystemTime;

use nix::fcntl::OFlag;
use nix::unistd::geteuid;

use crate::cli::places;
use crate::config;
use crate::text::printable;

/// The line before the text. The copy is itself a valid configuration.
const HEAD: &str = "# filterd's copy of the last good configuration, with the file it is of and a checksum:";

/// The head has two lines, and a path of at most 4096 bytes, each of them up to four when escaped.
const LONGEST_HEAD: u64 = 4 * 4096 + 256;

/// The place of the last good copy.
#[derive(Clone, Debug)]
pub struct LastGood {
    path: PathBuf,
}

/// The copy of a configuration that is not in force yet.
#[derive(Debug, Default)]
pub enum ConfigurationCopy {
    /// There is nothing to copy.
    #[default]
    Nothing,
    /// The copy is on disk, under another name.
    Written {
        /// Its name until the configuration is in force.
        path: PathBuf,
        of: PathBuf,
        text: String,
    },
    /// The copy is still to be written.
    Due {
        /// The file that it is a copy of.
        of: PathBuf,
        text: String,
    },
    /// The last good copy has this text already.
    Kept,
    /// The copy could not be written.
    Failed {
        /// The path and its error.
        why: String,
        of: PathBuf,
        text: String,
    },
}

/// The configuration in force has no copy.
#[derive(Debug)]
pub struct MissingLastGood {
    pub why: String,
    /// The copy to write when the disk accepts it.
    pub again: ConfigurationCopy,
}

impl LastGood {
    pub fn in_directory(state: &Path) -> Self {
        Self { path: state.join(places::CONFIG_COPY) }
    }

    /// The text, if this is a copy of that file, or else why there is none.
    pub fn read(&self, of: &Path) -> Result<String, String> {
        let cannot = |error: io::Error| format!("{}: {error}", printable::path(&self.path));
        let not_ours = || format!("{}: others than root could have written it", printable::path(&self.path));
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
        let file =
            OpenOptions::new().read(true).custom_flags(flags.bits()).open(&self.path).map_err(cannot)?;
        let about = file.metadata().map_err(cannot)?;
        let is_ours = about.uid() == 0 || about.uid() == geteuid().as_raw();
        if !about.is_file() || !is_ours || about.mode() & 0o022 != 0 {
            return Err(not_ours());
        }
        let mut whole = String::new();
        file.take(LONGEST_HEAD + config::LARGEST).read_to_string(&mut whole).map_err(cannot)?;
        let (found, text) =
            parted(&whole).ok_or_else(|| format!("{}: it is damaged", printable::path(&self.path)))?;
        if found != named(of) {
            return Err(format!("{}: it is of another file, {found}", printable::path(&self.path)));
        }
        Ok(text.to_owned())
    }

    /// When it was written, in seconds since 1970.
    pub fn written(&self) -> Option<u64> {
        let modified = fs::metadata(&self.path).ok()?.modified().ok()?;
        Some(modified.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs())
    }

    /// Writes a copy next to the last one.
    pub fn prepare(&self, of: &Path, text: &[u8]) -> ConfigurationCopy {
        let Ok(text) = std::str::from_utf8(text) else { return ConfigurationCopy::Nothing };
        let (of, text) = (of.to_owned(), text.to_owned());
        if self.read(&of).is_ok_and(|kept| kept == text) {
            return ConfigurationCopy::Kept;
        }
        let path = self.prepared();
        match self.write(&path, &headed(&of, &text)) {
            Ok(()) => ConfigurationCopy::Written { path, of, text },
            Err(error) => {
                ConfigurationCopy::Failed { why: format!("{}: {error}", printable::path(&path)), of, text }
            }
        }
    }

    /// The path of the copy until its configuration is in force.
    fn prepared(&self) -> PathBuf {
        self.path.with_extension("yaml.new")
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        // A file of this name is an unfinished copy.
        _ = fs::remove_file(path);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    /// Makes this the last good copy.
    pub fn keep(&self, copy: ConfigurationCopy) -> Result<(), MissingLastGood> {
        let (path, of, text) = match copy {
            ConfigurationCopy::Written { path, of, text } => (path, of, text),
            // The copy on disk is that of the earlier filterd, which may have read another text since.
            ConfigurationCopy::Due { of, text } => return self.keep(self.prepare(&of, text.as_bytes())),
            ConfigurationCopy::Failed { why, of, text } => {
                return Err(MissingLastGood { why, again: ConfigurationCopy::Due { of, text } });
            }
            ConfigurationCopy::Nothing | ConfigurationCopy::Kept => return Ok(()),
        };
        fs::rename(&path, &self.path).map_err(|error| {
            let why = format!("{}: {error}", printable::path(&self.path));
            MissingLastGood { why, again: ConfigurationCopy::Due { of, text } }
        })
    }

    /// Makes the prepared copy the last good one. Its filterd died before it could.
    pub fn take_prepared(&self) {
        _ = fs::rename(self.prepared(), &self.path);
    }

    /// Removes the prepared copy.
    pub fn discard(&self) {
        _ = fs::remove_file(self.prepared());
    }

    /// Removes the last good copy.
    pub fn forget(&self) {
        _ = fs::remove_file(&self.path);
    }
}

fn headed(of: &Path, text: &str) -> String {
    format!("{HEAD}\n# {} {:08x}\n{text}", named(of), crc32fast::hash(text.as_bytes()))
}

/// The file that it names and the text, if the checksum is right.
fn parted(whole: &str) -> Option<(&str, &str)> {
    let (line, text) = whole.strip_prefix(HEAD)?.strip_prefix("\n# ")?.split_once('\n')?;
    let (of, checksum) = line.rsplit_once(' ')?;
    let is_whole = u32::from_str_radix(checksum, 16) == Ok(crc32fast::hash(text.as_bytes()));
    is_whole.then_some((of, text))
}

/// The name of a file in the copy: absolute, thus independent of the working directory, and escaped to fit on
/// one line.
fn named(of: &Path) -> String {
    let path = absolute(of).unwrap_or_else(|_| of.to_owned());
    path.as_os_str().as_bytes().escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const TEXT: &str = "interfaces: [eth0] # ä\n\nblock: []";
    const OF: &str = "/etc/filterd/with a blank\nand more.yaml";

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn last_good(&self) -> LastGood {
            LastGood::in_directory(&self.0.path().join("state"))
        }

        fn with_copy() -> Self {
            let place = Self::new();
            let last_good = place.last_good();
            let copy = last_good.prepare(Path::new(OF), TEXT.as_bytes());
            assert!(last_good.read(Path::new(OF)).is_err(), "it is not in force yet");
            last_good.keep(copy).unwrap();
            place
        }

        fn path(&self) -> PathBuf {
            self.last_good().path
        }

        fn refuses(&self) -> String {
            self.last_good().read(Path::new(OF)).unwrap_err()
        }
    }

    #[test]
    fn saved_configuration_is_read_unchanged() {
        let place = Place::with_copy();
        assert_eq!(place.last_good().read(Path::new(OF)).as_deref(), Ok(TEXT));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&place.path()), 0o600);
        assert_eq!(mode(place.path().parent().unwrap()), 0o700);
        assert!(matches!(place.last_good().prepare(Path::new(OF), TEXT.as_bytes()), ConfigurationCopy::Kept));
        config::parse(Path::new(OF), fs::read(place.path()).unwrap()).expect("it is a configuration itself");
    }

    #[test]
    fn refused_copy_keeps_the_previous() {
        let place = Place::with_copy();
        drop(place.last_good().prepare(Path::new(OF), b"block: [10.0.0.1]"));
        assert_eq!(place.last_good().read(Path::new(OF)).as_deref(), Ok(TEXT));
        place.last_good().discard();
        let files = fs::read_dir(place.path().parent().unwrap()).unwrap().count();
        assert_eq!((place.last_good().read(Path::new(OF)).as_deref(), files), (Ok(TEXT), 1));
    }

    #[test]
    fn a_copy_of_another_file_is_not_taken() {
        let place = Place::with_copy();
        let error = place.last_good().read(Path::new("/etc/filterd/other.yaml")).unwrap_err();
        assert!(error.contains(r"of another file, /etc/filterd/with a blank\nand more.yaml"), "{error}");
    }

    #[test]
    fn a_damaged_copy_is_not_taken() {
        let place = Place::with_copy();
        let whole = fs::read_to_string(place.path()).unwrap();
        for damaged in ["", HEAD, &whole[..whole.len() - 1], &whole.replace("eth0", "eth1"), &whole[1..]] {
            fs::write(place.path(), damaged).unwrap();
            assert!(place.refuses().ends_with("it is damaged"), "{damaged}");
        }
    }

    #[test]
    fn untrusted_copy_is_ignored() {
        let place = Place::with_copy();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o620)).unwrap();
        assert!(place.refuses().contains("others than root"));
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o600)).unwrap();
        let moved = place.0.path().join("elsewhere");
        fs::rename(place.path(), &moved).unwrap();
        symlink(&moved, place.path()).unwrap();
        assert!(place.refuses().contains("symbolic links"));
    }

    #[test]
    fn unwritable_copy_is_reported() {
        let place = Place::new();
        fs::write(place.0.path().join("state"), "").unwrap();
        let copy = place.last_good().prepare(Path::new(OF), TEXT.as_bytes());
        let not_kept = place.last_good().keep(copy).unwrap_err();
        assert!(not_kept.why.contains("state"), "{}", not_kept.why);
        fs::remove_file(place.0.path().join("state")).unwrap();
        place.last_good().keep(not_kept.again).expect("the state directory can be written again");
        assert_eq!(place.last_good().read(Path::new(OF)).as_deref(), Ok(TEXT));
    }
}
