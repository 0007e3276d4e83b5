//! The commands of a Markdown page, and the output that the page shows below them.
//!
//! | in the page | what a test does with it |
//! |---|---|
//! | `sh` block | runs each command |
//! | `console` block | runs each line after `$ `, compares its output; `^C` interrupts the command in the foreground |
//! | `<!-- there is: … -->` | runs each command; a reader of the page does not see them |
//! | `<!-- not run here: REASON -->` | skips the `sh` or `console` block below it |
//! | `<!-- file: PATH -->` | writes the block below it, of whatever language, to this file |

use std::iter::Peekable;

const HIDDEN: &str = "<!-- there is:";

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

type Lines<'a> = Peekable<std::vec::IntoIter<&'a str>>;

/// A comment about the block below it.
enum Mark<'a> {
    NotRun,
    File(&'a str),
}

/// All commands of a page, in order; or what is wrong with the page.
pub fn steps(page: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut lines = page.lines();
    let mut mark = None;
    while let Some(line) = lines.next() {
        let indentation = line.len() - line.trim_start().len();
        let line = line.trim();
        let fence = line.len() - line.trim_start_matches('`').len();
        if let Some(next) = Mark::read(line)? {
            mark = Some(next);
        } else if line == HIDDEN || fence >= 3 {
            let end = if line == HIDDEN { "-->" } else { &line[..fence] };
            let block = lines.by_ref().map(|line| line.get(indentation..).unwrap_or_default());
            let block: Vec<_> = block.take_while(|line| *line != end).collect();
            match (mark.take(), line) {
                (Some(Mark::NotRun), "```sh" | "```console") => {}
                (Some(Mark::File(path)), _) if fence >= 3 => steps.push(Step::write(path, &block)),
                (Some(_), _) => return Err(format!("a mark does not fit the block below it: {line}")),
                (None, "```console") => read_transcript(&mut block.into_iter().peekable(), &mut steps)?,
                (None, "```sh" | HIDDEN) => read_script(&mut block.into_iter().peekable(), &mut steps)?,
                (None, _) => {}
            }
        } else if mark.is_some() && !line.is_empty() {
            return Err(format!("no block follows a mark, but: {line}"));
        }
    }
    if mark.is_some() { Err("no block follows a mark".to_owned()) } else { Ok(steps) }
}

impl<'a> Mark<'a> {
    fn read(line: &'a str) -> Result<Option<Self>, String> {
        let words_after = |name: &str| {
            let words = line.strip_prefix("<!-- ")?.strip_prefix(name)?;
            Some(
                words
                    .strip_prefix(':')
                    .and_then(|words| words.strip_suffix("-->"))
                    .unwrap_or_default()
                    .trim(),
            )
        };
        match (words_after("not run here"), words_after("file")) {
            (None, None) => Ok(None),
            (Some(""), _) => Err(format!("this mark names no reason: {line}")),
            (_, Some("")) => Err(format!("this mark names no file: {line}")),
            (Some(_), _) => Ok(Some(Self::NotRun)),
            (None, Some(path)) => Ok(Some(Self::File(path))),
        }
    }
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
    fn write(path: &str, lines: &[&str]) -> Self {
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let text = format!("cat > '{path}' <<'END_OF_FILE'\n{lines}END_OF_FILE\n");
        Self { text, action: Action::Run(0), output: None }
    }

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
        assert_eq!(
            texts("1. x\n\n   ```sh\n   cat <<'END'\n   a\n     b\n   END\n   ```\n"),
            ["cat <<'END'\na\n  b\nEND\n"]
        );
    }

    #[test]
    fn marked_blocks_are_skipped() {
        let page = "<!-- not run here: needs systemd -->\n\n```sh\na\n```\n\n```sh\nb\n```\n";
        assert_eq!(texts(page), ["b\n"]);
    }

    #[test]
    fn marked_blocks_are_written_to_files() {
        let page = "<!-- file: /etc/a.yaml -->\n```yaml\na: 1\n\nb: exits with 2\n```\n```yaml\nc\n```\n";
        let [step] = &steps(page).expect("a valid page")[..] else { panic!("one file") };
        assert_eq!(step.text, "cat > '/etc/a.yaml' <<'END_OF_FILE'\na: 1\n\nb: exits with 2\nEND_OF_FILE\n");
        assert_eq!((step.action, &step.output), (Action::Run(0), &None));
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
            ("<!-- file: -->\n```sh\na\n```\n", "names no file"),
            ("<!-- not run here: x -->\ny\n```sh\na\n```\n", "no block follows"),
            ("<!-- not run here: x -->\n```yaml\na\n```\n", "does not fit"),
            ("<!-- file: x -->\n<!-- there is:\na\n-->\n", "does not fit"),
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
