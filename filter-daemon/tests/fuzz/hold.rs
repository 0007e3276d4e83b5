//! Feeds inputs to whoever reads them, and holds the reader to its promise.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::corpus;
use crate::memory::most_held;
use crate::mutator::Mutator;

/// As many as take a second or two in a debug build.
pub const INPUTS: u64 = 10_000;

/// Somebody who reads what others wrote.
pub struct Reader<R> {
    /// The folder of its corpus.
    pub name: &'static str,
    /// Words of its format.
    pub words: &'static [&'static str],
    /// What it may hold whatever is read.
    pub fixed: usize,
    /// What it may hold for each byte that is read.
    pub per_byte: usize,
    /// Reads, and asserts what must be so.
    pub read: R,
}

impl<R: Fn(&[u8])> Reader<R> {
    /// Feeds it all that is kept, and then what becomes of that.
    pub fn holds(&self) {
        let corpus = corpus::of(self.name);
        corpus.iter().for_each(|input| self.feed(input));
        let (mut mutator, inputs) = (Mutator::new(number("FILTERD_SEED", 0)), number("FILTERD_FUZZ", INPUTS));
        (0..inputs).for_each(|_| self.feed(&mutator.next(&corpus, self.words)));
        println!("{}: {inputs} inputs", self.name);
    }

    /// Feeds it one input.
    pub fn feed(&self, input: &[u8]) {
        let (read, most) = most_held(|| catch_unwind(AssertUnwindSafe(|| (self.read)(input))));
        if let Err(panic) = read {
            self.show(input);
            resume_unwind(panic);
        }
        let bound = self.fixed + self.per_byte * input.len();
        if most > bound {
            self.show(input);
            panic!("it held {most} bytes for {} bytes of input: more than {bound}", input.len());
        }
    }

    /// As it would be kept: a file of this content in the corpus is fed first from then on.
    fn show(&self, input: &[u8]) {
        println!("corpus/{}: {}", self.name, input.escape_ascii());
    }
}

/// A number out of the environment.
pub fn number(variable: &str, otherwise: u64) -> u64 {
    env::var(variable).map_or(otherwise, |word| word.parse().expect("it is a number"))
}
