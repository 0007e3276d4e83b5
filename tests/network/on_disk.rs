//! What was believed is on disk, whole, before anything takes it for the last good copy: a power cut at any moment leaves the
//! copy of before or the one of now.

use std::fs;
use std::path::Path;

use harness::{ATTACKER, BYSTANDER, Net, Trace, until};

const CONFIG: &str = "lists: [{name: drop, path: $HOME/drop.txt}]";

/// By these calls files come to be, reach the disk, get names and lose them.
const CALLS: &str = "openat,write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat";

#[test]
fn a_copy_is_on_disk_before_it_has_its_name_and_the_one_before_goes_last() {
    let mut net = Net::new();
    net.file("drop.txt", &format!("{ATTACKER}\n"));
    net.start(CONFIG);
    let copies = net.home().path("state/lists");
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
    let gone = last("removal", &|call| call.starts_with("unlink") && call.contains(&before));
    let order = [written, synced, named, listed, gone];
    assert!(
        order.is_sorted(),
        "written, on disk, named, listed on disk, the old one gone: {order:?}\n{told}"
    );
}

/// The name of the only copy there is, once it tells of this address.
#[track_caller]
fn the_copy_of(copies: &Path, address: &str) -> String {
    let mut name = String::new();
    let mut is_there = || {
        let files: Vec<_> = fs::read_dir(copies).into_iter().flatten().flatten().collect();
        let [file] = files.as_slice() else { return false };
        name = file.file_name().to_string_lossy().into_owned();
        // One that is not finished has an extension yet.
        let is_finished = file.path().extension().is_none();
        let text = fs::read(file.path()).unwrap_or_default();
        is_finished && String::from_utf8_lossy(&text).contains(address)
    };
    until(&mut is_there, "the only copy does not tell of it");
    name
}
