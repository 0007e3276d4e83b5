//! What the two processes take from themselves.

use super::error::FetchError;
use super::order::Order;

/// Nothing is written by whoever starts fetches, or by those.
pub fn spawner() -> std::io::Result<()> {
    Ok(())
}

/// Everything but fetching this.
pub fn child(_: &Order) -> Result<(), FetchError> {
    Ok(())
}
