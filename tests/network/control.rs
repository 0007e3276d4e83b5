//! What programs are promised: docs/reference/control.md's own client works, and every answer of every verb says its version.

use std::process::Command;

use harness::{ATTACKER, BYSTANDER, Net, Reply};
use nix::sys::signal::Signal;
use serde_json::Value;

const DOCUMENT: &str = include_str!("../../docs/reference/control.md");

/// The client of the document, as it stands there.
fn client(net: &Net) -> String {
    let (_, behind) = DOCUMENT.split_once("```python\n").expect("there is one");
    let (client, _) = behind.split_once("```").expect("it ends");
    assert!(client.lines().count() <= 25, "it is short");
    net.home().write("client.py", client).display().to_string()
}

#[test]
fn the_client_of_the_document_blocks_and_asks() {
    let net = Net::with_filterd("");
    let socket = net.home().socket().display().to_string();
    let client = client(&net);
    let run = |words: &[&str]| Reply::of(Command::new("python3").args([&client, &socket]).args(words));
    let told = run(&[ATTACKER, "198.18.0.1"]).succeeds();
    assert_eq!(told.output, format!("2 blocked\n{ATTACKER} 198.18.0.1\n"));
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
    net.filterd(["list"]).succeeds().says("from a client");
    run(&["not-an-address"]).exits(1).complains("io.filterd.Unparsable: ");
}

/// The groups of commands in the help.
const GROUPS: [&str; 4] = ["Block:", "Inspect:", "Configure:", "Service:"];

/// The names of all commands, as the help shows them in groups.
fn verbs(net: &Net) -> Vec<String> {
    let help = net.filterd(["--help"]).succeeds().output;
    let is_group = |section: &&str| GROUPS.iter().any(|title| section.starts_with(title));
    let rows = help.split("\n\n").filter(is_group).flat_map(|section| section.lines().skip(1));
    let named = rows.filter(|line| !line.starts_with("   "));
    named.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

#[test]
fn every_json_answer_begins_with_its_version() {
    let mut net = Net::with_filterd("");
    let file = net.home().write("bans.txt", "203.0.113.9\n").display().to_string();
    let config = net.home().path("filterd.yaml").display().to_string();
    let verbs = verbs(&net);
    assert!(verbs.len() > 15 && verbs.iter().any(|verb| verb == "status"), "{verbs:?}");
    for verb in &verbs {
        let words: &[&str] = match verb.as_str() {
            // `run` says nothing but why it ends; help is for people.
            "run" | "help" | "detach" => continue,
            "add" | "remove" | "test" => &[ATTACKER],
            "allow" => &["list"],
            "import" => &[&file],
            "check" => &[&config],
            "pause" => &["1m"],
            _ => &[],
        };
        // What goes on until it is ended, `watch` and `top`, is ended; whatever they have said by then counts.
        let told = net.filterd_within(5, [&[verb.as_str()], words, &["--json"]].concat());
        let is_quiet = ["watch", "top", "list", "allow"].contains(&verb.as_str());
        assert!(is_quiet || !told.output.is_empty(), "{verb} says nothing: {told}");
        // An export is one document of many lines, whose first says its version.
        let promised = if verb == "export" { 1 } else { usize::MAX };
        for line in told.output.lines().take(promised) {
            let object: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {told}"));
            assert_eq!(object["version"], 1, "{verb} does not begin with its version: {line}");
            assert!(line.starts_with("{\"version\":"), "{verb}: {line}");
            for field in object.as_object().expect("it is one").keys() {
                let is_told =
                    [format!("`{field}`"), format!("\"{field}\"")].iter().any(|it| DOCUMENT.contains(it));
                assert!(is_told, "{verb} tells `{field}`, and nobody says what that is");
            }
        }
    }
    for wrong in [
        &["add", "nowhere", "--json"][..],
        &["nosuch", "--json"],
        &["export", "--format", "nft", "--json"],
        &["flush", "--list", "guard", "--json"],
    ] {
        let told = net.filterd(wrong);
        assert_eq!(told.json()["version"], 1, "{told}");
    }
    // Where nobody answers, too; and of what is left at work.
    net.end(Signal::SIGKILL);
    for verb in ["add", "status", "stats", "list", "lists", "export", "watch", "top", "pause"] {
        let words: &[&str] = if verb == "add" { &[ATTACKER] } else { &[] };
        let told = net.filterd([&[verb], words, &["--json"]].concat()).exits(6);
        assert_eq!(told.json()["version"], 1, "{verb}: {told}");
    }
    let pins = net.home().pins().display().to_string();
    let told = net.filterd(["detach", "--pin-dir", &pins, "--json"]).succeeds();
    assert!(told.output.starts_with("{\"version\":1,\"detached\":[\"eth0\"]"), "{told}");
}
