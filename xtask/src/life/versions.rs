//! The package in an older and a newer version than it is: the same files under other versions, the older one with
//! another root object, so that an upgrade is one.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use bpf_build::{process, workspace};

pub const OLD: &str = "0.0.1";
pub const NEW: &str = "999.0.0";

/// Beside them: what a filterd that is not written yet will write.
pub const JOURNAL_OF_A_NEWER: &str = "/packages/journal-of-a-newer.redb";

/// How the root program ends, without a judge: `w0 = 2; exit`; and the first byte of `r0 = 2`.
const PASS: [u8; 9] = [0xb4, 0, 0, 0, 2, 0, 0, 0, 0x95];
const IN_64_BITS: u8 = 0xb7;

/// Where both lie.
pub struct Packages(PathBuf);

/// Makes the old one and the new one of these.
pub fn of(old: &Path, new: &Path, directory: &Path) -> Result<Packages> {
    let made = directory.join("packages");
    if made.exists() {
        fs::remove_dir_all(&made).with_context(|| format!("cannot remove {}", made.display()))?;
    }
    for (version, package) in [(OLD, old), (NEW, new)] {
        let stage = made.join("stage").join(version);
        fs::create_dir_all(&stage).with_context(|| format!("cannot make {}", stage.display()))?;
        process::run_quietly(Command::new("dpkg-deb").arg("--raw-extract").arg(package).arg(&stage))?;
        if version == OLD {
            with_another_root(&stage.join("usr/bin/filterd"))?;
        }
        let path = stage.join("DEBIAN/control");
        let control = fs::read_to_string(&path).context("the package has no control file")?;
        let is_version = |line: &&str| line.starts_with("Version: ");
        ensure!(control.lines().filter(is_version).count() == 1, "the package has no version");
        let lines = control.lines().map(|line| match is_version(&line) {
            true => format!("Version: {version}\n"),
            false => format!("{line}\n"),
        });
        fs::write(&path, lines.collect::<String>()).context("cannot write the control file")?;
        let mut pack = Command::new("dpkg-deb");
        pack.args(["--root-owner-group", "-Zgzip", "--build"]).arg(&stage);
        process::run_quietly(pack.arg(made.join(format!("{version}.deb"))))?;
    }
    Ok(Packages(made))
}

/// Its root object becomes another one that does the same: as another compiler might have built it. One that is not of this
/// tree is another one already.
fn with_another_root(binary: &Path) -> Result<()> {
    let compiled = workspace::root().join("filter-ebpf/compiled").join(env::consts::ARCH).join("root");
    let read = |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let (root, mut bytes) = (read(&compiled)?, read(binary)?);
    let Some(place) = bytes.windows(root.len()).position(|window| window == root) else { return Ok(()) };
    let pass = root.windows(PASS.len()).position(|window| window == PASS);
    bytes[place + pass.context("the root object does not end by letting pass")?] = IN_64_BITS;
    fs::write(binary, bytes).with_context(|| format!("cannot write {}", binary.display()))
}

impl Packages {
    /// Where whoever is in there finds them: in `/packages`.
    pub fn copy_into(&self, root: &Path) -> Result<()> {
        let to = root.join("packages");
        fs::create_dir_all(&to).with_context(|| format!("cannot make {}", to.display()))?;
        for version in [OLD, NEW] {
            let name = format!("{version}.deb");
            fs::copy(self.0.join(&name), to.join(&name)).with_context(|| format!("cannot copy {name}"))?;
        }
        let name = Path::new(JOURNAL_OF_A_NEWER).file_name().context("it is a file")?;
        fs::copy(workspace::root().join("tests/fixtures").join(name), to.join(name))
            .context("cannot copy a journal")?;
        Ok(())
    }
}
