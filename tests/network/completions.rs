//! What shells offer at a tab: interfaces, lists and entries as they are, though bash takes IPv6 addresses apart at colons, and
//! zsh takes what stands behind one for a description.

use harness::limited::LimitedCommand;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use harness::{ATTACKER, ATTACKER6, Net, home};

/// Does what bash does at a tab: takes the line apart as it is told, and asks the function that is registered.
const AT_A_TAB: &str = r#"
source <(filterd completions bash)
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_filterd filterd "${COMP_WORDS[COMP_CWORD]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

#[test]
fn bash_completes_entries_lists_and_interfaces() {
    let net = Net::with_filterd("allow: [192.0.2.10]\nblock: [198.51.100.0/24]");
    net.filterd(["add", ATTACKER, ATTACKER6, "--list", "ssh", "--quiet"]).succeeds();
    assert_eq!(offered(&net, "filterd remove 203", &["filterd", "remove", "203"]), [ATTACKER]);
    assert_eq!(offered(&net, "filterd test 198.51.", &["filterd", "test", "198.51."]), ["198.51.100.0/24"]);
    assert_eq!(offered(&net, "filterd list --list s", &["filterd", "list", "--list", "s"]), ["ssh"]);
    assert_eq!(offered(&net, "filterd allow remove 1", &["filterd", "allow", "remove", "1"]), ["192.0.2.10"]);
    assert_eq!(offered(&net, "filterd --iface eth", &["filterd", "--iface", "eth"]), ["eth0"]);
}

#[test]
fn bash_completes_ipv6_addresses() {
    let net = Net::with_filterd("");
    net.filterd(["add", ATTACKER6, "--quiet"]).succeeds();
    // Bash keeps what stands before the last colon, and puts what is offered in the place of the rest.
    let words = ["filterd", "remove", "2001", ":", "db8", ":", "b"];
    assert_eq!(offered(&net, "filterd remove 2001:db8:b", &words), ["bad::7"]);
    let words = ["filterd", "remove", "2001", ":"];
    assert_eq!(offered(&net, "filterd remove 2001:", &words), ["db8:bad::7"]);
    let words = ["filterd", "remove", "2001", ":", "db8", "::", ""];
    assert!(
        offered(&net, "filterd remove 2001:db8:: ", &words).contains(&ATTACKER6.to_owned()),
        "a word of its own"
    );
}

#[test]
fn completion_without_daemon_is_empty_and_silent() {
    let net = Net::new();
    assert_eq!(offered(&net, "filterd remove 2", &["filterd", "remove", "2"]), [""]);
}

/// Reads what is installed for it as the body of a function at the first tab, as zsh itself does; what that describes to the
/// reader is printed: the value, and behind a colon that is not escaped what it is.
const AT_A_TAB_OF_ZSH: &str = r#"
# What is unpacked and not installed has its modules beside it.
module_path+=(${$(readlink /proc/$$/exe):h:h}/usr/lib/*/zsh/*(N))
compdef() { }
_describe() { print -rl -- "${(@P)3}" }
fpath=($1)
autoload -Uz _filterd
shift
words=("$@") CURRENT=$#
_filterd
"#;

#[test]
fn zsh_offers_the_same() {
    if !is_here("zsh") {
        return;
    }
    let net = Net::with_filterd("allow: [192.0.2.10]\nblock: [198.51.100.0/24]");
    net.filterd(["add", ATTACKER, ATTACKER6, "--list", "ssh", "--quiet"]).succeeds();
    let offered = |words: &[&str]| -> Vec<String> {
        let completions = concat!(env!("CARGO_MANIFEST_DIR"), "/../configs/completions");
        asked(&net, &[&["zsh", "-f", "-c", AT_A_TAB_OF_ZSH, "zsh", completions][..], words].concat())
    };
    assert_eq!(offered(&["filterd", "remove", "203"]), [ATTACKER]);
    assert_eq!(offered(&["filterd", "remove", "2001:db8:b"]), [ATTACKER6.replace(':', "\\:")]);
    assert_eq!(offered(&["filterd", "list", "--list", "s"]), ["ssh"]);
    assert_eq!(offered(&["filterd", "--iface", "eth"]), ["eth0"]);
    let verbs = offered(&["filterd", "st"]);
    assert!(verbs.iter().any(|verb| verb.starts_with("status:")), "with what it is: {verbs:?}");
}

#[test]
fn fish_offers_the_same() {
    if !is_here("fish") {
        return;
    }
    let net = Net::with_filterd("allow: [192.0.2.10]\nblock: [198.51.100.0/24]");
    net.filterd(["add", ATTACKER, ATTACKER6, "--list", "ssh", "--quiet"]).succeeds();
    let offered = |line: &str| -> Vec<String> {
        let completions = concat!(env!("CARGO_MANIFEST_DIR"), "/../configs/completions/filterd.fish");
        let at_a_tab = format!("source '{completions}'; complete --do-complete '{line}'");
        asked(&net, &["fish", "--no-config", "--command", &at_a_tab])
    };
    assert_eq!(offered("filterd remove 203"), [ATTACKER]);
    assert_eq!(offered("filterd remove 2001:db8:b"), [ATTACKER6]);
    assert_eq!(offered("filterd list --list s"), ["ssh"]);
    assert_eq!(offered("filterd --iface eth"), ["eth0"]);
    let verbs = offered("filterd st");
    assert!(verbs.iter().any(|verb| verb.starts_with("status\t")), "with what it is: {verbs:?}");
}

fn is_here(shell: &str) -> bool {
    let is_here =
        Command::new(shell).arg("--version").limited_output().is_ok_and(|told| told.status.success());
    if !is_here {
        println!("SKIPPED completions of {shell}: this machine has none");
    }
    is_here
}

/// What is offered for this line, which bash takes apart into these words.
fn offered(net: &Net, line: &str, words: &[&str]) -> Vec<String> {
    asked(net, &[&["bash", "--norc", "-c", AT_A_TAB, "bash", line][..], words].concat())
}

/// The lines that a shell prints where `filterd` is a command.
fn asked(net: &Net, shell: &[&str]) -> Vec<String> {
    let place = net.home().path("bin");
    if !place.exists() {
        fs::create_dir(&place).expect("a home can be written");
        symlink(home::binary(), place.join("filterd")).expect("a home can be written");
    }
    let path = format!("{}:{}", place.display(), std::env::var("PATH").unwrap_or_default());
    let mut command: Command = net.host().command("unshare");
    // Interfaces are read where /sys shows the host's.
    command.args(["--mount", "--", "sh", "-c", "mount -t sysfs sysfs /sys && exec \"$@\"", "sh"]);
    command.args(shell).env("PATH", path).env("FILTERD_SOCKET", net.home().socket());
    let done = command.env("HOME", net.home().path("bin")).limited_output().expect("a shell starts");
    assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim_end_matches('\n').split('\n').map(ToOwned::to_owned).collect()
}
