//! Another user of the machine, who owns nothing of filterd's, and one who has the daemon's own number.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::Path;

use filterd::accounts::{self, User};
use harness::{ATTACKER, Net, fetcher_of, keeper_of};
use nix::sys::ptrace;
use nix::sys::signal::kill;
use nix::unistd::{Gid, Pid, Uid};

/// Somebody whom no machine knows.
const STRANGER: u32 = 65_527;

/// What is tried: its name, and how it ended.
type Tried = (&'static str, Option<ErrorKind>);

fn kind<T>(result: Result<T, impl Into<io::Error>>) -> Option<ErrorKind> {
    result.err().map(|error| error.into().kind())
}

#[test]
fn a_local_user_gets_nowhere() {
    let net = Net::with_filterd(&format!("block: [{ATTACKER}]"));
    let user =
        User { name: "stranger".to_owned(), uid: Uid::from_raw(STRANGER), gid: Gid::from_raw(STRANGER) };
    let (home, pins) = (net.home(), net.home().pins().to_owned());
    let (state, socket, config) = (home.path("state"), home.socket(), home.path("filterd.yaml"));
    let daemon = net.daemon().id();
    let processes = [daemon, keeper_of(daemon), fetcher_of(daemon)];
    let tried = accounts::on_a_thread_of(&user, || {
        let mut tried: Vec<Tried> = vec![
            ("talk to the daemon", kind(UnixStream::connect(&socket))),
            ("remove its socket", kind(fs::remove_file(&socket))),
            ("look into the state", kind(fs::read_dir(&state))),
            ("read the journal", kind(File::open(state.join("live.redb")))),
            ("put a link into the state", kind(symlink("/etc/shadow", state.join("live.redb.old")))),
            ("exchange the state", kind(fs::rename(&state, state.with_extension("old")))),
            ("write the configuration", kind(File::options().write(true).open(&config))),
            ("look into the pins", kind(fs::read_dir(&pins))),
            ("remove a pin", kind(fs::remove_file(pins.join("root")))),
            ("open the pins to all", kind(fs::set_permissions(&pins, Permissions::from_mode(0o777)))),
        ];
        tried.extend(processes.into_iter().flat_map(attack));
        tried
    });
    for (what, how) in tried.expect("root may be anybody") {
        assert_eq!(how, Some(ErrorKind::PermissionDenied), "{what}");
    }
    net.filterd(["status"]).succeeds();
    net.expect(ATTACKER).dropped();
}

#[test]
fn same_user_cannot_inspect_the_daemon() {
    let net = Net::with_filterd("");
    let daemon = net.daemon().id();
    let tried = accounts::on_a_thread_of(&accounts::own(), || look_into(daemon));
    for (what, how) in tried.expect("root may be anybody") {
        assert_eq!(how, Some(ErrorKind::PermissionDenied), "{what}");
    }
}

fn attack(process: u32) -> Vec<Tried> {
    let id = Pid::from_raw(i32::try_from(process).expect("process ids are small"));
    let mut tried = look_into(process);
    tried.push(("end a process", kind(kill(id, None))));
    tried
}

fn look_into(process: u32) -> Vec<Tried> {
    let id = Pid::from_raw(i32::try_from(process).expect("process ids are small"));
    let place = |name: &str| Path::new("/proc").join(process.to_string()).join(name);
    vec![
        ("trace a process", kind(ptrace::attach(id))),
        ("read its memory", kind(File::open(place("mem")))),
        ("read its environment", kind(fs::read(place("environ")))),
        ("take its descriptors", kind(fs::read_dir(place("fd")))),
    ]
}
