//! What the files are, and who says so.

use std::env;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use bpf_build::process;

use super::Release;
use crate::tools::{Tools, asked};

/// Where the releaser's secret key lies. It is one without a password: whoever may read it may sign.
pub const KEY: &str = "FILTERD_MINISIGN_KEY";

const SUMS: &str = "SHA256SUMS";

/// Writes what each file is, and signs that if there is a key.
pub fn sums(release: &Release) -> Result<()> {
    let stage = release.directory.join("stage");
    fs::remove_dir_all(&stage).with_context(|| format!("cannot remove {}", stage.display()))?;
    let entries = fs::read_dir(&release.directory).context("cannot list what is given away")?;
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    let mut sums = Command::new("sha256sum");
    let told = process::output(sums.args(&names).current_dir(&release.directory))?;
    fs::write(release.file(SUMS), told).with_context(|| format!("cannot write {SUMS}"))?;
    match env::var_os(KEY) {
        None => eprintln!("{SUMS} is not signed: {KEY} names no key"),
        Some(key) => {
            let tools = Tools::provide(&[asked("minisign", "minisign", "-v")])?;
            let mut sign = tools.command("minisign")?;
            sign.args(["-S", "-s"]).arg(key).arg("-t").arg(format!("filterd {}", release.version));
            process::run_quietly(sign.arg("-m").arg(release.file(SUMS))).context("cannot sign")?;
        }
    }
    Ok(())
}
