//! The package for Debian and its kin, made by dpkg-deb alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use bpf_build::{process, workspace};

use super::Release;
use super::pack::{gzip, size};
use super::staged::{Staged, files_below};
use crate::processor::Processor;

/// Of the tree, and where it lies on a machine.
const FILES: [(&str, &str); 5] = [
    ("configs/systemd/filterd.service", "usr/lib/systemd/system/filterd.service"),
    ("configs/systemd/filterd.sysusers", "usr/lib/sysusers.d/filterd.conf"),
    ("configs/systemd/filterd.tmpfiles", "usr/lib/tmpfiles.d/filterd.conf"),
    ("configs/filterd.yaml", "etc/filterd/filterd.yaml"),
    ("configs/debian/copyright", "usr/share/doc/filterd/copyright"),
];

/// What is read, and examples: files, and folders with all that is in them. Beside each other as in the tree, so that a link
/// leads there where it leads in a clone.
const DOCUMENTS: [&str; 15] = [
    "README.md",
    "SECURITY.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs",
    "configs/filterd.yaml",
    "configs/reference.yaml",
    "configs/container",
    "configs/examples",
    "configs/fail2ban",
    "configs/grafana",
    "configs/kubernetes",
    "configs/prometheus",
    "filter-ebpf/compiled/MANIFEST",
];

const DOCUMENTS_LIE_IN: &str = "usr/share/doc/filterd";

/// The manual and the completions, if they are there: a folder, the end of a name, and where such files go.
const GENERATED: [(&str, &str, &str); 5] = [
    (MANUAL, ".8", "usr/share/man/man8"),
    (MANUAL, ".5", "usr/share/man/man5"),
    ("configs/completions", ".bash", "usr/share/bash-completion/completions"),
    ("configs/completions", ".fish", "usr/share/fish/vendor_completions.d"),
    ("configs/completions", "_filterd", "usr/share/zsh/vendor-completions"),
];

const MANUAL: &str = "docs/man";

/// What becomes of them where they lie.
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// Dpkg asks before it replaces what the operator changed.
const CONFFILES: &str = "/etc/filterd/filterd.yaml\n";

/// Lays it out and packs it.
pub fn make(release: &Release, processor: Processor, binary: &Path) -> Result<PathBuf> {
    let name = format!("filterd_{}_{}.deb", release.version, processor.debian());
    let staged = Staged::new(release.stage(&name))?;
    staged.copy(binary, "usr/bin/filterd", 0o755)?;
    let root = workspace::root();
    for (from, to) in FILES {
        staged.copy(&root.join(from), to, 0o644)?;
    }
    documents(&staged, &root)?;
    staged.write(&gzip(&root.join("CHANGELOG.md"))?, "usr/share/doc/filterd/changelog.gz", 0o644)?;
    generated(&staged, &root)?;
    let installed = staged.files()?.iter().map(|file| size(file)).sum::<Result<u64>>()? / 1024;
    let control = control(release, processor, installed);
    staged.write(control.as_bytes(), "DEBIAN/control", 0o644)?;
    staged.write(CONFFILES.as_bytes(), "DEBIAN/conffiles", 0o644)?;
    for script in SCRIPTS {
        staged.copy(&root.join("configs/debian").join(script), &format!("DEBIAN/{script}"), 0o755)?;
    }
    staged.settle(release.seconds)?;
    let mut pack = Command::new("dpkg-deb");
    pack.args(["--root-owner-group", "-Zxz", "--threads-max=1", "--build"]).arg(&staged.root);
    let package = release.file(&name);
    pack.arg(&package).env("SOURCE_DATE_EPOCH", release.seconds.to_string());
    process::run_quietly(&mut pack)?;
    Ok(package)
}

/// All but the manual, which has a place of its own.
fn documents(staged: &Staged, root: &Path) -> Result<()> {
    for name in DOCUMENTS {
        for file in files_below(&root.join(name))? {
            let name = file.strip_prefix(root).context("it lies in the tree")?;
            if !name.starts_with(MANUAL) {
                staged.copy(&file, &format!("{DOCUMENTS_LIE_IN}/{}", name.display()), 0o644)?;
            }
        }
    }
    Ok(())
}

/// Manual pages are packed, as Debian wants them; completions go as they are.
fn generated(staged: &Staged, root: &Path) -> Result<()> {
    for (folder, end, to) in GENERATED {
        for (file, name) in files_in(&root.join(folder))? {
            if !name.ends_with(end) {
                continue;
            }
            if folder == MANUAL {
                staged.write(&gzip(&file)?, &format!("{to}/{name}.gz"), 0o644)?;
            } else {
                let name = if name == "filterd.bash" { "filterd" } else { &name };
                staged.copy(&file, &format!("{to}/{name}"), 0o644)?;
            }
        }
    }
    Ok(())
}

/// The files of a folder by name, not of those within; none if it is not there.
fn files_in(folder: &Path) -> Result<Vec<(PathBuf, String)>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() {
            files.push((path, name));
        }
    }
    files.sort();
    Ok(files)
}

fn control(release: &Release, processor: Processor, installed: u64) -> String {
    format!(
        "Package: filterd\n\
         Version: {}\n\
         Architecture: {}\n\
         Maintainer: filterd maintainers <maintainers@filterd.invalid>\n\
         Installed-Size: {installed}\n\
         Depends: systemd (>= 247)\n\
         Section: net\n\
         Priority: optional\n\
         Description: drops packets by source address (XDP blocklist)\n\
         \x20filterd drops packets by source address at the earliest point that Linux has,\n\
         \x20out of lists of any size, and changes them while packets flow.\n\
         \x20.\n\
         \x20It blocks nobody and filters nowhere until /etc/filterd/filterd.yaml says so.\n",
        release.version,
        processor.debian()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()))
    }

    /// Where links of a page lead that are to something beside it, and the files of `configs` that it names.
    fn leads(page: &Path) -> Vec<PathBuf> {
        let text = fs::read_to_string(page).unwrap();
        let is_beside = |link: &&str| !link.contains("://") && !link.starts_with('#');
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        let beside = links.filter(is_beside).map(|link| page.parent().unwrap().join(link));
        let base = page.ancestors().find(|place| place.ends_with(DOCUMENTS_LIE_IN)).unwrap();
        let words = text.split(|letter: char| letter.is_whitespace() || "`()[]".contains(letter));
        // The owner adds the public key: see docs/internals/releasing.md.
        let named = words.filter(|word| word.starts_with("configs/") && *word != "configs/minisign.pub");
        let named = named.map(|word| base.join(word));
        beside.chain(named).collect()
    }

    #[test]
    fn files_named_in_documents_are_packaged() {
        let place = scratch("documents");
        let staged = Staged::new(place.clone()).unwrap();
        documents(&staged, &workspace::root()).unwrap();
        let here = place.join(DOCUMENTS_LIE_IN);
        let mut pages = files_below(&here.join("docs")).unwrap();
        pages.retain(|page| page.extension().is_some_and(|end| end == "md"));
        pages.extend(["README.md", "SECURITY.md"].map(|name| here.join(name)));
        let leads = pages.iter().flat_map(|page| leads(page)).collect::<Vec<_>>();
        let missing: Vec<_> = leads.iter().filter(|lead| !lead.exists()).collect();
        assert!(
            leads.len() > 50 && missing.is_empty(),
            "{} and of them not there: {missing:#?}",
            leads.len()
        );
        let readme = |root: &Path| fs::read_to_string(root.join("README.md")).unwrap();
        assert_eq!(readme(&here), readme(&workspace::root()));
        fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn manual_and_completions_are_installed_where_expected() {
        let place = scratch("deb");
        let tree = Staged::new(place.join("tree")).unwrap();
        let files =
            ["docs/man/filterd-add.8", "docs/man/filterd.yaml.5", "docs/man/README.md"].into_iter().chain([
                "configs/completions/_filterd",
                "configs/completions/filterd.bash",
                "configs/completions/filterd.fish",
            ]);
        files.for_each(|file| tree.write(b"text", file, 0o644).unwrap());
        let staged = Staged::new(place.join("staged")).unwrap();
        generated(&staged, &tree.root).unwrap();
        let names = staged.files().unwrap();
        let names: Vec<_> = names.iter().map(|path| path.strip_prefix(&staged.root).unwrap()).collect();
        let expected = [
            "usr/share/bash-completion/completions/filterd",
            "usr/share/fish/vendor_completions.d/filterd.fish",
            "usr/share/man/man5/filterd.yaml.5.gz",
            "usr/share/man/man8/filterd-add.8.gz",
            "usr/share/zsh/vendor-completions/_filterd",
        ];
        fs::remove_dir_all(&place).unwrap();
        assert_eq!(names, expected.map(Path::new));
    }
}
