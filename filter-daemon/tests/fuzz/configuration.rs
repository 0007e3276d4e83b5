//! The configuration: valid, or every fault told with its place and nothing that a terminal obeys.

use std::path::Path;

use filterd::config;

use crate::hold::Reader;
use crate::words;

/// Of a hundred faults, each with its line.
const FIXED: usize = 1 << 20;

/// A tree of YAML, with places.
const PER_BYTE: usize = 4096;

#[test]
fn configuration_is_valid_or_reported_with_place() {
    Reader { name: "configuration", words: &words::CONFIGURATION, fixed: FIXED, per_byte: PER_BYTE, read }
        .holds();
}

fn read(input: &[u8]) {
    let Err(error) = config::parse(Path::new("/etc/filterd/f.yaml"), input.to_vec()) else { return };
    let told = error.to_string();
    assert!(told.starts_with("/etc/filterd/f.yaml:"), "{told}");
    assert!(!told.contains(|unseen: char| unseen != '\n' && unseen.is_control()), "{told:?}");
    assert!(told.len() < 256 * 1024, "{} bytes of words", told.len());
}
