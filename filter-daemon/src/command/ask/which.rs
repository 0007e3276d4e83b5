//! Selects the entries to show: the arguments of every verb that lists entries.

use clap::Args;
use filter_common::target::Target;

use super::ttl::{Ttl, TtlError};
use crate::command::render::moment;
use crate::config::ListName;
use crate::control::wire::{self, words};

#[derive(Debug, Args)]
pub struct EntrySelection {
    /// Only entries of this list [default: all lists]
    #[arg(long, value_name = "NAME", value_parser = words::list_name)]
    pub list: Option<ListName>,
    /// Only IPv4 or only IPv6 entries [default: both]
    #[arg(long, value_name = "4|6", value_parser = ["4", "6"])]
    family: Option<String>,
    /// Only this address or prefix, and entries inside it [default: everywhere]
    #[arg(long, value_name = "TARGET", value_parser = words::target)]
    within: Option<Target>,
    /// Only entries that expire within this time, the next one first [default: all]
    #[arg(long, value_name = "TIME", value_parser = soon)]
    expiring: Option<Ttl>,
}

/// Parses a time in the form of a time limit.
fn soon(word: &str) -> Result<Ttl, String> {
    word.parse().map_err(|error| match error {
        TtlError::Form => error.to_string(),
        TtlError::Nothing => "at least one second; expired entries are on no list".to_owned(),
        TtlError::TooLong => "at most ten years (520w); leave it out to show all entries".to_owned(),
    })
}

impl EntrySelection {
    /// The phrase for the family, empty if both are requested.
    pub fn family(&self) -> String {
        self.family.as_ref().map(|family| format!(" of IPv{family}")).unwrap_or_default()
    }

    /// The phrase for the enclosing prefix, empty without one.
    pub fn within(&self) -> String {
        self.within.map(|wide| format!(" within {wide}")).unwrap_or_default()
    }

    /// The phrase for the latest expiry, empty without one.
    pub fn expiring(&self) -> String {
        let soon =
            self.expiring.map(|soon| format!(" that expires within {}", moment::length(soon.as_secs())));
        soon.unwrap_or_default()
    }

    /// The request for these entries, among the blocked or the allowed ones.
    pub fn request(&self, allow: bool) -> wire::List {
        wire::List {
            list: self.list.as_ref().map(ToString::to_string),
            family: self.family.as_ref().and_then(|family| family.parse().ok()),
            within: self.within.map(|wide| wide.to_string()),
            expiring: self.expiring.map(Ttl::as_secs),
            allow,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiring_errors_are_about_expiry() {
        assert_eq!(soon("1h").map(Ttl::as_secs), Ok(3600));
        for word in ["0", "3651d", "soon"] {
            let told = soon(word).unwrap_err();
            assert!(!told.contains("--ttl") && !told.contains("remove"), "{word}: {told}");
        }
    }
}
