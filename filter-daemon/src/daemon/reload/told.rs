//! Logs the results of a reload or a start.

use tracing::{error, warn};

use crate::control::wire::reload::Reply;

/// Logs the warnings, and the lists that are held back.
pub fn tell_log(reloaded: &Reply) {
    reloaded.warnings.iter().for_each(|warning| warn!("{warning}"));
    reloaded.held_back.iter().for_each(|held| error!("{}", held.told));
}
