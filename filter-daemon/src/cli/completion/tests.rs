//! What is offered without a filterd that runs.

use std::ffi::OsString;

use clap::CommandFactory;

use super::known::{interfaces, socket_in, span};
use super::*;
use crate::cli::Arguments;

fn offered(line: &str) -> Vec<String> {
    let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
    let last = words.len() - 1;
    let mut tree = knowing(Arguments::command());
    let found = clap_complete::engine::complete(&mut tree, words, last, None).unwrap();
    let values = found.iter().map(|candidate| candidate.get_value().to_string_lossy().into_owned());
    // Flags go with everything; whoever wants them types their hyphens.
    let begun = line.rsplit(' ').next().unwrap_or_default().starts_with('-');
    values.filter(|value| begun || !value.starts_with('-')).collect()
}

#[test]
fn completions_come_from_the_definition() {
    assert_eq!(offered("filterd do"), ["doctor"]);
    assert_eq!(offered("filterd allow re"), ["remove"]);
    assert_eq!(offered("filterd add --no"), ["--note"]);
    assert_eq!(offered("filterd list --family "), ["4", "6"]);
    assert_eq!(offered("filterd run --mode n"), ["native"]);
    assert_eq!(offered("filterd export --format "), ["plain", "ipset", "nft", "json"]);
    assert_eq!(offered("filterd completions "), ["bash", "zsh", "fish"]);
    assert_eq!(offered("filterd help doc"), ["doctor"]);
    assert!(!offered("filterd ").iter().any(|verb| verb == crate::fetch::CHILD), "hidden ones stay hidden");
}

#[test]
fn completed_interfaces_exist() {
    assert!(interfaces().contains(&"lo".to_owned()));
    assert_eq!(offered("filterd --iface l"), ["lo"]);
}

#[test]
fn values_with_few_forms_are_completed() {
    fn each(command: &Command) {
        for arg in command.get_arguments() {
            let names = arg.get_value_names().unwrap_or_default().iter();
            for name in names.filter(|name| name.contains('|')) {
                let has = arg.get::<ArgValueCandidates>().is_some() || !arg.get_possible_values().is_empty();
                assert!(has, "{} {:?} {name}", command.get_name(), arg.get_long());
            }
        }
        command.get_subcommands().for_each(each);
    }
    each(&knowing(Arguments::command()));
}

#[test]
fn typed_part_of_an_address_becomes_a_prefix() {
    let table = [
        ("", None),
        ("20", None),
        ("203.", Some("203.0.0.0/8")),
        ("203.0.1", Some("203.0.0.0/16")),
        ("203.0.113.7", Some("203.0.113.0/24")),
        ("1.2.3.4.5", Some("1.2.3.4/32")),
        ("1.2.3.4.5.6", None),
        ("300.1", None),
        ("2001:", Some("2001::/16")),
        ("2001:db8:b", Some("2001:db8::/32")),
        ("2001:db8::7:", Some("2001:db8::/32")),
        ("::1", None),
        ("x:y", None),
    ];
    for (typed, expected) in table {
        assert_eq!(span(typed).as_deref(), expected, "{typed:?}");
    }
}

#[test]
fn completions_use_the_socket_option() {
    let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
    assert_eq!(socket_in(words("filterd -- filterd remove --socket /s 2")), Some("/s".into()));
    assert_eq!(socket_in(words("filterd remove 2")), None);
}
