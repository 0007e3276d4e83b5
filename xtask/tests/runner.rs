//! The runner of tests, with programs of `sh` in the place of test programs.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A program that lists tests as libtest does, and runs the one that is asked for.
fn program(place: &Path, tests: &[(&str, &str)]) -> PathBuf {
    let names: String = tests.iter().map(|(name, _)| format!("{name}: test\n")).collect();
    let cases: String = tests.iter().map(|(name, script)| format!("{name}) {script} ;;\n")).collect();
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in *--ignored*) exit 0 ;; *--list*) printf '{}'; exit 0 ;; esac\ncase $2 in\n{cases}esac\n",
        names.replace('\n', "\\n")
    );
    let path = place.join("program");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// What xtask says of these tests, started by this line of `sh` in which `RUN` stands for it.
fn run(line: &str, tests: &[(&str, &str)]) -> (TempDir, Output, String) {
    let place = tempfile::tempdir().unwrap();
    let program = program(place.path(), tests);
    let xtask = env!("CARGO_BIN_EXE_xtask");
    let run = format!("'{xtask}' run-tests --limit 2 --jobs 2 '{}'", program.display());
    let mut command = Command::new("sh");
    let output = command.args(["-c", &line.replace("RUN", &run)]).current_dir(place.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (place, output, said)
}

#[test]
fn two_hanging_tests_hide_no_results() {
    let (_place, output, said) = run(
        "RUN",
        &[
            ("hangs_deaf", "trap '' TERM INT; echo before; while :; do sleep 1; done"),
            ("hangs_too", "exec sleep 1000"),
            ("passes", "true"),
            ("fails", "echo alas; exit 101"),
            ("skips", "echo 'SKIPPED skips: no reason'"),
        ],
    );
    assert!(!output.status.success());
    assert_eq!(said.lines().last(), Some("1 passed, 3 failed, 1 skipped"), "{said}");
    for words in [
        "FAILED hangs_deaf",
        "FAILED hangs_too",
        "timed out after 2 s",
        "before",
        "alas",
        "SKIPPED skips: no reason",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn a_test_leaves_no_process_behind() {
    let (place, _, said) = run(
        "RUN",
        &[
            ("leaves", "setsid sleep 1000 & echo $! >left; exit 0"),
            ("hangs", "setsid sleep 1000 & echo $! >hung; wait"),
        ],
    );
    assert_eq!(said.lines().last(), Some("1 passed, 1 failed, 0 skipped"), "{said}");
    for file in ["left", "hung"] {
        let pid = fs::read_to_string(place.path().join(file)).unwrap();
        assert!(!Path::new("/proc").join(pid.trim()).exists(), "{file}: {pid}");
    }
}

#[test]
fn tests_always_get_the_same_environment() {
    // Signals that are ignored, and those that are blocked, as the kernel shows them.
    let see = "{ grep -E 'SigIgn|SigBlk' /proc/self/status; umask; echo \"$LANG.$LC_ALL.$FILTERD_SOCKET\"; readlink /proc/self/fd/0; } >seen";
    let seen = ["RUN", "trap '' HUP INT QUIT PIPE TERM; umask 077; export LANG=de_DE.UTF-8 FILTERD_SOCKET=/x; nohup RUN <&- & wait $!"].map(|line| {
        let (place, _, said) = run(line, &[("sees", see)]);
        assert_eq!(said.lines().last().unwrap_or("nothing on standard output"), "1 passed, 0 failed, 0 skipped");
        fs::read_to_string(place.path().join("seen")).unwrap()
    });
    assert_eq!(seen[0], seen[1]);
    // Above the 31st are signals of the C library's own, which no program can set.
    let ignored = seen[1].lines().find_map(|line| line.strip_prefix("SigIgn:\t")).unwrap();
    assert_eq!(u64::from_str_radix(ignored, 16).unwrap() & 0x7fff_ffff, 0, "{}", seen[1]);
    assert!(seen[1].ends_with("0022\n.C.UTF-8.\n/dev/null\n"), "{}", seen[1]);
}
