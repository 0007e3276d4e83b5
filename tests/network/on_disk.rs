//! What was believed is on disk, whole, before anything takes it for the last good copy: a power cut at any moment leaves the
//! copy of before or the one of now.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use harness::{ATTACKER, BYSTANDER, Net, Refusal, SavedGeneration, SmallDisk, Trace, until};
use nix::sys::signal::Signal;

const CONFIG: &str = "lists: [{name: drop, path: $HOME/drop.txt}]";

/// More than are made in one go.
const MANY: usize = 100;

/// What a slow disk takes.
const DELAY: Duration = Duration::from_secs(1);

/// By these calls files come to be, reach the disk, get names and lose them.
const CALLS: &str = "openat,write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat";

#[test]
fn copy_is_synced_before_it_is_renamed() {
    let mut net = Net::new();
    net.file("drop.txt", &format!("{ATTACKER}\n"));
    net.start(CONFIG);
    let copies = net.home().path("state/blobs");
    let before = the_copy_of(&copies, ATTACKER);
    let trace = Trace::of(net.daemon().id(), CALLS, net.home().path("trace"));
    net.file("drop.txt", &format!("{ATTACKER}\n{BYSTANDER}\n"));
    net.filterd(["reload"]).succeeds();
    let after = the_copy_of(&copies, BYSTANDER);
    let calls = trace.end();
    let told = calls.join("\n");
    assert_ne!(before, after, "a copy is never written over");
    let last = |what: &str, is_it: &dyn Fn(&str) -> bool| {
        calls.iter().rposition(|call| is_it(call)).unwrap_or_else(|| panic!("no {what}:\n{told}"))
    };
    let named = last("name", &|call| call.starts_with("rename") && call.contains(&after));
    let draft = calls[named].split('"').nth(1).expect("what gets the name is told").to_owned();
    assert!(Path::new(&draft).starts_with(&copies), "it gets its name where it is: {draft}");
    let of_draft = format!("<{draft}>");
    let written = last("write", &|call| call.contains("write") && call.contains(&of_draft));
    let synced = last("fsync", &|call| call.starts_with("fsync") && call.contains(&of_draft));
    let directory = format!("<{}>", copies.display());
    let listed =
        last("fsync of the directory", &|call| call.starts_with("fsync") && call.contains(&directory));
    let in_force = last("manifest", &|call| call.starts_with("rename") && call.contains("/current\""));
    let state = format!("<{}>", net.home().path("state").display());
    let said =
        last("fsync of the state directory", &|call| call.starts_with("fsync") && call.contains(&state));
    let gone = last("removal", &|call| call.starts_with("unlink") && call.contains(&before));
    let order = [written, synced, named, listed, in_force, said, gone];
    assert!(
        order.is_sorted(),
        "written, on disk, named, listed on disk, in the manifest, that on disk, the old one gone: {order:?}\n{told}"
    );
}

/// Nobody reloads: filterd tries again by itself. What a file says by now is not taken for that.
#[test]
fn copies_are_retried_when_disk_has_room() {
    const LISTS: &str =
        "lists: [{name: drop, path: $HOME/drop.txt}, {name: changed, path: $HOME/changed.txt}]";
    let mut net = Net::new();
    let disk = SmallDisk::of_state(net.home());
    net.file("drop.txt", "");
    net.file("changed.txt", "192.0.2.1\n");
    net.start(LISTS);
    disk.fill();
    net.file("drop.txt", &format!("{ATTACKER}\n"));
    net.file("changed.txt", "192.0.2.1\n192.0.2.2\n");
    net.configure(&format!("block: [203.0.113.77]\n{LISTS}"));
    net.filterd(["reload"])
        .exits(7)
        .complains("no copy of list \"drop\"")
        .complains("no copy of the configuration");
    net.file("changed.txt", &format!("192.0.2.1\n{BYSTANDER}\n"));
    disk.make_room();
    let told = |net: &Net| net.filterd(["status"]).output;
    until(|| !told(&net).contains("no copy of the configuration"), "the configuration has no copy");
    until(|| !told(&net).contains("no copy of list \"drop\""), "list \"drop\" has no copy");
    net.filterd(["status"]).exits(7).says("no copy of list \"changed\"").says("`filterd reload` reads it");
    net.expect(BYSTANDER).passes();
    net.filterd(["reload"]).succeeds();
    net.filterd(["status"]).succeeds();
    net.expect(BYSTANDER).dropped();
    // The copies are what was in force.
    net.end(Signal::SIGKILL);
    fs::remove_file(net.home().path("drop.txt")).expect("it is ours");
    net.start("block: [");
    net.expect_each([ATTACKER, BYSTANDER, "203.0.113.77"]).dropped();
}

/// The names of all of them are brought to disk at one stroke, before any of those before goes.
#[test]
fn many_copies_are_synced_before_renaming_together() {
    let mut net = Net::new();
    write_many(&net, 0);
    net.start(&many("old"));
    let copies = net.home().path("state/blobs");
    let are_saved = |saved: SavedGeneration| saved.lists().count() == MANY;
    until(|| SavedGeneration::read(net.home(), "current").is_some_and(are_saved), "all are saved");
    let before = blobs(&net);
    let trace = Trace::of(net.daemon().id(), CALLS, net.home().path("trace"));
    write_many(&net, 1);
    net.filterd(["reload"]).succeeds();
    let after = blobs(&net);
    let calls = trace.end();
    let told = calls.join("\n");
    assert!(after.len() == MANY && after.iter().all(|file| !before.contains(file)), "{after:?}");
    let all = |is_it: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..calls.len()).filter(|at| is_it(&calls[*at])).collect()
    };
    let named: Vec<_> = after
        .iter()
        .map(|file| {
            let named = all(&|call| call.starts_with("rename") && call.contains(file.as_str()));
            let [named] = named[..] else { panic!("{file} gets its name once:\n{told}") };
            let draft = calls[named].split('"').nth(1).expect("what gets the name is told");
            let of_draft = format!("<{draft}>");
            let written = all(&|call| call.contains("write") && call.contains(&of_draft));
            let synced = all(&|call| call.starts_with("fsync") && call.contains(&of_draft));
            assert!(written.last() < synced.last() && synced.last() < Some(&named), "{draft}:\n{told}");
            named
        })
        .collect();
    let directory = format!("<{}>", copies.display());
    let listed = all(&|call| call.starts_with("fsync") && call.contains(&directory));
    let [listed] = listed[..] else { panic!("the directory is brought to disk once:\n{told}") };
    let gone =
        all(&|call| call.starts_with("unlink") && before.iter().any(|file| call.contains(file.as_str())));
    assert_eq!(gone.len(), MANY, "{told}");
    assert!(named.iter().all(|named| *named < listed) && gone.iter().all(|gone| listed < *gone), "{told}");
}

/// The disk may be slow: whoever asked waits for it and is told so, and nobody else waits.
#[test]
fn reload_reports_time_spent_on_copies() {
    let mut net = Net::new();
    net.file("drop.txt", &format!("{ATTACKER}\n"));
    net.start(CONFIG);
    let copies = net.home().path("state/blobs");
    the_copy_of(&copies, ATTACKER);
    let slow = Refusal::delay(net.daemon().id(), "fsync", DELAY);
    net.configure("lists: [{name: other, path: $HOME/drop.txt}]");
    let home = net.home();
    thread::scope(|scope| {
        let begun = Instant::now();
        let reload = scope.spawn(|| home.filterd(["reload", "--json"]).succeeds().json());
        until(|| net.filterd(["lists", "--json"]).output.contains("\"other\""), "it is in force");
        let in_force = begun.elapsed();
        net.filterd(["ping"]).succeeds();
        assert!(begun.elapsed() < in_force + DELAY, "nobody else waits");
        assert!(!reload.is_finished());
        let told = reload.join().expect("it only asks");
        let took = Duration::from_millis(told["milliseconds"].as_u64().expect("a count"));
        assert!(took > in_force + DELAY && took <= begun.elapsed(), "in force after {in_force:?}: {told}");
    });
    slow.end();
}

/// The names of the blobs of all lists in force.
fn blobs(net: &Net) -> Vec<String> {
    let current = SavedGeneration::read(net.home(), "current").expect("it is there");
    let name = |path: &Path| path.file_name().expect("a blob has a name").to_string_lossy().into_owned();
    current.blobs().iter().map(|path| name(path)).collect()
}

fn write_many(net: &Net, octet: u8) {
    (0..MANY).for_each(|number| _ = net.file(&format!("{number}.txt"), &format!("10.{octet}.0.{number}\n")));
}

/// As many lists, called so.
fn many(name: &str) -> String {
    let lists = (0..MANY).map(|number| format!("- {{name: {name}-{number}, path: $HOME/{number}.txt}}\n"));
    format!("lists:\n{}", lists.collect::<String>())
}

/// The name of the only copy that has this address, once it is there.
#[track_caller]
fn the_copy_of(copies: &Path, address: &str) -> String {
    let mut name = String::new();
    let mut is_there = || {
        let files = fs::read_dir(copies).into_iter().flatten().flatten();
        let has_address = |path: &Path| {
            let text = fs::read(path).unwrap_or_default();
            // One that is not finished has an extension yet.
            path.extension().is_none() && String::from_utf8_lossy(&text).contains(address)
        };
        let files: Vec<_> = files.filter(|file| has_address(&file.path())).collect();
        let [file] = files.as_slice() else { return false };
        name = file.file_name().to_string_lossy().into_owned();
        true
    };
    until(&mut is_there, "the only copy does not tell of it");
    name
}

/// A life's: a list whose file is gone could not be saved once. With room again it is, and may be tried.
#[test]
fn lifes_list_without_file_is_saved_when_room_returns() {
    let mut net = Net::new();
    let disk = SmallDisk::of_state(net.home());
    let config = |more: &str| format!("lists: [{{name: drop, path: $HOME/drop.txt{more}}}]");
    net.file("drop.txt", &format!("{ATTACKER}\n"));
    net.start(&config(""));
    net.filterd(["reload"]).succeeds();
    fs::remove_file(net.home().path("drop.txt")).expect("it is there");
    net.filterd(["reload"]).exits(7);
    disk.shrink_to_its_content();
    net.configure(&config(", ipv6_prefix: 56"));
    net.filterd(["reload"]).exits(7).complains("there is no copy of list \"drop\"");
    disk.resize("2m");
    let reloaded = net.filterd(["reload", "--json"]).exits(7).json();
    assert!(reloaded["not_kept"].is_null(), "{reloaded}");
    net.filterd(["reload", "--confirm", "1h"]).exits(7);
    net.filterd(["confirm"]).exits(7);
    net.end(Signal::SIGKILL);
    net.start(&config(", ipv6_prefix: 56"));
    net.expect(ATTACKER).dropped();
}

/// A life's: to roll back takes no room, also of a list whose entries end.
#[test]
fn lifes_rollback_needs_no_room_for_times() {
    let mut net = Net::new();
    let disk = SmallDisk::of_state(net.home());
    let config = "lists: [{name: drop, path: $HOME/drop.txt, ttl: 1h}]";
    net.file("drop.txt", &format!("{ATTACKER}\n"));
    net.start(config);
    net.filterd(["reload"]).succeeds();
    net.file("drop.txt", &format!("{BYSTANDER}\n"));
    net.filterd(["reload", "--confirm", "1h"]).succeeds();
    let until =
        |net: &Net| net.filterd(["list", "--json"]).succeeds().json_lines().remove(0)["until"].clone();
    disk.shrink_to_its_content();
    net.filterd(["rollback"]).succeeds();
    net.expect(ATTACKER).dropped();
    let before = until(&net);
    net.end(Signal::SIGKILL);
    net.start(config);
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
    assert!(before.is_number(), "{before}");
    assert_eq!(before, until(&net), "its end stays");
}
