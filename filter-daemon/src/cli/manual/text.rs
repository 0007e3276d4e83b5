//! Prose and examples as a manual page has them.

/// The head of a page.
pub fn head(name: &str, section: &str) -> String {
    let (date, source, manual) = (super::DATE, super::SOURCE, super::MANUAL);
    format!(".TH {} {section} {date} \"{source}\" \"{manual}\"\n", escaped(name))
}

/// A paragraph; what stands between backticks is typed, and bold.
pub fn prose(text: &str) -> String {
    let mut made = String::new();
    for (number, part) in text.split('`').enumerate() {
        made += &if number % 2 == 1 { format!("\\fB{}\\fR", escaped(part)) } else { escaped(part) };
    }
    guarded(&made) + "\n"
}

/// Lines that stand as they are.
pub fn example<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let lines: String = lines.into_iter().map(|line| guarded(&escaped(line)) + "\n").collect();
    format!(".PP\n.RS 4\n.EX\n{lines}.EE\n.RE\n")
}

/// What clap_mangen made has its backticks yet.
pub fn with_bold(made: &str) -> String {
    let line = |line: &str| match line {
        control if control.starts_with('.') => format!("{control}\n"),
        text => {
            let parts = text.split('`').enumerate();
            let bold = parts.map(
                |(number, part)| if number % 2 == 1 { format!("\\fB{part}\\fR") } else { part.to_owned() },
            );
            bold.collect::<String>() + "\n"
        }
    };
    made.lines().map(line).collect()
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

fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('·', ";").replace('…', "...")
}

/// A line that begins with a full stop would be a command.
fn guarded(line: &str) -> String {
    if line.starts_with('.') { format!("\\&{line}") } else { line.to_owned() }
}

#[test]
fn nothing_that_is_said_is_taken_for_a_command() {
    assert_eq!(prose(".x `a-b` c\\d it's"), "\\&.x \\fBa\\-b\\fR c\\ed it\\(aqs\n");
    assert_eq!(example([".a"]), ".PP\n.RS 4\n.EX\n\\&.a\n.EE\n.RE\n");
    assert_eq!(with_bold(".SH `x`\na `b` c"), ".SH `x`\na \\fBb\\fR c\n");
}
