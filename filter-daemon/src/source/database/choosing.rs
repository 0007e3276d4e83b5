//! Decides which networks of a database belong to a list, and records which selected codes were found.

use super::mmdb::NetworkRecord;
use crate::source::chosen::{Autonomous, Chosen, Country};

/// The selection of a list, and which of it was found.
pub struct Choosing<'a> {
    chosen: &'a Chosen,
    has_come: Vec<bool>,
}

impl<'a> Choosing<'a> {
    pub fn new(chosen: &'a Chosen) -> Self {
        let count = match chosen {
            Chosen::Countries(countries) => countries.len(),
            Chosen::Autonomous(numbers) => numbers.len(),
        };
        Self { chosen, has_come: vec![false; count] }
    }

    pub fn is_by_country(&self) -> bool {
        matches!(self.chosen, Chosen::Countries(_))
    }

    /// True if the record has a field of the selected kind.
    pub fn knows(&self, record: &NetworkRecord) -> bool {
        match self.chosen {
            Chosen::Countries(_) => record.country.is_some(),
            Chosen::Autonomous(_) => record.autonomous.is_some(),
        }
    }

    /// True if a network with these fields is selected. Records that its code or number was found.
    pub fn wants(&mut self, country: Option<Country>, autonomous: Option<Autonomous>) -> bool {
        let at = match self.chosen {
            Chosen::Countries(countries) => country.and_then(|country| place(countries, country)),
            Chosen::Autonomous(numbers) => autonomous.and_then(|number| place(numbers, number)),
        };
        at.into_iter().for_each(|at| self.has_come[at] = true);
        at.is_some()
    }

    /// The kind of field that the database needs, and the name of a database that has it.
    pub fn needed(&self) -> (&'static str, &'static str) {
        match self.chosen {
            Chosen::Countries(_) => ("countries", "GeoLite2-Country.mmdb"),
            Chosen::Autonomous(_) => ("autonomous systems", "GeoLite2-ASN.mmdb"),
        }
    }

    /// The selected codes or numbers that were not found, in their written form.
    pub fn absent(&self) -> Vec<String> {
        let absent = self.chosen.words().into_iter().zip(&self.has_come);
        absent.filter(|(_, has_come)| !**has_come).map(|(word, _)| word).collect()
    }
}

fn place<T: PartialEq>(chosen: &[T], one: T) -> Option<usize> {
    chosen.iter().position(|chosen| *chosen == one)
}
