//! Changes an input as a hostile or broken writer might: bits, numbers, words of the format, pieces of others, repetition.

use crate::random::Random;

/// The longest input that changes may make.
const LONGEST: usize = 64 * 1024;

/// Changes made to one input, at most.
const CHANGES: usize = 6;

/// What numbers in text are tried as.
const NUMBERS: [&str; 14] = [
    "0",
    "-1",
    "33",
    "129",
    "255",
    "256",
    "65536",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e309",
];

/// What numbers in bytes are tried as.
const WORDS: [u32; 7] = [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff];

/// Makes one input out of others.
pub struct Mutator {
    random: Random,
}

impl Mutator {
    /// The same inputs for the same seed.
    pub fn new(seed: u64) -> Self {
        Self { random: Random(seed) }
    }

    /// One of the corpus, changed, with words of its format thrown in.
    pub fn next(&mut self, corpus: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
        let mut input = self.pick(corpus).clone();
        for _ in 0..=self.random.below(CHANGES) {
            self.change(&mut input, corpus, words);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>], words: &[&str]) {
        match self.random.below(10) {
            0 => self.flip(input),
            1 => self.overwrite(input),
            2 => self.remove(input),
            3 => self.repeat(input),
            4 => self.join(input, corpus),
            5 => self.renumber(input),
            6 => input.truncate(self.random.below(input.len() + 1)),
            7 => self.shuffle(input),
            _ => self.insert(input, words),
        }
    }

    fn flip(&mut self, input: &mut [u8]) {
        if let Some(byte) = self.place(input) {
            input[byte] ^= 1 << self.random.below(8);
        }
    }

    /// Bytes that are a number at an edge, in a row of one, two or four.
    fn overwrite(&mut self, input: &mut [u8]) {
        let Some(at) = self.place(input) else { return };
        let number = WORDS[self.random.below(WORDS.len())].to_le_bytes();
        let length = (1 << self.random.below(3)).min(input.len() - at);
        input[at..at + length].copy_from_slice(&number[..length]);
    }

    fn remove(&mut self, input: &mut Vec<u8>) {
        let piece = self.piece(input);
        input.drain(piece);
    }

    /// Mostly a few times, now and then so often that whatever nests or adds up shows it.
    fn repeat(&mut self, input: &mut Vec<u8>) {
        let piece = self.piece(input);
        let times = if self.random.below(16) == 0 { 2000 } else { 1 + self.random.below(4) };
        let (at, piece) = (piece.end, input[piece].to_vec());
        let times = times.min(LONGEST / piece.len().max(1));
        input.splice(at..at, piece.repeat(times));
    }

    fn join(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let other = self.pick(corpus);
        let (from, to) = (self.piece(other), self.piece(input));
        input.splice(to, other[from].iter().copied());
    }

    /// A number in the text becomes another.
    fn renumber(&mut self, input: &mut Vec<u8>) {
        let Some(from) = self.place(input) else { return };
        let Some(begin) = input[from..].iter().position(u8::is_ascii_digit).map(|at| from + at) else {
            return;
        };
        let length = input[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = NUMBERS[self.random.below(NUMBERS.len())];
        input.splice(begin..begin + length, number.bytes());
    }

    /// A piece is moved elsewhere.
    fn shuffle(&mut self, input: &mut Vec<u8>) {
        let piece = self.piece(input);
        let piece: Vec<u8> = input.drain(piece).collect();
        let to = self.random.below(input.len() + 1);
        input.splice(to..to, piece);
    }

    fn insert(&mut self, input: &mut Vec<u8>, words: &[&str]) {
        let at = self.random.below(input.len() + 1);
        if words.is_empty() || self.random.below(8) == 0 {
            input.insert(at, self.random.number() as u8);
            return;
        }
        let word = words[self.random.below(words.len())];
        // In the place of something, or between.
        let end = if self.random.below(2) == 0 { at } else { (at + word.len()).min(input.len()) };
        input.splice(at..end, word.bytes());
    }

    fn pick<'a>(&mut self, corpus: &'a [Vec<u8>]) -> &'a Vec<u8> {
        &corpus[self.random.below(corpus.len())]
    }

    fn place(&mut self, input: &[u8]) -> Option<usize> {
        (!input.is_empty()).then(|| self.random.below(input.len()))
    }

    /// Mostly a short piece.
    fn piece(&mut self, input: &[u8]) -> std::ops::Range<usize> {
        let begin = self.random.below(input.len() + 1);
        let longest = if self.random.below(4) == 0 { input.len() } else { 16 };
        let length = self.random.below(longest.min(input.len() - begin) + 1);
        begin..begin + length
    }
}

#[test]
fn the_same_seed_makes_the_same_inputs() {
    let corpus = [b"one 1\n".to_vec(), b"two 2\n".to_vec()];
    let made = |seed| {
        let mut mutator = Mutator::new(seed);
        (0..100).map(|_| mutator.next(&corpus, &["word"])).collect::<Vec<_>>()
    };
    assert_eq!(made(1), made(1));
    assert_ne!(made(1), made(2));
}
