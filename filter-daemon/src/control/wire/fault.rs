//! A fault: something that is not as the configuration says.

use serde::{Deserialize, Serialize};

use crate::text::Explanation;

/// A fault: something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fault {
    /// The part that the fault affects.
    pub about: About,
    /// Time of its beginning, in seconds since 1970.
    pub since: u64,
    /// The problem and its remedy.
    #[serde(flatten)]
    pub told: Explanation,
    /// The id for `filterd ack`. A fault that ends by itself has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// The parts that a fault may affect, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum About {
    /// Packets that should be dropped may pass.
    Protection,
    /// New entries, or the filter itself, may be lost when filterd ends.
    Durability,
    /// Entries may end too early or too late.
    Time,
    /// A list in force is not the current version of its source.
    Lists,
    /// The configuration in force is not the one in the file.
    Configuration,
    /// An attacker who breaks into filterd could do more than intended.
    Confinement,
}
