//! What is not as the configuration says, while it is so.

use serde::{Deserialize, Serialize};

use crate::text::Explanation;

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fault {
    /// What suffers.
    pub about: About,
    /// Since when, in seconds since 1970.
    pub since: u64,
    /// What is wrong, and what to do about it.
    #[serde(flatten)]
    pub told: Explanation,
    /// What `filterd ack` calls it; none where it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// What a fault is about, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum About {
    /// Packets that should be dropped may pass.
    Protection,
    /// What is added now, or the filter itself, may be lost when filterd ends.
    Durability,
    /// Entries may end too early or too late.
    Time,
    /// A list in force is not the one its source has now.
    Lists,
    /// The configuration in force is not the one in the file.
    Configuration,
    /// Whoever breaks into filterd could do more than it should.
    Confinement,
}
