//! The guest's only file system: an init, busybox, the programs, and the tools and modules that stories need.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use bpf_build::{process, workspace};

use super::foreign::Foreign;
use super::in_guest;
use super::kernel::Kernel;
use super::programs::Program;
use crate::tools::{Place, Tools};

/// In the order in which they must be loaded.
const MODULES: [&str; 36] = [
    "virtio_ring",
    "virtio",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "failover",
    "net_failover",
    "virtio_net",
    "veth",
    "macvlan",
    "llc",
    "stp",
    "bridge",
    "garp",
    "mrp",
    "8021q",
    "tun",
    "ip_tunnel",
    "tunnel4",
    "ipip",
    "sit",
    "gre",
    "ip_gre",
    "tls",
    "bonding",
    "virtio_blk",
    "crc16",
    "crc32c_generic",
    "mbcache",
    "jbd2",
    "ext4",
    "inet_diag",
    "tcp_diag",
    "udp_diag",
    "sch_ingress",
    "cls_bpf",
];

/// Modules that newer kernels do not have, because the kernel itself does their work, and the first version without each.
const REMOVED: [(&str, [u64; 2]); 1] = [("crc32c_generic", [6, 15])];

/// Tools that stories call, and busybox has not, or not with these flags.
const TOOLS: [&str; 8] = ["bpftool", "ip", "nsenter", "setpriv", "strace", "tc", "timeout", "unshare"];

/// Where what is in it comes from.
pub struct Furniture<'a> {
    /// What packs it, and what guests of this machine's processor call.
    pub tools: &'a Tools,
    /// What guests of another one call.
    pub foreign: Option<&'a Foreign>,
}

impl Furniture<'_> {
    fn program(&self, name: &str) -> Result<PathBuf> {
        match self.foreign {
            Some(foreign) => foreign.program(name),
            None => Ok(self.tools.place(name)?.file().to_owned()),
        }
    }

    /// The libraries of a tool, each with its path in the guest.
    fn libraries_of(&self, tool: &str) -> Result<Vec<(PathBuf, PathBuf)>> {
        match self.foreign {
            Some(foreign) => foreign.libraries(&foreign.program(tool)?),
            None => self.tools.place(tool)?.libraries(),
        }
    }

    /// The same of a program that was built here.
    fn libraries(&self, program: &Path) -> Result<Vec<(PathBuf, PathBuf)>> {
        match self.foreign {
            Some(foreign) => foreign.libraries(program),
            None => Place::Own(program.to_owned()).libraries(),
        }
    }
}

/// Builds one for `kernel` that does what `plan` says, beside a new directory `top`.
pub fn build(
    top: PathBuf,
    kernel: &Kernel,
    programs: &[Program],
    furniture: &Furniture<'_>,
    plan: &str,
) -> Result<PathBuf> {
    let tree = Tree { top, tools: furniture.tools };
    tree.clear()?;
    tree.copy(&workspace::root().join("tests/vm/init.sh"), Path::new("init"))?;
    tree.write(Path::new("plan"), plan)?;
    tree.copy(&furniture.program("busybox")?, Path::new("bin/busybox"))?;
    for program in programs {
        tree.copy(&program.file, &in_guest(&program.name))?;
        if !program.is_whole {
            tree.copy_all(&furniture.libraries(&program.file)?)?;
        }
    }
    for tool in TOOLS {
        tree.copy(&furniture.program(tool)?, &Path::new("usr/bin").join(tool))?;
        tree.copy_all(&furniture.libraries_of(tool)?)?;
    }
    let is_removed =
        |name| REMOVED.iter().any(|(removed, version)| *removed == name && kernel.is_at_least(*version));
    for (number, name) in MODULES.into_iter().enumerate().filter(|(_, name)| !is_removed(*name)) {
        if let Some(module) = kernel.module(name)? {
            tree.unpack_module(&module, &format!("modules/{number:02}-{name}.ko"))?;
        }
    }
    tree.pack()
}

/// What will be the initrd, laid out in a directory.
struct Tree<'a> {
    top: PathBuf,
    tools: &'a Tools,
}

impl Tree<'_> {
    fn clear(&self) -> Result<()> {
        let cleared = if self.top.exists() { fs::remove_dir_all(&self.top) } else { Ok(()) };
        cleared
            .and_then(|()| fs::create_dir_all(&self.top))
            .with_context(|| format!("cannot make {}", self.top.display()))
    }

    fn copy(&self, file: &Path, to: &Path) -> Result<()> {
        let to = self.make_place(to)?;
        fs::copy(file, &to).with_context(|| format!("cannot copy {} to {}", file.display(), to.display()))?;
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).context("cannot make it executable")
    }

    fn write(&self, to: &Path, text: &str) -> Result<()> {
        let to = self.make_place(to)?;
        fs::write(&to, text).with_context(|| format!("cannot write {}", to.display()))
    }

    /// Libraries to where they would be installed.
    fn copy_all(&self, libraries: &[(PathBuf, PathBuf)]) -> Result<()> {
        libraries.iter().try_for_each(|(library, place)| self.copy(library, place))
    }

    fn unpack_module(&self, module: &Path, to: &str) -> Result<()> {
        if module.extension().is_some_and(|extension| extension == "ko") {
            return self.copy(module, Path::new(to));
        }
        let unpacked = File::create(self.make_place(Path::new(to))?).context("cannot write a module")?;
        process::run(
            self.tools.command("xz")?.args(["--decompress", "--stdout"]).arg(module).stdout(unpacked),
        )
    }

    fn make_place(&self, inside: &Path) -> Result<PathBuf> {
        let place = self.top.join(inside);
        let parent = place.parent().expect("it lies in the tree");
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        Ok(place)
    }

    fn pack(&self) -> Result<PathBuf> {
        let file = self.top.with_extension("initrd");
        let packed = File::create(&file).with_context(|| format!("cannot write {}", file.display()))?;
        let mut pack = Command::new("sh");
        self.tools
            .equip(&mut pack)
            .args(["-c", "find . | busybox cpio -o -H newc"])
            .current_dir(&self.top)
            .stdout(packed)
            .stderr(Stdio::null());
        process::run(&mut pack).context("cannot pack the initrd")?;
        Ok(file)
    }
}
