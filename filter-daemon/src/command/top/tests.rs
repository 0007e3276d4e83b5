//! Tests pictures as users see them, and the effects of keys.

use std::path::Path;
use std::{env, fs};

use super::draw;
use super::look::Appearance;
use super::state::{KeyAction, KeyPress, Prompt, SortOrder, TopState};
use crate::command::render::moment::Clock;
use crate::control::wire::lists::ListDetails;
use crate::control::wire::snapshot::Reply as Snapshot;
use crate::control::wire::stats::{Counted, OnInterface};
use crate::control::wire::status::{Interface, Paused, Received};
use crate::control::wire::{About, Fault, Hits};
use crate::text::Explanation;

const NOW: u64 = 1_795_296_480;

fn counted(verdict: &str, packets: u64) -> Counted {
    Counted { verdict: verdict.to_owned(), packets, ..Counted::default() }
}

fn list(name: &str, entries: u64, dropped: u64) -> ListDetails {
    let hits = Some(Hits { dropped, ..Hits::default() });
    let (name, kind) = (name.to_owned(), "file".to_owned());
    ListDetails { name, kind, entries, hits, read: Some(NOW - 7200), ..ListDetails::default() }
}

/// The picture of this second. Each list gets its given number of hits per second.
fn picture(second: u64) -> Snapshot {
    let interface = Interface {
        name: "eth0".into(),
        mode: "native".into(),
        driver: Some("virtio_net".into()),
        up_since: Some(NOW - 3 * 86_400),
        packets_per_second: Some(120_345.0),
        drops_per_second: Some(1_750.5),
        ..Interface::default()
    };
    Snapshot {
        uptime: 1000 * second,
        filterd: "0.1.0".into(),
        pid: 812,
        started: NOW - 3 * 86_400 - 4 * 3600,
        enforce: true,
        interfaces: vec![interface],
        reasons: vec![
            counted("drop", 1500 * second),
            counted("drop", 250 * second),
            counted("pass", 120_000 * second),
        ],
        lists: vec![
            list("config", 3, 0),
            list("spamhaus", 1_204, 9_000 + 1500 * second),
            list("ipsum", 172_627, 40_000 + 250 * second),
            ListDetails { allows: true, kind: "live".into(), hits: None, ..list("office", 2, 0) },
        ],
        ..Snapshot::default()
    }
}

fn after(pictures: impl IntoIterator<Item = Snapshot>) -> TopState {
    let mut state = TopState::default();
    pictures.into_iter().for_each(|picture| state.take(picture));
    state
}

/// `FILTERD_WRITE_PICTURES=1` writes new pictures for a review.
#[track_caller]
fn is_as_reviewed(name: &str, picture: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/command/top/tests").join(name);
    if env::var_os("FILTERD_WRITE_PICTURES").is_some() {
        fs::write(&path, format!("{picture}\n")).expect("the tree can be written");
    }
    assert_eq!(picture, fs::read_to_string(path).expect("it is there").trim_end());
}

fn on_a_screen(state: &TopState, clock: &Clock, size: (u16, u16)) -> String {
    draw::as_text(state, clock, Appearance::on_a_screen(false), size)
}

fn names(state: &TopState) -> Vec<&str> {
    state.lists().iter().map(|list| list.name.as_str()).collect()
}

fn press(state: &mut TopState, keys: &str) -> KeyAction {
    keys.chars().map(|key| state.press(KeyPress::Letter(key))).last().unwrap_or(KeyAction::Nothing)
}

#[test]
fn a_picture_fits_a_small_screen() {
    let state = after([picture(10), picture(11), picture(12)]);
    is_as_reviewed("80x24.txt", &on_a_screen(&state, &Clock::standing(NOW), (80, 24)));
}

#[test]
fn a_large_screen_has_all_there_is() {
    let mut second = picture(11);
    let told = Explanation::new("eth1 is not filtered: it is not there", "`ip link` tells which there are");
    second.faults = vec![Fault { about: About::Protection, since: NOW - 60, told, id: None }];
    second.lists.extend((0..60).map(|number| list(&format!("feed-{number:02}"), 10 * number, number)));
    let state = after([picture(10), second]);
    is_as_reviewed("200x60.txt", &on_a_screen(&state, &Clock::standing(NOW), (200, 60)));
}

/// These lines were once cut off at the edge of the screen.
#[test]
fn faults_and_remedies_fit_small_screens() {
    let mut second = picture(11);
    let told = Explanation::new(
        "list \"drop\" is not loaded: /etc/filterd/lists/drop.txt: there is no such file\nthere is no good copy, so none of it is in force",
        "to retry after restoring the file: filterd reload\nto accept it as it is: filterd reload --accept drop",
    );
    second.faults = vec![Fault { about: About::Lists, since: NOW - 60, told, id: None }];
    let clock = Clock::standing(NOW);
    let state = after([picture(10), second]);
    let told = on_a_screen(&state, &clock, (80, 24));
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in [
        "on eth0 are dropped; see the problems below list \"drop\" is not loaded",
        "so none of it is in force to retry after restoring the file: filterd reload",
        "filterd reload --accept drop dropped",
    ] {
        assert!(words.contains(sentence), "{sentence}: {told}");
    }
    assert!(told.contains("spamhaus"), "and lists have room below: {told}");
    // Paper leaves out nothing for the lack of room.
    let paper = draw::text(&state, &clock, 80);
    assert!(paper.contains("office"), "{paper}");
}

/// A reader of a mail cannot scroll to the rest.
#[test]
fn printed_picture_is_complete() {
    let mut second = picture(11);
    let fault = |number: usize| {
        let told = Explanation::new(
            format!("list \"feed-{number}\" is not loaded"),
            format!("mend number {number}"),
        );
        Fault { about: About::Lists, since: NOW - 60, told, id: None }
    };
    second.faults = (0..40).map(fault).collect();
    let uplink = |number| Interface { name: format!("uplink{number}"), ..second.interfaces[0].clone() };
    second.interfaces = (0..12).map(uplink).collect();
    let (state, clock) = (after([picture(10), second]), Clock::standing(NOW));
    let paper = draw::text(&state, &clock, 80);
    for number in 0..40 {
        assert!(paper.contains(&format!("mend number {number}\n")), "{number}: {paper}");
    }
    for number in 0..12 {
        assert!(paper.contains(&format!("uplink{number} ")), "{number}: {paper}");
    }
    assert!(paper.contains("office"), "and the lists: {paper}");
    let screen = on_a_screen(&state, &clock, (80, 24));
    assert!(screen.contains("see `filterd status`") && screen.contains("4 of 12"), "{screen}");
}

/// After a flood it once showed 2,558 packets received per second, from five seconds, and 0 dropped, from
/// one.
#[test]
fn receive_and_drop_rates_share_a_second() {
    let busy = |second: u64, received: u64, dropped: u64| {
        let mut picture = picture(second);
        picture.interfaces[0].received =
            Some(Received { kernel_rx_packets: received, ..Received::default() });
        picture.by_interface = vec![OnInterface {
            interface: Some("eth0".into()),
            reason: "ipv4_address".into(),
            verdict: "drop".into(),
            packets: dropped,
            bytes: 0,
        }];
        picture
    };
    let told = |state: &TopState| {
        let text = draw::text(state, &Clock::standing(NOW), 80);
        let row = text.lines().find(|line| line.starts_with("eth0")).expect("it has a row").to_owned();
        row.split_whitespace().skip(3).take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(told(&after([busy(10, 700, 90)])), ["120,345", "1,751"], "as filterd tells of late");
    assert_eq!(told(&after([busy(10, 700, 90), busy(12, 900, 96)])), ["100", "3.0"]);
    // The interface was created again, and its counters start from zero.
    assert_eq!(told(&after([busy(10, 700, 90), busy(12, 5, 96)])), ["120,345", "1,751"]);
}

#[test]
fn rates_use_daemon_time_and_restart_with_it() {
    let mut state = after([picture(10)]);
    assert_eq!(state.rate_of("drop"), None);
    state.take(picture(14));
    assert_eq!((state.rate_of("drop"), state.rate_of("pass")), (Some(1750.0), Some(120_000.0)));
    assert_eq!((state.rate_for("spamhaus"), state.rate_for("nobody")), (Some(1500.0), None));
    state.take(Snapshot { pid: 813, ..picture(15) });
    assert_eq!(state.rate_of("drop"), None, "another daemon counts anew");
    state.take(Snapshot { pid: 813, ..picture(15) });
    assert_eq!(state.rate_of("drop"), None, "no time has gone by");
    state.lose("filterd is not running".to_owned());
    state.take(Snapshot { pid: 813, ..picture(17) });
    assert_eq!(state.rate_of("drop"), None, "of what was between nothing is known");
}

#[test]
fn lists_follow_chosen_order_with_allow_last() {
    let mut state = after([picture(10), picture(11)]);
    assert_eq!(names(&state), ["spamhaus", "ipsum", "config", "office"]);
    press(&mut state, "s");
    assert_eq!(
        (state.order, names(&state)),
        (SortOrder::Hits, vec!["ipsum", "spamhaus", "config", "office"])
    );
    press(&mut state, "ss");
    assert_eq!(
        (state.order, names(&state)),
        (SortOrder::Name, vec!["config", "ipsum", "spamhaus", "office"])
    );
    press(&mut state, "ss");
    assert_eq!(state.order, SortOrder::Rate);
    press(&mut state, "jjjjjjj");
    assert_eq!(state.selected, 3, "there are no more");
}

#[test]
fn actions_need_confirmation() {
    let mut state = after([picture(10)]);
    press(&mut state, "p");
    assert_eq!(state.prompt, Prompt::Typing { verb: "pause", typed: "5m".to_owned() });
    state.press(KeyPress::Enter);
    assert_eq!(press(&mut state, "n"), KeyAction::Nothing);
    assert_eq!(state.prompt, Prompt::Answer("not done".to_owned()));
    press(&mut state, "p0");
    state.press(KeyPress::Backspace);
    state.press(KeyPress::Enter);
    assert_eq!(press(&mut state, "y"), deed("pause -- 5m"));
    let paused = Some(Paused { since: NOW, until: NOW + 300, by: "root".to_owned() });
    state.take(Snapshot { paused, ..picture(11) });
    assert_eq!(press(&mut state, "py"), deed("resume"));
    press(&mut state, "b203.0.113.78");
    state.press(KeyPress::Backspace);
    assert_eq!(state.press(KeyPress::Enter), KeyAction::Nothing);
    assert_eq!(press(&mut state, "y"), deed("add -- 203.0.113.7"));
    press(&mut state, "uq");
    assert_eq!(state.prompt, Prompt::Typing { verb: "remove", typed: "q".to_owned() }, "q is typed there");
    state.press(KeyPress::Escape);
    press(&mut state, "?");
    assert_eq!(state.prompt, Prompt::Help);
    press(&mut state, "q");
    assert_eq!(state.prompt, Prompt::Keys, "any key goes on");
    assert_eq!(
        (press(&mut state, "q"), state.press(KeyPress::Interrupt)),
        (KeyAction::Leave, KeyAction::Leave)
    );
}

#[test]
fn command_result_waits_for_typing_to_end() {
    let mut state = after([picture(10)]);
    press(&mut state, "b203");
    state.answer("paused for 5 min".to_owned());
    assert_eq!(state.prompt, Prompt::Typing { verb: "add", typed: "203".to_owned() });
    state.press(KeyPress::Escape);
    assert_eq!(state.prompt, Prompt::Answer("paused for 5 min".to_owned()));
    press(&mut state, "s");
    assert_eq!(state.prompt, Prompt::Keys);
}

/// The remedy was once beyond the edge of the screen.
#[test]
fn prompts_and_answers_fit_small_screens() {
    let mut state = after([picture(10)]);
    let said = "nothing removed: 203.0.113.7 is still blocked: held by list `config`, 203.0.113.0/25 of list `spamhaus`\n\
                to unblock it: take it off `block:` in the configuration, then `filterd reload`";
    state.answer(said.to_owned());
    let words = |state: &TopState| {
        let told = on_a_screen(state, &Clock::standing(NOW), (80, 24));
        told.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(words(&state).ends_with(&said.replace('\n', " ")), "{}", words(&state));
    assert!(words(&state).contains("spamhaus 1,204"), "and lists stand above: {}", words(&state));
    let range = "2001:0db8:1111:2222:3333:4444:5555:6666-2001:0db8:1111:2222:3333:4444:5555:7777";
    press(&mut state, &format!("b{range}"));
    state.press(KeyPress::Enter);
    assert!(
        words(&state).ends_with(&format!("filterd add -- {range} sure? (y, or any other key)")),
        "{}",
        words(&state)
    );
    state.press(KeyPress::Escape);
    let many: String = (0..40).map(|number| format!("line {number}\n")).collect();
    state.answer(many);
    assert!(
        words(&state).ends_with("line 6 33 more lines: run the same command in a shell"),
        "{}",
        words(&state)
    );
}

fn deed(words: &str) -> KeyAction {
    KeyAction::Do(words.split(' ').map(str::to_owned).collect())
}

#[test]
fn missing_protection_is_shown_first() {
    let told = |state: &TopState| {
        let text = on_a_screen(state, &Clock::standing(NOW), (100, 24));
        text.lines().nth(1).unwrap_or_default().to_owned()
    };
    let first = |picture: Snapshot| told(&after([picture]));
    assert!(first(picture(1)).starts_with("Protected as configured"));
    assert!(first(Snapshot { enforce: false, ..picture(1) }).contains("not dropped"));
    assert!(first(Snapshot { interfaces: vec![], ..picture(1) }).starts_with("NOT PROTECTED"));
    let paused = Some(Paused { since: NOW, until: NOW + 300, by: "root".to_owned() });
    assert!(first(Snapshot { paused, ..picture(1) }).starts_with("PAUSED until "));
    let mut state = after([Snapshot { taken: (NOW - 12) * 1000, ..picture(1) }]);
    state.lose("filterd is not running".to_owned());
    assert_eq!(told(&state), "NO ANSWER for 12 s: filterd is not running");
}

#[test]
fn a_name_does_nothing_to_the_terminal() {
    let mut evil = picture(2);
    evil.lists[1].name = "a\x1b[2J\u{202e}b\n".to_owned();
    let text = on_a_screen(&after([evil]), &Clock::standing(NOW), (80, 24));
    assert!(text.contains("\\u{1b}[2J") && !text.contains('\x1b') && !text.contains('\u{202e}'), "{text}");
}

#[test]
fn every_terminal_size_gets_a_picture() {
    let state = after([picture(1), picture(2)]);
    for (width, height) in [(1, 1), (10, 3), (79, 5), (20, 60)] {
        on_a_screen(&state, &Clock::standing(NOW), (width, height));
    }
}
