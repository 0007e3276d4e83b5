//! Which entries are to be shown: what every verb takes that lists some.

use clap::Args;
use filter_common::target::Target;

use super::ttl::{Ttl, TtlError};
use crate::command::render::moment;
use crate::config::ListName;
use crate::control::wire::{self, words};

#[derive(Debug, Args)]
pub struct Which {
    /// Only entries of this list
    #[arg(long, value_name = "NAME", value_parser = words::list_name)]
    pub list: Option<ListName>,
    /// Only IPv4 or only IPv6
    #[arg(long, value_name = "4|6", value_parser = ["4", "6"])]
    family: Option<String>,
    /// Only this address or prefix, and what lies within it
    #[arg(long, value_name = "TARGET", value_parser = words::target)]
    within: Option<Target>,
    /// Only what expires within that time: what does so first comes first
    #[arg(long, value_name = "TIME", value_parser = soon)]
    expiring: Option<Ttl>,
}

/// As a time limit is written, though none is given.
fn soon(word: &str) -> Result<Ttl, String> {
    word.parse().map_err(|error| match error {
        TtlError::Form => error.to_string(),
        TtlError::Nothing => "at least one second; expired entries are on no list".to_owned(),
        TtlError::TooLong => "at most ten years (520w); leave it out to show all entries".to_owned(),
    })
}

impl Which {
    /// The family, if only one is asked for, as it follows a word.
    pub fn family(&self) -> String {
        self.family.as_ref().map(|family| format!(" of IPv{family}")).unwrap_or_default()
    }

    /// What they are to lie in, in the same way.
    pub fn within(&self) -> String {
        self.within.map(|wide| format!(" within {wide}")).unwrap_or_default()
    }

    /// How soon they are to end, in the same way.
    pub fn expiring(&self) -> String {
        let soon =
            self.expiring.map(|soon| format!(" that expires within {}", moment::length(soon.as_secs())));
        soon.unwrap_or_default()
    }

    /// The question for them, among what is blocked or what is allowed.
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
    fn who_asks_what_expires_is_told_of_that_and_not_of_adding() {
        assert_eq!(soon("1h").map(Ttl::as_secs), Ok(3600));
        for word in ["0", "3651d", "soon"] {
            let told = soon(word).unwrap_err();
            assert!(!told.contains("--ttl") && !told.contains("remove"), "{word}: {told}");
        }
    }
}
