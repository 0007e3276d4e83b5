//! The commands of a Markdown page, and the output that the page shows below them.
//!
//! | in the page | what a test does with it |
//! |---|---|
//! | `sh` block | runs each command |
//! | `console` block | runs each line after `$ `, compares its output; `^C` interrupts the command in the foreground |
//! | `<!-- there is: … -->` | runs each command; a reader of the page does not see them |
//! | `<!-- not run here: REASON -->` | skips the block below it |

use std::iter::Peekable;

const HIDDEN: &str = "<!-- there is:";
const NOT_RUN: &str = "<!-- not run here";

/// Commands that run until they are interrupted.
const FOREGROUND: [&str; 2] = ["sudo filterd run ", "sudo filterd --iface "];

/// One command of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// As it stands in the page, without the prompt.
    pub text: String,
    pub action: Action,
    /// The output that the page shows. `sh` blocks show none.
    pub output: Option<String>,
}

/// How a test runs a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// To its end, which has this exit code.
    Run(u8),
    /// Until another one takes its place, an `Interrupt` or the end of the page.
    StayInForeground,
    /// Sends Ctrl-C to the command in the foreground.
    Interrupt,
}

type Lines<'a> = Peekable<Box<dyn Iterator<Item = &'a str> + 'a>>;

/// All commands of a page, in order; or what is wrong with the page.
pub fn steps(page: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut lines = page.lines();
    let mut is_skipped = false;
    while let Some(line) = lines.next() {
        let indentation = line.len() - line.trim_start().len();
        let line = line.trim();
        let fence = line.len() - line.trim_start_matches('`').len();
        let is_runnable = fence == 3 && matches!(&line[fence..], "sh" | "console");
        if is_skipped && !line.is_empty() && !is_runnable {
            return Err(format!("no sh or console block follows the mark `{NOT_RUN}`, but: {line}"));
        }
        let end = if line == HIDDEN { "-->" } else { &line[..fence] };
        if line.starts_with(NOT_RUN) {
            is_skipped = reason(line).map(|_| true)?;
        } else if line == HIDDEN || fence >= 3 {
            let block = lines.by_ref().map(|line| line.get(indentation..).unwrap_or_default());
            let block: Vec<_> = block.take_while(|line| *line != end).collect();
            let mut block = (Box::new(block.into_iter()) as Box<dyn Iterator<Item = _>>).peekable();
            match (is_skipped, line) {
                (true, _) => is_skipped = false,
                (false, "```console") => read_transcript(&mut block, &mut steps)?,
                (false, "```sh" | HIDDEN) => read_script(&mut block, &mut steps)?,
                (false, _) => {}
            }
        }
    }
    if is_skipped { Err(format!("no block follows the mark `{NOT_RUN}`")) } else { Ok(steps) }
}

/// Why a block is not run.
fn reason(mark: &str) -> Result<&str, String> {
    let reason = mark.strip_prefix(NOT_RUN).and_then(|rest| rest.strip_prefix(':')?.strip_suffix("-->"));
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    reason.ok_or_else(|| format!("this mark names no reason: {mark}"))
}

fn read_script(lines: &mut Lines<'_>, steps: &mut Vec<Step>) -> Result<(), String> {
    while let Some(line) = lines.next() {
        if !line.trim().is_empty() && !line.trim().starts_with('#') {
            steps.push(Step::new(command(line, lines)?, None));
        }
    }
    Ok(())
}

fn read_transcript(lines: &mut Lines<'_>, steps: &mut Vec<Step>) -> Result<(), String> {
    while let Some(line) = lines.next() {
        let text = match line.strip_prefix("$ ") {
            Some(line) => command(line, lines)?,
            None if line.trim() == "^C" => line.to_owned(),
            None if line.trim().is_empty() => continue,
            None => return Err(format!("a console block begins with `$ ` or `^C`, not with: {line}")),
        };
        let mut output = String::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ") && line.trim() != "^C") {
            output = output + line + "\n";
        }
        steps.push(Step::new(text, Some(output)));
    }
    Ok(())
}

/// A command that begins with this line: with what follows a `\`, and up to the end of a here-document.
fn command(first: &str, lines: &mut Lines<'_>) -> Result<String, String> {
    let mut text = first.to_owned() + "\n";
    let mut last = first;
    while last.ends_with('\\') {
        last = lines.next().ok_or_else(|| format!("a command does not end: {text}"))?;
        text = text + last + "\n";
    }
    if let Some((_, word)) = last.split_once("<<") {
        let word = word.trim().trim_matches('\'');
        while last != word {
            last = lines.next().ok_or_else(|| format!("a command does not end: {text}"))?;
            text = text + last + "\n";
        }
    }
    Ok(text)
}

impl Step {
    fn new(text: String, output: Option<String>) -> Self {
        let is_foreground = text.trim() == FOREGROUND[0].trim()
            || FOREGROUND.iter().any(|beginning| text.starts_with(beginning));
        let code = text.lines().find_map(|line| line.split_once("exits with ")?.1.get(..1)?.parse().ok());
        let action = match text.trim() {
            "^C" => Action::Interrupt,
            _ if is_foreground => Action::StayInForeground,
            _ => Action::Run(code.unwrap_or(0)),
        };
        Self { text, action, output }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(page: &str) -> Vec<String> {
        steps(page).expect("a valid page").into_iter().map(|step| step.text).collect()
    }

    #[test]
    fn commands_end_with_their_line_or_later() {
        let page = "x\n```sh\na   # exits with 1: no\n# c\ncat <<'END'\nb\nEND\n\nd \\\n  e\n```\n```yaml\nf\n```\n\
                    <!-- there is:\nsudo filterd run\n-->\n";
        let step = |text: &str, action| Step { text: text.to_owned(), action, output: None };
        let expected = [
            step("a   # exits with 1: no\n", Action::Run(1)),
            step("cat <<'END'\nb\nEND\n", Action::Run(0)),
            step("d \\\n  e\n", Action::Run(0)),
            step("sudo filterd run\n", Action::StayInForeground),
        ];
        assert_eq!(steps(page).expect("a valid page"), expected);
    }

    #[test]
    fn console_blocks_have_commands_and_output() {
        let page = "```console\n$ sudo filterd --iface eth0\nready\n…\n\n$ a   # exits with 2\n```\n\
                    ```console\n^C\nstopped\n$ cat <<'END'\n$ x\nEND\n$ x\n```\n";
        let step = |text: &str, action, output: &str| Step {
            text: text.to_owned(),
            action,
            output: Some(output.to_owned()),
        };
        let expected = [
            step("sudo filterd --iface eth0\n", Action::StayInForeground, "ready\n…\n\n"),
            step("a   # exits with 2\n", Action::Run(2), ""),
            step("^C", Action::Interrupt, "stopped\n"),
            step("cat <<'END'\n$ x\nEND\n", Action::Run(0), ""),
            step("x\n", Action::Run(0), ""),
        ];
        assert_eq!(steps(page).expect("a valid page"), expected);
    }

    #[test]
    fn indented_blocks_are_read_without_indentation() {
        assert_eq!(texts("1. x\n\n   ```sh\n   cat <<'END'\n   a\n     b\n   END\n   ```\n"), [
            "cat <<'END'\na\n  b\nEND\n"
        ]);
    }

    #[test]
    fn marked_blocks_are_skipped() {
        let page = "<!-- not run here: needs systemd -->\n\n```sh\na\n```\n\n```sh\nb\n```\n";
        assert_eq!(texts(page), ["b\n"]);
    }

    #[test]
    fn blocks_of_other_languages_are_skipped() {
        assert_eq!(texts("````text\n```sh\na\n```\n````\n```text\n$ b\n```\n```sh\nc\n```\n"), ["c\n"]);
    }

    #[test]
    fn mistakes_in_pages_are_errors() {
        for (page, error) in [
            ("<!-- not run here -->\n```sh\na\n```\n", "names no reason"),
            ("<!-- not run here: -->\n```sh\na\n```\n", "names no reason"),
            ("<!-- not run here: x -->\ny\n```sh\na\n```\n", "no sh or console block follows"),
            ("<!-- not run here: x -->\n", "no block follows"),
            ("```console\na\n```\n", "begins with `$ `"),
            ("```sh\na \\\n```\n", "does not end"),
            ("```console\n$ a <<END\nb\n```\n", "does not end"),
        ] {
            let found = steps(page).expect_err(page);
            assert!(found.contains(error), "{found}");
        }
    }
}
