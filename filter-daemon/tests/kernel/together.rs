//! What changes together is seen together: at no moment does a packet meet the new targets under the old settings, or one
//! half of what was replaced.

use filter_common::packet::Source;
use filter_common::settings::ENFORCE;
use filter_common::target::Target;
use filter_common::verdict::Verdict;
use filterd::blocklist::{Blocklist, Claim, Effects, Kind, ListId, Settings, Timestamp};
use filterd::daemon::needs;
use filterd::kernel::memory::Memory;
use filterd::kernel::{Filter, KernelError};

const BEFORE: [&str; 6] =
    ["10.0.0.1", "10.0.1.0/24", "10.0.2.0/28", "2001:db8::1", "2001:db8:1::/64", "2001:db8:2::/48"];
const AFTER: [&str; 6] =
    ["10.0.0.2", "10.0.3.0/24", "10.0.4.0/28", "2001:db8::2", "2001:db8:3::/64", "2001:db8:4::/48"];

type CarryOut = fn(&mut Filter, &Effects, &Blocklist) -> Result<(), KernelError>;

/// Replaces all targets, and chooses these settings with them.
fn replaced(carry_out: CarryOut, from: bool, to: bool) {
    let (kernel, mut blocklist) = (Memory::default(), Blocklist::default());
    let list = blocklist.lists_mut().get_or_make("manual", Kind::Live).expect("it is the first");
    let mut filter = Filter::through(kernel.broker());
    let mut effects = Effects { settings: Some(Settings { enforce: from }), ..Effects::default() };
    add(&mut blocklist, list, &BEFORE, &mut effects);
    filter.apply(&effects, &blocklist).expect("the kernel is well");

    let targets = || BEFORE.iter().chain(&AFTER).map(|word| target(word));
    filter.reserve(&needs::with(&blocklist, targets()), &blocklist).expect("there is memory");
    let mut effects = Effects { settings: Some(Settings { enforce: to }), ..Effects::default() };
    add(&mut blocklist, list, &AFTER, &mut effects);
    for word in BEFORE {
        blocklist.remove(target(word), list, &mut effects);
    }
    kernel.watch(targets().map(first_of).collect());
    carry_out(&mut filter, &effects, &blocklist).expect("the kernel is well");

    let drops = |verdicts: &[Verdict]| -> Vec<bool> {
        verdicts.iter().map(|verdict| matches!(verdict, Verdict::Drop(_))).collect()
    };
    let (old, new) = ([[true; 6], [false; 6]].concat(), [[false; 6], [true; 6]].concat());
    let [before, after] = kernel.met().expect("something was published");
    assert_eq!((drops(&before), drops(&after)), (old, new), "by one store, and nothing else");
    assert_eq!(kernel.setting(ENFORCE), Some(to.into()));
}

#[test]
fn tables_made_anew_change_everything_by_one_store() {
    replaced(Filter::replace_all, true, true);
}

#[test]
fn settings_change_together_with_the_targets_they_are_for() {
    replaced(Filter::apply, true, false);
    replaced(Filter::apply, false, true);
}

fn add(blocklist: &mut Blocklist, list: ListId, words: &[&str], effects: &mut Effects) {
    let claim = Claim { list, since: Timestamp::from_secs(1), until: None, note: None };
    words.iter().for_each(|word| _ = blocklist.add(target(word), claim.clone(), effects));
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
