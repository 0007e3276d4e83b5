//! Prefixes of `block:` that name a good part of all addresses there are: they are meant, and told all the same.

use filter_common::target::Target;

/// More of them are not told one by one.
const MOST_TOLD: usize = 5;

/// What the operator should know of them.
pub fn told<'a>(block: impl IntoIterator<Item = &'a Target>) -> Vec<String> {
    let told = |target: &Target| {
        let shorter = if matches!(target, Target::V4(_)) { "/8" } else { "/16" };
        format!(
            "`block:` names {target}, which is wider than a {shorter}: it is blocked around what is guarded"
        )
    };
    block.into_iter().filter(|target| target.is_wide()).take(MOST_TOLD).map(told).collect()
}
