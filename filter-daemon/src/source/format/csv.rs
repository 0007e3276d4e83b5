//! Reads tables: fields separated by commas (or semicolons, tabs or bars), possibly quoted, with one column
//! of targets. Comments begin with `#`, and so may the line with the column names, as in abuse.ch's files.

use super::{Column, ReadOptions, RowReader, allowing, head};
use crate::source::line::{self, Said};
use crate::source::rejected::RejectReason;
use crate::text::lines::Line;
use crate::text::printable;

/// The possible delimiters. If several fit, the first one is used.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Names of the column to use if several columns contain addresses.
const KNOWN: [&str; 9] =
    ["ip", "dst_ip", "src_ip", "ip_address", "ipaddress", "cidr", "network", "prefix", "indicator"];

/// The number of lines that are examined to find the column.
const MOST_ASKED: usize = 500;

/// The number of columns that are examined.
const MOST_COLUMNS: usize = 64;

/// The rows of a table.
pub struct Csv {
    delimiter: u8,
    /// Counted from zero. None if the column is unknown.
    column: Option<usize>,
    has_begun: bool,
    /// True if the list is meant to allow, so that rows that say so are accepted.
    allows: bool,
    /// True if a column says what to do with its row.
    has_verdict: bool,
    /// The column that says whether its row allows.
    switch: Option<usize>,
    /// Describes the table if the configured column is missing.
    looks: Option<String>,
}

/// The most column names to show in a message.
const MOST_TOLD: usize = 12;

impl Csv {
    /// Prepares for a table that begins with `head`.
    pub fn new(head: &[u8], how: &ReadOptions) -> Self {
        let rows = |delimiter| data(head).filter(|row| has_target(row, delimiter)).count();
        // `max_by_key` returns the last maximum, so the order is reversed to get the first one.
        let delimiter = DELIMITERS.into_iter().rev().max_by_key(|delimiter| rows(*delimiter)).unwrap_or(b',');
        let column = match &how.column {
            Some(Column::Number(number)) => usize::from(*number).checked_sub(1),
            Some(Column::Name(name)) => named(head, delimiter, &[name]),
            None => guess(head, delimiter),
        };
        let missing = match &how.column {
            Some(Column::Name(name)) if column.is_none() => Some(name),
            _ => None,
        };
        let looks = missing
            .map(|name| format!(" (read as csv: there is no column {name}{})", called(head, delimiter)));
        let switch = place(head, delimiter, allowing::is_switch);
        let has_verdict = switch.is_some() || named(head, delimiter, &allowing::KEYS).is_some();
        Self { delimiter, column, has_begun: false, allows: how.allows, has_verdict, switch, looks }
    }

    fn says_allow(&self, row: &[u8]) -> bool {
        let is_on = |(at, field): (usize, &[u8])| {
            allowing::says_so(field) || self.switch == Some(at) && allowing::is_on(field)
        };
        let fields = fields(row, self.delimiter).map(|field| field.unwrap_or_default());
        fields.enumerate().any(is_on)
    }
}

impl RowReader for Csv {
    fn read<'a>(&mut self, line: &Line<'a>) -> Said<'a> {
        let mark = if line.number == 1 { line.bytes.strip_prefix("\u{feff}".as_bytes()) } else { None };
        let row = mark.unwrap_or(line.bytes).trim_ascii_end();
        if row.trim_ascii().is_empty() || row.trim_ascii_start().starts_with(b"#") {
            return None;
        }
        let is_header = !self.has_begun && row.contains(&self.delimiter) && !has_target(row, self.delimiter);
        self.has_begun = true;
        if is_header {
            return None;
        }
        if !line.whole {
            return Some((row, Err(RejectReason::TooLong)));
        }
        let field = self.column.and_then(|column| fields(row, self.delimiter).nth(column));
        match field {
            None => Some((row, Err(RejectReason::NoColumn))),
            Some(Err(OpenQuotes)) => Some((row, Err(RejectReason::OpenQuote))),
            Some(Ok([])) => Some((row, line::target(b""))),
            Some(Ok(_)) if !self.allows && self.has_verdict && !line.is_ended => {
                Some((row, Err(RejectReason::Cut)))
            }
            Some(Ok(_)) if !self.allows && self.says_allow(row) => Some((row, Err(RejectReason::Allows))),
            Some(Ok(field)) => Some((field, line::target(field))),
        }
    }

    fn looks(&self) -> Option<&str> {
        self.looks.as_deref()
    }
}

/// True if this may be a row with a target.
pub fn could_be(line: &[u8]) -> bool {
    // Tab-separated words are excluded, because they may be a hosts file.
    [b',', b';'].into_iter().any(|delimiter| has_target(line, delimiter))
}

fn has_target(row: &[u8], delimiter: u8) -> bool {
    row.contains(&delimiter) && fields(row, delimiter).flatten().any(|field| line::target(field).is_ok())
}

/// The lines that are not comments.
fn data(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head::lines(head).filter(|line| !line.starts_with(b"#")).take(MOST_ASKED)
}

/// The column with one of these names, according to the header line.
fn named(head: &[u8], delimiter: u8, names: &[&str]) -> Option<usize> {
    place(head, delimiter, |field| names.iter().any(|name| field.eq_ignore_ascii_case(name.as_bytes())))
}

/// The only column whose name `is_it` accepts, according to the header line.
fn place(head: &[u8], delimiter: u8, is_it: impl Fn(&[u8]) -> bool) -> Option<usize> {
    let places = headers(head, delimiter).filter_map(|line| {
        let mut places = fields(line, delimiter)
            .enumerate()
            .filter(|(_, field)| field.as_ref().is_ok_and(|field| is_it(field)));
        let (place, _) = places.next()?;
        places.next().is_none().then_some(place)
    });
    places.last()
}

/// The lines before the first target that may contain the column names.
fn headers(head: &[u8], delimiter: u8) -> impl Iterator<Item = &[u8]> {
    let lines = head::lines(head).take(MOST_ASKED).map(|line| {
        let begin = line.iter().position(|byte| !matches!(byte, b'#' | b' ')).unwrap_or(line.len());
        &line[begin..]
    });
    let before = lines.take_while(move |line| !has_target(line, delimiter));
    before.filter(move |line| line.contains(&delimiter))
}

/// The column names, written to follow the beginning of a sentence.
fn called(head: &[u8], delimiter: u8) -> String {
    let Some(header) = headers(head, delimiter).last() else {
        return ", and no line that names columns".to_owned();
    };
    let names = fields(header, delimiter).flatten().take(MOST_TOLD);
    let names: Vec<_> = names.map(|name| printable::excerpt(&String::from_utf8_lossy(name))).collect();
    format!(", its columns are {}", names.join(", "))
}

/// The column in which most rows have a target. If there are several, the only one with a known name.
fn guess(head: &[u8], delimiter: u8) -> Option<usize> {
    let mut counts = [0_usize; MOST_COLUMNS];
    let mut rows = 0;
    for row in data(head).filter(|row| has_target(row, delimiter)) {
        rows += 1;
        for (count, field) in counts.iter_mut().zip(fields(row, delimiter)) {
            *count += usize::from(field.is_ok_and(|field| line::target(field).is_ok()));
        }
    }
    let most = counts.into_iter().max().filter(|most| *most > 0)?;
    let mut full = (0..MOST_COLUMNS).filter(|column| 2 * counts[*column] >= rows);
    match (full.next(), full.next()) {
        (Some(only), None) => Some(only),
        (Some(_), Some(_)) => {
            // The header may have more columns than any row.
            let is_full = |column: &usize| counts.get(*column).is_some_and(|count| 2 * count >= rows);
            named(head, delimiter, &KNOWN).filter(is_full)
        }
        (None, _) => counts.iter().position(|count| *count == most),
    }
}

/// An opening quote without a closing one.
#[derive(Clone, Copy, Debug)]
struct OpenQuotes;

/// The text between delimiters, without quotes and surrounding blanks.
fn fields(row: &[u8], delimiter: u8) -> impl Iterator<Item = Result<&[u8], OpenQuotes>> {
    let mut rest = Some(row);
    std::iter::from_fn(move || {
        let row = rest?;
        let blanks = row.iter().take_while(|byte| **byte == b' ').count();
        let (field, after) = match row[blanks..].strip_prefix(b"\"") {
            Some(quoted) => match closing(quoted) {
                Some(end) => (Ok(&quoted[..end]), &quoted[end + 1..]),
                None => (Err(OpenQuotes), &row[row.len()..]),
            },
            None => {
                let end = row.iter().position(|byte| *byte == delimiter).unwrap_or(row.len());
                (Ok(row[..end].trim_ascii()), &row[end..])
            }
        };
        let next = after.iter().position(|byte| *byte == delimiter);
        rest = next.map(|next| &after[next + 1..]);
        Some(field)
    })
}

/// The position of the closing quote. Two quotes stand for one in the text.
fn closing(quoted: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += quoted[at..].iter().position(|byte| *byte == b'"')?;
        if quoted.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}
