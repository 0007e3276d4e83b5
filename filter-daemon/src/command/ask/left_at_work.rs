//! Reports a filter that is still attached although its daemon no longer runs, when nothing listens at the
//! socket.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::cli::places;
use crate::config::pin;
use crate::control::pins_note;
use crate::text::printable;

/// Describes the filter of the daemon that listened at this socket, and what can be done. None if no filter
/// was left.
pub fn told(socket: &Path) -> Option<String> {
    let found = pins_of(socket).and_then(|pins| {
        let names = pins.as_deref().map_or(Ok(Vec::new()), attached)?;
        Ok(pins.filter(|_| !names.is_empty()).map(|pins| (pins, names)))
    });
    match found {
        Ok(None) => None,
        Ok(Some((pins, names))) => Some(words(&pins, &names)),
        Err(_) => Some(
            "only root can see whether its filter was left at work: `sudo filterd status` tells\n\
             start the service:       sudo systemctl start filterd\nor in the foreground:    sudo filterd --iface eth0\nif it listens elsewhere: pass --socket PATH or set FILTERD_SOCKET"
                .to_owned(),
        ),
    }
}

/// The pin directory. The daemon records it; older daemons did not.
fn pins_of(socket: &Path) -> io::Result<Option<PathBuf>> {
    let noted = pins_note::read(socket)?;
    Ok(noted.or_else(|| (socket == Path::new(places::SOCKET)).then(|| places::PINS.into())))
}

/// The names that the interfaces had when the filter was attached.
fn attached(pins: &Path) -> io::Result<Vec<String>> {
    let links = match fs::read_dir(pins.join("links")) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        links => links?,
    };
    let mut names: Vec<String> = links.flatten().filter_map(|entry| pin::interface(&entry.path())).collect();
    names.sort();
    Ok(names)
}

fn words(pins: &Path, names: &[String]) -> String {
    let place = printable::path(pins);
    let flag = if pins == Path::new(places::PINS) { String::new() } else { format!(" --pin-dir {place}") };
    let names: Vec<_> = names.iter().map(|name| printable::on_one_line(name)).collect();
    format!(
        "its filter is still attached to {} (pins at {place}): blocked sources stay blocked, and nothing expires\na pause has ended, unless the process filterd-broker was killed too: then the pause ends on time\nto continue, start filterd again as before, which ends any pause\nto stop filtering: sudo filterd detach{flag}",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_found_by_its_pins() {
        let home = tempfile::tempdir().unwrap();
        let (socket, pins) = (home.path().join("control.sock"), home.path().join("pins"));
        assert_eq!(told(&socket), None, "nobody has ever listened there");
        let claim = fs::File::create(home.path().join("control.sock.lock")).unwrap();
        pins_note::write(&claim, &pins, Some(1)).unwrap();
        pins_note::write(&claim, &pins, None).unwrap();
        assert_eq!(pins_note::unsaved(&socket), None);
        pins_note::write(&claim, &pins, Some(1_795_296_480)).unwrap();
        assert_eq!(pins_note::unsaved(&socket), Some(1_795_296_480));
        assert_eq!(told(&socket), None, "everything was taken away");
        fs::create_dir_all(pins.join("links")).unwrap();
        assert_eq!(told(&socket), None, "it was attached nowhere");
        fs::write(pins.join("links/eth0"), "").unwrap();
        fs::write(pins.join("links/eth0:100"), "").unwrap();
        let told = told(&socket).unwrap();
        assert!(told.starts_with("its filter is still attached to eth0, eth0.100 (pins at "), "{told}");
        assert!(told.ends_with(&format!("sudo filterd detach --pin-dir {}", pins.display())), "{told}");
    }

    #[test]
    fn without_permission_nothing_is_claimed() {
        let home = tempfile::tempdir().unwrap();
        let socket = home.path().join("control.sock");
        // Reading a directory as a file fails for every user, root included.
        fs::create_dir(home.path().join("control.sock.lock")).unwrap();
        assert!(told(&socket).unwrap().starts_with("only root can see"));
    }
}
