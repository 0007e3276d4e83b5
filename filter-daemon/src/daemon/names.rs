//! The names of lists for commands that name none.

use crate::blocklist::Polarity;
use crate::config::name;

/// The default list to block or to allow.
pub const fn default_list(polarity: Polarity) -> &'static str {
    match polarity {
        Polarity::Block => name::MANUAL_LIST,
        Polarity::Allow => name::MANUAL_ALLOW_LIST,
    }
}

/// Whether commands fill the list of this name without naming it.
pub fn is_of_commands(name: &str, polarity: Polarity) -> bool {
    name == default_list(polarity) || polarity == Polarity::Block && name == name::MANUAL_OUT_LIST
}
