//! A list that somebody is writing while filterd reads it: half of a line is somebody else's address.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use harness::{ATTACKER, BYSTANDER, Net};

#[test]
fn line_being_written_blocks_nobody() {
    let mut net = Net::new();
    net.file("drop.txt", &format!("{ATTACKER}\n"));
    net.start("lists: [{name: drop, path: $HOME/drop.txt}]");
    // As much of another line as is there so far; whoever writes it never stops for long.
    let mut file = OpenOptions::new().append(true).open(net.home().path("drop.txt")).expect("it is ours");
    file.write_all(BYSTANDER.as_bytes()).expect("there is room");
    let is_done = Arc::new(AtomicBool::new(false));
    let writes_until = is_done.clone();
    let writer = thread::spawn(move || {
        while !writes_until.load(Ordering::Acquire) {
            file.write_all(b" ").expect("there is room");
            sleep(Duration::from_millis(1));
        }
        file.write_all(b"# whole\n").expect("there is room");
    });
    net.filterd(["reload"]).succeeds().complains("list \"drop\": 1 line was not understood");
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
    net.filterd(["lists"]).succeeds().says("drop.txt:2 has no line end, and its file is being written");
    let config = net.home().path("filterd.yaml").display().to_string();
    net.filterd(["check", &config]).complains("has no line end, and its file is being written");
    is_done.store(true, Ordering::Release);
    writer.join().expect("it has written");
    net.filterd(["reload"]).succeeds();
    net.expect(BYSTANDER).dropped();
    net.filterd(["lists"]).succeeds().is_silent_about("was not understood");
}

/// An outsider's: a long list is written anew in place, and is read when half of it is there. Half a list at rest is
/// held back, too.
#[test]
fn outsiders_list_half_written_is_held_back() {
    let mut net = Net::new();
    let lines: Vec<_> = (0..250).map(|host| format!("198.51.100.{host}\n")).collect();
    net.file("drop.txt", &lines.concat());
    net.start("lists: [{name: drop, path: $HOME/drop.txt, max_shrink: 60%}]");
    let mut file = std::fs::File::create(net.home().path("drop.txt")).expect("it is ours");
    file.write_all(lines[..125].concat().as_bytes()).expect("there is room");
    let is_done = Arc::new(AtomicBool::new(false));
    let writes_until = is_done.clone();
    let writer = thread::spawn(move || {
        file.write_all(b"198.51.100.125").expect("there is room");
        while !writes_until.load(Ordering::Acquire) {
            file.write_all(b" ").expect("there is room");
            sleep(Duration::from_millis(1));
        }
        file.write_all(b"\n").expect("there is room");
        file.write_all(lines[126..].concat().as_bytes()).expect("there is room");
    });
    let cut = "ends in the middle of a line: it has 125 targets, but had 250 before";
    net.filterd(["reload"]).exits(7).complains(cut);
    net.expect_each(["198.51.100.7", "198.51.100.249"]).dropped();
    is_done.store(true, Ordering::Release);
    writer.join().expect("it has written");
    net.filterd(["reload"]).succeeds();
    net.filterd(["status"]).succeeds();
    net.expect_each(["198.51.100.7", "198.51.100.125", "198.51.100.249"]).dropped();
}

#[test]
fn unterminated_last_line_counts_in_quiet_file() {
    let mut net = Net::new();
    net.file("drop.txt", ATTACKER);
    std::fs::create_dir(net.home().path("folder")).expect("it is ours");
    net.file("folder/one.txt", BYSTANDER);
    net.start("lists: [{name: drop, path: $HOME/drop.txt}, {name: folder, path: $HOME/folder}]");
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    net.filterd(["status"]).succeeds();
}
