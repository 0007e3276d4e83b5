//! The daemon is a user of its own where there is one, reads only what that one may read, and writes only what is its own.

use harness::limited::LimitedCommand;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::PathBuf;
use std::process::Command;

use harness::home::binary;
use harness::{ATTACKER, BYSTANDER, Daemon, Net, Refusal, Reply, fetcher_of, keeper_of, without};
use landlock::{AccessFs, LandlockStatus, Ruleset, RulesetAttr, RulesetError};
use nix::sys::signal::Signal;

/// A number that no user of any machine has.
const FILTERD: u32 = 990_917;

/// The number of the daemon where there is no user filterd.
const UNLISTED: u32 = filterd::accounts::UNLISTED;

#[test]
fn root_becomes_user_filterd_if_present() {
    let mut net = Net::new();
    net.readable_by_all();
    // What root has left is taken over.
    net.start_with("", &["--user", "root"]);
    net.filterd(["add", ATTACKER]).succeeds();
    net.stop();
    let daemon = Daemon::start(&mut with_a_user(&net, "block: [203.0.113.8]"), net.home());
    assert!(status(daemon.id(), "Uid").starts_with(&format!("{FILTERD}\t")), "the daemon");
    assert_eq!(status(daemon.id(), "Groups"), FILTERD.to_string(), "and nobody else's group");
    assert!(status(keeper_of(daemon.id()), "Uid").starts_with("0\t"), "its keeper");
    net.filterd(["status"]).succeeds().says("runs as filterd, without capabilities");
    net.filterd(["add", BYSTANDER]).succeeds();
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    let journal = fs::metadata(net.home().path("state/live.redb")).expect("it is there");
    assert_eq!((journal.uid(), journal.mode() & 0o777), (FILTERD, 0o600));
    daemon.end(Signal::SIGTERM);
    // And back, because it is said.
    let back = Daemon::start(with_a_user(&net, "").args(["--user", "root"]), net.home());
    assert!(status(back.id(), "Uid").starts_with("0\t"), "`--user root` stays root");
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
}

#[test]
fn without_user_filterd_an_unused_id_is_taken() {
    let mut net = Net::new();
    let list = net.file("secret.txt", BYSTANDER);
    let config = "lists: [{name: secret, path: $HOME/secret.txt}]";
    fs::set_permissions(&list, Permissions::from_mode(0o600)).expect("it is ours");
    // A filterd of before ran as root, and read what only root may read.
    net.start_with(config, &["--user", "root"]);
    net.filterd(["status"]).exits(7).says("the daemon runs as root").says("without `--user root`");
    net.filterd(["doctor"]).says("the daemon runs as root");
    net.filterd(["add", ATTACKER]).succeeds();
    net.stop();
    let unlisted = UNLISTED.to_string();
    let mend = format!("chgrp {unlisted} {0} && chmod g+r {0}", list.display());
    let file = net.home().path("filterd.yaml");
    let check =
        |words: &[&str]| Reply::of(of_a_machine_with(&net, "", &[]).arg("check").arg(&file).args(words));
    let denied = format!("filterd runs as user {unlisted}, who may not read ");
    let state = net.home().path("state").display().to_string();
    check(&["--state-dir", &state]).exits(7).complains(&denied).complains(&mend);
    // Without a copy of the list it does not start.
    check(&[]).exits(3).complains(&denied).complains(&mend);
    let daemon = Daemon::start(&mut without_a_user(&net, config), net.home());
    for (process, who) in [(daemon.id(), "the daemon"), (fetcher_of(daemon.id()), "who starts fetches")] {
        assert!(status(process, "Uid").starts_with(&format!("{unlisted}\t{unlisted}\t{unlisted}")), "{who}");
        assert_eq!(status(process, "Groups"), unlisted, "{who}");
    }
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    let told = net.filterd(["status"]).exits(7).says("list \"secret\" was not updated").says(&mend);
    told.says(&format!("runs as {unlisted}, ")).says("this machine has no user filterd").says("useradd");
    let journal = fs::metadata(net.home().path("state/live.redb")).expect("it is there");
    assert_eq!((journal.uid(), journal.mode() & 0o777), (UNLISTED, 0o600));
    daemon.end(Signal::SIGTERM);
    // Somebody makes the user: what the number had is its own.
    let daemon = Daemon::start(&mut with_a_user(&net, config), net.home());
    assert!(status(daemon.id(), "Uid").starts_with(&format!("{FILTERD}\t")));
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
}

#[test]
fn used_id_is_not_taken() {
    let net = Net::new();
    let words = net.arguments("");
    for (file, line) in
        [("passwd", format!("ann:x:{UNLISTED}:1::/:/bin/sh")), ("group", format!("ann:x:{UNLISTED}:"))]
    {
        let machine = with_accounts(
            &net,
            [("passwd", ""), ("group", "")]
                .map(|(name, none)| (name, if name == file { line.as_str() } else { none })),
        );
        let told = Reply::of(
            started_by(machine, &["timeout", "--signal=KILL", "30"]).args(&words).env("NO_COLOR", "1"),
        );
        told.exits(3).complains(&format!("its number {UNLISTED} belongs to ")).complains("useradd --system");
        assert!(!fs::exists(net.home().path("state")).unwrap_or(true), "nothing is made");
    }
}

#[test]
fn state_directory_writable_by_others_is_refused() {
    let mut net = Net::with_filterd("");
    net.filterd(["add", ATTACKER]).succeeds();
    net.stop();
    let state = net.home().path("state");
    let shown = state.display();
    let refused = |mend: &str| {
        Reply::of(net.host().command("timeout").arg("30").arg(binary()).args(net.arguments("")))
            .exits(3)
            .complains(mend);
        let script = net.host().command("sh").arg("-c").arg(mend).limited_status();
        assert!(script.expect("a shell can be run").success());
    };
    fs::set_permissions(&state, Permissions::from_mode(0o777)).expect("it is ours");
    refused(&format!("chmod 700 {shown}"));
    chown(&state, Some(65534), None).expect("we are root");
    refused(&format!("chown -R 0 {shown}"));
    net.start("");
    net.expect(ATTACKER).dropped();
}

#[test]
fn unreadable_list_is_reported_with_remedy() {
    let net = Net::new();
    net.readable_by_all();
    let list = net.file("secret.txt", ATTACKER);
    let config = "lists: [{name: secret, path: $HOME/secret.txt}]";
    fs::set_permissions(&list, Permissions::from_mode(0o600)).expect("it is ours");
    let mend = format!("chgrp filterd {0} && chmod g+r {0}", list.display());
    refused(&net, config).exits(3).complains(&mend).complains("--user root");
    let file = net.home().path("filterd.yaml");
    let check = |words: &[&str]| Reply::of(of_a_machine(&net, &[]).arg("check").arg(&file).args(words));
    check(&[]).exits(3).complains(&mend);
    check(&["--as", "filterd"]).exits(3).complains(&mend);
    check(&["--as", "root"]).succeeds();
    // What is told does mend it.
    let script = with_passwd(&net).arg("sh").arg("-c").arg(&mend).limited_status();
    assert!(script.expect("a shell can be run").success());
    check(&["--as", "filterd"]).succeeds();
    let daemon = Daemon::start(&mut with_a_user(&net, config), net.home());
    net.expect(ATTACKER).dropped();
    // What it may not read any more at a reload is held back.
    fs::set_permissions(&list, Permissions::from_mode(0o600)).expect("it is ours");
    net.filterd(["reload"]);
    net.expect(ATTACKER).dropped();
    net.filterd(["status"]).says("chmod g+r");
    drop(daemon);
}

#[test]
fn list_that_became_unreadable_survives_restart() {
    let net = Net::new();
    net.readable_by_all();
    let list = net.file("secret.txt", ATTACKER);
    let config = "lists: [{name: secret, path: $HOME/secret.txt}]";
    fs::set_permissions(&list, Permissions::from_mode(0o644)).expect("it is ours");
    let daemon = Daemon::start(&mut with_a_user(&net, config), net.home());
    let copies = net.home().path("state/blobs");
    // The end waits until copies are written.
    daemon.end(Signal::SIGTERM);
    // The list, and the configuration.
    assert_eq!(fs::read_dir(&copies).expect("they are there").count(), 2);
    fs::set_permissions(&list, Permissions::from_mode(0o600)).expect("it is ours");
    let mend = format!("chgrp filterd {0} && chmod g+r {0}", list.display());
    let file = net.home().path("filterd.yaml");
    let check = || {
        let mut command = of_a_machine(&net, &[]);
        command.env("FILTERD_SOCKET", net.home().socket());
        command.arg("check").arg(&file).args(["--as", "filterd", "--state-dir"]);
        Reply::of(command.arg(net.home().path("state")))
    };
    let told = check().exits(7).says("valid, but 1 list would not be updated").complains(&mend);
    told.complains("the 1 target read on ").complains("would remain in force").is_silent_about("not start");
    let mut daemon = Daemon::start(&mut with_a_user(&net, config), net.home());
    net.expect(ATTACKER).dropped();
    net.filterd(["status"]).exits(7).says("list \"secret\" was not updated").says(&mend).says("--user root");
    let log = daemon.log();
    assert!(log.contains("list \"secret\" was not updated") && log.contains(&mend), "{log}");
    daemon.forget_log();
    daemon.end(Signal::SIGTERM);
    // Without a copy nobody starts, and `check` tells the same.
    fs::remove_dir_all(&copies).expect("it is ours");
    refused(&net, config).exits(3).complains("no good copy").complains(&mend);
    let told = check().exits(3).says("filterd would not start for 1 list").complains(&mend);
    told.complains("filterd, as user filterd, would not start because of list")
        .is_silent_about("remain in force");
}

#[test]
fn unreadable_configuration_is_reported_with_remedy() {
    let net = Net::new();
    let place = net.home().path("").display().to_string();
    let place = place.trim_end_matches('/');
    fs::set_permissions(place, Permissions::from_mode(0o700)).expect("it is ours");
    refused(&net, "").exits(3).complains(&format!("chmod o+x {place}"));
    net.readable_by_all();
    let file = net.home().path("filterd.yaml");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("it is ours");
    let mend = format!("chgrp filterd {0} && chmod g+r {0}", file.display());
    refused(&net, "").exits(3).complains(&mend).complains("let user filterd read it");
}

#[test]
fn only_root_looks_with_the_eyes_of_others() {
    let net = Net::new();
    net.file("filterd.yaml", "");
    net.readable_by_all();
    let file = net.home().path("filterd.yaml").display().to_string();
    net.home().filterd_as(65534, ["check", &file, "--as", "root"]).exits(6).complains("use sudo");
    net.filterd(["check", &file, "--as", "nobody-at-all"]).exits(2).complains("no such user");
}

#[test]
fn daemon_writes_only_to_its_own_places() {
    if !has_landlock() {
        println!("SKIPPED the daemon's confinement: this kernel has no Landlock");
        return;
    }
    let mut net = Net::with_filterd("");
    net.filterd(["status"]).says("writes only its state and its socket (Landlock ");
    // Somebody puts another directory in the place of the state: to whoever is told to open the journal there anew, it
    // is any other place.
    let state = net.home().path("state");
    fs::rename(&state, net.home().path("moved")).expect("it is ours");
    fs::create_dir(&state).expect("a home can be written");
    let refusal = Refusal::of(net.daemon().id(), "fsync,fdatasync:error=EIO");
    net.filterd(["add", ATTACKER]).exits(7);
    refusal.end();
    net.forget_log();
    net.filterd(["add", BYSTANDER]).exits(7).complains("Permission denied");
    assert_eq!(fs::read_dir(&state).expect("it is there").count(), 0, "nothing is made there");
}

#[test]
fn missing_landlock_is_shown_in_status() {
    let mut net = Net::new();
    for answer in ["ENOSYS", "EOPNOTSUPP"] {
        let kernel = without(&format!("landlock_create_ruleset:error={answer}"));
        net.starts_through(kernel.iter().map(String::as_str));
        net.start(&format!("block: [{ATTACKER}]"));
        net.expect(ATTACKER).dropped();
        net.filterd(["status"])
            .succeeds()
            .says("may write where that user may (this kernel has no Landlock)");
        net.filterd(["add", BYSTANDER]).succeeds();
        net.expect(BYSTANDER).dropped();
        net.filterd(["remove", BYSTANDER]).succeeds();
        net.stop();
    }
}

/// Does this kernel confine those who ask for it?
fn has_landlock() -> bool {
    let asked = || -> Result<LandlockStatus, RulesetError> {
        let ruleset = Ruleset::default().handle_access(AccessFs::Execute)?.create()?;
        Ok(ruleset.restrict_self()?.landlock)
    };
    // Only the thread that asks.
    let asked = std::thread::spawn(asked).join().expect("it does not panic");
    matches!(asked, Ok(LandlockStatus::Available { .. }))
}

/// A filterd on `eth0`, on a machine that has a user `filterd`.
fn with_a_user(net: &Net, config: &str) -> Command {
    daemon_of(of_a_machine(net, &["setpriv", "--pdeathsig", "KILL"]), net, config)
}

/// The same on a machine that has none.
fn without_a_user(net: &Net, config: &str) -> Command {
    daemon_of(of_a_machine_with(net, "", &["setpriv", "--pdeathsig", "KILL"]), net, config)
}

fn daemon_of(mut command: Command, net: &Net, config: &str) -> Command {
    command.args(net.arguments(config)).env("NO_COLOR", "1");
    command
}

/// How does it end?
fn refused(net: &Net, config: &str) -> Reply {
    Reply::of(&mut daemon_of(of_a_machine(net, &["timeout", "--signal=KILL", "30"]), net, config))
}

/// filterd, on a machine that has a user `filterd`, started by this.
fn of_a_machine(net: &Net, by: &[&str]) -> Command {
    started_by(with_passwd(net), by)
}

/// filterd, on a machine where this line of /etc/passwd is in that user's place.
fn of_a_machine_with(net: &Net, line: &str, by: &[&str]) -> Command {
    started_by(with_accounts(net, [("passwd", line), ("group", "")]), by)
}

fn started_by(mut machine: Command, by: &[&str]) -> Command {
    machine.args(by).arg(binary());
    machine
}

/// What is to be done on a machine that has a user `filterd`.
fn with_passwd(net: &Net) -> Command {
    let user = format!("filterd:x:{FILTERD}:{FILTERD}::/nonexistent:/bin/false");
    with_accounts(net, [("passwd", &user), ("group", &format!("filterd:x:{FILTERD}:"))])
}

/// What is to be done on a machine that differs from ours in two files: each has this line in place of filterd's.
fn with_accounts(net: &Net, lines: [(&str, &str); 2]) -> Command {
    let files = lines.map(|(name, line)| -> PathBuf {
        let text = fs::read_to_string(format!("/etc/{name}")).expect("every machine has it");
        let others = text.lines().filter(|line| !line.starts_with("filterd:"));
        let path = net.file(name, &(others.collect::<Vec<_>>().join("\n") + "\n" + line + "\n"));
        fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("it is ours");
        path
    });
    let mut command = net.host().command("unshare");
    command.args(["--mount", "sh", "-c"]);
    command
        .arg("mount --bind \"$1\" /etc/passwd && mount --bind \"$2\" /etc/group && shift 2 && exec \"$@\"");
    command.arg("sh").args(files);
    command
}

fn status(process: u32, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.unwrap_or_else(|| panic!("no {name}")).trim().to_owned()
}
