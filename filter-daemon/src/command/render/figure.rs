//! Formats numbers so that they are quick to read.

/// Formats a number like `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a number with its noun, like `1 target` or `2 targets`.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Formats a number with a noun that has an irregular plural, like `2 entries`.
pub fn counted_as(number: u64, [one, several]: [&str; 2]) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { several })
}

/// Formats a size like `2.0 MiB`.
pub fn bytes(number: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    if number < 1024 {
        return format!("{number} B");
    }
    let mut size = number as f64 / 1024.0;
    let mut unit = 0;
    // 1023.95 would be printed as 1024.0.
    while size >= 1023.95 && unit + 1 < units.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", units[unit])
}

/// Formats rows as a table. Every column but the last is as wide as its widest cell, and numbers are
/// aligned to the right.
pub fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..COLUMNS).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| match cell.chars().next() {
            Some(first) if first.is_ascii_digit() && is_figure(cell) => format!("{cell:>width$}"),
            _ => format!("{cell:<width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Formats rows below their heads. Every column is as wide as its widest cell, and those of `figures` are
/// aligned to the right. A column that is empty in every row is left out.
pub fn headed<const COLUMNS: usize>(
    heads: [&str; COLUMNS],
    figures: [bool; COLUMNS],
    rows: &[[String; COLUMNS]],
) -> String {
    let heads = heads.map(str::to_owned);
    let told: Vec<usize> = (0..COLUMNS).filter(|at| rows.iter().any(|row| !row[*at].is_empty())).collect();
    let all = || std::iter::once(&heads).chain(rows);
    let width = |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let cell = |row: &[String; COLUMNS], column: usize| {
        let (cell, width) = (&row[column], width(column));
        if figures[column] { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
    };
    let line = |row| {
        let cells: Vec<_> = told.iter().map(|column| cell(row, *column)).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    all().map(line).collect()
}

fn is_figure(cell: &str) -> bool {
    cell.bytes().all(|byte| byte.is_ascii_digit() || byte == b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let counts = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in counts {
            assert_eq!(count(number), text);
        }
        assert_eq!(counted(1, "target"), "1 target");
        assert_eq!(counted(1000, "target"), "1,000 targets");
    }

    #[test]
    fn sizes_have_a_fitting_unit() {
        let sizes = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1 << 21, "2.0 MiB"),
            ((1 << 20) - 1, "1.0 MiB"),
        ];
        for (number, text) in sizes {
            assert_eq!(bytes(number), text);
        }
    }

    #[test]
    fn columns_stand_under_each_other() {
        let rows = [["drop", "1,204", "exact"], ["a-long-name", "7", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows), "drop         1,204  exact\na-long-name      7\n");
    }
}
