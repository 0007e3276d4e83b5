//! Python with packages from PyPI, in an environment of its own in the cache: nothing of this machine's Python is changed.
//!
//! What each has is a list beside this file, as pip reads it: one version of each package, and the sums of its files as they
//! were when somebody looked. `pip download` and `sha256sum` tell those of another version.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use bpf_build::{process, workspace};

use super::package;

/// The list that an environment was made by: there once all of it is.
const LIST: &str = "made-by.txt";

/// The Python of an environment of this name that has what is in the list, which is made unless it is there.
pub fn with(name: &str, list: &str) -> Result<PathBuf> {
    let cache = workspace::cache().context("there is no cache: HOME is not set")?;
    let root = cache.join("tools").join(name);
    let _alone = package::lock(&root)?;
    let python = root.join("bin/python3");
    if !is_made_by(&root, list) || !starts(&python) {
        make(&root, list)?;
    }
    Ok(python)
}

fn is_made_by(root: &Path, list: &str) -> bool {
    fs::read_to_string(root.join(LIST)).is_ok_and(|made_by| made_by == list)
}

/// The machine's own, which it is a link to, may be another one by now.
fn starts(python: &Path) -> bool {
    process::output(Command::new(python).args(["-c", ""])).is_ok()
}

/// What is there may be half an environment, or one of another Python or list.
fn make(root: &Path, list: &str) -> Result<()> {
    eprintln!("{} is made: nothing is installed", root.display());
    if root.exists() {
        fs::remove_dir_all(root).with_context(|| format!("cannot remove {}", root.display()))?;
    }
    process::run_quietly(Command::new("python3").args(["-m", "venv"]).arg(root))
        .context("Python cannot make an environment\n       try `apt install python3-venv`")?;
    let (part, whole) = (root.join("part.txt"), root.join(LIST));
    fs::write(&part, list).with_context(|| format!("cannot write {}", part.display()))?;
    process::run_quietly(&mut pip(&root.join("bin/python3"), &part))
        .context("pip cannot fetch its packages, or they are not what they were")?;
    fs::rename(&part, &whole).with_context(|| format!("cannot write {}", whole.display()))
}

/// About to install what is in this list and nothing else, of these very files; none of them is built, for what builds it
/// would be in no list.
fn pip(python: &Path, list: &Path) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip.args(["--require-hashes", "--only-binary=:all:", "--requirement"]).arg(list);
    pip
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs a package whose only file says this, and prints the sum of it.
    const PACK: &str = r"
import hashlib, sys, zipfile
path = sys.argv[1] + '/pinned-1-py3-none-any.whl'
about = 'pinned-1.dist-info/'
with zipfile.ZipFile(path, 'w') as wheel:
    wheel.writestr('pinned.py', 'says = ' + repr(sys.argv[2]))
    wheel.writestr(about + 'METADATA', 'Metadata-Version: 2.1\nName: pinned\nVersion: 1\n')
    wheel.writestr(about + 'WHEEL', 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
    wheel.writestr(about + 'RECORD', 'pinned.py,,\n' + ''.join(about + name + ',,\n' for name in ('METADATA', 'WHEEL', 'RECORD')))
print(hashlib.sha256(open(path, 'rb').read()).hexdigest(), end='')
";

    fn scratch(name: &str) -> PathBuf {
        let place = std::env::temp_dir().join(format!("xtask-python-{name}-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        place
    }

    #[test]
    fn changed_list_rebuilds_the_environment() {
        let root = scratch("list");
        assert!(!is_made_by(&root, "z3-solver==1\n"), "there is none");
        fs::write(root.join(LIST), "z3-solver==1\n").unwrap();
        assert!(is_made_by(&root, "z3-solver==1\n"));
        assert!(!is_made_by(&root, "z3-solver==2\n"));
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_python_that_is_gone_does_not_start() {
        assert!(!starts(Path::new("/nonexistent/python3")));
    }

    #[test]
    fn changed_file_is_refused() {
        let python = Path::new("python3");
        if process::output(Command::new(python).args(["-m", "pip", "--version"])).is_err() {
            println!("SKIPPED sums of packages for Python: this machine's has no pip");
            return;
        }
        let place = scratch("sums");
        let pack = |says: &str| {
            process::output(Command::new(python).args(["-c", PACK]).arg(&place).arg(says)).unwrap()
        };
        let sum = pack("what was looked at");
        let list = place.join("list.txt");
        let install = |words: &str| {
            fs::write(&list, words).unwrap();
            let mut pip = pip(python, &list);
            pip.args(["--no-index", "--find-links"]).arg(&place).arg("--target").arg(place.join("there"));
            pip.output().unwrap()
        };
        let with_sum = format!("pinned==1 --hash=sha256:{sum}\n");
        let taken = install(&with_sum);
        assert!(taken.status.success(), "{taken:?}");
        let nameless = install("pinned==1\n");
        assert!(!nameless.status.success(), "without a sum nothing is taken");
        pack("something else");
        fs::remove_dir_all(place.join("there")).unwrap();
        let refused = install(&with_sum);
        let words = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && words.contains("DO NOT MATCH THE HASHES"), "{words}");
        assert!(!place.join("there/pinned.py").exists());
        fs::remove_dir_all(&place).unwrap();
    }
}
