//! What becomes of each list, and of the times of its entries.

use std::time::Duration;

use filter_common::ports::{Clause, Range};
use filter_common::target::Target;

use super::*;
use crate::blocklist::{Change, ListChange, Timestamp, Want};

const HOUR: Duration = Duration::from_secs(3600);

fn at(seconds: u32) -> Timestamp {
    Timestamp::from_secs(seconds)
}

fn targets(words: &[&str]) -> Targets {
    words.iter().map(|word| word.parse::<Target>().unwrap()).collect()
}

/// `block:`, a list that blocks, one that allows, and one that commands filled.
fn in_force() -> Blocklist {
    let mut blocklist = Blocklist::default();
    for (name, origin, polarity) in [
        (CONFIG_LIST, Origin::Config, Polarity::Block),
        ("drop", Origin::File, Polarity::Block),
        ("partners", Origin::File, Polarity::Allow),
        ("manual", Origin::Live, Polarity::Block),
    ] {
        let targets = targets(&["192.0.2.1"]);
        let want = Want { origin, ..Want::live(name, polarity, targets) };
        blocklist.apply(&Change::Want(want), at(0)).unwrap();
    }
    blocklist
}

fn wanted(name: &str, continues: Continued, contents: Contents) -> PlannedList {
    let (origin, meaning) = (Origin::File, Meaning::plain(Polarity::Block));
    let lifetime = Lifetime::new(None, continues, None);
    PlannedList { name: name.into(), origin, meaning, continues, lifetime, contents }
}

#[test]
fn list_that_nothing_continues_is_gone() {
    let blocklist = in_force();
    let id = |name| blocklist.lists().find(name).unwrap();
    let (drop, partners) = (id("drop"), id("partners"));
    for (continues, gone) in [
        (Continued::New, vec![drop, partners]),
        (Continued::Same(drop), vec![partners]),
        (Continued::Turned(drop), vec![partners]),
        (Continued::Replaced(partners), vec![drop]),
    ] {
        let list = wanted("drop", continues, Contents::Stay);
        let plan = Plan::new(&blocklist, &Config::default(), Default::default(), [list].into_iter());
        assert_eq!(plan.gone, gone, "{continues:?}");
    }
}

#[test]
fn allow_list_is_planned_once_something_is_allowed() {
    let mut blocklist = in_force();
    let names = |blocklist: &Blocklist, allow: &[&str]| -> Vec<String> {
        let inline = [Targets::default(), targets(allow)];
        let plan = Plan::new(blocklist, &Config::default(), inline, std::iter::empty());
        plan.lists.iter().map(|list| list.name.to_string()).collect()
    };
    assert_eq!(names(&blocklist, &[]), [CONFIG_LIST]);
    assert_eq!(names(&blocklist, &["192.0.2.2"]), [CONFIG_LIST, CONFIG_ALLOW_LIST]);
    let meaning = Meaning::plain(Polarity::Allow);
    let make = Change::Make { name: CONFIG_ALLOW_LIST.into(), origin: Origin::Config, meaning };
    blocklist.apply(&make, at(0)).unwrap();
    assert_eq!(names(&blocklist, &[]), [CONFIG_LIST, CONFIG_ALLOW_LIST], "its entries leave");
}

#[test]
fn list_is_alike_only_if_nothing_but_entries_can_change() {
    let blocklist = in_force();
    let drop = blocklist.lists().find("drop").unwrap();
    let same = wanted("drop", Continued::Same(drop), Contents::Replaced(Targets::default()));
    let ssh = Clause::new(false, Range::new(22, 22)).unwrap();
    let turned = Meaning { ports: Some(ssh), ..same.meaning };
    let reach = Meaning { reach: Reach::to(64), ..same.meaning };
    let other_ttl = Lifetime::new(Some(HOUR), same.continues, None);
    for (list, is_alike, was) in [
        (same.clone(), true, None),
        (PlannedList { name: "bad".into(), ..same.clone() }, false, Some("drop")),
        (PlannedList { meaning: reach, ..same.clone() }, false, None),
        (PlannedList { lifetime: other_ttl, ..same.clone() }, false, None),
        (PlannedList { meaning: turned, continues: Continued::Turned(drop), ..same.clone() }, false, None),
        (PlannedList { continues: Continued::Replaced(drop), ..same.clone() }, false, None),
        (PlannedList { continues: Continued::New, ..same }, false, None),
    ] {
        let told = (list.is_alike(&blocklist), list.name_before(&blocklist).map(|was| &**was));
        assert_eq!(told, (is_alike, was), "{list:?}");
    }
}

#[test]
fn only_list_without_accepted_file_takes_entries_over() {
    let blocklist = in_force();
    let drop = blocklist.lists().find("drop").unwrap();
    for (continues, contents, takes_over) in [
        (Continued::Turned(drop), Contents::TakenOver, Some(drop)),
        (Continued::Turned(drop), Contents::Replaced(Targets::default()), None),
        (Continued::Same(drop), Contents::Stay, None),
        (Continued::Replaced(drop), Contents::Stay, None),
    ] {
        assert_eq!(wanted("drop", continues, contents).takes_over(), takes_over, "{continues:?}");
    }
}

#[test]
fn entries_keep_expire_or_begin_their_time() {
    let (mut blocklist, now) = (Blocklist::default(), at(10_000));
    let want = |word: &str, until| {
        let want = Want::live("partners", Polarity::Allow, targets(&[word]));
        Change::Want(Want { origin: Origin::File, until: Some(until), ..want })
    };
    blocklist.apply(&want("192.0.2.1", at(10_060)), now).unwrap();
    let id = blocklist.lists().find("partners").unwrap();
    ListChange::Spend(id, targets(&["192.0.2.2"])).apply_to(&mut blocklist, now);
    let all = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
    let (soon, hour) = (Some(at(10_060)), Some(at(13_600)));
    let day = Some(24 * HOUR);
    for (ttl, continues, ttl_before, ends) in [
        (Some(HOUR), Continued::Same(id), Some(HOUR), [Some(soon), None, Some(hour)]),
        (Some(HOUR), Continued::Turned(id), Some(HOUR), [Some(soon), None, Some(hour)]),
        (Some(HOUR), Continued::Same(id), day, [Some(hour); 3]),
        (Some(HOUR), Continued::Same(id), None, [Some(hour); 3]),
        (Some(HOUR), Continued::Replaced(id), Some(HOUR), [Some(hour); 3]),
        (Some(HOUR), Continued::New, None, [Some(hour); 3]),
        (None, Continued::Same(id), Some(HOUR), [Some(None); 3]),
        (None, Continued::Same(id), None, [Some(None); 3]),
    ] {
        let lifetime = Lifetime::new(ttl, continues, ttl_before);
        let told = all.map(|word| lifetime.until(word.parse().unwrap(), &blocklist, now));
        assert_eq!(told, ends, "{lifetime:?}");
        assert_eq!(lifetime.goes_on(), ends[1].is_none(), "{lifetime:?}");
    }
}
