//! Describes why addresses are guarded, short enough for a note, and which lists would block them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use filter_common::target::Target;

use super::{GuardView, GuardedTarget};
use crate::blocklist::{Blocklist, Polarity};
use crate::command::render::figure::counted_as;
use crate::config::name::CONFIG_LIST;
use crate::host::HostRole;
use crate::text::printable;

/// The most reasons given for one address: ten people may be logged in from it.
const MOST_TOLD: usize = 3;

/// The most addresses named for one list.
const MOST_NAMED: usize = 5;

/// Joins all reasons into one text.
pub fn reason(reasons: &BTreeSet<HostRole>) -> Arc<str> {
    let mut told: Vec<_> = reasons.iter().take(MOST_TOLD).map(ToString::to_string).collect();
    told.extend((reasons.len() > MOST_TOLD).then(|| "and so on".to_owned()));
    printable::on_one_line(&told.join("; ")).into()
}

/// The guarded addresses that each list would block, if nothing were guarded.
pub fn by_list(guarded: GuardView<'_>, blocklist: &Blocklist) -> BTreeMap<Arc<str>, Vec<GuardedTarget>> {
    let mut lists: BTreeMap<Arc<str>, Vec<GuardedTarget>> = BTreeMap::new();
    for (address, why) in guarded.all() {
        for claim in blocklist.covering(Polarity::Block, Target::from(address)) {
            let all = lists.entry(claim.list).or_default();
            if all.last().is_none_or(|last| last.address != address) {
                all.push(GuardedTarget { target: claim.target, address, why: why.clone() });
            }
        }
    }
    lists
}

/// Warnings from `by_list`, one line per list.
pub fn warnings(guarded: GuardView<'_>, blocklist: &Blocklist) -> impl Iterator<Item = String> {
    by_list(guarded, blocklist).into_iter().map(|(list, all)| {
        let told = all.iter().take(MOST_NAMED).map(|one| format!("{} ({})", one.address, one.why));
        let mut told: Vec<_> = told.collect();
        told.extend((all.len() > MOST_NAMED).then(|| "and so on".to_owned()));
        let addresses = counted_as(all.len() as u64, ["address", "addresses"]);
        format!(
            "list \"{list}\" contains {addresses} that this host depends on; they are guarded and pass: {}",
            told.join(", ")
        )
    })
}

/// Warnings about servers of lists that `block:` names, which overrides the guard.
pub fn blocked_servers(
    servers: &BTreeMap<IpAddr, Arc<str>>,
    blocklist: &Blocklist,
) -> impl Iterator<Item = String> + use<> {
    let blocked = servers.iter().filter(|(address, _)| {
        let claims = blocklist.covering(Polarity::Block, Target::from(**address));
        claims.iter().any(|claim| &*claim.list == CONFIG_LIST)
    });
    let told = blocked.map(|(address, why)| {
        format!("list \"{CONFIG_LIST}\" blocks {address}, although {why}: fetching may fail")
    });
    told.collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_reasons_share_a_line() {
        let reasons = [HostRole::Gateway, HostRole::NameServer, HostRole::Session("a\nb".into())];
        let told = reason(&reasons.into_iter().collect());
        assert!(told.starts_with("a gateway of this host; a name server of this host; "), "{told}");
        assert!(!told.contains('\n'), "{told}");
        let many: Vec<_> = (0..9).map(|number| HostRole::Session(format!("user{number}"))).collect();
        assert!(reason(&many.into_iter().collect()).ends_with("; and so on"));
    }
}
