//! What README, the page for operators and those for newcomers say is to be typed, typed as it stands there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net, Typed, commands};

/// Commands that are not typed here, by the document and how they begin, and why not.
const NOT_HERE: [(&str, &str, &str); 6] = [
    (
        "README.md",
        "sudo apt install",
        "changes the machine: the stories of the package do it in a fresh Debian",
    ),
    ("README.md", "sudo systemctl", "asks systemd: the stories of the package do it in a booted guest"),
    (
        "README.md",
        "apt-get install git",
        "changes the machine: `cargo xtask soak fresh-root` does it in a fresh Debian",
    ),
    ("README.md", "cargo xtask", "builds: `cargo xtask soak fresh-root` does it in a fresh Debian"),
    ("docs/from/fail2ban.md", "fail2ban-client", "asks a fail2ban: `fail2ban::` tells it with a real one"),
    ("docs/from/fail2ban.md", "install -m", "is for a fail2ban: `fail2ban::` tells it with a real one"),
];

/// Runs already where a page is about what one does with it.
const RUNNING: &str = "sudo filterd --iface eth0\n";

#[test]
fn what_readme_says_is_to_be_typed_can_be_typed() {
    let text = read("README.md");
    let config =
        text.split_once("```yaml\n").and_then(|(_, rest)| rest.split_once("```")).expect("it shows one").0;
    assert_eq!(text.matches(config).count(), 2, "what is shown is what is tried, below it");
    tell(typed("README.md"));
}

#[test]
fn what_operators_are_told_to_type_can_be_typed() {
    tell(with_filterd(typed("docs/operating.md")));
}

#[test]
fn who_comes_from_ipset_is_told_what_can_be_typed() {
    tell(with_filterd(typed("docs/from/ipset.md")));
}

#[test]
fn who_comes_from_nftables_is_told_what_can_be_typed() {
    tell(with_filterd(typed("docs/from/nftables.md")));
}

#[test]
fn who_comes_from_xdp_filter_is_told_what_can_be_typed() {
    tell(typed("docs/from/xdp-filter.md"));
}

#[test]
fn what_takes_the_place_of_xdp_filters_policy_deny_drops_both_families() {
    let page = read("docs/from/xdp-filter.md");
    let (_, behind) = page.split_once("`block: [").expect("it says what");
    let (block, _) = behind.split_once("]`").expect("and ends");
    let net = Net::with_filterd(&format!("block: [{block}]\nallow: [{BYSTANDER}]"));
    net.expect(ATTACKER).dropped();
    net.expect(ATTACKER6).dropped();
    net.expect(BYSTANDER).passes();
}

#[test]
fn who_comes_from_fail2ban_is_told_what_can_be_typed() {
    tell(with_filterd(typed("docs/from/fail2ban.md")));
}

#[test]
fn who_comes_from_csf_is_told_what_can_be_typed() {
    tell(typed("docs/from/csf.md"));
}

#[test]
fn who_comes_from_couic_is_told_what_can_be_typed() {
    tell(with_filterd(typed("docs/from/couic.md")));
}

#[test]
fn what_is_not_typed_is_there_and_every_page_for_newcomers_is_told() {
    for (document, beginning, why) in NOT_HERE {
        let is_it = |typed: &Typed| !typed.hidden && typed.text.starts_with(beginning);
        assert!(commands(&read(document)).iter().any(is_it), "{document} has no {beginning:?}, which {why}");
    }
    let pages =
        fs::read_dir(at("docs/from")).expect("it is there").map(|page| page.expect("it can be listed"));
    let pages: BTreeSet<_> = pages.map(|page| page.file_name().to_string_lossy().into_owned()).collect();
    let told = ["couic.md", "csf.md", "fail2ban.md", "ipset.md", "nftables.md", "xdp-filter.md"];
    assert_eq!(pages, told.map(ToOwned::to_owned).into(), "a story for each");
}

#[test]
fn a_command_that_ends_otherwise_than_is_said_is_told() {
    let net = Net::new();
    let type_all = |text: &str| net.type_all(&commands(&format!("```sh\n{text}\n```\n")));
    type_all("true\nfalse # as nobody says").exits(99).complains("false # as nobody says");
    type_all("true # exits with 1").exits(99).complains("exits with 0, not 1");
    type_all("sudo filterd --iface nowhere0 --no-such-flag")
        .exits(99)
        .complains("does not run: sudo filterd");
}

#[track_caller]
fn tell(commands: Vec<Typed>) {
    Net::new().type_all(&commands).succeeds();
}

fn with_filterd(commands: Vec<Typed>) -> Vec<Typed> {
    let running = Typed { text: RUNNING.to_owned(), code: 0, hidden: true };
    [running].into_iter().chain(commands).collect()
}

/// The commands of a document that are typed here.
fn typed(document: &str) -> Vec<Typed> {
    let is_left_out = |typed: &Typed| {
        NOT_HERE.iter().any(|(there, beginning, _)| *there == document && typed.text.starts_with(beginning))
    };
    let all: Vec<_> = commands(&read(document)).into_iter().filter(|typed| !is_left_out(typed)).collect();
    assert!(all.iter().any(|typed| !typed.hidden), "{document} has something to type");
    all
}

fn read(document: &str) -> String {
    fs::read_to_string(at(document)).unwrap_or_else(|error| panic!("cannot read {document}: {error}"))
}

fn at(document: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(document)
}
