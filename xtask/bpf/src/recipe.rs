//! What becomes of the same sources, wherever they are compiled: how the compiler is called, and by which names it knows
//! places. A change here makes other objects.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::toolchain::Compiler;
use crate::workspace;

/// How the kernel is to get them: fast, small enough to verify, and with the names that BTF needs.
pub const PROFILE: [(&str, &str); 5] = [
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "2"),
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3"),
    ("CARGO_PROFILE_RELEASE_PANIC", "abort"),
];

/// What the compiler is told wherever it lies.
const FLAGS: [&str; 3] = ["-Cdebuginfo=2", "-Clink-arg=--btf", "-Ctarget-cpu=v3"];

/// All that the compiler is told, for the kernel of a machine of this architecture, in cargo's own form.
pub fn flags(compiler: &Compiler, architecture: &str) -> String {
    let mut flags: Vec<_> = FLAGS.map(str::to_owned).into();
    flags.push(format!("--cfg=bpf_target_arch=\"{architecture}\""));
    flags.extend(
        places(compiler)
            .into_iter()
            .map(|(place, name)| format!("--remap-path-prefix={}={name}", place.display())),
    );
    flags.join("\x1f")
}

/// Refuses an object that names a place of this machine: another machine would compile another one.
pub fn refuse_places(object: &[u8], compiler: &Compiler) -> Result<()> {
    let found = find_place(object, places(compiler).into_iter().map(|(place, _)| place));
    found.map_or(Ok(()), |place| bail!("it names {}, a directory of this machine", place.display()))
}

/// The first of these places that the compiled code names.
pub fn find_place(code: &[u8], places: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    places.into_iter().find(|place| {
        let place = place.as_os_str().as_bytes();
        code.windows(place.len()).any(|window| window == place)
    })
}

/// Where sources lie, and what the objects call it: BTF names the line that each instruction comes from.
fn places(compiler: &Compiler) -> Vec<(PathBuf, &'static str)> {
    let own = (workspace::root(), "filterd");
    let library = (compiler.library(), "rust");
    let crates = workspace::registries().map(|registry| (registry, "crates"));
    [own, library].into_iter().chain(crates).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_with_place_of_this_machine_is_found() {
        let place = PathBuf::from("/root/.rustup/toolchains/stable/lib/rustlib/src/rust");
        let find = |object: &[u8]| find_place(object, [workspace::root(), place.clone()]);
        assert_eq!(
            find(b"\x7fELF/root/.rustup/toolchains/stable/lib/rustlib/src/rust/library"),
            Some(place.clone())
        );
        assert_eq!(find(b"\x7fELFrust/library/core/src/bool.rs"), None);
    }
}
