//! The commands by which README's reader builds filterd himself.

/// How their block begins.
const FIRST: &str = "apt-get install git ";

/// As they are typed. What would touch a link of this machine is only built.
pub fn commands(readme: &str) -> Vec<String> {
    let block = readme.lines().skip_while(|line| !line.starts_with(FIRST)).take_while(|line| *line != "```");
    let typed = block.map(|line| line.split(" #").next().unwrap_or_default().trim().to_owned());
    typed
        .map(|line| line.replace("run --iface eth0", "run --version"))
        .filter(|line| !line.is_empty())
        .collect()
}

/// The same, but these in the place of what tests, with `;` between them; without any, as it is.
pub fn with_tests(commands: Vec<String>, instead: Option<&str>) -> Vec<String> {
    let Some(instead) = instead else { return commands };
    let instead = instead.split(';').map(|command| command.trim().to_owned());
    let others = commands.into_iter().filter(|command| !command.starts_with("cargo xtask test"));
    others.chain(instead.filter(|command| !command.is_empty())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readme_tells_whoever_builds_it_what_can_be_typed() {
        let commands = commands(include_str!("../../../README.md"));
        assert!(commands[0].starts_with("apt-get install "), "{commands:?}");
        assert!(commands[1..].iter().all(|command| command.starts_with("cargo xtask ")), "{commands:?}");
        assert!(commands.contains(&"cargo xtask test".to_owned()), "{commands:?}");
        assert!(!commands.concat().contains("eth0"), "{commands:?}");
    }

    #[test]
    fn other_tests_may_be_asked_for_or_none() {
        let commands =
            |instead| with_tests(vec!["cargo xtask demo".into(), "cargo xtask test".into()], instead);
        assert_eq!(commands(None), ["cargo xtask demo", "cargo xtask test"]);
        assert_eq!(commands(Some("")), ["cargo xtask demo"]);
        assert_eq!(commands(Some("a b; c")), ["cargo xtask demo", "a b", "c"]);
    }
}
