//! What of a database is on a list, and what of that has come.

use super::mmdb::Record;
use crate::source::chosen::{Autonomous, Chosen, Country};

/// What is chosen, and which of it has come.
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

    /// Does a record say what is asked for, whatever it says?
    pub fn knows(&self, record: &Record) -> bool {
        match self.chosen {
            Chosen::Countries(_) => record.country.is_some(),
            Chosen::Autonomous(_) => record.autonomous.is_some(),
        }
    }

    /// Is what is known of a network chosen? If so, it has come.
    pub fn wants(&mut self, country: Option<Country>, autonomous: Option<Autonomous>) -> bool {
        let at = match self.chosen {
            Chosen::Countries(countries) => country.and_then(|country| place(countries, country)),
            Chosen::Autonomous(numbers) => autonomous.and_then(|number| place(numbers, number)),
        };
        at.into_iter().for_each(|at| self.has_come[at] = true);
        at.is_some()
    }

    /// What a database must tell, and one that does.
    pub fn needed(&self) -> (&'static str, &'static str) {
        match self.chosen {
            Chosen::Countries(_) => ("countries", "GeoLite2-Country.mmdb"),
            Chosen::Autonomous(_) => ("autonomous systems", "GeoLite2-ASN.mmdb"),
        }
    }

    /// What was chosen and has not come, as it is written.
    pub fn absent(&self) -> Vec<String> {
        let absent = self.chosen.words().into_iter().zip(&self.has_come);
        absent.filter(|(_, has_come)| !**has_come).map(|(word, _)| word).collect()
    }
}

fn place<T: PartialEq>(chosen: &[T], one: T) -> Option<usize> {
    chosen.iter().position(|chosen| *chosen == one)
}
