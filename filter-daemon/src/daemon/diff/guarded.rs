//! Guarded addresses that a file names. A reload would block around them, and the comparison reports this.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use filter_common::target::Target;

use crate::blocklist::{Blocklist, Polarity};
use crate::config::name::CONFIG_LIST;
use crate::control::wire::diff::{MOST_CUT, Stays};

/// The guarded addresses at the time of the comparison.
#[derive(Debug, Default)]
pub struct GuardedAddresses {
    /// All of them, with the reasons.
    pub all: BTreeMap<IpAddr, Arc<str>>,
    /// The servers of lists among them. An entry in `block:` overrides their guard.
    pub servers: BTreeSet<IpAddr>,
}

/// A guarded address that a target in the files covers.
#[derive(Debug)]
pub struct NamedGuarded {
    address: IpAddr,
    why: Arc<str>,
    list: Arc<str>,
    target: Target,
}

/// The guarded addresses for which `covered` finds a target.
pub fn named(
    guarded: GuardedAddresses,
    covered: impl Fn(IpAddr) -> Option<(Arc<str>, Target)>,
) -> Vec<NamedGuarded> {
    let GuardedAddresses { all, servers } = guarded;
    let named = all.into_iter().filter_map(|(address, why)| {
        let (list, target) = covered(address)?;
        let is_overridden = &*list == CONFIG_LIST && servers.contains(&address);
        (!is_overridden).then_some(NamedGuarded { address, why, list, target })
    });
    named.collect()
}

/// The guarded addresses that no entry in force names yet.
pub fn tell(named: &[NamedGuarded], blocklist: &Blocklist) -> Vec<Stays> {
    let is_new =
        |one: &&NamedGuarded| blocklist.covering(Polarity::Block, Target::from(one.address)).is_empty();
    let told = named.iter().filter(is_new).map(|NamedGuarded { address, why, list, target }| Stays {
        address: address.to_string(),
        why: why.to_string(),
        target: target.to_string(),
        list: list.to_string(),
    });
    told.take(MOST_CUT).collect()
}
