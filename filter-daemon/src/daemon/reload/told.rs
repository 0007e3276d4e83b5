//! What the log is told of a reload, or of a start.

use tracing::{error, warn};

use crate::control::wire::reload::Reply;

/// What was found that the operator should know.
pub fn tell_log(reloaded: &Reply) {
    reloaded.warnings.iter().for_each(|warning| warn!("{warning}"));
    reloaded.held_back.iter().for_each(|held| error!("{}", held.told));
}
