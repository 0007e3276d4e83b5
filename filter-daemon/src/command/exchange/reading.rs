//! Reads an input entry by entry, after recognizing its format from its beginning. Exports of filterd have
//! a mark; `source::format` recognizes all other formats, as for lists.

use std::io::{self, Chain, Cursor, Read};
use std::vec;

use super::foreign::ForeignListReader;
use super::format::ExchangeFormat;
use super::row::{RejectedRow, Row};
use super::sets::{ForeignSets, SetChoice, SetPlan};
use super::{EntryReader, Fault, ImportedEntry, json, nft, plain};
use crate::command::render::entry;
use crate::source::format::{ErrorPage, head};
use crate::source::{self, ReadOptions, format, line};
use crate::text::Explanation;
use crate::text::lines::{Line, Lines};
use crate::text::printable;

/// The number of bytes that are read to recognize a format, far more than any head of comments.
const BEGINNING: usize = 64 * 1024;

/// The largest JSON document that is read, in bytes.
const LARGEST_DOCUMENT: u64 = 1 << 30;

const NO_LIST_REMEDY: &str = "if it was downloaded, check its contents";

/// An input whose entries are read one by one.
pub struct ImportReader<R> {
    rows: InputRows<R>,
    /// The name of the recognized format.
    pub format: &'static str,
    /// The number of bytes read, for inputs that are not read by lines.
    whole: u64,
    /// Whether the format can express that something is allowed.
    pub can_allow: bool,
    /// Whether it is a document of nftables without rules.
    pub lacks_rules: bool,
    /// The sets that were read, until `choose` takes them.
    sets: Option<ForeignSets>,
    /// The error of the input of these sets as a whole.
    sets_fault: Option<String>,
}

enum InputRows<R> {
    Lines(Lines<Chain<Cursor<Vec<u8>>, R>>, Box<dyn EntryReader>),
    All(vec::IntoIter<Row>),
}

/// Why an input cannot be read at all.
#[derive(Debug)]
pub enum Unreadable {
    /// The input failed with an error.
    Input(io::Error),
    /// The input is not in a known format.
    Other(Explanation),
}

impl<R: Read> ImportReader<R> {
    /// Begins to read `input`, in the given format or in the one that is recognized.
    pub fn begin(mut input: R, format: Option<ExchangeFormat>) -> Result<Self, Unreadable> {
        let beginning = beginning(&mut input).map_err(Unreadable::Input)?;
        let first = first_line(&beginning).unwrap_or_default();
        let form = match format {
            Some(format) => DetectedFormat::Ours(format),
            None => recognised(&beginning, first).map_err(Unreadable::Other)?,
        };
        let is_document = first.starts_with(b"{");
        let can_allow = matches!(form, DetectedFormat::Ours(_));
        let is_ipset = matches!(form, DetectedFormat::Ours(ExchangeFormat::Ipset));
        let is_ours = beginning.starts_with(nft::MARK.as_bytes());
        let theirs = |format| {
            ForeignListReader::of(format, &beginning).map(|foreign| Box::new(foreign) as Box<dyn EntryReader>)
        };
        let (form, format): (Option<Box<dyn EntryReader>>, _) = match form {
            DetectedFormat::Theirs(format) => (theirs(format), format.name()),
            DetectedFormat::Ours(format) => (ours(format, is_ours), format.name()),
        };
        let all = Cursor::new(beginning).chain(input);
        if form.is_none() && is_document {
            let mut document = all.take(LARGEST_DOCUMENT);
            let (sets, lack) = ForeignSets::read_nft(&mut document).map_err(Unreadable::Input)?;
            if let Some(lack) = lack {
                let told = format!("it is not complete output of `nft -j list`: it {lack}");
                return Err(Unreadable::Other(told.into()));
            }
            let read = LARGEST_DOCUMENT - document.limit();
            let lacks_rules = !sets.has_rules();
            return Ok(Self { lacks_rules, ..Self::of_sets(sets, format, read) });
        }
        if is_ipset {
            let (sets, read) = ForeignSets::read_ipset(all).map_err(Unreadable::Input)?;
            return Ok(Self::of_sets(sets, format, read));
        }
        let Some(form) = form else { return Err(Unreadable::Other(no_nft())) };
        Ok(Self {
            rows: InputRows::Lines(Lines::new(all), form),
            format,
            whole: 0,
            can_allow,
            lacks_rules: false,
            sets: None,
            sets_fault: None,
        })
    }

    fn of_sets(sets: ForeignSets, format: &'static str, whole: u64) -> Self {
        let rows = InputRows::All(Vec::new().into_iter());
        let sets_fault = sets.fault();
        Self { rows, format, whole, can_allow: true, lacks_rules: false, sets: Some(sets), sets_fault }
    }

    /// Chooses the sets whose entries `row` returns, and reports what happens to each. Without it, `row` returns no entry of a set.
    ///
    /// # Errors
    /// When the choice does not fit the sets.
    pub fn choose(&mut self, choice: &SetChoice) -> Result<Vec<SetPlan>, Explanation> {
        match self.sets.take() {
            Some(sets) => {
                let (rows, plans) = sets.choose(choice)?;
                self.rows = InputRows::All(rows.into_iter());
                Ok(plans)
            }
            None if choice.is_empty() => Ok(Vec::new()),
            None => Err(Explanation::new(
                format!("its format is {}, which has no sets", self.format),
                "use `filterd allow add -` for a list of addresses to allow",
            )),
        }
    }

    /// The next entry, or its error.
    pub fn row(&mut self) -> io::Result<Option<Row>> {
        match &mut self.rows {
            InputRows::All(rows) => Ok(rows.next()),
            InputRows::Lines(lines, form) => {
                while let Some(line) = lines.read()? {
                    if let Some(row) = read(&line, form.as_mut()) {
                        return Ok(Some(row));
                    }
                }
                Ok(None)
            }
        }
    }

    /// The error of the input as a whole, known after its last entry.
    pub fn fault(&self) -> Option<String> {
        match &self.rows {
            InputRows::Lines(_, form) => form.fault(),
            InputRows::All(_) => self.sets_fault.clone(),
        }
    }

    /// The number of bytes that have been read.
    pub fn position(&self) -> u64 {
        match &self.rows {
            InputRows::Lines(lines, _) => lines.position(),
            InputRows::All(_) => self.whole,
        }
    }
}

/// A format that was recognized.
enum DetectedFormat {
    /// A format that contains more than targets, and that filterd also writes.
    Ours(ExchangeFormat),
    /// A list that others publish.
    Theirs(source::Format),
}

/// The reader of lines in this format; None if the format has no lines.
fn ours(format: ExchangeFormat, is_ours: bool) -> Option<Box<dyn EntryReader>> {
    Some(match format {
        ExchangeFormat::Plain => Box::<plain::PlainReader>::default(),
        ExchangeFormat::Json => Box::<json::JsonExchange>::default(),
        ExchangeFormat::Nft if is_ours => Box::<nft::NftReader>::default(),
        ExchangeFormat::Nft | ExchangeFormat::Ipset => return None,
    })
}

fn read(line: &Line<'_>, form: &mut dyn EntryReader) -> Option<Row> {
    Some(placed(form.read(line)?, Some(line.number)))
}

fn placed(row: Result<ImportedEntry, Fault>, line: Option<u64>) -> Row {
    row.map(|item| (line, item)).map_err(|fault| RejectedRow { line, fault })
}

/// Reads enough of the input to recognize its format: one line that shows it, or many that are examined
/// together.
fn beginning(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut beginning = Vec::new();
    let mut more = vec![0; BEGINNING];
    while beginning.len() < BEGINNING && !is_plain_from(&beginning) {
        match input.read(&mut more) {
            Ok(0) => break,
            Ok(read) => beginning.extend_from_slice(&more[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(beginning)
}

/// Returns whether the first line with content is a target or an entry that filterd wrote. A user who types
/// targets need not type more.
fn is_plain_from(beginning: &[u8]) -> bool {
    let whole = beginning.iter().rposition(|byte| *byte == b'\n').map_or(&[][..], |end| &beginning[..end]);
    let first = first_line(whole).unwrap_or_default();
    let content = first.split(|byte| matches!(byte, b'#' | b';')).next().unwrap_or_default();
    line::target(content).is_ok()
}

/// The first line that is neither blank nor a comment. It may be incomplete.
fn first_line(beginning: &[u8]) -> Option<&[u8]> {
    let beginning = beginning.strip_prefix("\u{feff}".as_bytes()).unwrap_or(beginning);
    beginning
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .find(|line| !line.is_empty() && line[0] != b'#')
}

fn recognised(beginning: &[u8], first: &[u8]) -> Result<DetectedFormat, Explanation> {
    let has = |word: &str| first.windows(word.len()).any(|part| part == word.as_bytes());
    if let Some(page) = ErrorPage::recognise(beginning) {
        return Err(Explanation::new(format!("it is not a list: {page}"), NO_LIST_REMEDY));
    }
    let found = format::of(beginning, &ReadOptions::default());
    match first {
        [b'{', ..] if has(json::MARK) => Ok(DetectedFormat::Ours(ExchangeFormat::Json)),
        // The output of `filterd list --json`.
        [b'{', ..] if found != source::Format::Nft && has("\"target\"") => Err(no_json(first)),
        _ if first.starts_with(b"Name: ") => {
            Err(Explanation::new("it is output of `ipset list`", "use `ipset save | filterd import -`"))
        }
        _ if entry::is_line(first) && found.is_plain() => Err(Explanation::new(
            "it is output of `filterd list` or `filterd allow list`, which does not say which entries block and which allow",
            "use `filterd export`, which `filterd import` reads",
        )),
        [b'[' | b'<', ..] => Err(Explanation::new(
            format!("it starts with {}, which is not a list", printable::bytes(first)),
            NO_LIST_REMEDY,
        )),
        _ if beginning.starts_with(nft::MARK.as_bytes()) => Ok(DetectedFormat::Ours(ExchangeFormat::Nft)),
        _ if head::lines(beginning).any(begins_table) => Err(no_nft()),
        _ => match found {
            source::Format::Ipset => Ok(DetectedFormat::Ours(ExchangeFormat::Ipset)),
            source::Format::Nft => Ok(DetectedFormat::Ours(ExchangeFormat::Nft)),
            source::Format::Ipsum | source::Format::Csv | source::Format::Dshield | source::Format::Json => {
                Ok(DetectedFormat::Theirs(found))
            }
            source::Format::Plain
            | source::Format::Firehol
            | source::Format::Spamhaus
            | source::Format::Ranges
            | source::Format::Csf => {
                if first.starts_with(b"{") {
                    Err(no_json(first))
                } else {
                    Ok(DetectedFormat::Ours(ExchangeFormat::Plain))
                }
            }
        },
    }
}

/// Returns whether a table in nft's own language begins on this line. JSON never matches, nor do comments,
/// which begin with their sign.
fn begins_table(line: &[u8]) -> bool {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).peekable();
    words.next_if(|word| matches!(*word, b"add" | b"create" | b"flush" | b"delete" | b"destroy"));
    let is_family = |word: &[u8]| matches!(word, b"ip" | b"ip6" | b"inet" | b"arp" | b"bridge" | b"netdev");
    words.next() == Some(b"table")
        && words.next().is_some_and(|word| is_family(word) || words.next() == Some(b"{"))
}

fn no_json(first: &[u8]) -> Explanation {
    Explanation::new(
        format!(
            "it starts with {}, which is neither a filterd export nor an nft list",
            printable::bytes(first)
        ),
        "use `filterd export --format json`; output of `filterd list --json` does not say which entries block and which allow",
    )
}

fn no_nft() -> Explanation {
    Explanation::new(
        "of nft, only JSON is read",
        "to read all sets of addresses: nft -j list ruleset | filterd import -\nfor other input, pass `--format` (plain, ipset, json)",
    )
}
