//! Tests the checks of a directory that was named as the state directory.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

use nix::unistd::{getegid, geteuid};
use tempfile::TempDir;

use super::*;

fn place() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn state(path: &Path) -> StateDirectory<'_> {
    StateDirectory::new(path, Path::new("/run/filterd/control.sock"), geteuid(), getegid())
}

fn inspect(path: &Path) -> Result<(), StateError> {
    state(path).inspect()
}

#[test]
fn own_files_are_recognised() {
    assert_eq!(own_part(crate::cli::places::CONFIG_COPIES[1]), "configuration");
    let place = place();
    fs::create_dir(place.path().join("lists")).unwrap();
    for own in [
        "live.redb",
        "live.redb.old",
        "live.redb.new",
        "live.redb.behind",
        "live.redb.lost",
        "live.redb.damaged-7",
        "live.redb.old.damaged-7",
        "configuration.yaml",
        "configuration.yaml.new",
        "current",
        "current.new",
        "trial",
        "rejected",
        "lists/0123",
    ] {
        fs::write(place.path().join(own), "").unwrap();
    }
    inspect(place.path()).unwrap();
}

#[test]
fn vanished_file_is_skipped() {
    let place = place();
    let top = Object::top(place.path()).unwrap();
    assert!(top.below(OsStr::new("live.redb.new")).unwrap().is_none());
}

#[test]
fn foreign_files_are_named_and_refused() {
    for foreign in ["notes.txt", "live.redby", "live", ".profile", "lists2", "control.sock", "lock"] {
        let place = place();
        fs::write(place.path().join(foreign), "").unwrap();
        let refused = inspect(place.path()).unwrap_err().to_string();
        assert!(refused.contains(&format!("contains {foreign}, ")), "{refused}");
    }
}

#[test]
fn the_socket_may_lie_in_the_same_directory() {
    let place = place();
    for own in ["s.sock", "s.sock.lock"] {
        fs::write(place.path().join(own), "").unwrap();
    }
    let with = |socket: &str| {
        StateDirectory::new(place.path(), &place.path().join(socket), geteuid(), getegid()).inspect()
    };
    with("s.sock").unwrap();
    assert!(with("t.sock").is_err());
}

#[test]
fn links_and_directories_are_no_files() {
    let place = place();
    let elsewhere = place.path().join("elsewhere");
    fs::write(&elsewhere, "precious").unwrap();
    for (number, own) in ["live.redb", "lists", "lists/link"].into_iter().enumerate() {
        let state = place.path().join(number.to_string());
        fs::create_dir_all(state.join(own).parent().unwrap()).unwrap();
        symlink(&elsewhere, state.join(own)).unwrap();
        let refused = inspect(&state).unwrap_err();
        assert!(
            matches!(&refused, StateError::Untrusted { path, .. } if *path == state.join(own)),
            "{refused}"
        );
    }
    let state = place.path().join("directory");
    fs::create_dir_all(state.join("live.redb")).unwrap();
    assert!(inspect(&state).unwrap_err().to_string().ends_with("it is a directory, but should be a file"));
}

#[test]
fn writable_file_is_refused() {
    let place = place();
    let file = place.path().join("live.redb");
    fs::write(&file, "").unwrap();
    for (mode, is_fine) in [(0o644, true), (0o600, true), (0o620, false), (0o602, false)] {
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        assert_eq!(inspect(place.path()).is_ok(), is_fine, "{mode:o}");
    }
}

#[test]
fn file_of_another_user_is_refused() {
    let (place, nobody) = (place(), Some(65534));
    let file = place.path().join("live.redb");
    fs::write(&file, "").unwrap();
    // Only root can put such a file there; another user is refused because of the directory's owner.
    if chown(&file, nobody, nobody).is_err() {
        assert!(inspect(Path::new("/")).is_err());
        return;
    }
    let refused = inspect(place.path()).unwrap_err().to_string();
    assert!(refused.ends_with("it belongs to user 65534, but filterd runs as user 0"), "{refused}");
    // A directory with that owner is refused as well, unless filterd becomes that user.
    chown(place.path(), nobody, nobody).unwrap();
    let refused = inspect(place.path()).unwrap_err();
    let mend = format!("if its contents are right: chown -R 0 {}", place.path().display());
    assert!(refused.remedy().unwrap().starts_with(&mend), "{:?}", refused.remedy());
    let as_nobody =
        |uid| StateDirectory::new(place.path(), Path::new("s"), Uid::from_raw(uid), Gid::from_raw(uid));
    as_nobody(65534).inspect().unwrap();
    assert!(as_nobody(65533).inspect().is_err());
}

#[test]
fn without_root_the_remedy_is_sudo() {
    let told = |user: u32| {
        let (path, user) = (PathBuf::from("/var/lib/filterd"), Uid::from_raw(user));
        let owner =
            StateError::OfAnother { path: path.clone(), owner: Uid::from_raw(0), user, is_directory: true };
        let error = io::Error::from_raw_os_error(Errno::EACCES as i32);
        [owner, StateError::Failed { path, error, user }]
            .map(|error| (error.remedy().unwrap(), error.needs_root()))
    };
    for (remedy, needs_root) in told(1000) {
        assert_eq!((remedy.as_str(), needs_root), ("start filterd as root: sudo filterd run", true));
    }
    let [(owner, _), (failed, needs_root)] = told(0);
    assert!(owner.contains("chown -R 0") && failed.contains("--state-dir") && !needs_root);
}

#[test]
fn writable_directory_is_refused() {
    let place = place();
    let lists = place.path().join("lists");
    fs::create_dir(&lists).unwrap();
    for (mode, is_fine) in [(0o700, true), (0o755, true), (0o777, false), (0o1777, false), (0o770, false)] {
        for directory in [place.path(), &lists] {
            fs::set_permissions(directory, Permissions::from_mode(mode)).unwrap();
            let inspected = inspect(place.path());
            assert_eq!(inspected.is_ok(), is_fine, "{mode:o}: {inspected:?}");
            if let Err(refused) = inspected {
                let told = refused.to_string();
                assert!(told.contains(&format!("other users may write to it (mode {mode:04o})")), "{told}");
                let mend = format!("`chmod 700 {}`", directory.display());
                assert!(refused.remedy().unwrap().contains(&mend), "{:?}", refused.remedy());
            }
            fs::set_permissions(directory, Permissions::from_mode(0o700)).unwrap();
        }
    }
}

#[test]
fn new_directory_is_private_below_public_parents() {
    let place = place();
    let path = place.path().join("a/b");
    state(&path).give().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
    assert_ne!(fs::metadata(place.path().join("a")).unwrap().mode() & 0o055, 0);
}

#[test]
fn hard_linked_file_is_not_given_away() {
    let place = place();
    let (path, secret) = (place.path().join("state"), place.path().join("secret"));
    fs::create_dir(&path).unwrap();
    fs::write(&secret, "").unwrap();
    fs::hard_link(&secret, path.join("live.redb")).unwrap();
    let nobody = StateDirectory::new(&path, Path::new("s"), Uid::from_raw(65534), Gid::from_raw(65534));
    assert!(nobody.give().is_err());
    assert_eq!(fs::metadata(&secret).unwrap().uid(), geteuid().as_raw());
}
