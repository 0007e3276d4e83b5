//! The networks of autonomous systems and countries that decisions concern.

use std::collections::{BTreeMap, HashSet};

use filter_common::target::Target;

use super::id::DecisionId;
use crate::blocklist::Targets;
use crate::crowdsec::Scope;

/// What is known of the networks of a scope.
#[derive(Debug, Default, PartialEq, Eq)]
enum ScopeNetworks {
    /// The databases were not asked yet.
    #[default]
    Pending,
    /// The databases do not have it.
    Unknown,
    Known(Targets),
}

/// The decisions on a scope, and its networks.
#[derive(Debug, Default)]
struct ScopeRecord {
    ids: HashSet<DecisionId>,
    networks: ScopeNetworks,
}

/// All autonomous systems and countries with decisions.
#[derive(Debug, Default)]
pub struct ScopeTable {
    records: BTreeMap<Scope, ScopeRecord>,
    /// Whether some record may have lost its last decision.
    may_have_unused: bool,
}

impl ScopeTable {
    /// The targets of a scope that are known.
    pub fn targets(&self, scope: &Scope) -> impl Iterator<Item = Target> + '_ {
        let single = if let Scope::Target(target) = scope { Some(*target) } else { None };
        let networks = self.records.get(scope).and_then(|record| match &record.networks {
            ScopeNetworks::Known(networks) => Some(networks),
            ScopeNetworks::Pending | ScopeNetworks::Unknown => None,
        });
        single.into_iter().chain(networks.into_iter().flat_map(Targets::iter))
    }

    /// Notes a decision on this scope.
    pub fn attach(&mut self, scope: Scope, id: DecisionId) {
        if !matches!(scope, Scope::Target(_)) {
            self.records.entry(scope).or_default().ids.insert(id);
        }
    }

    /// Forgets a decision on this scope. The networks stay known until
    /// [`forget_unused`](Self::forget_unused).
    pub fn detach(&mut self, scope: &Scope, id: DecisionId) {
        if let Some(record) = self.records.get_mut(scope) {
            record.ids.remove(&id);
            self.may_have_unused |= record.ids.is_empty();
        }
    }

    /// Forgets the networks of scopes without decisions.
    pub fn forget_unused(&mut self) {
        if std::mem::take(&mut self.may_have_unused) {
            self.records.retain(|_, record| !record.ids.is_empty());
        }
    }

    /// Sets the networks of a scope that has decisions.
    pub fn set_networks(&mut self, scope: &Scope, networks: Option<Targets>) {
        if let Some(record) = self.records.get_mut(scope) {
            record.networks = networks.map_or(ScopeNetworks::Unknown, ScopeNetworks::Known);
        }
    }

    /// Whether the networks of this scope are these already.
    pub fn has_networks(&self, scope: &Scope, networks: &Targets) -> bool {
        let known = self.records.get(scope).map(|record| &record.networks);
        matches!(known, Some(ScopeNetworks::Known(known)) if known == networks)
    }

    /// The decisions on one scope.
    pub fn decisions(&self, scope: &Scope) -> Vec<DecisionId> {
        self.records.get(scope).map(|record| record.ids.iter().copied().collect()).unwrap_or_default()
    }

    /// The scopes with decisions, sorted.
    pub fn used(&self) -> impl Iterator<Item = Scope> + '_ {
        self.records.iter().filter(|(_, record)| !record.ids.is_empty()).map(|(scope, _)| *scope)
    }

    /// The decisions for whose networks the databases were not asked yet.
    pub fn pending(&self) -> impl Iterator<Item = DecisionId> + '_ {
        let records = self.records.values();
        records
            .filter(|record| record.networks == ScopeNetworks::Pending)
            .flat_map(|record| record.ids.iter().copied())
    }

    /// The number of decisions without networks.
    pub fn unresolved(&self) -> usize {
        let records = self.records.values();
        let unresolved = records.filter(|record| !matches!(record.networks, ScopeNetworks::Known(_)));
        unresolved.map(|record| record.ids.len()).sum()
    }
}
