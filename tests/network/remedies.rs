//! What `filterd test` says would unblock a target, done word for word, has it pass: whatever lists hold it, one inside the
//! other, live ones and files, widened ones and such as block on some ports.

use std::net::IpAddr;

use harness::{Frame, Net, Random};

/// Rounds: in each other lists, and a few targets are asked for.
const ROUNDS: usize = 8;
const ASKED: usize = 4;

const TCP: u8 = 6;
const FILES: [&str; 3] = ["drop.txt", "feed.txt", "ssh.txt"];
const LIVE: [&str; 3] = ["manual", "web", "sshd"];
const LISTS: &str = "
lists:
  - {name: drop, path: $HOME/drop.txt, include_wide: true}
  - {name: feed, path: $HOME/feed.txt, ipv6_prefix: 64}
  - {name: ssh, path: $HOME/ssh.txt, ports: [22]}
  - {name: sshd, ipv6_prefix: 56}
";

#[test]
fn remedies_of_test_unblock_every_target() {
    let (mut net, mut random) = (Net::new(), Random(17));
    FILES.iter().for_each(|file| _ = net.file(file, "192.0.2.1\n"));
    net.start(LISTS);
    let mut done = Done::default();
    for _ in 0..ROUNDS {
        let mut lists = Lists::any(&net, &mut random);
        for _ in 0..ASKED {
            let target = target(&mut random);
            unblock(&net, &mut lists, &target, &mut done);
        }
    }
    println!("{done:?}");
    assert!(done.allowed > 5 && done.removed > 10 && done.taken_out > 5 && done.piped > 0, "{done:?}");
}

/// How much of what there is to do was done.
#[derive(Debug, Default)]
struct Done {
    allowed: u32,
    removed: u32,
    piped: u32,
    taken_out: u32,
}

/// What is in the configuration and its files, a target a line.
struct Lists {
    block: Vec<String>,
    files: [Vec<String>; 3],
}

impl Lists {
    fn any(net: &Net, random: &mut Random) -> Self {
        let some = |random: &mut Random, most| -> Vec<String> {
            (0..random.below(most)).map(|_| target(random)).collect()
        };
        let lists = Self { block: some(random, 4), files: [(); 3].map(|()| some(random, 8)) };
        net.filterd(["flush"]).succeeds();
        lists.write(net);
        for list in LIVE {
            let most = if random.below(3) == 0 { 40 } else { 4 };
            let targets = some(random, most);
            let words = ["add", "--list", list].map(str::to_owned).into_iter().chain(targets.iter().cloned());
            if !targets.is_empty() {
                net.filterd(words).succeeds();
            }
        }
        lists
    }

    fn write(&self, net: &Net) {
        for (file, lines) in FILES.iter().zip(&self.files) {
            net.file(file, &format!("192.0.2.1\n{}\n", lines.join("\n")));
        }
        let block: Vec<_> = self.block.iter().map(|target| format!("'{target}'")).collect();
        net.configure(&format!("block: [{}]{LISTS}", block.join(", ")));
        net.filterd(["reload"]).succeeds();
    }
}

fn unblock(net: &Net, lists: &mut Lists, target: &str, done: &mut Done) {
    let tested = || net.filterd(["test", "--json", target]).json()["tested"][0].clone();
    let before = tested();
    let frames = frames(target);
    let passing = || net.arrivals(0, &frames).into_iter().filter(|arrived| *arrived).count();
    if before["dropped"] != true && before["partly"] != true {
        assert_eq!(passing(), frames.len(), "{before}");
        return;
    }
    let remedies = before["remedies"].as_array().unwrap_or_else(|| panic!("{before}")).clone();
    let remedies = remedies.iter().map(|remedy| remedy.as_str().expect("a sentence"));
    let (allow, rest): (Vec<_>, Vec<_>) =
        remedies.partition(|remedy| remedy.starts_with("`filterd allow add"));
    for remedy in allow {
        let was = passing();
        let command = between(remedy, "`filterd ", "`");
        net.filterd(command.split(' ')).succeeds();
        assert_eq!(passing(), frames.len(), "{remedy}: {before}");
        net.filterd(["allow", "remove", target]).succeeds();
        assert_eq!(passing(), was, "{before}");
        done.allowed += 1;
    }
    for remedy in &rest {
        match remedy.starts_with("then run `filterd test") {
            true => return unblock(net, lists, target, done),
            false => follow(net, lists, remedy, done),
        }
    }
    let after = tested();
    assert_eq!(passing(), frames.len(), "{before}, then {after}");
    assert!(after["dropped"] != true && after["partly"] != true, "{before}, then {after}");
}

/// Does what it says.
fn follow(net: &Net, lists: &mut Lists, remedy: &str, done: &mut Done) {
    let remedy = remedy.trim_start_matches("or remove what blocks it: ");
    let remedy = remedy.trim_start_matches("or remove each of these entries: ");
    if let Some((target, place)) = remedy.strip_prefix("remove ").and_then(|rest| rest.split_once(" from ")) {
        let lines = match FILES.iter().position(|file| place.contains(&format!("/{file} (list"))) {
            Some(file) => &mut lists.files[file],
            None => &mut lists.block,
        };
        assert!(lines.iter().any(|line| line == target), "{remedy}");
        lines.retain(|line| line != target);
        lists.write(net);
        done.taken_out += 1;
        return;
    }
    let commands = remedy.split('`').skip(1).step_by(2);
    for command in commands {
        let words = |command: &str| -> Vec<String> {
            let command = command.trim().strip_prefix("filterd ").unwrap_or_else(|| panic!("{remedy}"));
            command.split(' ').map(str::to_owned).collect()
        };
        let reply = match command.split_once('|') {
            Some((from, to)) => {
                done.piped += 1;
                net.filterd_reading(words(to), &net.filterd(words(from)).succeeds().output)
            }
            None => {
                done.removed += 1;
                net.filterd(words(command))
            }
        };
        // What files hold is taken out of them afterwards.
        assert!(matches!(reply.code(), Some(0 | 1)), "{remedy}: {reply}");
    }
}

fn between<'a>(words: &'a str, before: &str, behind: &str) -> &'a str {
    let (_, rest) = words.split_once(before).unwrap_or_else(|| panic!("{words}"));
    rest.split_once(behind).unwrap_or_else(|| panic!("{words}")).0
}

/// From both ends of it and from within, to the usual port and to that which a list is for.
fn frames(target: &str) -> Vec<Frame> {
    let (address, length) = target.split_once('/').unwrap_or((target, "128"));
    let length: u32 = length.parse().expect("a length");
    let sources: [IpAddr; 3] = match address.parse().expect("an address") {
        IpAddr::V4(first) => {
            let tail = u32::MAX.checked_shr(length).unwrap_or(0);
            [0, tail / 3, tail].map(|offset| IpAddr::V4((first.to_bits() | offset).into()))
        }
        IpAddr::V6(first) => {
            let tail = u128::MAX.checked_shr(length).unwrap_or(0);
            [0, tail / 3, tail].map(|offset| IpAddr::V6((first.to_bits() | offset).into()))
        }
    };
    let ssh = [[0x9c, 0x40], 22_u16.to_be_bytes(), [0, 0], [0, 0]].concat();
    let ssh = [ssh, vec![0; 4], vec![5 << 4, Frame::ACK, 0, 0, 0, 0, 0, 0]].concat();
    sources
        .into_iter()
        .flat_map(|source| [source.into(), Frame::from(source).transport(TCP, ssh.clone())])
        .collect()
}

/// Of few, so that much covers much.
fn target(random: &mut Random) -> String {
    if random.below(2) == 0 {
        let length = [20, 22, 24, 25, 28, 30, 31, 32, 32, 32][random.below(10)];
        let address = (0xcb00_7100 | random.below(16) as u32) & u32::MAX << (32 - length);
        let address = std::net::Ipv4Addr::from_bits(address);
        return if length == 32 { address.to_string() } else { format!("{address}/{length}") };
    }
    let length = [32, 44, 48, 56, 63, 64, 64, 65, 120, 128, 128, 128][random.below(12)];
    let address = 0x2001_0db8_0bad << 80 | (random.below(3) as u128) << 64 | random.below(4) as u128;
    let address = std::net::Ipv6Addr::from_bits(address & u128::MAX << (128 - length));
    if length == 128 { address.to_string() } else { format!("{address}/{length}") }
}
