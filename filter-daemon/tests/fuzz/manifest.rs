//! Manifests of generations: what is not what was written is damaged, and what was written is read again.

use filterd::clock;
use filterd::state::{FoundGeneration, Generation, manifest};

use crate::hold::Reader;
use crate::words;

/// The buffer of lines.
const FIXED: usize = 1 << 20;

/// A record has some hundred bytes more than its line, in a vector that doubles, and is written and read again.
const PER_BYTE: usize = 256;

#[test]
fn any_manifest_is_read_or_damaged() {
    let read = |input: &[u8]| _ = manifest::read(input, &clock::moment());
    Reader { name: "manifest", words: &words::MANIFESTS, fixed: FIXED, per_byte: PER_BYTE, read }.holds();
}

/// Nearly every change spoils the checksum of its line, which is not looked at then. Lines with right checksums
/// may say anything.
#[test]
fn checked_manifest_is_written_as_it_was_read() {
    let read = |input: &[u8]| {
        let Some(generation) = generation(&sealed(input)) else { return };
        let again = self::generation(manifest::text(&generation, &clock::moment()).as_bytes());
        assert!(again.is_some_and(|again| again.says_the_same_as(&generation)));
    };
    Reader { name: "manifest", words: &words::MANIFESTS, fixed: FIXED, per_byte: PER_BYTE, read }.holds();
}

#[test]
fn the_corpus_is_of_manifests() {
    let kept = crate::corpus::of("manifest");
    let is_whole = |input: &&Vec<u8>| {
        let found = manifest::read(&sealed(input), &clock::moment());
        matches!(found, FoundGeneration::Read { is_cut: false, .. })
    };
    let good = kept.iter().filter(is_whole).count();
    assert!(good >= 4, "only {good} of {} are whole", kept.len());
}

fn generation(text: &[u8]) -> Option<Generation> {
    manifest::read(text, &clock::moment()).generation()
}

/// The corpus has lines without checksums.
fn sealed(input: &[u8]) -> Vec<u8> {
    let mut text = b"filterd generation 1\nfile 00000007\n".to_vec();
    for line in input.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        text.extend(format!("{:08x} ", crc32fast::hash(line)).into_bytes());
        text.extend(line);
        text.push(b'\n');
    }
    text
}
