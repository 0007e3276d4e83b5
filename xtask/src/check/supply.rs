//! What comes from elsewhere is what it was when somebody looked: actions of CI by their commit, crates from one registry by their
//! checksum; and whoever builds the daemon builds few of them first. What builds has no secrets: a build script could send them
//! away. (`deny.toml` says the rest, to cargo-deny.)

use std::fs;

use anyhow::{Context, Result};
use bpf_build::{lock, workspace};

const WORKFLOWS: &str = ".github/workflows";
const LOCK: &str = "Cargo.lock";
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// What is built before the daemon, but for what this needs itself: a package, and all that it may depend on.
const BEFORE_THE_DAEMON: (&str, &[&str]) = ("bpf-build", &["anyhow", "flate2", "object"]);

/// One line for each thing that could be another one tomorrow, or that the daemon's builders need not have built.
pub fn complaints() -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for workflow in fs::read_dir(workspace::root().join(WORKFLOWS)).context("cannot list the workflows")? {
        let path = workflow.context("cannot list the workflows")?.path();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.display().to_string();
        complaints.extend(of_actions(&name, &text));
        complaints.extend(of_secrets(&name, &text));
    }
    let lock = fs::read_to_string(workspace::root().join(LOCK)).context("cannot read Cargo.lock")?;
    complaints.extend(of_crates(&lock));
    Ok(complaints)
}

/// A tag may be moved; a commit cannot.
fn of_actions(file: &str, workflow: &str) -> Vec<String> {
    let used = workflow.lines().enumerate().filter_map(|(number, line)| {
        let action = line.trim().trim_start_matches("- ").strip_prefix("uses:")?;
        Some((number + 1, action.split_whitespace().next().unwrap_or_default()))
    });
    let moved = used.filter(|(_, action)| !is_by_commit(action));
    moved.map(|(line, action)| format!("{file}:{line}: {action} is not named by its commit")).collect()
}

/// Words by which somebody else's code runs.
const BUILDS: [&str; 4] = ["cargo ", "rustup ", "install-action", "make "];

/// A job with a secret runs nothing that was not there before, but what comes with the machine.
fn of_secrets(file: &str, workflow: &str) -> Vec<String> {
    let Some((_, jobs)) = workflow.split_once("\njobs:\n") else { return Vec::new() };
    let begins = |line: &&str| line.starts_with("  ") && !line.starts_with("   ") && line.ends_with(':');
    let mut names = Vec::new();
    for line in jobs.lines() {
        if line.trim_start().starts_with('#') {
            continue;
        }
        if begins(&line) {
            names.push((line.trim().trim_end_matches(':'), String::new()));
        } else if let Some((_, text)) = names.last_mut() {
            *text += line.trim_start_matches([' ', '-']);
            text.push('\n');
        }
    }
    let has_both = |text: &str| {
        text.contains("secrets.") && text.lines().any(|line| BUILDS.iter().any(|word| line.contains(word)))
    };
    let wrong = names.into_iter().filter(|(_, text)| has_both(text));
    wrong.map(|(name, _)| format!("{file}: the job {name} has a secret, and builds")).collect()
}

fn is_by_commit(action: &str) -> bool {
    let is_hash = |word: &str| word.len() == 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    action.starts_with("./") || action.rsplit_once('@').is_some_and(|(_, commit)| is_hash(commit))
}

fn of_crates(lock: &str) -> Vec<String> {
    let (before, allowed) = BEFORE_THE_DAEMON;
    let mut complaints = Vec::new();
    for package in lock::packages(lock) {
        let name = package.name;
        if let Some(source) = package.source
            && (source != REGISTRY || package.checksum.is_none())
        {
            complaints
                .push(format!("{LOCK}: {name} comes from {source}, not from the registry with a checksum"));
        }
        if name == before {
            let more = package.needs().filter(|needed| !allowed.contains(needed));
            complaints.extend(more.map(|more| {
                format!("{LOCK}: {before} needs {more}, so whoever builds the daemon builds that first")
            }));
        }
        if name == "filter-daemon" && package.needs().any(|needed| needed == "xtask") {
            complaints.push(format!("{LOCK}: building the daemon builds the task runner"));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn action_by_tag_is_reported_with_line() {
        let hash = "d23441a48e516b6c34aea4fa41551a30e30af803";
        let workflow = format!(
            "jobs:\n  - uses: actions/checkout@{hash} # v6\n  - name: x\n    uses: a/b@v4\n  - uses: ./own\n  - uses: c/d\n"
        );
        let told = of_actions("ci.yml", &workflow);
        assert_eq!(
            told,
            ["ci.yml:4: a/b@v4 is not named by its commit", "ci.yml:6: c/d is not named by its commit"]
        );
    }

    #[test]
    fn building_job_with_secret_is_reported() {
        let job = |name: &str, steps: &str| format!("  {name}:\n    steps:\n{steps}");
        let (build, sign) =
            ("      - run: cargo build\n", "      - env:\n          KEY: ${{ secrets.KEY }}\n");
        let apart = format!("on: push\njobs:\n{}{}", job("build", build), job("sign", sign));
        assert_eq!(of_secrets("release.yml", &apart), [""; 0]);
        let together = format!("on: push\njobs:\n{}", job("release", &format!("{build}{sign}")));
        assert_eq!(
            of_secrets("release.yml", &together),
            ["release.yml: the job release has a secret, and builds"]
        );
    }

    #[test]
    fn crate_without_registry_checksum_is_reported() {
        let lock = format!(
            "version = 4\n\n[[package]]\nname = \"own\"\nversion = \"1\"\n\n[[package]]\nname = \"good\"\nsource = \"{REGISTRY}\"\nchecksum = \"12\"\n\n\
             [[package]]\nname = \"bare\"\nsource = \"{REGISTRY}\"\n\n[[package]]\nname = \"git\"\nsource = \"git+https://x\"\nchecksum = \"1\"\n"
        );
        let told = of_crates(&lock);
        assert!(told.len() == 2 && told[0].contains("bare") && told[1].contains("git+https"), "{told:?}");
    }

    /// FAULTS B4: once it was clap, object and proc-macro2.
    #[test]
    fn extra_build_dependencies_are_reported() {
        let lock = |daemon: &str, build: &str| {
            format!(
                "[[package]]\nname = \"filter-daemon\"\ndependencies = [\n \"{daemon}\",\n]\n\n[[package]]\nname = \"bpf-build\"\n\
                 dependencies = [\n \"anyhow\",\n{build}]\n\n[[package]]\nname = \"xtask\"\ndependencies = [\n \"clap\",\n]\n"
            )
        };
        assert!(of_crates(&lock("bpf-build", "")).is_empty());
        let told = of_crates(&lock("xtask", " \"clap 4.6\",\n"));
        assert!(
            told.len() == 2 && told[0].contains("the task runner") && told[1].contains("needs clap"),
            "{told:?}"
        );
    }

    #[test]
    fn ours_are_in_order() {
        assert_eq!(complaints().unwrap(), Vec::<String>::new());
    }
}
