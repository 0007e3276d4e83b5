//! Tests of lists that are selected from a database.

use std::time::Duration;

use super::{config, told};
use crate::source::Format;

fn chosen(keys: &str) -> (String, Vec<String>) {
    let list = &config(&format!("lists: [{{name: far, {keys}}}]")).lists[0];
    let database = list.how.database.as_ref().expect("it is chosen");
    assert_eq!((list.path.as_path(), list.how.format), (database.path(), Some(Format::Plain)));
    let paths = database.paths.iter().map(|path| path.display().to_string());
    (database.chosen.to_string(), paths.collect())
}

fn refused(keys: &str) -> String {
    told(format!("lists: [{{name: far, {keys}}}]"))
}

#[test]
fn list_is_selected_by_country_or_asn() {
    let one = |path: &str| vec![path.to_owned()];
    assert_eq!(
        chosen("country: [CN, ru, NO], database: /x.mmdb"),
        ("country CN RU NO".into(), one("/x.mmdb"))
    );
    assert_eq!(chosen("country: CN, database: x.mmdb").0, "country CN");
    assert_eq!(chosen("country: [CN, cn], database: x").0, "country CN");
    assert_eq!(chosen("asn: [AS64500, 64501, '64502'], database: x").0, "asn AS64500 AS64501 AS64502");
    assert_eq!(chosen("asn: 64500, database: x").0, "asn AS64500");
    assert_eq!(chosen("database: [a, /b], country: [CN]").1.len(), 2);
}

#[test]
fn database_refresh_interval_is_accepted() {
    let refresh = |keys: &str| {
        let list =
            &config(&format!("lists: [{{name: far, country: [CN], database: /x.mmdb{keys}}}]")).lists[0];
        (list.how.database.as_ref().unwrap().refresh, list.feed.is_some())
    };
    assert_eq!(refresh(", refresh: 1h"), (Some(Duration::from_secs(3600)), false));
    assert_eq!(refresh(""), (None, false));
}

#[test]
fn missing_and_extra_keys_are_reported() {
    for (keys, said) in [
        ("country: [CN]", "this list has no `database`"),
        ("database: x", "has a `database`, but neither `country` nor `asn`"),
        ("country: [CN], asn: [64500], database: x", "a list has only one of `country` and `asn`"),
        ("country: [CN], database: x, path: y", "a list has only one of `path`, `url` and `database`"),
        ("country: [CN], database: x, url: 'https://a/'", "has only one of"),
        ("country: [CN], database: x, timeout: 2m", "`timeout` needs a `url`"),
        ("path: x, refresh: 6h", "`refresh` needs a `url` or a `database`"),
        ("country: [CN], database: x, refresh: 5s", "`refresh` cannot be `5s`"),
        ("country: [], database: x", "`country` is empty"),
        ("country: [CN], database: []", "`database` names 1 to 16 files, not 0"),
        ("country: [CN], database: https://x/y.mmdb", "must be a file, not a URL"),
        ("country: [CN], database: [~/x]", "~ is not expanded here"),
    ] {
        let told = refused(keys);
        assert!(told.contains(said) && told.starts_with("f.yaml:1:"), "{keys}: {told}");
    }
}

#[test]
fn mistakes_get_position_and_suggestion() {
    for (keys, said) in [
        ("country: [CN, UK], database: x", "f.yaml:1:35: `UK` is no country's code"),
        ("country: [UK], database: x", "did you mean GB (Britain (UK))?"),
        ("country: [China], database: x", "did you mean CN (China)?"),
        ("country: [ZZ], database: x", "write two letters of ISO 3166, as in CN"),
        ("country: [true], database: x", "a country's code must be text, not true or false"),
        ("country: {CN: 1}, database: x", "`country` must be a list, not a map of keys"),
        ("asn: [AS0], database: x", "`asn` are numbers of autonomous systems, not `AS0`"),
        ("asn: [4294967296], database: x", "not 4294967296"),
        ("asn: [1.10], database: x", "not a number"),
        ("asn: [google], database: x", "write AS1 to AS4294967295, as in [AS64500]"),
        ("countries: [CN], database: x", "did you mean `country`?"),
    ] {
        let told = refused(keys);
        assert!(told.contains(said), "{keys}: {told}");
    }
}
