//! What `configs/container` makes an image of runs with nothing else there, and with the capabilities that
//! `configs/kubernetes` gives it.

use harness::limited::LimitedChild;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use harness::{ATTACKER, BYSTANDER, Net, Reply, home, program, until};

const RECIPE: &str = include_str!("../../configs/container/Containerfile");
const PASSWD: &str = include_str!("../../configs/container/passwd");
const GROUP: &str = include_str!("../../configs/container/group");
const DAEMON_SET: &str = include_str!("../../configs/kubernetes/daemonset.yaml");

/// What a container is given besides its image: processes, devices and a part of the host's BPF file system. SYS_CHROOT is for
/// getting in.
const ENTER: &str = r#"
root=$1 pins=$2 capabilities=$3
shift 3
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount --bind "$pins" "$root/sys/fs/bpf"
exec setpriv --no-new-privs --bounding-set "$capabilities" --inh-caps "$capabilities" chroot "$root" "$@"
"#;

/// A root with what the recipe copies into it, and a filterd that runs there.
struct Container {
    root: PathBuf,
    filterd: Child,
}

impl Container {
    /// Nothing where filterd is not one piece.
    fn start(net: &Net, configuration: &str) -> Option<Self> {
        let root = net.home().path("image");
        for directory in ["proc", "dev", "sys/fs/bpf", "run", "var/lib", "tmp", "etc/filterd", "usr/bin"] {
            fs::create_dir_all(root.join(directory)).expect("a new directory");
        }
        let filterd = words(RECIPE, "COPY filterd ").remove(0);
        program::copied(home::binary(), &root.join(filterd.trim_start_matches('/')));
        fs::write(root.join("etc/filterd/filterd.yaml"), configuration).expect("there is room");
        for (name, text) in [("passwd", PASSWD), ("group", GROUP)] {
            fs::write(root.join("etc").join(name), text).expect("there is room");
        }
        if !Reply::of(Command::new("chroot").arg(&root).args([filterd.as_str(), "--version"])).is_success() {
            println!("SKIPPED an image: this filterd needs libraries beside it");
            return None;
        }
        let given: String =
            words(DAEMON_SET, "add: ").iter().map(|word| format!(",+{}", word.to_lowercase())).collect();
        let mut enter = net.host().command("unshare");
        enter.args(["--mount", "--propagation", "private", "sh", "-ec", ENTER, "sh"]).arg(&root);
        fs::create_dir_all(net.home().pins()).expect("root may");
        enter.arg(net.home().pins());
        enter.arg(format!("-all{given},+sys_chroot")).arg(filterd).args(words(DAEMON_SET, "args: "));
        let log = fs::File::create(net.home().path("said")).expect("there is room");
        let filterd = enter.stdout(Stdio::null()).stderr(log).spawn().expect("it is there");
        Some(Self { root, filterd })
    }

    fn asked(&self, words: &[&str]) -> Reply {
        let socket = self.root.join("run/filterd/control.sock");
        Reply::of(Command::new(home::binary()).arg("--socket").arg(socket).args(words))
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // Its file systems go with its last process.
        let _ = self.filterd.kill();
        let _ = self.filterd.limited_wait();
    }
}

/// The words of the list behind this beginning, which one line has.
fn words(text: &str, beginning: &str) -> Vec<String> {
    let mut lines = text.lines().filter_map(|line| line.trim().strip_prefix(beginning));
    let line = lines.next().expect("one line begins so");
    line.split(['[', ']', ',', ' ']).filter(|word| !word.is_empty()).map(ToOwned::to_owned).collect()
}

fn said(home: &Path) -> String {
    fs::read_to_string(home).unwrap_or_default()
}

#[test]
fn single_binary_image_filters_with_daemonset_capabilities() {
    let net = Net::new();
    let Some(container) = Container::start(&net, "interfaces: [eth0]\n") else { return };
    let log = net.home().path("said");
    until(|| said(&log).contains("ready: "), "it is ready");
    container.asked(&["add", ATTACKER]).succeeds();
    net.expect(ATTACKER).dropped();
    net.expect(BYSTANDER).passes();
    container.asked(&["status"]).succeeds().says("runs as filterd, ");
    container.asked(&["ping", "--quiet"]).succeeds();
    let log = said(&log);
    assert!(!log.contains("ERROR") && !log.contains("WARN"), "nothing is missing in there: {log}");
}
