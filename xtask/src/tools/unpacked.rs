//! A program in a package that is unpacked and not installed: where it lies, and what must be told to it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::place::ldd;

/// Where packages keep programs. Chromium's in `usr/bin` is a script that names the place where it would be installed.
const BINARIES: [&str; 5] = ["usr/lib/chromium", "usr/bin", "bin", "usr/sbin", "sbin"];

/// What a program must be told because it would look where it is not installed; `{}` is the package's root.
struct Needs {
    programs: &'static [&'static str],
    words: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

const NEEDS: [Needs; 9] = [
    // It starts itself anew for each of its processes, which a loader before it would hinder: so its libraries are in its
    // environment, and so are fonts and their configuration, that what it draws is the same everywhere.
    Needs {
        programs: &["chromium-headless-shell"],
        words: &["--no-sandbox", "--headless", "--disable-gpu"],
        environment: &[
            (
                "LD_LIBRARY_PATH",
                "{}/usr/lib/x86_64-linux-gnu:{}/lib/x86_64-linux-gnu:{}/usr/lib/x86_64-linux-gnu/pulseaudio",
            ),
            ("FONTCONFIG_SYSROOT", "{}"),
        ],
    },
    Needs {
        programs: &["qemu-system-x86_64"],
        words: &["-L", "{}/usr/share/qemu", "-L", "{}/usr/share/seabios", "-L", "{}/usr/lib/ipxe/qemu"],
        environment: &[("QEMU_MODULE_DIR", "{}/usr/lib/x86_64-linux-gnu/qemu")],
    },
    // Its firmware is the guest's kernel.
    Needs {
        programs: &["qemu-system-aarch64"],
        words: &["-L", "{}/usr/share/qemu"],
        environment: &[("QEMU_MODULE_DIR", "{}/usr/lib/x86_64-linux-gnu/qemu")],
    },
    // It starts others, which need libraries of their own; and files of its C library name the place where they would be.
    Needs {
        programs: &["aarch64-linux-gnu-gcc"],
        words: &["--sysroot={}"],
        environment: &[("LD_LIBRARY_PATH", OWN_LIBRARIES)],
    },
    Needs {
        programs: &["aarch64-linux-gnu-ar"],
        words: &[],
        environment: &[("LD_LIBRARY_PATH", OWN_LIBRARIES)],
    },
    Needs {
        programs: &["iptables"],
        words: &[],
        environment: &[("XTABLES_LIBDIR", "{}/usr/lib/x86_64-linux-gnu/xtables")],
    },
    Needs {
        programs: &["xdp-filter", "xdp-loader"],
        words: &[],
        environment: &[("LIBXDP_OBJECT_PATH", "{}/usr/lib/x86_64-linux-gnu/bpf")],
    },
    Needs {
        programs: &["fail2ban-client", "fail2ban-server"],
        words: &[],
        environment: &[("PYTHONPATH", "{}/usr/lib/python3/dist-packages")],
    },
    Needs {
        programs: &["debootstrap"],
        words: &[],
        environment: &[("DEBOOTSTRAP_DIR", "{}/usr/share/debootstrap")],
    },
];

const OWN_LIBRARIES: &str = "{}/usr/lib/x86_64-linux-gnu:{}/lib/x86_64-linux-gnu";

const NONE: Needs = Needs { programs: &[], words: &[], environment: &[] };

/// In a package that is unpacked and not installed.
#[derive(Debug)]
pub struct Unpacked {
    pub root: PathBuf,
    pub file: PathBuf,
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

impl Unpacked {
    fn with(&self, loader: Loader) -> Self {
        Self { root: self.root.clone(), file: self.file.clone(), loader: Some(loader) }
    }

    /// Starts it where it lies.
    pub fn command(&self, program: &str) -> Command {
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
    pub fn wrapper(&self, program: &str) -> String {
        let exports = self.environment(program);
        let exports: String =
            exports.iter().map(|(name, value)| format!("export {name}={}\n", quoted(value))).collect();
        let words: Vec<_> = self.words(program).iter().map(|word| quoted(word)).collect();
        let about = "# Made by `cargo xtask`, for what is unpacked and not installed.";
        format!("#!/bin/sh\n{about}\n{exports}exec {} \"$@\"\n", words.join(" "))
    }

    /// Lists its libraries: with the loader that came along, which `ldd` would not take.
    pub fn list(&self) -> Command {
        let Some(loader) = &self.loader else { return ldd(&self.file) };
        let mut list = Command::new(&loader.file);
        list.args(["--library-path", &loader.libraries, "--list"]).arg(&self.file);
        list
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
    NEEDS.iter().find(|needs| needs.programs.contains(&program)).unwrap_or(&NONE)
}

/// For a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
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
    fn wrapper_starts_program_with_its_environment() {
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
    fn bundled_libraries_reach_only_the_loader() {
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
    fn invalid_package_has_no_program() {
        assert!(in_package(Path::new("/nonexistent"), "sh").is_empty());
    }

    #[test]
    fn link_out_of_package_is_refused() {
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
}
