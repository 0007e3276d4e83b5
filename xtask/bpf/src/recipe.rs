//! What becomes of the same sources, wherever they are compiled: how the compiler is called, and by which names it knows
//! places. A change here makes other objects.

use std::path::PathBuf;

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

/// Where sources lie, and what the objects call it: BTF names the line that each instruction comes from.
fn places(compiler: &Compiler) -> Vec<(PathBuf, &'static str)> {
    let own = (workspace::root(), "filterd");
    let library = (compiler.library(), "rust");
    let crates = workspace::registries().map(|registry| (registry, "crates"));
    [own, library].into_iter().chain(crates).collect()
}
