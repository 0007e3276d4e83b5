//! A list file that nobody hands over (a file system whose server has gone) holds up nobody.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::mount::{MntFlags, MsFlags, mount, umount2};

use harness::{ATTACKER, BYSTANDER, Net};

/// A file system in user space whose server never answers; gone when dropped.
struct Silent {
    directory: PathBuf,
    _server: File,
}

impl Silent {
    fn new(net: &Net) -> Self {
        let directory = net.home().path("silent");
        fs::create_dir(&directory).expect("a home can be written");
        let server = File::options().read(true).write(true).open("/dev/fuse").expect("the kernel has FUSE");
        let words = format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", server.as_raw_fd());
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("silent"), &directory, Some("fuse"), flags, Some(words.as_str())).expect("root may mount");
        Self { directory, _server: server }
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        umount2(&self.directory, MntFlags::MNT_DETACH | MntFlags::MNT_FORCE).expect("it is mounted");
    }
}

#[test]
fn hanging_list_file_delays_nothing_else() {
    let mut net = Net::with_filterd("block: [203.0.113.7]");
    let silent = Silent::new(&net);
    net.file("other.txt", &format!("{BYSTANDER}\n"));
    net.configure(
        "block: [203.0.113.7]\n\
         lists: [{name: hangs, path: $HOME/silent/drop.txt}, {name: other, path: $HOME/other.txt}]",
    );
    let has_answered = AtomicBool::new(false);
    let home = net.home();
    thread::scope(|scope| {
        let reloading = scope.spawn(|| {
            let told = home.filterd_within(60, ["reload"]);
            has_answered.store(true, Ordering::Relaxed);
            told
        });
        // As long as it hangs, others are answered: each of these comes back, and the first of them long before.
        let mut answered = 0;
        while !has_answered.load(Ordering::Relaxed) {
            home.filterd(["add", "192.0.2.77"]).succeeds();
            answered += u32::from(!has_answered.load(Ordering::Relaxed));
        }
        assert!(answered > 0, "nobody was answered while the list hung");
        let told = reloading.join().expect("it is answered");
        told.exits(7).complains("has not answered for").complains("list \"hangs\" is not loaded");
    });
    net.expect("192.0.2.77").dropped();
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    // It is not waited for a second time.
    let told = net.filterd(["reload", "--json"]).exits(7).json();
    assert!(told["milliseconds"].as_u64().expect("a number") < 4000, "{told}");
    net.filterd(["status"]).exits(7).says("list \"hangs\" is not loaded");
    assert!(net.stop().success(), "it ends although a thread hangs");
    drop(silent);
}
