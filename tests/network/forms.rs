//! Lists in the forms that they are published in, alone and together in a folder.

use std::fs;

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net};
use nix::sys::signal::Signal;

const SCORED: &str = "# IPsum\n203.0.113.7\t9\n198.51.100.4\t1\n";
const LINES: &str = "{\"cidr\":\"2001:db8:bad::/48\",\"sblid\":\"SBL1\"}\n\
                     {\"type\":\"metadata\",\"timestamp\":1,\"size\":48,\"records\":1}\n";

#[test]
fn each_list_is_read_in_its_own_form() {
    let mut net = Net::new();
    net.file("ipsum.txt", SCORED);
    net.file("drop.json", LINES);
    net.start(
        "lists: [{name: ipsum, path: $HOME/ipsum.txt, min_score: 3}, {name: drop, path: $HOME/drop.json}]",
    );
    net.expect_each([ATTACKER, ATTACKER6]).dropped();
    net.expect("198.51.100.4").passes();
    net.filterd(["lists"]).succeeds().says("ipsum: read as ipsum").says("drop: read as json");
}

#[test]
fn list_without_end_marker_is_held_back() {
    let mut net = Net::new();
    net.file("drop.json", LINES);
    net.start("lists: [{name: drop, path: $HOME/drop.json}]");
    net.expect(ATTACKER6).dropped();
    net.file("drop.json", "{\"cidr\":\"2001:db8:beef::/48\",\"sblid\":\"SBL2\"}\n");
    net.filterd(["reload"]).exits(7);
    net.expect(ATTACKER6).dropped();
}

/// Hidden files and backups are nobody's list; and what is gone as a whole is what it was, also after a crash.
#[test]
fn folder_is_one_list_of_its_files() {
    const CONFIG: &str = "lists: [{name: all, path: $HOME/lists.d}]";
    let mut net = Net::new();
    let folder = net.home().path("lists.d");
    fs::create_dir(&folder).expect("a home can be written");
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a home can be written");
    write("10-scored", SCORED);
    write("20-lines.json", LINES);
    write(".hidden", "198.51.100.9\n");
    write("10-scored~", "198.51.100.9\n");
    net.start(CONFIG);
    net.expect_each([ATTACKER, ATTACKER6, "198.51.100.4"]).dropped();
    net.expect("198.51.100.9").passes();
    write("30-more", BYSTANDER);
    net.filterd(["reload"]).succeeds();
    net.expect(BYSTANDER).dropped();
    fs::remove_file(folder.join("20-lines.json")).expect("it is there");
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER6).passes();
    fs::rename(&folder, net.home().path("elsewhere")).expect("it is there");
    net.filterd(["reload"]).exits(7).complains("list \"all\"");
    net.end(Signal::SIGKILL);
    net.start(CONFIG);
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    net.expect(ATTACKER6).passes();
}
