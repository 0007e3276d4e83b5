//! The keys of a list that is selected from a database: `country` or `asn`, and `database`.

use std::path::PathBuf;
use std::time::Duration;

use super::path::path;
use super::raw::{Node, YamlValue};
use super::shape::{ValueFaults, kind};
use crate::source::chosen::{Autonomous, Chosen, Country, CountryError, Database};
use crate::text::printable::excerpt;

/// A list that has one of these keys has no path.
pub const KEYS: [&str; 3] = ["country", "asn", "database"];

/// More countries than exist, and more networks than anyone lists by hand. Each network of a database is
/// compared with each of them.
const MOST_CHOSEN: usize = 300;

/// Five registries publish two forms each, and a few more files may come from a mirror.
const MOST_FILES: usize = 16;

const EXAMPLE: &str =
    "write {name: far, country: [CN, RU], database: /usr/share/GeoIP/GeoLite2-Country.mmdb}";

/// The values of these keys, with the numbers of their nodes.
#[derive(Default)]
pub struct DatabaseKeys {
    countries: Option<(Vec<Country>, usize)>,
    autonomous: Option<(Vec<Autonomous>, usize)>,
    paths: Option<Vec<PathBuf>>,
    has_choice: bool,
    has_database: bool,
}

impl DatabaseKeys {
    /// Parses the value of `country`, such as `[CN, RU]`.
    pub fn countries(&mut self, faults: &mut ValueFaults, node: Node) {
        let number = node.number;
        self.has_choice = true;
        let countries = each(faults, node, "`country`", |faults, item| {
            let word = faults.text(item, "a country's code")?;
            let country = word.text.trim().parse::<Country>();
            let told = |error: &_| tell_country(faults, word.node, &word.text, error);
            country.inspect_err(told).ok()
        });
        self.countries = countries.map(|countries| (countries, number));
    }

    /// Parses the value of `asn`, such as `[AS64500, 64501]`.
    pub fn autonomous(&mut self, faults: &mut ValueFaults, node: Node) {
        let number = node.number;
        self.has_choice = true;
        let numbers = each(faults, node, "`asn`", |faults, item| {
            let (said, found) = match &item.value {
                YamlValue::Number(Some(number)) => (number.to_string(), Autonomous::new(*number)),
                YamlValue::Text(word) => (format!("`{}`", excerpt(word)), word.trim().parse().ok()),
                other @ (YamlValue::Nothing
                | YamlValue::Bool(_)
                | YamlValue::Number(None)
                | YamlValue::List(_)
                | YamlValue::Map(_)
                | YamlValue::Tagged) => (kind(other).to_owned(), None),
            };
            if found.is_none() {
                let message = format!("`asn` are numbers of autonomous systems, not {said}");
                faults.tell(item.number, message, "write AS1 to AS4294967295, as in [AS64500]");
            }
            found
        });
        self.autonomous = numbers.map(|numbers| (numbers, number));
    }

    /// Parses the value of `database`: a file or a folder, or several.
    pub fn database(&mut self, faults: &mut ValueFaults, node: Node) {
        self.has_database = true;
        self.paths = paths(faults, node, EXAMPLE);
    }

    /// Checks all keys together, for a list at `node` that has at least one of them.
    pub fn check(
        self,
        node: usize,
        has_path: bool,
        refresh: Option<Duration>,
        faults: &mut ValueFaults,
    ) -> Option<Database> {
        let Self { countries, autonomous, paths, has_choice, has_database } = self;
        if has_path {
            let message = "a list has only one of `path`, `url` and `database`";
            faults.tell(node, message, "remove one, or make two lists of it");
            return None;
        }
        let chosen = match (countries, autonomous) {
            (Some((countries, _)), None) => Chosen::Countries(countries),
            (None, Some((numbers, _))) => Chosen::Autonomous(numbers),
            (Some(_), Some((_, node))) => {
                let message = "a list has only one of `country` and `asn`";
                faults.tell(node, message, "make two lists of it: each has its own database");
                return None;
            }
            (None, None) => {
                if !has_choice {
                    faults.tell(node, "this list has a `database`, but neither `country` nor `asn`", EXAMPLE);
                }
                return None;
            }
        };
        if !has_database {
            faults.tell(node, "this list has no `database`", EXAMPLE);
        }
        Some(Database { paths: paths?, chosen, refresh })
    }
}

/// The paths of databases: a file or a folder, or several. None if one is invalid.
pub fn paths(faults: &mut ValueFaults, node: Node, example: &str) -> Option<Vec<PathBuf>> {
    let (number, before) = (node.number, faults.0.len());
    let items = node.one_or_several();
    if items.is_empty() || items.len() > MOST_FILES {
        let message = format!("`database` names 1 to {MOST_FILES} files, not {}", items.len());
        faults.tell(number, message, example);
        return None;
    }
    let paths = items.into_iter().filter_map(|item| {
        let word = faults.text(item, "the path of a database")?;
        path(faults, word, "the path of a database")
    });
    let paths: Vec<_> = paths.collect();
    (faults.0.len() == before).then_some(paths)
}

fn tell_country(faults: &mut ValueFaults, node: usize, word: &str, error: &CountryError) {
    faults.tell(node, format!("`{}` {error}", excerpt(word)), error.hint());
}

/// The distinct items of a list. A single item need not be in a list. None if an item is invalid or there is
/// none.
fn each<T: PartialEq>(
    faults: &mut ValueFaults,
    node: Node,
    subject: &str,
    mut take: impl FnMut(&mut ValueFaults, Node) -> Option<T>,
) -> Option<Vec<T>> {
    let (number, before) = (node.number, faults.0.len());
    let items = match node.value {
        YamlValue::List(items) => items,
        value @ (YamlValue::Text(_) | YamlValue::Number(_) | YamlValue::Bool(_)) => {
            vec![Node { number, value }]
        }
        value @ (YamlValue::Nothing | YamlValue::Map(_) | YamlValue::Tagged) => {
            faults.items(Node { number, value }, subject)
        }
    };
    if items.len() > MOST_CHOSEN {
        let message = format!("{subject} has {} of them, but at most {MOST_CHOSEN} are allowed", items.len());
        faults.tell(number, message, "make several lists of it");
        return None;
    }
    let mut found = Vec::new();
    for item in items {
        let Some(one) = take(faults, item) else { continue };
        if !found.contains(&one) {
            found.push(one);
        }
    }
    if found.is_empty() && faults.0.len() == before {
        faults.tell(number, format!("{subject} is empty"), EXAMPLE);
    }
    (faults.0.len() == before).then_some(found)
}
