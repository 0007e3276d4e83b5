//! The release workflow, rehearsed: its steps run here, on files of a made-up release, with stand-ins for `gh` and `minisign`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use bpf_build::workspace;
use clap::Parser;
use tempfile::TempDir;

use crate::task::Xtask;

const WORKFLOWS: &str = ".github/workflows";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The steps of release.yml that need neither a build nor a network, in order.
const STEPS: [&str; 8] = [
    "The tag is the version",
    "The changelog has this version with its date",
    "No placeholder is left",
    "What was packed is what its sums say",
    "Sign",
    "Check the signature",
    "Take the notes from the changelog",
    "Publish",
];

/// Keeps its arguments.
const GH: &str = "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$RUNNER_TEMP/gh\"\n";

/// Signs with the key's own text, which the public key repeats.
const MINISIGN: &str = "#!/bin/sh -e
case \"$1\" in
-S) cat \"$3\" > \"$7.minisig\" ;;
-V) cmp \"$3\" \"$5.minisig\" ;;
esac
";

const KEY: &str = "a key";

/// A step of a workflow with a script.
#[derive(Debug, Default)]
struct Step {
    name: String,
    script: String,
}

fn root() -> PathBuf {
    workspace::root()
}

fn workflows() -> Vec<(String, String)> {
    let entries = fs::read_dir(root().join(WORKFLOWS)).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let mut all: Vec<_> = entries.map(|path| (name(&path), fs::read_to_string(&path).unwrap())).collect();
    all.sort();
    all
}

/// All steps of a workflow that run a script.
fn steps(workflow: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut block = None;
    for line in workflow.lines() {
        let indent = line.len() - line.trim_start().len();
        if let (Some(least), Some(step)) = (block, steps.last_mut())
            && (indent > least || line.trim().is_empty())
        {
            step.script += &format!("{}\n", line.trim_start());
            continue;
        }
        block = None;
        if line.trim_start().starts_with("- ") {
            steps.push(Step::default());
        }
        let Some(step) = steps.last_mut() else { continue };
        match line.trim_start().trim_start_matches("- ").split_once(": ") {
            Some(("name", name)) => name.clone_into(&mut step.name),
            Some(("run", "|")) => block = Some(indent),
            Some(("run", script)) => script.clone_into(&mut step.script),
            _ => {}
        }
    }
    steps.retain(|step| !step.script.is_empty());
    steps
}

/// A made-up release, ready to be signed and published.
struct Rehearsal {
    place: TempDir,
    tag: String,
}

impl Rehearsal {
    fn new() -> Self {
        let rehearsal = Self { place: tempfile::tempdir().unwrap(), tag: format!("v{VERSION}") };
        let changelog = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
        let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
        let head = format!("## [{VERSION}] - unreleased");
        rehearsal.write("CHANGELOG.md", &changelog.replace(&head, &format!("## [{VERSION}] - 2026-12-24")));
        rehearsal.write("Cargo.toml", &manifest);
        rehearsal.write("README.md", "https://github.com/somebody/filterd/releases\n");
        rehearsal.write("xtask/src/dist/deb.rs", "Maintainer: A <a@example.net>\n");
        rehearsal.write("configs/minisign.pub", &format!("{KEY}\n"));
        rehearsal.write("dist/filterd.deb", "a package\n");
        rehearsal.shell("cd dist && sha256sum filterd.deb > SHA256SUMS");
        rehearsal.program("gh", GH);
        rehearsal.program("minisign", MINISIGN);
        rehearsal
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.place.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn program(&self, name: &str, text: &str) {
        let name = format!("bin/{name}");
        self.write(&name, text);
        fs::set_permissions(self.place.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a script as GitHub does; did it succeed?
    fn shell(&self, script: &str) -> bool {
        let place = self.place.path();
        let path = format!("{}:{}", place.join("bin").display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("bash");
        shell.args(["-e", "-c", script]).current_dir(place).env("PATH", path);
        shell.env("GITHUB_REF_NAME", &self.tag).env("GITHUB_REPOSITORY", "somebody/filterd");
        shell.env("RUNNER_TEMP", place).env("MINISIGN_KEY", KEY);
        shell.output().unwrap().status.success()
    }

    fn step(&self, name: &str) -> bool {
        let workflow = fs::read_to_string(root().join(WORKFLOWS).join("release.yml")).unwrap();
        let step = steps(&workflow).into_iter().find(|step| step.name == name);
        self.shell(&step.unwrap_or_else(|| panic!("release.yml has no step `{name}`")).script)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.place.path().join(name)).unwrap()
    }
}

#[test]
fn a_tag_becomes_a_signed_release() {
    let rehearsal = Rehearsal::new();
    for step in STEPS {
        assert!(rehearsal.step(step), "{step}");
    }
    let published = rehearsal.read("gh");
    let files = ["dist/SHA256SUMS", "dist/SHA256SUMS.minisig", "dist/filterd.deb"];
    assert!(files.iter().all(|file| published.lines().any(|line| line == *file)), "{published}");
    assert!(published.contains(&format!("filterd {VERSION}\n")), "{published}");
    assert!(published.contains("notes.md\n"), "{published}");
}

#[test]
fn the_notes_are_the_section_of_the_tag() {
    let mut rehearsal = Rehearsal::new();
    rehearsal.write(
        "CHANGELOG.md",
        "# Changelog\n\n## [0.10.0] - 2027-02-02\n\n- ten\n\n## [0.1.0] - 2026-12-24\n\n### Added\n- one ([two](docs/two.md), [three](https://three))\n\n## [0.0.1] - 2026-01-01\n- old\n",
    );
    for (tag, notes) in [
        (
            "v0.1.0",
            "\n### Added\n- one ([two](https://github.com/somebody/filterd/blob/v0.1.0/docs/two.md), [three](https://three))\n\n",
        ),
        ("v0.10.0", "\n- ten\n\n"),
        ("v0.0.1", "- old\n"),
    ] {
        rehearsal.tag = tag.to_owned();
        assert!(rehearsal.step("Take the notes from the changelog"), "{tag}");
        assert_eq!(rehearsal.read("notes.md"), notes, "{tag}");
    }
    rehearsal.tag = "v0.2.0".to_owned();
    assert!(!rehearsal.step("Take the notes from the changelog"));
}

#[test]
fn the_notes_of_this_version_are_short() {
    let rehearsal = Rehearsal::new();
    assert!(rehearsal.step("Take the notes from the changelog"));
    let notes = rehearsal.read("notes.md");
    let entries = notes.lines().filter(|line| line.starts_with("- ")).count();
    assert!((20..=30).contains(&entries) && notes.contains("docs/reference/limits.md"), "{notes}");
}

#[test]
fn a_release_that_is_not_ready_is_stopped() {
    for (step, file, text) in [
        ("The tag is the version", "Cargo.toml", "version = \"9.9.9\"\n"),
        ("The changelog has this version with its date", "CHANGELOG.md", "## [0.1.0] - unreleased\n"),
        ("No placeholder is left", "README.md", "https://github.com/OWNER/filterd\n"),
        ("No placeholder is left", "xtask/src/dist/deb.rs", "a@filterd.invalid\n"),
        ("No placeholder is left", "configs/minisign.pub", ""),
        ("What was packed is what its sums say", "dist/filterd.deb", "another package\n"),
        ("Check the signature", "dist/SHA256SUMS.minisig", "another key\n"),
        (
            "Take the notes from the changelog",
            "CHANGELOG.md",
            "## [0.1.0] - 2026-12-24\n## [0.0.1] - 2026-01-01\n",
        ),
    ] {
        let rehearsal = Rehearsal::new();
        assert!(step == "Check the signature" || rehearsal.step(step), "{step}");
        rehearsal.write(file, text);
        assert!(!rehearsal.step(step), "{step}: {file}");
    }
}

#[test]
fn placeholders_are_listed_where_the_workflow_says() {
    let page = fs::read_to_string(root().join("docs/internals/releasing.md")).unwrap();
    let workflow = fs::read_to_string(root().join(WORKFLOWS).join("release.yml")).unwrap();
    for placeholder in ["github.com/OWNER/", "filterd.invalid", "configs/minisign.pub", "MINISIGN_KEY"] {
        assert!(page.contains(&format!("| `{placeholder}`")), "{placeholder}");
        assert!(workflow.contains(placeholder), "{placeholder}");
    }
}

#[test]
fn workflows_name_tasks_and_files_that_exist() {
    let mut tasks = 0;
    for (workflow, text) in workflows() {
        for script in steps(&text).iter().flat_map(|step| step.script.lines()) {
            let words = |text: &str| text.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>();
            if let Some((_, task)) = script.split_once("cargo xtask ") {
                let task = [vec!["xtask".to_owned()], words(task)].concat();
                assert!(Xtask::try_parse_from(&task).is_ok(), "{workflow}: {task:?}");
                tasks += 1;
            }
            let named = words(script).into_iter().filter(|word| word.starts_with("configs/"));
            let missing: Vec<_> = named.filter(|word| !root().join(word).exists()).collect();
            assert!(missing.iter().all(|word| word == "configs/minisign.pub"), "{workflow}: {missing:?}");
        }
    }
    assert!(tasks > 5, "{tasks}");
}
