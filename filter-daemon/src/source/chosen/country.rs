//! Country codes, two letters each, as operators and databases write them.

mod names;

use std::fmt;
use std::str::FromStr;

use names::COUNTRIES;

/// A code that some database may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Country([u8; 2]);

/// Words that people write by mistake for a code.
const MEANT: [(&str, &str); 40] = [
    ("AUS", "AU"),
    ("AUT", "AT"),
    ("BLR", "BY"),
    ("BRA", "BR"),
    ("BRITAIN", "GB"),
    ("CAN", "CA"),
    ("CHE", "CH"),
    ("CHN", "CN"),
    ("DEU", "DE"),
    ("DNK", "DK"),
    ("EL", "GR"),
    ("EN", "GB"),
    ("ENGLAND", "GB"),
    ("ESP", "ES"),
    ("FRA", "FR"),
    ("GBR", "GB"),
    ("GER", "DE"),
    ("GREAT BRITAIN", "GB"),
    ("HOLLAND", "NL"),
    ("IND", "IN"),
    ("IRN", "IR"),
    ("JA", "JP"),
    ("JPN", "JP"),
    ("KO", "KR"),
    ("KOR", "KR"),
    ("NLD", "NL"),
    ("NORTH KOREA", "KP"),
    ("POL", "PL"),
    ("PRK", "KP"),
    ("RUS", "RU"),
    ("SOUTH KOREA", "KR"),
    ("SP", "ES"),
    ("SU", "RU"),
    ("SW", "SE"),
    ("SWE", "SE"),
    ("TUR", "TR"),
    ("UK", "GB"),
    ("UKR", "UA"),
    ("USA", "US"),
    ("VNM", "VN"),
];

impl Country {
    /// The code, if these bytes are one. Databases may contain codes that operators are not expected to
    /// write.
    #[must_use]
    pub fn of_bytes(code: &[u8]) -> Option<Self> {
        let code: [u8; 2] = code.try_into().ok()?;
        code.iter().all(u8::is_ascii_alphabetic).then(|| Self(code.map(|letter| letter.to_ascii_uppercase())))
    }

    /// The English name of the country.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = COUNTRIES.iter().find(|(code, _)| code.as_bytes() == self.0);
        found.map_or("an unknown country", |(_, name)| *name)
    }
}

impl FromStr for Country {
    type Err = CountryError;

    fn from_str(word: &str) -> Result<Self, CountryError> {
        let known = COUNTRIES.iter().any(|(code, _)| code.eq_ignore_ascii_case(word));
        Self::of_bytes(word.as_bytes()).filter(|_| known).ok_or_else(|| CountryError { meant: meant(word) })
    }
}

impl fmt::Display for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|letter| write!(f, "{}", char::from(*letter)))
    }
}

/// The error for a word that is not a country code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is no country's code")]
pub struct CountryError {
    meant: Option<Country>,
}

impl CountryError {
    /// The code that was probably meant.
    #[must_use]
    pub fn hint(&self) -> String {
        self.meant.map_or_else(
            || "write two letters of ISO 3166, as in CN".to_owned(),
            |meant| format!("did you mean {meant} ({})?", meant.name()),
        )
    }
}

fn meant(word: &str) -> Option<Country> {
    let code = |code: &str| Country::of_bytes(code.as_bytes());
    if let Some((_, meant)) = MEANT.iter().find(|(wrong, _)| wrong.eq_ignore_ascii_case(word)) {
        return code(meant);
    }
    let word = word.to_lowercase();
    let begins = |name: &str| word.len() >= 4 && name.to_lowercase().starts_with(&word);
    COUNTRIES.iter().find(|(_, name)| begins(name)).and_then(|(found, _)| code(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(word: &str) -> String {
        word.parse::<Country>().unwrap_err().hint()
    }

    #[test]
    fn country_codes_ignore_case() {
        for word in ["CN", "cn", "Cn"] {
            assert_eq!(word.parse::<Country>().unwrap().to_string(), "CN");
        }
        assert_eq!("NO".parse::<Country>().unwrap().name(), "Norway");
        assert_eq!("XK".parse::<Country>().unwrap().name(), "Kosovo");
    }

    #[test]
    fn wrong_codes_get_a_suggestion() {
        assert_eq!(hint("UK"), "did you mean GB (Britain (UK))?");
        assert_eq!(hint("usa"), "did you mean US (United States)?");
        assert_eq!(hint("china"), "did you mean CN (China)?");
        assert_eq!(hint("Russia"), "did you mean RU (Russia)?");
        for word in ["ZZ", "", "C", "1.", "é", "CNX", "ALL", "\0\0"] {
            assert_eq!(hint(word), "write two letters of ISO 3166, as in CN", "{word}");
        }
    }

    #[test]
    fn every_hint_is_a_country() {
        for (_, code) in MEANT {
            assert!(code.parse::<Country>().is_ok(), "{code}");
        }
        assert!(COUNTRIES.is_sorted(), "by code");
    }
}
