//! What `status` says about CrowdSec.

use serde::{Deserialize, Serialize};

use super::hits::is_zero;
use crate::text::Explanation;

/// How filterd follows the decisions of one LAPI, CrowdSec's local API.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CrowdSecState {
    /// Its name in the configuration.
    pub name: String,
    /// Address of LAPI, as the configuration says it.
    pub url: String,
    /// Time since which LAPI answers, in seconds since 1970. Missing while it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected_since: Option<u64>,
    /// Time of the last complete answer, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_pull: Option<u64>,
    /// Number of decisions received since filterd started. A decision that LAPI sends again counts again.
    pub received: u64,
    /// Number of decisions that hold now and have an accepted type.
    pub decided: u64,
    /// Number of these decisions that are in force.
    pub enforced: u64,
    /// Number of entries from before a restart that LAPI has not confirmed yet. They are in force, too.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unconfirmed: u64,
    /// Number of guarded addresses within these decisions. They still pass.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub guarded: u64,
    /// Number of decisions on an AS or a country that no database knows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub without_networks: u64,
    /// Number of decisions in the last full answer that were left out because of their type.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_types: u64,
    /// Number of decisions in the last full answer that filterd does not understand.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_understood: u64,
    /// Number of decisions in the last full answer on ranges wider than a /8, or a /16 of IPv6, which are not enforced.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub too_wide: u64,
    /// Number of decisions that LAPI no longer names, and that are kept because there are too many of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held_back: u64,
    /// Number of decisions that only a full answer brought, since filterd started.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: u64,
    /// Its lists, one for each origin.
    pub lists: Vec<OriginList>,
    /// What is wrong, if anything is, and the remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Explanation>,
}

/// What `filterd crowdsec status --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrowdSecAnswer {
    /// [`VERSION`](super::VERSION) of this shape.
    pub version: u32,
    /// Every CrowdSec that filterd follows.
    pub crowdsec: Vec<CrowdSecState>,
}

/// The list of one origin of decisions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OriginList {
    /// Name of the list.
    pub list: String,
    /// The origin, as CrowdSec writes it: `crowdsec`, `cscli`, `CAPI`, `lists:NAME`.
    pub origin: String,
    /// Number of its decisions.
    pub decisions: u64,
}
