//! What files name with a `ttl` is blocked so long from when it first stood in its file, whatever is restarted and whatever else
//! becomes of the file; and what is over stays so, until the file has not named it for one reading.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net, SavedGeneration, Site, SmallDisk};
use nix::sys::signal::Signal;

/// Long enough for any machine to notice that some seconds are over.
const SOON: Duration = Duration::from_secs(60);

/// Others that are listed.
const OTHER: &str = "192.0.2.9";
const NETWORK: &str = "192.0.2.64/26";

/// Since when and until when.
type Times = (u64, u64);

fn seen(more: &str) -> String {
    format!("lists: [{{name: seen, path: $HOME/seen.txt{more}}}]")
}

fn names(net: &Net, targets: &[&str]) {
    net.file("seen.txt", &(targets.join("\n") + "\n"));
}

/// Since when and until when this is on its list; none if it is not there.
fn times(net: &Net, target: &str) -> Option<Times> {
    let entries = net.filterd(["list", "--json"]).json_lines();
    let allowed = net.filterd(["allow", "list", "--json"]).json_lines();
    let entry = entries.into_iter().chain(allowed).find(|entry| entry["target"] == target)?;
    Some((entry["since"].as_u64()?, entry["until"].as_u64()?))
}

/// Ends are full seconds: what comes from here on comes later than what is there.
fn a_second_goes_by() {
    thread::sleep(Duration::from_millis(1100));
}

/// What a start has read is on disk some time later: whoever reloads is told when.
fn killed(net: &mut Net) {
    net.filterd(["reload"]);
    net.end(Signal::SIGKILL);
}

fn killed_and_started(net: &mut Net, config: &str) {
    killed(net);
    net.start(config);
}

/// Somebody appends to it, again and again, and filterd begins anew each time.
#[test]
fn growing_file_keeps_expiries_through_restarts() {
    let (mut net, config) = (Net::new(), seen(", ttl: 1h"));
    names(&net, &[ATTACKER]);
    net.start(&config);
    let first = times(&net, ATTACKER).expect("it is there");
    a_second_goes_by();
    names(&net, &[ATTACKER, NETWORK]);
    net.filterd(["reload"]).succeeds();
    let second = times(&net, NETWORK).expect("it came with the reload");
    a_second_goes_by();
    // In other words, in another order, and with one more.
    names(&net, &[ATTACKER6, "# as of today", "192.0.2.64-192.0.2.127", "203.0.113.7/32"]);
    killed_and_started(&mut net, &config);
    let third = times(&net, ATTACKER6).expect("it came with the start");
    assert!(first < second && second < third, "{first:?}, {second:?}, {third:?}");
    for restart in 0..3 {
        let told = [ATTACKER, NETWORK, ATTACKER6].map(|target| times(&net, target));
        assert_eq!(told, [first, second, third].map(Some), "{restart}");
        assert!((3600..=3603).contains(&(first.1 - first.0)), "full seconds: {first:?}");
        a_second_goes_by();
        if restart == 1 {
            names(&net, &[ATTACKER6, NETWORK, OTHER, ATTACKER]);
        }
        net.stop();
        net.start(&config);
    }
}

#[test]
fn feed_entries_keep_expiries_through_changes() {
    let (mut net, config) = (Net::new(), format!("lists: [{{name: seen, ttl: 1h, {}}}]", Site::keys()));
    let site = Site::up(&net);
    site.has(&format!("{ATTACKER}\n"));
    net.start(&config);
    let wait_for = |net: &Net, target: &str| {
        let begun = Instant::now();
        while times(net, target).is_none() {
            assert!(begun.elapsed() < SOON, "{target} is fetched");
            thread::sleep(Duration::from_millis(50));
        }
        times(net, target)
    };
    let mut came = vec![(ATTACKER, wait_for(&net, ATTACKER))];
    for another in [BYSTANDER, OTHER, NETWORK] {
        a_second_goes_by();
        site.has(&format!("{another}\n{ATTACKER}\n"));
        net.filterd(["lists", "refresh", "seen"]).succeeds();
        came.push((another, wait_for(&net, another)));
        killed_and_started(&mut net, &config);
        for (target, times_of) in [came[0], came[came.len() - 1]] {
            assert_eq!(times(&net, target), times_of, "{target}");
        }
    }
}

#[test]
fn expired_entries_stay_expired_in_changed_file() {
    let (mut net, config) = (Net::new(), seen(", ttl: 12s"));
    names(&net, &[ATTACKER, NETWORK]);
    net.start(&config);
    net.expect(ATTACKER).dropped().then_within(SOON).passes();
    for more in [&[BYSTANDER][..], &[BYSTANDER, OTHER]] {
        names(&net, &[&[ATTACKER, NETWORK], more].concat());
        killed_and_started(&mut net, &config);
        net.expect_each([ATTACKER, "192.0.2.77"]).passes();
        net.filterd(["test", ATTACKER]).exits(1).says("it has expired there");
        net.expect(BYSTANDER).dropped();
        net.filterd(["status"]).succeeds().says("2 expired");
    }
    net.expect(BYSTANDER).then_within(SOON).passes();
}

#[test]
fn entry_that_ends_while_stopped_is_expired() {
    let (mut net, config) = (Net::new(), seen(", ttl: 8s"));
    names(&net, &[ATTACKER]);
    net.start(&config);
    net.expect(ATTACKER).dropped();
    killed(&mut net);
    names(&net, &[ATTACKER, BYSTANDER]);
    thread::sleep(Duration::from_secs(9));
    net.start(&config);
    net.expect(ATTACKER).passes();
    net.expect(BYSTANDER).dropped();
}

#[test]
fn entry_missing_once_starts_again_after_restart() {
    for reads_it in [|net: &mut Net, _: &str| _ = net.filterd(["reload"]).succeeds(), killed_and_started] {
        let (mut net, config) = (Net::new(), seen(", ttl: 10s"));
        names(&net, &[ATTACKER, BYSTANDER]);
        net.start(&config);
        net.expect(ATTACKER).then_within(SOON).passes();
        names(&net, &[BYSTANDER]);
        reads_it(&mut net, &config);
        killed(&mut net);
        names(&net, &[ATTACKER, BYSTANDER]);
        net.start(&config);
        net.expect(ATTACKER).dropped();
        net.filterd(["test", BYSTANDER]).exits(1).says("it has expired there");
        net.expect(ATTACKER).then_within(SOON).passes();
    }
}

/// Whatever it is to be on the list, and whatever that becomes meanwhile.
#[test]
fn entries_keep_expiries_through_rename_and_kind() {
    let kinds = ["", ", allow: true", ", ipv6_prefix: 64", ", ports: [22]"];
    let changed =
        [(", ipv6_prefix: 48", ""), ("", ", ports: [22]"), (", ports: [22]", ", except_ports: [80]")];
    let kinds = kinds.map(|kind| (kind, kind)).into_iter().chain(changed);
    for (before, after) in kinds {
        let mut net = Net::new();
        names(&net, &[ATTACKER, ATTACKER6]);
        net.start(&seen(&format!(", ttl: 1h{before}")));
        let came = [ATTACKER, ATTACKER6].map(|target| times(&net, target).expect("it is there"));
        a_second_goes_by();
        killed(&mut net);
        names(&net, &[ATTACKER6, ATTACKER, OTHER]);
        let after = seen(&format!(", ttl: 1h{after}"));
        net.start(&after.replace("name: seen", "name: found"));
        let again = [ATTACKER, ATTACKER6].map(|target| times(&net, target).expect("it is there"));
        assert_eq!(again, came, "{before:?}, {after:?}");
        assert!(times(&net, OTHER) > Some(came[0]));
        // Its file is missing, and so its copy is what it is.
        killed(&mut net);
        fs::remove_file(net.home().path("seen.txt")).expect("it was there");
        net.start(&after);
        let again = [ATTACKER, ATTACKER6].map(|target| times(&net, target).expect("it is there"));
        assert_eq!(again, came, "{before:?}, {after:?}");
    }
}

#[test]
fn folder_entries_keep_expiries_as_files_change() {
    let mut net = Net::new();
    let config = "lists: [{name: seen, path: $HOME/seen.d, ttl: 1h}]";
    fs::create_dir(net.home().path("seen.d")).expect("a home can be written");
    net.file("seen.d/one.txt", ATTACKER);
    net.start(config);
    let came = times(&net, ATTACKER);
    a_second_goes_by();
    killed(&mut net);
    net.file("seen.d/another.txt", &format!("{OTHER}\n{ATTACKER}\n"));
    fs::remove_file(net.home().path("seen.d/one.txt")).expect("it was there");
    net.start(config);
    assert_eq!((times(&net, ATTACKER), came.is_some()), (came, true));
    assert!(times(&net, OTHER) > came);
}

#[test]
fn changed_ttl_restarts_expiries_at_start() {
    let mut net = Net::new();
    names(&net, &[ATTACKER]);
    net.start(&seen(", ttl: 2s"));
    net.expect(ATTACKER).then_within(SOON).passes();
    names(&net, &[ATTACKER, BYSTANDER]);
    killed_and_started(&mut net, &seen(", ttl: 1h"));
    net.expect_each([ATTACKER, BYSTANDER]).dropped();
    let came = times(&net, ATTACKER);
    killed_and_started(&mut net, &seen(""));
    net.expect(ATTACKER).dropped();
    assert_eq!(times(&net, ATTACKER), None, "it has no end");
    a_second_goes_by();
    killed_and_started(&mut net, &seen(", ttl: 1h"));
    assert!(times(&net, ATTACKER) > came, "all of it counts anew");
}

/// Nobody has been told that the reload came about; and what was known before counts.
#[test]
fn unwritable_copy_keeps_earlier_times() {
    let mut net = Net::new();
    let (disk, config) = (SmallDisk::of_state(net.home()), seen(", ttl: 1h"));
    names(&net, &[ATTACKER]);
    net.start(&config);
    let came = times(&net, ATTACKER);
    a_second_goes_by();
    names(&net, &[ATTACKER, BYSTANDER]);
    disk.fill();
    net.filterd(["reload"]).exits(7).complains("there is no copy of list \"seen\"");
    assert_eq!((times(&net, ATTACKER), came.is_some()), (came, true));
    let later = times(&net, BYSTANDER);
    a_second_goes_by();
    net.end(Signal::SIGKILL);
    disk.make_room();
    names(&net, &[ATTACKER, BYSTANDER, OTHER]);
    net.start(&config);
    assert_eq!(times(&net, ATTACKER), came);
    assert!(times(&net, BYSTANDER) > later, "nobody could write down when it came");
    assert!(times(&net, OTHER) > came);
}

#[test]
fn take_over_keeps_expiries_of_lists() {
    let (mut net, config) = (Net::new(), seen(", ttl: 1h"));
    names(&net, &[ATTACKER]);
    net.start(&config);
    net.filterd(["reload"]).succeeds();
    let came = times(&net, ATTACKER);
    for another in [BYSTANDER, OTHER] {
        a_second_goes_by();
        names(&net, &[ATTACKER, another]);
        net.succeed(&config);
        assert_eq!((times(&net, ATTACKER), came.is_some()), (came, true));
        assert!(times(&net, another) > came);
    }
}

/// The bytes of the list are in its copy; what they are read as by now, nobody can write down for a while.
#[test]
fn next_possible_reload_writes_missing_times() {
    let mut net = Net::new();
    let (disk, config) = (SmallDisk::of_state(net.home()), seen(", ttl: 1h"));
    names(&net, &[ATTACKER, "10.1.2.3"]);
    net.start(&config);
    net.filterd(["reload"]).succeeds();
    let before = written(&net);
    disk.fill();
    net.configure(&config.replace("1h", "1h, include_special: true"));
    net.filterd(["reload"]).exits(7).complains("there is no copy of list \"seen\"");
    let came = times(&net, "10.1.2.3");
    assert_eq!((written(&net), came.is_some()), (before, true));
    disk.make_room();
    net.filterd(["reload"]).succeeds();
    assert!(written(&net) > before);
    a_second_goes_by();
    net.end(Signal::SIGKILL);
    names(&net, &[ATTACKER, "10.1.2.3", OTHER]);
    net.start(&config.replace("1h", "1h, include_special: true"));
    assert_eq!(times(&net, "10.1.2.3"), came);
}

#[test]
fn damaged_times_in_copy_keep_the_list() {
    let (mut net, config) = (Net::new(), seen(", ttl: 1h"));
    names(&net, &[ATTACKER]);
    net.start(&config);
    a_second_goes_by();
    names(&net, &[ATTACKER, BYSTANDER]);
    net.filterd(["reload"]).succeeds();
    net.end(Signal::SIGKILL);
    let current = SavedGeneration::read(net.home(), "current").expect("it is there");
    let copy = current.blob(&current.lists().next().expect("it has a list")["times"]);
    let length = fs::metadata(&copy).expect("it is there").len();
    let file = OpenOptions::new().write(true).open(&copy).expect("root may");
    file.write_all_at(b"\xff\xff", length - 2).expect("root may");
    names(&net, &[ATTACKER, BYSTANDER, OTHER]);
    net.start(&config);
    net.expect_each([ATTACKER, BYSTANDER, OTHER]).dropped();
    net.wait_for_log("list \"seen\": its copy does not say when its entries were added");
    let again = times(&net, ATTACKER);
    // From here on it is known again.
    names(&net, &[ATTACKER]);
    killed_and_started(&mut net, &config.replace("1h", "1h, max_shrink: 90%"));
    assert_eq!((times(&net, ATTACKER), again.is_some()), (again, true));
    assert_eq!(net.daemon().log().matches("does not say when its entries were added").count(), 1);
}

/// When the generation in force was saved.
fn written(net: &Net) -> SystemTime {
    let current = fs::metadata(net.home().path("state/current")).expect("it is there");
    current.modified().expect("it has a time")
}

/// Nothing has changed, and so nothing is written, though the file may have been written anew.
#[test]
fn unchanged_list_keeps_its_copy_unchanged() {
    let (mut net, config) = (Net::new(), seen(", ttl: 1h"));
    names(&net, &[ATTACKER]);
    net.start(&config);
    net.filterd(["reload"]).succeeds();
    let before = written(&net);
    for _ in 0..2 {
        net.stop();
        net.start(&config);
        net.filterd(["reload"]).succeeds();
        assert_eq!(written(&net), before);
        names(&net, &[ATTACKER]);
        net.filterd(["reload"]).succeeds();
        assert_eq!(written(&net), before);
    }
    // Read in another way it says the same, perhaps.
    net.configure(&config.replace("1h", "1h, min_entries: 1, include_special: true"));
    net.filterd(["reload"]).succeeds();
    assert!(written(&net) > before);
}
