//! What lies where filterd works, and is not filterd's, stays as it is.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use harness::home::binary;
use harness::{ATTACKER, Daemon, Home, Net};

const NOBODY: Option<u32> = Some(65534);

#[test]
fn state_directory_with_foreign_file_is_refused() {
    let net = Net::new();
    let papers = net.home().path("papers");
    fs::create_dir(&papers).expect("a home can be written");
    let notes = papers.join("notes.txt");
    for path in [&notes, &papers.join("live.redb")] {
        fs::write(path, "precious").expect("a home can be written");
    }
    chown(&papers, NOBODY, NOBODY).expect("we are root");
    chown(&notes, NOBODY, NOBODY).expect("we are root");
    fs::set_permissions(&notes, Permissions::from_mode(0o4755)).expect("we are root");
    let before = [&papers, &notes, &papers.join("live.redb")].map(|path| known_of(path));
    let place = papers.display().to_string();
    net.another_filterd_with("", &["--state-dir", &place])
        .exits(3)
        .complains("contains notes.txt, which is not filterd's")
        .complains("nothing was changed");
    let after = [&papers, &notes, &papers.join("live.redb")].map(|path| known_of(path));
    assert_eq!(before, after);
    assert_eq!(fs::read_dir(&papers).expect("it is there").count(), 2);
}

#[test]
fn journal_belongs_to_its_user_only() {
    let mut net = Net::new();
    let state = net.home().path("state");
    fs::create_dir(&state).expect("a home can be written");
    fs::set_permissions(&state, Permissions::from_mode(0o755)).expect("it is ours");
    net.start("");
    net.filterd(["add", ATTACKER]).succeeds();
    net.stop();
    let journal = state.join("live.redb");
    assert_eq!(fs::metadata(&journal).expect("it is there").mode() & 0o777, 0o600);
    fs::set_permissions(&journal, Permissions::from_mode(0o644)).expect("it is ours");
    net.start("");
    net.expect(ATTACKER).dropped();
    assert_eq!(fs::metadata(&journal).expect("it is there").mode() & 0o777, 0o600);
}

#[test]
fn link_in_place_of_journal_is_not_followed() {
    let net = Net::new();
    let (state, elsewhere) = (net.home().path("state"), net.home().path("elsewhere"));
    fs::create_dir(&state).expect("a home can be written");
    symlink(&elsewhere, state.join("live.redb")).expect("a link can be made");
    let place = state.display().to_string();
    net.another_filterd_with("", &["--state-dir", &place])
        .exits(3)
        .complains("live.redb is not safe to use: it is a link");
    assert!(!elsewhere.exists(), "nothing is made through the link");
}

#[test]
fn link_in_socket_directory_is_not_followed() {
    let net = Net::new();
    let (socket, elsewhere) = (net.home().path("other.sock"), net.home().path("elsewhere"));
    symlink(&elsewhere, net.home().path("other.sock.lock")).expect("a link can be made");
    let place = socket.display().to_string();
    net.another_filterd_with("", &["--socket", &place]).exits(6).complains("other.sock.lock");
    assert!(!elsewhere.exists(), "nothing is made through the link");
}

#[test]
fn mounted_bpf_file_system_is_private() {
    let net = Net::new();
    let home = Home::new();
    // In a place of its own, where nothing is mounted yet.
    let mut command = net.host().command("setpriv");
    command.args(["--pdeathsig", "KILL", "unshare", "--mount", "sh", "-c"]);
    command.arg("while umount /sys/fs/bpf 2>/dev/null; do :; done; exec \"$@\"").arg("sh").arg(binary());
    let daemon = Daemon::start(command.args(home.daemon_arguments()).args(["--iface", "eth0"]), &home);
    let mounts = fs::read_to_string(format!("/proc/{}/mountinfo", daemon.id())).expect("it runs");
    let mounted = mounts.lines().find(|line| line.contains(" /sys/fs/bpf ")).expect("filterd mounts it");
    for option in ["nosuid", "nodev", "noexec", "mode=700"] {
        assert!(mounted.contains(option), "no {option}: {mounted}");
    }
}

/// Whose it is, who may what, and what it says.
fn known_of(path: &Path) -> (u32, u32, u32, Vec<u8>) {
    let found = fs::metadata(path).expect("it is there");
    (found.uid(), found.gid(), found.mode(), fs::read(path).unwrap_or_default())
}
