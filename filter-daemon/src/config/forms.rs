//! The keys that say how to read a list: `format: csv`, `column: dst_ip`, `min_score: 3`.

use super::ListName;
use super::nearest::nearest;
use super::raw::{Node, YamlValue};
use super::shape::{TextValue, ValueFaults, kind};
use crate::source::{Column, Format, ReadOptions};
use crate::text::printable::excerpt;

/// Words that other programs use for a format.
const ALSO: [(&str, Format); 7] = [
    ("text", Format::Plain),
    ("netset", Format::Firehol),
    ("drop", Format::Spamhaus),
    ("jsonl", Format::Json),
    ("ndjson", Format::Json),
    ("range", Format::Ranges),
    ("nftables", Format::Nft),
];

/// Parses the value of `format`.
pub fn format(faults: &mut ValueFaults, node: Node, how: &mut ReadOptions) {
    let Some(TextValue { node, text }) = faults.text(node, "`format`") else { return };
    if let Some(format) = Format::ALL.into_iter().find(|format| format.name() == text) {
        how.format = Some(format);
        return;
    }
    let names = Format::ALL.map(Format::name);
    let also = ALSO.iter().find(|(name, _)| *name == text).map(|(_, format)| format.name());
    let help = match also.or_else(|| nearest(&text, names)) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("use one of {}; by default filterd detects the format", names.join(", ")),
    };
    faults.tell(node, format!("there is no format `{}`", excerpt(&text)), help);
}

/// Parses the value of `column`: a name or a number.
pub fn column(faults: &mut ValueFaults, node: Node, how: &mut ReadOptions) {
    if let YamlValue::Number(Some(number @ 1..=1000)) = &node.value {
        how.column = Some(Column::Number(*number as u16));
        return;
    }
    if let YamlValue::Text(name) = &node.value
        && !name.is_empty()
    {
        how.column = Some(Column::Name(name.as_str().into()));
        return;
    }
    let message = format!("`column` is a column of the list, not {}", told(&node.value));
    faults.tell(node.number, message, "write its number, starting with 1, or its name in the header");
}

/// Parses the value of `min_score`.
pub fn min_score(faults: &mut ValueFaults, node: Node, how: &mut ReadOptions) {
    if let YamlValue::Number(Some(score)) = &node.value
        && let Ok(score) = u32::try_from(*score)
    {
        how.min_score = Some(score);
        return;
    }
    let message = format!("`min_score` is a number, not {}", told(&node.value));
    faults.tell(node.number, message, "write the lowest score to accept, as in 3");
}

fn told(value: &YamlValue) -> String {
    match value {
        YamlValue::Number(Some(number)) => number.to_string(),
        YamlValue::Text(text) => format!("`{}`", excerpt(text)),
        YamlValue::Nothing
        | YamlValue::Bool(_)
        | YamlValue::Number(None)
        | YamlValue::List(_)
        | YamlValue::Map(_)
        | YamlValue::Tagged => kind(value).to_owned(),
    }
}

/// Checks that these keys of one list fit together.
pub fn must_fit(faults: &mut ValueFaults, name: &ListName, how: &ReadOptions, node: usize) {
    let Some(format) = how.format else {
        if how.column.is_some() && how.min_score.is_some() {
            let message = format!("list `{name}` has both `column` and `min_score`");
            faults.tell(node, message, "remove one: tables have columns, and ipsum lists have scores");
        }
        return;
    };
    if how.column.is_some() && !matches!(format, Format::Csv | Format::Json) {
        let message = format!("list `{name}` has a `column`, but its format is {format}");
        faults.tell(node, message, "remove `column`, or write `format: csv`");
    }
    if how.min_score.is_some() && format != Format::Ipsum {
        let message = format!("list `{name}` has a `min_score`, but its format is {format}");
        faults.tell(node, message, "remove `min_score`, or write `format: ipsum`");
    }
}
