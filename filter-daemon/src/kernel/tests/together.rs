//! Tests that packets see related changes together. No packet meets the new targets under the old settings,
//! or only half of a replacement.

use super::memory::KernelInMemory;
use crate::blocklist::{Change, Targets};
use crate::daemon::commit::Protection;
use crate::daemon::needs;
use crate::kernel::Filter;
use filter_common::packet::Source;
use filter_common::reason::Verdict;
use filter_common::settings::SixSettings;
use filter_common::target::Target;

use super::world::{self, at, nothing, release, want};

const BEFORE: [&str; 6] =
    ["10.0.0.1", "10.0.1.0/24", "10.0.2.0/28", "2001:db8::1", "2001:db8:1::/64", "2001:db8:2::/48"];
const AFTER: [&str; 6] =
    ["10.0.0.2", "10.0.3.0/24", "10.0.4.0/28", "2001:db8::2", "2001:db8:3::/64", "2001:db8:4::/48"];

/// Replaces all targets, and changes the settings together with them.
fn replaced(from: bool, to: bool) {
    let kernel = KernelInMemory::default();
    let mut protection = Protection::begin(nothing(), Filter::through(kernel.broker())).expect("it is well");
    for change in [settings(from), want(targets(&BEFORE))] {
        protection.commit(&change, at(1)).expect("the kernel is well");
    }
    kernel.watch(BEFORE.iter().chain(&AFTER).map(|word| first_of(target(word))).collect());
    let changes = [settings(to), want(targets(&AFTER)), release(targets(&BEFORE))];
    protection.replace(&changes.map(|change| (at(1), change))).expect("the kernel is well");

    let drops = |verdicts: &[Verdict]| -> Vec<bool> {
        verdicts.iter().map(|verdict| matches!(verdict, Verdict::Drop(_))).collect()
    };
    let (old, new) = ([[true; 6], [false; 6]].concat(), [[false; 6], [true; 6]].concat());
    let [before, after] = kernel.met().expect("something was published");
    assert_eq!((drops(&before), drops(&after)), (old, new), "by one store, and nothing else");
    assert_eq!(kernel.settings().map(|settings| settings.enforce), Some(to.into()));
}

#[test]
fn rebuilt_tables_change_by_one_store() {
    replaced(true, true);
}

#[test]
fn settings_change_together_with_targets() {
    replaced(true, false);
    replaced(false, true);
}

/// The judge looks up no length that has no targets left.
#[test]
fn unused_lengths_are_not_looked_up() {
    let kernel = KernelInMemory::default();
    let mut protection = Protection::begin(nothing(), Filter::through(kernel.broker())).expect("it is well");
    let looked_up = || {
        let set = kernel.settings().expect("a judge is published").sets.block;
        let SixSettings { to_64, longer, has_table, last_level_start, .. } = set.six;
        [set.networks4, to_64, longer, has_table, last_level_start.min(1)]
    };
    protection.commit(&want(targets(&BEFORE)), at(1)).expect("the kernel is well");
    // A /48 and a /64, and a /128.
    assert_eq!(looked_up(), [1, 1 | 1 << 16, 1, 1, 1]);
    protection.commit(&release(targets(&BEFORE[1..])), at(2)).expect("the kernel is well");
    let (filter, blocklist) = protection.parts();
    let needs = needs::of(blocklist);
    filter.shrink_to(&needs, blocklist).and_then(|()| filter.tidy(&needs)).expect("the kernel is well");
    assert_eq!(looked_up(), [0; 5]);
}

fn settings(enforce: bool) -> Change {
    Change::Settings(world::settings(enforce))
}

fn targets(words: &[&str]) -> Targets {
    words.iter().map(|word| target(word)).collect()
}

fn target(word: &str) -> Target {
    word.parse().expect("it is a target")
}

fn first_of(target: Target) -> Source {
    match target {
        Target::V4(prefix) => Source::V4(prefix.first()),
        Target::V6(prefix) => Source::V6(prefix.first().into()),
    }
}
