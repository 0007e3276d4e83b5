//! The commands by which README's reader builds filterd himself.

/// How the first of their blocks begins.
const FIRST: &str = "apt-get install git ";

/// As they are typed in all blocks of this section. What would touch a link of this machine is only built, and the
/// source is not cloned from where it is not yet.
pub fn commands(readme: &str) -> Vec<String> {
    let section = readme.lines().skip_while(|line| !line.starts_with(FIRST));
    let mut is_block = true;
    let block = section.take_while(|line| !line.starts_with("## ")).filter(|line| {
        let is_fence = line.starts_with("```");
        is_block ^= is_fence;
        is_block && !is_fence && !line.starts_with("git clone ")
    });
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
    use std::fs;

    use bpf_build::toolchain;
    use bpf_build::workspace;

    use super::*;

    const README: &str = include_str!("../../../README.md");
    const CONTRIBUTING: &str = include_str!("../../../CONTRIBUTING.md");
    const WORKSPACE: &str = include_str!("../../../Cargo.toml");

    #[test]
    fn readme_build_commands_are_found() {
        let commands = commands(README);
        assert!(commands[0].starts_with("apt-get install "), "{commands:?}");
        assert!(commands[1..].iter().all(|command| command.starts_with("cargo xtask ")), "{commands:?}");
        assert!(commands.contains(&"cargo xtask test".to_owned()), "{commands:?}");
        assert!(!commands.concat().contains("eth0"), "{commands:?}");
    }

    /// FAULTS B2: the first line failed with "failed to parse manifest", and nothing said which Rust would do.
    #[test]
    fn readme_states_the_required_rust_version() {
        let asked = format!("Rust {} or newer", rust_version());
        for (page, text) in [("README.md", README), ("CONTRIBUTING.md", CONTRIBUTING)] {
            assert!(text.contains(&asked), "{page} does not say {asked:?}");
            assert_eq!(text.matches("Rust 1.").count(), 1, "{page} names another one");
        }
        assert!(README.contains(&format!("requires rustc {}", rust_version())), "as an older cargo says it");
        let installed: Vec<_> = commands(README)[0].split(' ').skip(2).map(ToOwned::to_owned).collect();
        assert!(installed.contains(&"cargo-web".to_owned()), "{installed:?}");
        assert!(toolchain::packages().contains(&"cargo-web".to_owned()), "what BPF is compiled with");
        assert!(!installed.iter().any(|package| package == "cargo" || package == "rustc"), "{installed:?}");
    }

    /// What cargo refuses before it compiles anything, so that nobody meets an error in the middle of the code.
    #[test]
    fn every_package_tells_cargo_which_rust_it_takes() {
        let members = WORKSPACE.split_once("members = [").unwrap().1.split_once(']').unwrap().0;
        let members: Vec<_> = members.split('"').skip(1).step_by(2).collect();
        assert!(members.contains(&"filter-daemon"), "{members:?}");
        for member in members {
            let manifest = fs::read_to_string(workspace::root().join(member).join("Cargo.toml")).unwrap();
            assert!(manifest.contains("\nrust-version.workspace = true\n"), "{member} does not");
        }
    }

    /// FAULTS B3: who only wants filterd builds nothing, and who builds begins with what is built fastest.
    #[test]
    fn readme_begins_with_what_is_fastest() {
        let at = |words: &str| README.find(words).unwrap_or_else(|| panic!("README has no {words:?}"));
        assert!(
            at("sudo apt install ./filterd_*_amd64.deb") < at("cargo "),
            "a package comes before any build"
        );
        let built: Vec<_> = commands(README).into_iter().skip(1).collect();
        assert!(built[0] == "cargo xtask demo" && built[1].starts_with("cargo xtask run "), "{built:?}");
        let takes = [include_str!("../demo.rs"), include_str!("../run.rs")];
        assert!(takes.iter().all(|task| !task.contains("Profile::Release")), "neither optimises everything");
    }

    /// The Rust that the workspace takes.
    fn rust_version() -> &'static str {
        WORKSPACE.split_once("\nrust-version = \"").unwrap().1.split_once('"').unwrap().0
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
