//! Lists whose ports change: entries keep their times, whether they enter page by page or all at once, and a
//! reload that is refused leaves the lists as they were.

use filter_common::ports::{Clause, Range};
use filter_common::sets::SLOTS;

use super::*;
use crate::blocklist::{ListChange, Meaning, Origin};
use crate::clock;
use crate::plan::Continued;
use crate::source::digest::Digest;
use crate::source::peaks::Peaks;
use crate::source::reading::AcceptedSource;
use crate::source::{Limits, ReadOptions, Remarks, SpecialRanges};

const HOUR: Duration = Duration::from_secs(3600);

/// A list with these targets, for one port.
fn for_port(name: &str, port: u16, words: &[&str], continues: Continued) -> LoadedList {
    let targets = targets(words);
    let accepted = AcceptedSource {
        name: name.into(),
        path: format!("/lists/{name}").into(),
        stamp: None,
        at: clock::now(),
        entries: targets.len() as u64,
        rejected: 0,
        is_missing: false,
        bytes: 0,
        digest: Digest::of(&[]),
        term: None,
        meaning: None,
        peaks: Peaks::default(),
        times: None,
    };
    let (draft, read, remarks) = (None, Default::default(), Remarks::default());
    LoadedList {
        name: accepted.name.clone(),
        path: accepted.path.clone(),
        ttl: Some(HOUR),
        meaning: Meaning { ports: Some(only(port)), ..Meaning::plain(Polarity::Block) },
        continues,
        ttl_before: Some(HOUR),
        times: None,
        how: ReadOptions::recognised(SpecialRanges::INCLUDED),
        limits: Limits::default(),
        found: ListFinding::Accepted { targets, accepted, draft, read, remarks },
    }
}

fn only(port: u16) -> Clause {
    Clause::new(false, Range::new(port, port)).unwrap()
}

fn loaded_lists(lists: Vec<LoadedList>) -> Loaded {
    Loaded { lists, ..loaded(&[], &[], true) }
}

#[tokio::test]
async fn entries_keep_their_times_when_ports_change() {
    let [there, over, new] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
    for capacity in [Capacity::default(), Capacity::without_grace()] {
        let how = capacity.is_graceless();
        let mut world = World::new();
        world.owner().core.capacity = capacity;
        let (since, until) = (clock::now().later_by(-60), clock::after(Duration::from_secs(60)));
        let want = Want::live("drop", Polarity::Block, targets(&[there]));
        let want = Change::Want(Want { origin: Origin::File, until: Some(until), ..want });
        world.owner().core.protection.commit(&want, since).unwrap();
        let id = world.owner().core.protection.blocklist().lists().find("drop").unwrap();
        let spent = ListChange::Spend(id, targets(&[over]));
        spent.apply_to(world.owner().core.protection.blocklist_mut(), clock::now());
        let list = for_port("drop", 22, &[there, over, new], Continued::Turned(id));
        world.reload(loaded_lists(vec![list]), async |_, _| {}).await;
        let owner = world.owner();
        let blocklist = owner.core.protection.blocklist();
        let now = blocklist.lists().find("drop").unwrap();
        assert_ne!(now, id, "it is a new list");
        let times = |word| blocklist.times_of(target(word), now);
        assert_eq!(times(there), Some((since, Some(until))), "without grace periods: {how}");
        assert_eq!(times(over), None, "without grace periods: {how}");
        let (_, ends) = times(new).unwrap();
        assert!(ends > Some(until), "without grace periods: {how}");
    }
}

/// All clauses change at once, and there is no room for so many beside those in force.
#[tokio::test]
async fn refused_change_of_ports_leaves_lists_as_they_were() {
    let mut world = World::new();
    let named = |number: u16| (format!("list{number}"), 20 + number);
    let all = || (0..u16::try_from(SLOTS).unwrap()).map(named);
    let before = all().map(|(name, port)| for_port(&name, port, &["192.0.2.1"], Continued::New));
    world.reload(loaded_lists(before.collect()), async |_, _| {}).await;
    let told = |blocklist: &Blocklist| -> Vec<_> {
        let lists = blocklist.lists().iter();
        lists
            .map(|(id, list)| (id, list.called().clone(), list.name.clone(), blocklist.clause(list)))
            .collect()
    };
    let mut owner = world.owner();
    let Core { protection, lists, .. } = &mut owner.core;
    let before = told(protection.blocklist());
    let find = |name: &str| protection.blocklist().lists().find(name).unwrap();
    let others = all().map(|(name, port)| {
        for_port(&format!("new-{name}"), port + 100, &["192.0.2.1"], Continued::Turned(find(&name)))
    });
    let others = loaded_lists(others.collect());
    let refused = RunningReload::begin(others, protection.blocklist_mut(), &mut lists.sources).map(|_| ());
    assert!(matches!(refused, Err(DaemonError::TooManyClauses)), "{refused:?}");
    assert_eq!(told(protection.blocklist()), before);
}
