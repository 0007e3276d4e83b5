//! What follows the help of a command is written in lines as the source has them, and read on terminals of any width: its
//! paragraphs are made one line each, for clap to break. What is indented stands as it is.

use clap::Command;

/// The same command, and all below it. What follows the help of a command comes about when it is built.
pub fn paragraphs(mut command: Command) -> Command {
    command.build();
    below(command)
}

fn below(command: Command) -> Command {
    let after = command.get_after_help().map(|after| flowing(&after.to_string()));
    let command = command.mut_subcommands(below);
    match after {
        Some(after) => command.after_help(after),
        None => command,
    }
}

fn flowing(text: &str) -> String {
    let mut flowing = String::new();
    let mut before = "";
    for line in text.lines() {
        let goes_on = ![before, line]
            .iter()
            .any(|line| line.is_empty() || line.starts_with(' ') || line.ends_with(':'));
        if !flowing.is_empty() {
            flowing.push(if goes_on { ' ' } else { '\n' });
        }
        flowing.push_str(line);
        before = line;
    }
    flowing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_become_lines_and_what_is_indented_stays() {
        let text =
            "This is\nlong.\n\nExit codes: 0 done\nor not.\n\nExamples:\n  filterd add\n  filterd remove";
        let expected =
            "This is long.\n\nExit codes: 0 done or not.\n\nExamples:\n  filterd add\n  filterd remove";
        assert_eq!(flowing(text), expected);
    }

    #[test]
    fn commands_below_are_read_too() {
        let two = Command::new("two").defer(|two| two.after_help("a\nb"));
        let tree = paragraphs(Command::new("one").subcommand(two));
        let told = tree.find_subcommand("two").and_then(|two| two.get_after_help()).map(ToString::to_string);
        assert_eq!(told.as_deref(), Some("a b"));
    }
}
