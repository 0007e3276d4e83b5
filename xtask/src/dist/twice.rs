//! `soak dist`: what is committed, cloned into two folders and made there by two cargos that share nothing: the same bytes must
//! come of it, signed by a key that is made for the story.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use bpf_build::{process, workspace};

use super::{commit, make_directory, sign};
use crate::cost::Cost;
use crate::results::{Report, Results};
use crate::told::Told;
use crate::tools::{self, Tools, asked};

/// Names of different lengths, so that nothing is the same by chance.
const FOLDERS: [&str; 2] = ["one", "another-one/deeper"];

/// The one file that is another each time.
const SIGNATURE: &str = "SHA256SUMS.minisig";

/// A package, and the binary alone, for a processor at least; the source, the bill, and the sums with their signature.
const LEAST: usize = 6;

/// Makes all twice, and says what became of it.
pub fn run() -> Result<ExitCode> {
    let place = workspace::target()?.join("twice");
    // Whoever comes second waits, and does not take away what the first one builds.
    let _ours = tools::lock(&place)?;
    if place.exists() {
        fs::remove_dir_all(&place).with_context(|| format!("cannot remove {}", place.display()))?;
    }
    make_directory(&place)?;
    let tools = Tools::provide(&[asked("minisign", "minisign", "-v")])?;
    let (secret, public) = (place.join("key"), place.join("key.pub"));
    let mut key = tools.command("minisign")?;
    process::run_quietly(key.args(["-G", "-W", "-s"]).arg(&secret).arg("-p").arg(&public))?;

    let (mut results, mut report) = (Results::default(), Report::new("two folders".to_owned()));
    report.begin("dist");
    let mut told = Told::begin(&mut report);
    // Both before the first is built: what is committed meanwhile is in neither.
    let commit = commit()?;
    FOLDERS.iter().try_for_each(|folder| clone(&place.join(folder), commit.trim()))?;
    let mut made = Vec::new();
    for folder in FOLDERS {
        let (done, cost) = Cost::of(|| make(&place.join(folder), &secret));
        made.extend(done.as_ref().ok().cloned());
        told.tell(&format!("made in {folder}"), (done.map(drop), cost));
    }
    if let [one, other] = &made[..] {
        told.tell("the same bytes", Cost::of(|| same(one, other)));
        told.tell("signed by the key's owner", Cost::of(|| signed(&tools, one, &public)));
        told.tell("another hand is not believed", Cost::of(|| forged(&tools, one, &public)));
    }
    if told.end() {
        fs::remove_dir_all(&place).with_context(|| format!("cannot remove {}", place.display()))?;
    }
    results.add(report);
    Ok(results.tell())
}

/// What is committed, and nothing that was built before.
fn clone(folder: &Path, commit: &str) -> Result<()> {
    let mut clone = Command::new("git");
    process::run_quietly(
        clone.args(["clone", "--quiet", "--no-checkout"]).arg(workspace::root()).arg(folder),
    )?;
    let mut checkout = Command::new("git");
    process::run_quietly(checkout.current_dir(folder).args(["checkout", "--quiet", "--detach", commit]))
}

fn make(folder: &Path, key: &Path) -> Result<PathBuf> {
    let target = folder.join("built");
    let mut cargo = workspace::cargo();
    cargo.args(["xtask", "dist"]).current_dir(folder).env_remove("CARGO_MANIFEST_DIR");
    process::run(cargo.env("CARGO_TARGET_DIR", &target).env(sign::KEY, key))?;
    Ok(target.join("dist"))
}

/// Byte for byte, and by the list of what there is.
fn same(one: &Path, other: &Path) -> Result<()> {
    let names = |directory: &Path| -> Result<Vec<_>> {
        let entries =
            fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        Ok(names)
    };
    let (here, there) = (names(one)?, names(other)?);
    ensure!(here == there, "there are {here:?} and {there:?}");
    ensure!(here.len() >= LEAST, "there are only {here:?}");
    let differ =
        |name: &&std::ffi::OsString| fs::read(one.join(name)).ok() != fs::read(other.join(name)).ok();
    let others: Vec<_> = here.iter().filter(|name| *name != SIGNATURE).filter(differ).collect();
    ensure!(others.is_empty(), "these are not the same: {others:?}");
    print!("{}", fs::read_to_string(one.join("SHA256SUMS")).context("there are no sums")?);
    Ok(())
}

/// What the sums say is so, and the key's owner says it.
fn signed(tools: &Tools, made: &Path, public: &Path) -> Result<()> {
    let mut check = Command::new("sha256sum");
    process::run_quietly(check.args(["--check", "--strict", "SHA256SUMS"]).current_dir(made))?;
    process::run_quietly(verify(tools, made, public)?.current_dir(made))
}

/// One byte more in the sums, and the signature holds no longer.
fn forged(tools: &Tools, made: &Path, public: &Path) -> Result<()> {
    let sums = made.join("SHA256SUMS");
    let text = fs::read_to_string(&sums).context("there are no sums")?;
    fs::write(&sums, text + "\n").context("cannot write the sums")?;
    let believed = process::run_quietly(verify(tools, made, public)?.current_dir(made));
    ensure!(believed.is_err(), "minisign believes sums that nobody signed");
    Ok(())
}

fn verify(tools: &Tools, made: &Path, public: &Path) -> Result<Command> {
    let mut verify = tools.command("minisign")?;
    verify.args(["-V", "-q", "-p"]).arg(public).arg("-m").arg(made.join("SHA256SUMS"));
    Ok(verify)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 6] =
        ["SHA256SUMS", SIGNATURE, "filterd.deb", "filterd.tar.xz", "source.tar.xz", "bill.json"];

    /// Says what `same` says of two directories, of which the second is changed.
    fn told(name: &str, change: impl FnOnce(&Path)) -> String {
        let place = std::env::temp_dir().join(format!("xtask-twice-{name}-{}", std::process::id()));
        let made = FOLDERS.map(|folder| place.join(folder));
        for (number, directory) in made.iter().enumerate() {
            make_directory(directory).unwrap();
            NAMES.iter().for_each(|name| fs::write(directory.join(name), name).unwrap());
            fs::write(directory.join(SIGNATURE), number.to_string()).unwrap();
        }
        change(&made[1]);
        let told = same(&made[0], &made[1]);
        fs::remove_dir_all(&place).unwrap();
        told.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn only_the_signature_may_be_another() {
        assert_eq!(told("same", |_| ()), "");
    }

    #[test]
    fn each_file_that_is_another_is_named() {
        for name in NAMES.iter().filter(|name| **name != SIGNATURE) {
            let told = told(name, |made| fs::write(made.join(name), "another").unwrap());
            assert!(told.contains("not the same") && told.contains(name), "{name}: {told}");
        }
    }

    #[test]
    fn file_in_only_one_package_is_reported() {
        let told = told("more", |made| fs::write(made.join("more"), "").unwrap());
        assert!(told.starts_with("there are [") && told.contains("\"more\""), "{told}");
    }
}
