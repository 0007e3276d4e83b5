//! Prose and examples as a manual page has them.

/// The head of a page.
pub fn head(name: &str, section: &str) -> String {
    let (date, source, manual) = (super::DATE, super::SOURCE, super::MANUAL);
    // Options and names that are hyphenated cannot be copied.
    format!(".TH {} {section} {date} \"{source}\" \"{manual}\"\n.nh\n.ad l\n", escaped(name))
}

/// A paragraph; what stands between backticks is typed, and bold.
pub fn prose(text: &str) -> String {
    let mut made = String::new();
    for (number, part) in text.split('`').enumerate() {
        made += &if number % 2 == 1 { format!("\\fB{}\\fR", escaped(part)) } else { escaped(part) };
    }
    guarded(&made) + "\n"
}

/// Lines that stand as they are, indented.
pub fn example<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    format!(".PP\n.RS 4\n{}.RE\n", self::lines(lines))
}

/// Lines that stand as they are.
pub fn lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let lines: String = lines.into_iter().map(|line| guarded(&escaped(line)) + "\n").collect();
    format!(".EX\n{lines}.EE\n")
}

/// Behind a heading no paragraph needs to begin, and behind the end of a line it needs not end again.
pub fn sound(page: &str) -> String {
    let mut before = "";
    let mut sound = String::new();
    for line in page.lines() {
        let is_heading = [".SH", ".SS", ".PP"].iter().any(|heading| before.starts_with(heading));
        if !(line == ".PP" && is_heading || line == ".br" && before == ".br") {
            sound += &format!("{line}\n");
        }
        before = line;
    }
    sound
}

/// A word or a line without anything that troff takes for its own.
pub fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('…', "...")
}

/// A line that begins with a full stop would be a command.
fn guarded(line: &str) -> String {
    if line.starts_with('.') { format!("\\&{line}") } else { line.to_owned() }
}

#[test]
fn text_is_never_a_troff_command() {
    assert_eq!(prose(".x `a-b` c\\d it's"), "\\&.x \\fBa\\-b\\fR c\\ed it\\(aqs\n");
    assert_eq!(example([".a"]), ".PP\n.RS 4\n.EX\n\\&.a\n.EE\n.RE\n");
}
