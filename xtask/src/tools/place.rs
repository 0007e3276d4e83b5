//! Where a tool lies, and how it is started there.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use bpf_build::process;

/// Where packages keep programs.
const BINARIES: [&str; 4] = ["usr/bin", "bin", "usr/sbin", "sbin"];

/// What a program must be told because it would look where it is not installed; `{}` is the package's root.
struct Needs {
    program: &'static str,
    words: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

const NEEDS: [Needs; 2] = [
    Needs {
        program: "qemu-system-x86_64",
        words: &["-L", "{}/usr/share/qemu", "-L", "{}/usr/share/seabios", "-L", "{}/usr/lib/ipxe/qemu"],
        environment: &[("QEMU_MODULE_DIR", "{}/usr/lib/x86_64-linux-gnu/qemu")],
    },
    Needs {
        program: "iptables",
        words: &[],
        environment: &[("XTABLES_LIBDIR", "{}/usr/lib/x86_64-linux-gnu/xtables")],
    },
];

const NONE: Needs = Needs { program: "", words: &[], environment: &[] };

/// Where a tool lies.
#[derive(Debug)]
pub enum Place {
    /// Where this machine has it.
    Own(PathBuf),
    Unpacked(Unpacked),
}

/// In a package that is unpacked and not installed.
#[derive(Debug)]
pub struct Unpacked {
    pub root: PathBuf,
    file: PathBuf,
    /// How its libraries are found where this machine's do not do.
    loader: Option<Loader>,
}

/// The dynamic loader that came along, and the directories of all libraries that did.
///
/// It is started with the program as its argument rather than by LD_LIBRARY_PATH, which what the program starts would
/// get, too.
#[derive(Debug, Clone)]
struct Loader {
    file: PathBuf,
    libraries: String,
}

/// The ways in which a program of this package might run: with this machine's libraries, else with those that came along.
pub fn in_package(root: &Path, program: &str) -> Vec<Unpacked> {
    let Some(file) = program_in(root, program) else { return Vec::new() };
    let alone = Unpacked { root: root.to_owned(), file, loader: None };
    let with = Loader::of(root).map(|loader| alone.with(loader));
    [alone].into_iter().chain(with).collect()
}

impl Place {
    /// Starts it where it lies.
    pub fn command(&self, program: &str) -> Command {
        match self {
            Self::Own(file) => Command::new(file),
            Self::Unpacked(unpacked) => unpacked.command(program),
        }
    }

    /// Keeps a wrapper of this name for an unpacked one, and none for the machine's own.
    pub fn keep(&self, wrappers: &Path, program: &str) -> Result<()> {
        let wrapper = wrappers.join(program);
        match self {
            Self::Own(_) if !wrapper.exists() => Ok(()),
            Self::Own(_) => {
                fs::remove_file(&wrapper).with_context(|| format!("cannot remove {}", wrapper.display()))
            }
            Self::Unpacked(unpacked) => write(&wrapper, &unpacked.wrapper(program)),
        }
    }

    /// The program itself.
    pub fn file(&self) -> &Path {
        match self {
            Self::Own(file) => file,
            Self::Unpacked(unpacked) => &unpacked.file,
        }
    }

    /// The libraries that it names, each with its path where it would be installed.
    pub fn libraries(&self) -> Result<Vec<(PathBuf, PathBuf)>> {
        let (mut ask, root) = match self {
            Self::Own(file) => (ldd(file), Path::new("/")),
            Self::Unpacked(unpacked) => (unpacked.ask_for_libraries(), unpacked.root.as_path()),
        };
        let told = process::output(&mut ask)?;
        Ok(told.lines().filter_map(|line| library(line, root)).collect())
    }
}

/// What a line like `libc.so.6 => /lib/libc.so.6 (0x7f…)` tells: the file, and its path where it would be installed. The
/// loader itself is named by that path.
fn library(line: &str, root: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut paths = line.split_whitespace().filter(|word| word.starts_with('/')).map(Path::new);
    let first = paths.next()?;
    let file = paths.next().unwrap_or(first);
    let installed = first.strip_prefix(root).or_else(|_| first.strip_prefix("/")).ok()?;
    Some((file.to_owned(), installed.to_owned()))
}

impl Unpacked {
    fn with(&self, loader: Loader) -> Self {
        Self { root: self.root.clone(), file: self.file.clone(), loader: Some(loader) }
    }

    fn command(&self, program: &str) -> Command {
        let words = self.words(program);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).envs(self.environment(program));
        command
    }

    /// The program, started in the right way, and what it must be told.
    fn words(&self, program: &str) -> Vec<String> {
        let loader = self.loader.iter().flat_map(|loader| loader.words(program));
        let told = needs(program).words.iter().map(|word| self.rooted(word));
        loader.chain([self.file.display().to_string()]).chain(told).collect()
    }

    fn environment(&self, program: &str) -> Vec<(&'static str, String)> {
        needs(program).environment.iter().map(|(name, value)| (*name, self.rooted(value))).collect()
    }

    fn rooted(&self, text: &str) -> String {
        text.replace("{}", &self.root.display().to_string())
    }

    /// A program that starts it.
    fn wrapper(&self, program: &str) -> String {
        let exports = self.environment(program);
        let exports: String =
            exports.iter().map(|(name, value)| format!("export {name}={}\n", quoted(value))).collect();
        let words: Vec<_> = self.words(program).iter().map(|word| quoted(word)).collect();
        let about = "# Made by `cargo xtask`, for what is unpacked and not installed.";
        format!("#!/bin/sh\n{about}\n{exports}exec {} \"$@\"\n", words.join(" "))
    }

    fn ask_for_libraries(&self) -> Command {
        let Some(loader) = &self.loader else { return ldd(&self.file) };
        let mut ask = Command::new(&loader.file);
        ask.args(["--library-path", &loader.libraries, "--list"]).arg(&self.file);
        ask
    }
}

impl Loader {
    fn of(root: &Path) -> Option<Self> {
        let (mut file, mut libraries) = (None, BTreeSet::new());
        visit(root, &mut |path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("ld-linux") && !path.is_symlink() {
                file = Some(path.to_owned());
            }
            if name.starts_with("lib") && name.contains(".so") {
                libraries.extend(path.parent().map(|directory| directory.display().to_string()));
            }
        });
        let libraries = libraries.into_iter().collect::<Vec<_>>().join(":");
        file.map(|file| Self { file, libraries })
    }

    /// A program that asks for its name is told it: some do what it says.
    fn words(&self, program: &str) -> [String; 5] {
        let words = ["--argv0", program, "--library-path", &self.libraries].map(ToOwned::to_owned);
        let [name, program, path, libraries] = words;
        [self.file.display().to_string(), name, program, path, libraries]
    }
}

/// By its name, or by the one that Debian's alternatives would have made a link to.
fn program_in(root: &Path, program: &str) -> Option<PathBuf> {
    let names = [program.to_owned(), format!("{program}-nft")];
    let mut places = names.iter().flat_map(|name| BINARIES.map(|directory| root.join(directory).join(name)));
    // A link from the root up leads out of the package.
    places.find(|file| file.is_file() && fs::read_link(file).map_or(true, |target| target.is_relative()))
}

fn needs(program: &str) -> &'static Needs {
    NEEDS.iter().find(|needs| needs.program == program).unwrap_or(&NONE)
}

fn ldd(file: &Path) -> Command {
    let mut ldd = Command::new("ldd");
    ldd.arg(file);
    ldd
}

/// For a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Not written over: somebody may be running the one that is there.
fn write(wrapper: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(wrapper).is_ok_and(|there| there == text) {
        return Ok(());
    }
    let new = wrapper.with_extension(format!("{}.new", std::process::id()));
    let directory = wrapper.parent().context("a wrapper lies in a directory")?;
    let written = fs::create_dir_all(directory)
        .and_then(|()| fs::write(&new, text))
        .and_then(|()| fs::set_permissions(&new, Permissions::from_mode(0o755)))
        .and_then(|()| fs::rename(&new, wrapper));
    written.with_context(|| format!("cannot write {}", wrapper.display()))
}

fn visit(directory: &Path, see: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() { visit(&path, see) } else { see(&path) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(loader: Option<Loader>) -> Unpacked {
        Unpacked { root: "/c/qemu".into(), file: "/c/qemu/usr/bin/qemu".into(), loader }
    }

    #[test]
    fn a_wrapper_starts_the_program_with_what_it_needs_and_hands_its_words_on() {
        let wrapper = unpacked(None).wrapper("qemu-system-x86_64");
        assert!(
            wrapper.contains("\nexport QEMU_MODULE_DIR='/c/qemu/usr/lib/x86_64-linux-gnu/qemu'\n"),
            "{wrapper}"
        );
        assert!(
            wrapper.contains("\nexec '/c/qemu/usr/bin/qemu' '-L' '/c/qemu/usr/share/qemu' "),
            "{wrapper}"
        );
        assert!(wrapper.ends_with(" \"$@\"\n"), "{wrapper}");
    }

    #[test]
    fn libraries_that_came_along_are_told_to_the_loader_alone() {
        let loader = Loader { file: "/c/qemu/lib/ld-linux.so.2".into(), libraries: "/c/qemu/lib".to_owned() };
        let wrapper = unpacked(Some(loader)).wrapper("spin");
        let expected = "exec '/c/qemu/lib/ld-linux.so.2' '--argv0' 'spin' '--library-path' '/c/qemu/lib' \
                        '/c/qemu/usr/bin/qemu' \"$@\"";
        assert!(wrapper.contains(expected), "{wrapper}");
        assert!(!wrapper.contains("LD_LIBRARY_PATH"));
    }

    #[test]
    fn a_quote_in_a_path_stays_one() {
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn what_is_no_package_brings_no_program() {
        assert!(in_package(Path::new("/nonexistent"), "sh").is_empty());
    }

    #[test]
    fn a_link_out_of_the_package_is_not_taken() {
        let root = std::env::temp_dir().join(format!("xtask-place-{}", std::process::id()));
        for directory in ["bin", "sbin"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        std::os::unix::fs::symlink("/bin/sh", root.join("bin/tool")).unwrap();
        fs::write(root.join("sbin/tool"), "").unwrap();
        let found = program_in(&root, "tool");
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(found, Some(root.join("sbin/tool")));
    }

    #[test]
    fn a_library_goes_where_it_would_be_installed() {
        let cases = [
            ("\tlibc.so.6 => /c/p/lib/libc.so.6 (0x1)", "/c/p/lib/libc.so.6", "lib/libc.so.6"),
            ("\tlibm.so.6 => /lib/libm.so.6 (0x1)", "/lib/libm.so.6", "lib/libm.so.6"),
            ("\t/lib64/ld.so.2 => /c/p/lib/ld.so.2 (0x1)", "/c/p/lib/ld.so.2", "lib64/ld.so.2"),
            ("\t/lib64/ld.so.2 (0x1)", "/lib64/ld.so.2", "lib64/ld.so.2"),
        ];
        for (line, file, place) in cases {
            assert_eq!(library(line, Path::new("/c/p")), Some((file.into(), place.into())), "{line}");
        }
        assert_eq!(library("\tlinux-vdso.so.1 (0x1)", Path::new("/")), None);
    }

    #[test]
    fn the_libraries_of_a_program_of_this_machine_are_named() {
        let libraries = Place::Own("/bin/sh".into()).libraries().unwrap();
        assert!(
            libraries.iter().any(|(_, place)| place.to_string_lossy().contains("libc.so")),
            "{libraries:?}"
        );
        assert!(libraries.iter().all(|(_, place)| place.is_relative()));
    }
}
