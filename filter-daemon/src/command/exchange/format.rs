//! The names of the formats.

use std::str::FromStr;

use super::{EntryWriter, ipset, json, nft, plain};

/// A format of `export` and `import`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeFormat {
    /// One target a line, followed by its details as a comment.
    Plain,
    /// The format of `ipset restore` and `ipset save`.
    Ipset,
    /// Written for `nft -f`, and read from `nft -j list`.
    Nft,
    /// One JSON object a line, with all details.
    Json,
}

impl ExchangeFormat {
    /// All formats with their names.
    pub const NAMES: [(&str, Self); 4] =
        [("plain", Self::Plain), ("ipset", Self::Ipset), ("nft", Self::Nft), ("json", Self::Json)];

    /// The writer of this format. If the format has only relative ends, they are counted from `now`.
    pub fn writer(self, now: u64) -> Box<dyn EntryWriter> {
        match self {
            Self::Plain => Box::<plain::PlainWriter>::default(),
            Self::Ipset => Box::new(ipset::IpsetWriter::from(now)),
            Self::Nft => Box::new(nft::NftWriter::from(now)),
            Self::Json => Box::<json::JsonExchange>::default(),
        }
    }

    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }
}

impl FromStr for ExchangeFormat {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::NAMES.into_iter().find(|(name, _)| *name == word);
        found.map(|(_, format)| format).ok_or_else(|| "plain, ipset, nft or json".to_owned())
    }
}
