//! Tests rows of new /64s: the result must equal that of adding each alone.

use std::sync::Arc;

use filter_common::labels::Label;
use proptest::prelude::*;

use super::super::targets::of_net64;
use super::*;

/// A blocklist, and the results of everything that was wanted.
#[derive(Default)]
struct Results {
    blocklist: Blocklist,
    effects: Vec<Effects>,
    records: Vec<Record>,
    undo: Vec<Undo>,
}

impl Results {
    fn want(&mut self, list: &str, nets: &[u64], until: Option<Timestamp>) {
        let targets = Targets { nets64: nets.to_vec(), ..Targets::default() };
        let want = Want { until, ..Want::live(Arc::<str>::from(list), Polarity::Block, targets) };
        let applied = self.blocklist.apply(&Change::Want(want), at(1)).unwrap();
        assert_eq!(applied.changed, applied.undo.len() as u64);
        self.effects.push(applied.effects);
        self.records.extend(applied.records);
        self.undo.push(applied.undo);
    }

    fn undo(&mut self) {
        while let Some(undo) = self.undo.pop() {
            self.blocklist.apply(&Change::Undo(undo), at(1)).unwrap();
        }
    }

    fn entered(&self) -> Targets {
        let entered = self.effects.iter().flat_map(|effects| effects.sets.block.entered.iter());
        entered.collect()
    }

    fn recorded(&self) -> Vec<(Arc<str>, Option<Timestamp>, Target)> {
        let each = self.records.iter().flat_map(|record| match record {
            Record::Want { list, until, targets, .. } => {
                targets.iter().map(|target| (list.clone(), *until, target)).collect::<Vec<_>>()
            }
            Record::Release { .. } | Record::ReleaseAll { .. } => Vec::new(),
        });
        let mut all: Vec<_> = each.collect();
        all.sort();
        all
    }

    fn claims(&self) -> Vec<NamedClaim> {
        self.blocklist.page(Polarity::Block, None, usize::MAX, |_, _| true).0
    }

    fn labels(&self, nets: &[u64]) -> Vec<Label> {
        self.blocklist.block().labels_of_nets64(&there_and_back(nets))
    }

    fn labels_one_by_one(&self, nets: &[u64]) -> Vec<Label> {
        let label = |net: &u64| self.blocklist.block().label_of(of_net64(*net));
        there_and_back(nets).iter().map(label).collect()
    }
}

/// These /64s and others that are absent, forwards and backwards.
fn there_and_back(nets: &[u64]) -> Vec<u64> {
    let with_others = nets.iter().flat_map(|net| [*net - 1, *net, net + (1 << 16)]);
    with_others.clone().chain(with_others.rev()).collect()
}

/// A row: whether it is for list one, the first net, the count, the step, and the expiry.
type Row = (bool, u64, u64, u64, Option<u32>);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let until = prop_oneof![2 => Just(None), 1 => (100..110_u32).prop_map(Some)];
    prop::collection::vec((any::<bool>(), 0..3000_u64, 1..1200_u64, 1..4_u64, until), 1..7)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn row_equals_single_additions(all in rows()) {
        let (mut whole, mut single) = (Results::default(), Results::default());
        for (is_one, begin, count, step, until) in all {
            let list = if is_one { "one" } else { "two" };
            let nets: Vec<u64> = (0..count).map(|number| (1 + begin + number * step) << 16).collect();
            whole.want(list, &nets, until.map(at));
            nets.iter().for_each(|net| single.want(list, &[*net], until.map(at)));
            prop_assert_eq!(whole.labels(&nets), single.labels_one_by_one(&nets));
        }
        prop_assert_eq!(whole.claims(), single.claims());
        prop_assert_eq!(whole.entered(), single.entered());
        prop_assert_eq!(whole.recorded(), single.recorded());
        for name in ["one", "two"] {
            let list = |told: &Results| told.blocklist.lists().find(name).map(|id| told.blocklist.lists().get(id).entries);
            prop_assert_eq!(list(&whole), list(&single));
        }
        let counts = |told: &Results| (told.blocklist.block().lengths6().collect::<Vec<_>>(), told.blocklist.block().counts());
        prop_assert_eq!(counts(&whole), counts(&single));
        let ends = |told: &mut Results| {
            let over = Change::Expire { polarity: Polarity::Block, most: usize::MAX };
            let left = told.blocklist.apply(&over, at(105)).unwrap().effects.sets.block.left.iter().collect::<BTreeSet<_>>();
            (left, told.claims())
        };
        prop_assert_eq!(ends(&mut whole), ends(&mut single));
        whole.undo();
        single.undo();
        prop_assert_eq!(whole.claims(), single.claims());
        prop_assert!(whole.blocklist.block().registry.len() == single.blocklist.block().registry.len());
    }
}

/// The targets of a list with `ipv6_prefix` are stored separately, and so are added one by one.
#[test]
fn widened_entries_are_no_row() {
    let mut told = Results::default();
    let nets: Vec<u64> = (0..1000).map(|number| number << 4).collect();
    told.want("wide", &[1 << 60], None);
    let id = told.blocklist.lists().find("wide").unwrap();
    told.blocklist.lists.set_reach(id, Reach::to(56));
    told.want("wide", &nets, None);
    assert_eq!(told.blocklist.block().counts()[1], 1, "only what came before");
    assert_eq!(told.blocklist.lists().get(id).entries, 1001);
}
