//! A state directory of filterd before there were generations. `fixtures/README.md` says how it was made.

use std::fs;
use std::path::Path;

use harness::{Net, SavedGeneration};
use nix::sys::signal::Signal;

/// The configuration's file when it was made.
const OF: &str = "/tmp/fx/conf/filterd.yaml";

/// On the lists "drop" and "seen". None of their files is there any more.
const LISTED: [&str; 4] = ["203.0.113.7", "203.0.113.100", "192.0.2.1", "192.0.2.3"];

/// On the list "friends", which allows, and on the list "brief", whose `ttl` of 5 minutes is over.
const PASSES: [&str; 2] = ["192.0.2.9", "192.0.2.20"];

/// Blocked by the configuration, and the next one by that on trial.
const BEFORE: &str = "198.51.100.7";
const AFTER: &str = "198.51.100.8";

/// On the list "tried", which is new on trial.
const TRIED: &str = "203.0.113.200";

/// The machine has these directories. Returns the configuration of this name, for the interfaces of this one.
fn with_landed_state(net: &Net, name: &str) -> String {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/state-1");
    let state = net.home().path("state");
    for directory in ["", "lists"] {
        fs::create_dir_all(state.join(directory)).expect("root may");
        for file in fs::read_dir(fixtures.join(name).join(directory)).expect("it is there").flatten() {
            if file.path().is_file() {
                let to = state.join(directory).join(file.file_name());
                fs::copy(file.path(), &to).expect("root may");
            }
        }
    }
    let file = net.home().path("filterd.yaml").display().to_string();
    for copy in ["configuration.yaml", "configuration.yaml.new"] {
        let Ok(copied) = fs::read_to_string(state.join(copy)) else { continue };
        let (head, _) = copied.split_once('\n').expect("it has a head");
        let text = without_interfaces(&copied);
        let sum = crc32fast::hash(text.as_bytes());
        assert!(copied.contains(OF));
        fs::write(state.join(copy), format!("{head}\n# {file} {sum:08x}\n{text}")).expect("root may");
    }
    let config = fs::read_to_string(fixtures.join(format!("{name}.yaml"))).expect("it is there");
    without_interfaces(&config)
}

/// The text behind the line that names the interfaces.
fn without_interfaces(config: &str) -> String {
    let (_, text) = config.split_once("interfaces: [v0]\n").expect("it names the interfaces");
    text.to_owned()
}

#[test]
fn lists_and_configuration_outlive_the_upgrade() {
    let mut net = Net::new();
    let config = with_landed_state(&net, "plain");
    for config in [config.as_str(), &config, "block: ["] {
        net.start(config);
        net.expect_each(LISTED).dropped();
        net.expect(BEFORE).dropped();
        net.expect_each(PASSES).passes();
        net.filterd(["list", "--list", "brief"]).is_silent_about("192.0.2.20");
        net.filterd(["status"]).exits(7).says("list \"drop\" was not updated");
        assert!(
            !net.home().path("state/lists").exists() && !net.home().path("state/configuration.yaml").exists()
        );
        let saved = SavedGeneration::read(net.home(), "current").expect("it is carried over");
        assert_eq!(saved.names(), ["brief", "drop", "friends", "seen"]);
        net.end(Signal::SIGKILL);
    }
}

/// A start that finds a damaged copy says so, and has all the others.
#[test]
fn damaged_copy_loses_one_list_only() {
    let mut net = Net::new();
    let config = with_landed_state(&net, "plain");
    let lists = fs::read_dir(net.home().path("state/lists")).expect("it is there").flatten();
    let is_drop = |text: &[u8]| String::from_utf8_lossy(text).contains("\nname drop\n");
    let path = lists.map(|list| list.path()).find(|path| is_drop(&fs::read(path).expect("it is there")));
    let path = path.expect("it has a copy");
    let mut bytes = fs::read(&path).expect("it is there");
    *bytes.last_mut().expect("it has bytes") ^= 1;
    fs::write(&path, bytes).expect("root may");
    net.start(&config);
    net.filterd(["status"]).exits(7).says("list \"drop\" is not loaded").says("its copy is damaged");
    net.expect_each(["192.0.2.1", BEFORE]).dropped();
    net.expect("203.0.113.7").passes();
}

#[test]
fn trial_goes_on_across_the_upgrade() {
    for is_confirmed in [false, true] {
        let mut net = Net::new();
        let config = with_landed_state(&net, "trial");
        let note = net.home().path("state/trial");
        let text = fs::read_to_string(&note).expect("it has a trial");
        let rest = text.splitn(3, ' ').nth(2).expect("it has words");
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("the kernel has it");
        fs::write(&note, format!("{} {} {rest}", boot.trim(), i64::MAX / 2)).expect("root may");
        net.start(&config);
        net.expect_each(LISTED).dropped();
        net.expect_each([TRIED, AFTER]).dropped();
        net.expect(BEFORE).passes();
        net.filterd(["status"]).exits(7).says("a reload of root (filterd reload) is on trial until");
        if is_confirmed {
            net.filterd(["confirm"]).exits(7);
        } else {
            net.filterd(["rollback"]).succeeds();
        }
        for _ in 0..2 {
            net.expect_each(LISTED).dropped();
            let [dropped, passes] = if is_confirmed { [AFTER, BEFORE] } else { [BEFORE, AFTER] };
            net.expect(dropped).dropped();
            net.expect(passes).passes();
            net.end(Signal::SIGKILL);
            net.start(&config);
        }
    }
}

/// It is of another boot.
#[test]
fn trial_of_an_earlier_boot_is_rolled_back() {
    let mut net = Net::new();
    let config = with_landed_state(&net, "trial");
    for _ in 0..2 {
        net.start(&config);
        net.expect_each(LISTED).dropped();
        net.expect(BEFORE).dropped();
        net.expect_each([TRIED, AFTER]).passes();
        net.filterd(["status"]).exits(7).says("was not confirmed: the earlier configuration");
        net.end(Signal::SIGKILL);
    }
}
