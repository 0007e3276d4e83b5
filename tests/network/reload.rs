//! `filterd reload` and SIGHUP: the difference is applied, or nothing at all.

use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;

use harness::{ATTACKER, ATTACKER6, BYSTANDER, BYSTANDER6, Net, Random};

const SOON: Duration = Duration::from_secs(30);

#[test]
pub(super) fn a_reload_applies_what_changed() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.expect(ATTACKER).dropped();
    net.expect(ATTACKER6).passes();
    net.configure("block: [\"2001:db8:bad::/48\"]");
    let told = net.filterd(["reload", "--json"]).succeeds().json();
    assert_eq!((&told["entered"], &told["left"]), (&1.into(), &1.into()));
    net.expect(ATTACKER).passes();
    net.expect(ATTACKER6).dropped();
}

#[test]
fn a_hang_up_does_the_same() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.configure("block: [\"2001:db8:bad::/48\"]");
    net.daemon().signal(Signal::SIGHUP);
    net.expect(ATTACKER6).then_within(SOON).dropped();
    net.expect(ATTACKER).then_within(SOON).passes();
}

#[test]
fn a_list_file_is_read_again() {
    let mut net = Net::new();
    net.file("drop.txt", "203.0.113.7\n");
    net.start("lists: [{name: drop, path: $HOME/drop.txt}]");
    net.expect(ATTACKER).dropped();
    net.file("drop.txt", "198.51.100.7\n");
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).passes();
    net.expect(BYSTANDER).dropped();
}

#[test]
fn live_entries_survive_a_reload() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.filterd(["add", BYSTANDER]).succeeds();
    net.configure("block: []");
    net.filterd(["reload"]).succeeds();
    net.expect(BYSTANDER).dropped();
    net.expect(ATTACKER).passes();
}

#[test]
fn target_of_configuration_and_command_needs_both_removed() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.filterd(["add", ATTACKER]).succeeds();
    net.configure("block: []");
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).dropped();
    net.filterd(["remove", ATTACKER]).succeeds();
    net.expect(ATTACKER).passes();
}

#[test]
fn configuration_still_blocks_after_command_remove() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.filterd(["add", ATTACKER]).succeeds();
    let told = net.filterd(["remove", ATTACKER, "--json"]).exits(1).json();
    assert_eq!(told["held"][0]["target"], ATTACKER);
    net.expect(ATTACKER).dropped();
    net.configure("block: []");
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).passes();
}

#[test]
fn a_bad_config_changes_nothing() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.configure("enforce: false\nblock: [198.51.100.7, 203.0.113.300]\n");
    let place = format!("{}:2:23", net.home().path("filterd.yaml").display());
    net.filterd(["reload"]).exits(3).complains(&place).complains("203.0.113.300");
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
    net.daemon().signal(Signal::SIGHUP);
    net.filterd(["ping"]).succeeds();
    net.expect(ATTACKER).dropped();
}

#[test]
fn a_list_that_disappeared_keeps_what_it_had() {
    let mut net = Net::new();
    let list = net.file("drop.txt", "203.0.113.7\n");
    net.start("lists: [{name: drop, path: $HOME/drop.txt}]");
    std::fs::remove_file(list).expect("it was there");
    let told = net.filterd(["reload", "--json"]).exits(7).json();
    assert!(told["held_back"][0]["message"].as_str().expect("a message").contains("drop.txt"));
    net.expect(ATTACKER).dropped();
}

#[test]
fn list_removed_from_configuration_unblocks() {
    let mut net = Net::new();
    net.file("drop.txt", "203.0.113.7\n");
    net.start("lists: [{name: drop, path: $HOME/drop.txt}]");
    net.configure("lists: []");
    net.filterd(["reload"]).succeeds();
    net.expect(ATTACKER).passes();
}

#[test]
fn an_unchanged_config_changes_nothing() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    let told = net.filterd(["reload", "--json"]).succeeds().json();
    assert_eq!((&told["entered"], &told["left"]), (&0.into(), &0.into()));
    net.expect(ATTACKER).dropped();
}

#[test]
fn counters_survive_a_reload() {
    let net = Net::with_filterd("block: [203.0.113.7]");
    net.expect(ATTACKER).dropped();
    let before = net.counted("ipv4_address");
    net.configure("enforce: false\nblock: [203.0.113.0/24]");
    net.filterd(["reload"]).succeeds();
    assert_eq!((before, net.counted("ipv4_address")), (1, 1));
}

#[test]
pub(super) fn replaced_targets_leave_no_gap() {
    let mut net = Net::new();
    let mut random = Random(5);
    net.file("narrow.txt", &format!("{NARROW}{}", crowd(&mut random)));
    net.file("wide.txt", &format!("{WIDE}{}", crowd(&mut random)));
    let configs = ["narrow", "wide"].map(|name| format!("lists: [{{name: drop, path: $HOME/{name}.txt}}]"));
    net.start(&configs[0]);
    while_reloading_between(&configs, &net);
}

#[test]
fn target_moving_between_lists_stays_blocked() {
    let mut net = Net::new();
    net.file("drop.txt", NARROW);
    let configs =
        ["block: [203.0.113.7, \"2001:db8:bad::/64\"]", "lists: [{name: drop, path: $HOME/drop.txt}]"];
    net.start(configs[0]);
    while_reloading_between(&configs, &net);
}

const NARROW: &str = "203.0.113.7\n2001:db8:bad::/64\n";
const WIDE: &str = "203.0.113.0/24\n2001:db8:bad::/48\n";

/// So many others in a list that a reload takes its time.
fn crowd(random: &mut Random) -> String {
    random.addresses(30_000).iter().fold(String::new(), |text, address| text + &address.to_string() + "\n")
}

/// Both configurations block both attackers, by different means: at no moment does one of them pass.
fn while_reloading_between(configs: &[impl AsRef<str> + Sync; 2], net: &Net) {
    let (attackers, bystanders) = ([ATTACKER, ATTACKER6], [BYSTANDER, BYSTANDER6]);
    let home = net.home();
    thread::scope(|scope| {
        let reloading = scope.spawn(move || {
            for config in configs.iter().cycle().take(20) {
                home.write("filterd.yaml", config.as_ref());
                home.filterd(["reload"]).succeeds();
            }
        });
        while !reloading.is_finished() {
            net.expect_each((0..50).flat_map(|_| attackers)).dropped();
            net.expect_each(bystanders).passes();
        }
    });
}

#[test]
fn unneeded_table_memory_is_released() {
    let net = Net::new();
    let many: String = (0..60_000).map(|host: u32| format!("11.0.{}.{}\n", host >> 8, host & 255)).collect();
    net.file("list.txt", &many);
    let mut net = net;
    net.start("lists: [{name: many, path: $HOME/list.txt}]");
    let bytes = |net: &Net| {
        let status = net.filterd(["status", "--json"]).succeeds().json();
        status["tables"][0]["bytes"].as_u64().expect("a number")
    };
    let before = bytes(&net);
    net.file("list.txt", &format!("{ATTACKER}\n"));
    net.filterd(["reload", "--accept", "many"]).succeeds();
    assert!(bytes(&net) < before / 2, "{} of {before} bytes", bytes(&net));
    net.expect(ATTACKER).dropped();
    net.expect("11.0.0.9").passes();
    net.wait_for_log("new table with room for");
}
