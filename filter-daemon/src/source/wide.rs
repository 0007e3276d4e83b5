//! Warns about prefixes of `block:` and `allow:` that contain a large part of all addresses. They are
//! accepted as intended, but reported.

use filter_common::target::Target;

/// The most prefixes that are reported one by one.
const MOST_TOLD: usize = 5;

/// Warnings about the prefixes of `block:`.
pub fn blocked<'a>(block: impl IntoIterator<Item = &'a Target>) -> Vec<String> {
    told("block", block, "it is blocked except for guarded addresses")
}

/// Warnings about the prefixes of `allow:`.
pub fn allowed<'a>(allow: impl IntoIterator<Item = &'a Target>) -> Vec<String> {
    told("allow", allow, "no blocked source in it is dropped")
}

fn told<'a>(key: &str, targets: impl IntoIterator<Item = &'a Target>, so: &str) -> Vec<String> {
    let told = |target: &Target| {
        let shorter = if matches!(target, Target::V4(_)) { "/8" } else { "/16" };
        format!("`{key}:` contains {target}, which is wider than a {shorter}: {so}")
    };
    targets.into_iter().filter(|target| target.is_wide()).take(MOST_TOLD).map(told).collect()
}
