//! A line of a list, and of what `add -` reads: a target that is written as it was read, or what is wrong, told briefly.

use std::path::Path;
use std::sync::Arc;

use filterd::source::{RejectedLine, line};
use filterd::text::lines::{LONGEST, Lines};

use crate::hold::Reader;
use crate::words;

/// The buffer of lines, of which there may be two for a moment, and what is told of one.
const FIXED: usize = 512 * 1024;

#[test]
fn line_is_target_or_short_harmless_error() {
    Reader { name: "list", words: &words::TARGETS, fixed: FIXED, per_byte: 1, read }.holds();
}

fn read(input: &[u8]) {
    let path: Arc<Path> = Path::new("l.txt").into();
    let mut lines = Lines::new(input);
    while let Some(line) = lines.read().expect("bytes in memory can be read") {
        assert!(line.bytes.len() <= LONGEST);
        match line::read(&line) {
            None => {}
            Some((_, Ok(span))) => {
                assert_eq!(span.to_string().parse(), Ok(span), "{span} is written as it is read")
            }
            Some((content, Err(reason))) => {
                let told = RejectedLine::new(&path, line.number, content, reason).to_string();
                assert!(told.len() < 1000 && !told.contains(char::is_control), "{told:?}");
            }
        }
    }
}
