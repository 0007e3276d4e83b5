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

/// What stories need, in the order in which it is loaded; what a module depends on is loaded before it.
const MODULES: [&str; 20] = [
    "virtio_pci",
    "virtio_net",
    "veth",
    "macvlan",
    "bridge",
    "8021q",
    "tun",
    "ipip",
    "sit",
    "ip_gre",
    "wireguard",
    "tls",
    "bonding",
    "virtio_blk",
    "crc32c_generic",
    "ext4",
    "tcp_diag",
    "udp_diag",
    "sch_ingress",
    "cls_bpf",
];

/// Modules that newer kernels do not have, because the kernel itself does their work, and the first version without each.
const REMOVED: [(&str, [u64; 2]); 1] = [("crc32c_generic", [6, 15])];

/// Tools that stories call, and busybox has not, or not with these flags.
const TOOLS: [&str; 9] = ["bpftool", "ip", "nsenter", "setpriv", "strace", "tc", "timeout", "unshare", "wg"];

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
    let mut order = Vec::new();
    MODULES
        .into_iter()
        .filter(|name| !is_removed(*name))
        .try_for_each(|name| tree.add_module(name, kernel, &mut order))?;
    tree.write(Path::new("modules/order"), &order.concat())?;
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

    /// Adds a module that is not built in, after those that it depends on. `order` has a line for each so far.
    fn add_module(&self, name: &str, kernel: &Kernel, order: &mut Vec<String>) -> Result<()> {
        let name = name.replace('-', "_");
        if order.iter().any(|line| line.trim_end() == name) {
            return Ok(());
        }
        let Some(file) = kernel.module(&name)? else { return Ok(()) };
        let place = Path::new("modules").join(&name);
        self.unpack_module(&file, &place)?;
        let module = fs::read(self.top.join(&place)).context("cannot read a module")?;
        depends(&module).try_for_each(|other| self.add_module(other, kernel, order))?;
        order.push(name + "\n");
        Ok(())
    }

    fn unpack_module(&self, module: &Path, to: &Path) -> Result<()> {
        if module.extension().is_some_and(|extension| extension == "ko") {
            return self.copy(module, to);
        }
        let unpacked = File::create(self.make_place(to)?).context("cannot write a module")?;
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

/// The modules that this module depends on, as its description names them.
fn depends(module: &[u8]) -> impl Iterator<Item = &str> {
    let mut words = module.split(|byte| *byte == 0);
    let depends = words.find_map(|word| str::from_utf8(word.strip_prefix(b"depends=")?).ok());
    depends.unwrap_or_default().split(',').filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::depends;

    #[test]
    fn description_of_a_module_names_what_it_depends_on() {
        let told = |module: &'static [u8]| depends(module).collect::<Vec<_>>();
        let module = b"\x7fELF\0license=GPL\0depends=libchacha,udp_tunnel\0name=wireguard\0";
        assert_eq!(told(module), ["libchacha", "udp_tunnel"]);
        assert_eq!((told(b"depends=\0name=veth\0"), told(b"")), (vec![], vec![]));
    }
}
