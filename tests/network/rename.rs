//! Lists that are renamed, moved, emptied, dropped and added again: what the operator means, in one reload.

use std::fs;
use std::thread;

use serde_json::{Value, json};

use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, Net};

const DROP: &str = "lists: [{name: drop, path: $HOME/drop.txt}]";
const SPAMHAUS: &str = "lists: [{name: spamhaus, path: $HOME/drop.txt}]";

#[test]
fn a_renamed_list_stays_blocked() {
    let net = with_drop();
    becomes(&net, SPAMHAUS);
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    assert_eq!(lists_of(&net, ATTACKER), ["spamhaus"]);
    assert_eq!(names(&net), ["config", "spamhaus"]);
}

#[test]
fn a_renamed_list_is_dropped_all_the_time() {
    let net = with_drop();
    let home = net.home();
    thread::scope(|scope| {
        let renaming = scope.spawn(|| {
            for config in [SPAMHAUS, DROP].iter().cycle().take(20) {
                home.write("filterd.yaml", config);
                home.filterd(["reload"]).succeeds();
            }
        });
        while !renaming.is_finished() {
            net.expect_each((0..20).flat_map(|_| [ATTACKER, ATTACKER6])).dropped();
            net.expect_each([BYSTANDER, BYSTANDER6]).passes();
        }
    });
}

#[test]
fn renamed_and_edited_list_matches_its_file() {
    let net = with_drop();
    net.file("drop.txt", &format!("{ATTACKER}\n{BYSTANDER}\n"));
    becomes(&net, SPAMHAUS);
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    net.expect(ATTACKER6).passes();
}

/// A list is told by which goes on as which, whatever each is called.
#[test]
fn renamed_list_reports_only_its_own_changes() {
    let mut net = Net::new();
    net.file("one.txt", ATTACKER);
    net.file("two.txt", BYSTANDER);
    let lists = |one: &str, two: &str| {
        format!("lists: [{{name: {one}, path: $HOME/one.txt}}, {{name: {two}, path: $HOME/two.txt}}]")
    };
    net.start(&lists("one, ttl: 1h", "two, ttl: 2h"));
    let becomes = |one: &str, two: &str| {
        net.configure(&lists(one, two));
        let would = net.filterd(["diff", "--json"]).exits(1).json();
        (would, net.filterd(["reload", "--json"]).succeeds().json())
    };
    let renamed = |from: &str, to: &str| json!({"from": from, "to": to});
    let (would, is) = becomes("two, ttl: 1h", "one, ttl: 2h");
    assert_eq!((&would["lists"][0]["name"], &would["lists"][0]["was"]), (&"two".into(), &"one".into()));
    assert_eq!((&would["settings"], &is["settings"]), (&Value::Null, &Value::Null));
    assert_eq!(is["renamed"], json!([renamed("one", "two"), renamed("two", "one")]));
    let (would, is) = becomes("three, ttl: 3h", "one, ttl: 2h");
    assert_eq!(would["settings"], json!(["list three: ttl 10800 s, counted anew from then on"]));
    assert_eq!(is["settings"], json!(["list three: ttl 10800 s, counted anew from now on"]));
    assert_eq!(is["renamed"], json!([renamed("two", "three")]));
    let (would, is) = becomes("three, ttl: 3h", "four, ttl: 2h, ipv6_prefix: 64");
    assert_eq!(would["settings"], json!(["list four: IPv6 is widened to /64"]));
    assert_eq!((&is["settings"], &is["renamed"]), (&would["settings"], &json!([renamed("one", "four")])));
    let (would, is) = becomes("five, ttl: 3h, ports: [22]", "four, ttl: 2h, ipv6_prefix: 64");
    let five = json!({"name": "five", "was": "three", "ports": "on port 22 only", "ports_before": "all", "come": 0, "go": 0});
    assert_eq!(would["lists"], json!([five]));
    assert_eq!(is["settings"], json!(["list five: blocks on port 22 only from now on"]));
    assert_eq!(is["renamed"], json!([renamed("three", "five")]));
    let (_, is) = becomes("six, ttl: 3h, allow: true", "four, ttl: 2h, ipv6_prefix: 64");
    assert_eq!(is["settings"], json!(["list six: allows from now on"]));
    assert_eq!(is["renamed"], json!([renamed("five", "six")]));
}

#[test]
fn lists_that_swap_their_names_stay_blocked() {
    let mut net = Net::new();
    net.file("one.txt", &format!("{ATTACKER}\n"));
    net.file("two.txt", &format!("{BYSTANDER}\n"));
    net.start("lists: [{name: one, path: $HOME/one.txt}, {name: two, path: $HOME/two.txt}]");
    becomes(&net, "lists: [{name: two, path: $HOME/one.txt}, {name: one, path: $HOME/two.txt}]");
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    assert_eq!(
        (lists_of(&net, ATTACKER), lists_of(&net, BYSTANDER)),
        (vec!["two".into()], vec!["one".into()])
    );
    net.file("one.txt", "");
    net.filterd(["reload", "--accept", "two"]).succeeds();
    net.expect(ATTACKER).passes();
    net.expect(BYSTANDER).dropped();
}

#[test]
fn list_moved_to_another_path_matches_it() {
    let net = with_drop();
    net.file("new.txt", &format!("{ATTACKER}\n{BYSTANDER}\n"));
    becomes(&net, "lists: [{name: drop, path: $HOME/new.txt}]");
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    net.expect(ATTACKER6).passes();
    becomes(&net, DROP);
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.expect(BYSTANDER).passes();
}

#[test]
fn list_moved_to_another_lists_file_matches_it() {
    let mut net = Net::new();
    net.file("one.txt", &format!("{ATTACKER}\n"));
    net.file("two.txt", &format!("{BYSTANDER}\n"));
    net.start("lists: [{name: one, path: $HOME/one.txt}, {name: two, path: $HOME/two.txt}]");
    becomes(&net, "lists: [{name: two, path: $HOME/one.txt}, {name: one, path: $HOME/one.txt}]");
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
    becomes(&net, "lists: [{name: two, path: $HOME/one.txt}]");
    net.expect(ATTACKER).dropped();
}

#[test]
fn two_lists_can_share_a_file() {
    let net = with_drop();
    becomes(&net, "lists: [{name: drop, path: $HOME/drop.txt}, {name: again, path: $HOME/drop.txt}]");
    assert_eq!(targets_of(&net, "again"), 2);
    becomes(&net, "lists: [{name: again, path: $HOME/drop.txt}]");
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
}

#[test]
fn renamed_list_without_file_keeps_entries() {
    let net = with_drop();
    fs::remove_file(net.home().path("drop.txt")).expect("it was there");
    net.configure(SPAMHAUS);
    net.filterd(["reload", "--json"]).exits(7).has(json!({"held_back": [{"list": "spamhaus"}]}));
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.file("drop.txt", &format!("{ATTACKER}\n"));
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).dropped();
    net.expect(ATTACKER6).passes();
}

#[test]
fn emptied_list_unblocks_and_refilled_list_blocks() {
    let net = with_drop();
    net.file("drop.txt", "# nobody\n");
    net.filterd(["reload", "--accept", "drop"]).succeeds();
    net.expect_each([ATTACKER, ATTACKER6]).passes();
    net.file("drop.txt", &format!("{ATTACKER6}\n"));
    becomes(&net, SPAMHAUS);
    net.expect(ATTACKER6).dropped();
    net.expect(ATTACKER).passes();
}

#[test]
fn removed_list_blocks_again_when_restored() {
    let net = with_drop();
    becomes(&net, "lists: []");
    net.expect_each([ATTACKER, ATTACKER6]).passes();
    assert_eq!(names(&net), ["config"]);
    becomes(&net, DROP);
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    becomes(&net, "lists: []");
    becomes(&net, SPAMHAUS);
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
}

#[test]
fn name_of_removed_list_can_become_live() {
    let net = with_drop();
    becomes(&net, "lists: []");
    net.filterd(["add", BYSTANDER, "--list", "drop"]).succeeds();
    net.configure(DROP);
    net.filterd(["reload"]).exits(3).complains("filterd flush --list drop");
    net.expect(BYSTANDER).dropped();
    net.expect(ATTACKER).passes();
    net.filterd(["flush", "--list", "drop"]).succeeds();
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
    net.filterd(["add", BYSTANDER, "--list", "drop"]).exits(5);
}

#[test]
fn rename_to_live_name_is_refused() {
    let net = with_drop();
    net.filterd(["add", BYSTANDER, "--list", "spamhaus"]).succeeds();
    net.configure(&format!("enforce: false\n{SPAMHAUS}"));
    net.filterd(["reload"]).exits(3);
    net.expect_each([ATTACKER, ATTACKER6, BYSTANDER]).dropped();
    assert_eq!(lists_of(&net, ATTACKER), ["drop"]);
}

/// What goes stands under the list that goes, and of the other it is said what it is called now: in words and in JSON.
#[test]
fn list_taking_a_removed_name_is_reported_separately() {
    let mut net = Net::new();
    net.file("one.txt", &format!("{ATTACKER}\n"));
    net.file("two.txt", &format!("{BYSTANDER}\n"));
    let both = "lists: [{name: one, path: $HOME/one.txt, ttl: 1h}, {name: two, path: $HOME/two.txt}]";
    net.start(both);
    net.configure("lists: [{name: two, path: $HOME/one.txt, ttl: 2h}]");
    let found = net.filterd(["diff", "--json"]).exits(1).json();
    let goes = json!([{"list": "two", "target": BYSTANDER, "gone": true, "comes": false}]);
    assert_eq!(found["entries"], goes);
    assert_eq!(found["settings"], json!(["list two: ttl 7200 s, counted anew from then on"]));
    let reloaded = |setting: &str| {
        let renamed = json!([{"from": "one", "to": "two"}]);
        let told = json!({"gone": ["two"], "renamed": renamed, "settings": [setting]});
        net.filterd(["reload", "--json"]).succeeds().has(told);
    };
    reloaded("list two: ttl 7200 s, counted anew from now on");
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();

    becomes(&net, both);
    net.configure("lists: [{name: two, path: $HOME/one.txt, ttl: 1h, ports: [22]}]");
    let found = net.filterd(["diff", "--json"]).exits(1).json();
    let turned = json!({"name": "two", "was": "one", "ports": "on port 22 only", "ports_before": "all", "come": 0, "go": 0});
    let gone = json!({"name": "two", "gone": true, "come": 0, "go": 1});
    assert_eq!(found["lists"], json!([turned, gone]));
    reloaded("list two: blocks on port 22 only from now on");

    becomes(&net, both);
    net.configure("lists: [{name: two, path: $HOME/one.txt, ttl: 1h, allow: true}]");
    let found = net.filterd(["diff", "--json"]).exits(1).json();
    let turned =
        json!({"name": "two", "was": "one", "allows": true, "allows_before": false, "come": 1, "go": 1});
    assert_eq!(found["lists"], json!([turned, gone]));
    reloaded("list two: allows from now on");
}

/// The lists that block the address.
#[track_caller]
fn lists_of(net: &Net, address: &str) -> Vec<String> {
    let tested = net.filterd(["test", address, "--json"]).exits(0).json();
    let because = tested["tested"][0]["because"].as_array().expect("entries");
    because.iter().map(|entry| entry["list"].as_str().expect("a name").to_owned()).collect()
}

fn with_drop() -> Net {
    let mut net = Net::new();
    net.file("drop.txt", &format!("{ATTACKER}\n{ATTACKER6}\n"));
    net.start(DROP);
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net
}

#[track_caller]
fn becomes(net: &Net, config: &str) {
    net.configure(config);
    net.filterd(["reload"]).succeeds();
}

fn names(net: &Net) -> Vec<String> {
    let status = net.filterd(["status", "--json"]).succeeds().json();
    let lists = status["lists"].as_array().expect("status has lists");
    let mut names: Vec<_> =
        lists.iter().map(|list| list["name"].as_str().expect("a name").to_owned()).collect();
    names.retain(|name| !["manual", "guard"].contains(&name.as_str()));
    names.sort();
    names
}

fn targets_of(net: &Net, name: &str) -> u64 {
    let status = net.filterd(["status", "--json"]).succeeds().json();
    let lists = status["lists"].as_array().expect("status has lists");
    let row = lists.iter().find(|list| list["name"] == name).expect("there is such a list");
    row["targets"].as_u64().expect("a count")
}
