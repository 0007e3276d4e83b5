//! The formats, by name.

use std::str::FromStr;

use super::{Writer, ipset, json, nft, plain};

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One target a line, and what is known of it as a comment.
    Plain,
    /// For `ipset restore`, and from `ipset save`.
    Ipset,
    /// For `nft -f`, and from `nft -j list`.
    Nft,
    /// A JSON object a line, which carries everything.
    Json,
}

impl Format {
    /// What it is called.
    pub const NAMES: [(&str, Self); 4] =
        [("plain", Self::Plain), ("ipset", Self::Ipset), ("nft", Self::Nft), ("json", Self::Json)];

    /// What writes it. Ends are counted from `now` on where it has no other way.
    pub fn writer(self, now: u64) -> Box<dyn Writer> {
        match self {
            Self::Plain => Box::<plain::Plain>::default(),
            Self::Ipset => Box::new(ipset::Ipset::from(now)),
            Self::Nft => Box::new(nft::Nft::from(now)),
            Self::Json => Box::<json::Json>::default(),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::NAMES.into_iter().find(|(name, _)| *name == word);
        found.map(|(_, format)| format).ok_or_else(|| "plain, ipset, nft or json".to_owned())
    }
}
