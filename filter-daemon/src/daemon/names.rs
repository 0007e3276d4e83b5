//! What the list is called of those who name none.

use crate::blocklist::Polarity;
use crate::config::name;

/// Of those who block, or who allow.
pub const fn default_list(polarity: Polarity) -> &'static str {
    match polarity {
        Polarity::Block => name::MANUAL_LIST,
        Polarity::Allow => name::MANUAL_ALLOW_LIST,
    }
}
