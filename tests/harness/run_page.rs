//! Runs the commands of a Markdown page in one shell, on a host of its own, and compares their output with the page.

use std::fs;
use std::path::Path;

use crate::page::{self, Action, Step};
use crate::{Net, Reply, home, namespace, program, transcript};

/// Everything that filterd reads or writes is fresh, and gone with the namespace of mounts; nobody is logged in.
const FRESH: &str = r#"
set -e
touch "$STORY/peer"
mount --bind "$PEER" "$STORY/peer"
cp -a /etc/. "$STORY/etc"
mount --bind "$STORY/etc" /etc
rm -rf /etc/filterd
mkdir /etc/filterd /etc/filterd/lists
cp "$STORY/filterd.yaml" /etc/filterd/filterd.yaml
mount -t tmpfs tmpfs /run
mkdir -p "$STORY/lib"
mount --bind "$STORY/lib" /var/lib
mount -t bpf bpf /sys/fs/bpf
export PATH="$STORY/bin:$PATH" NO_COLOR=1 TZ=UTC COLUMNS=100 HOME="$STORY/at-home"
cd "$STORY/at-home"
running=
failed() {
    printf '%s: %s\n' "$1" "$2" >&2
    [ ! -f "$STORY/written/$3" ] || cat "$STORY/written/$3" >&2
    exit 99
}
interrupt_running() {
    [ -z "$running" ] || { kill -INT -- -$running; wait $running; }
    running=
}
stay_in_foreground() {
    interrupt_running
    set -m
    eval "$2" </dev/null >"$STORY/written/$1" 2>&1 &
    running=$!
    set +m
    log=$STORY/written/$1
    for i in $(seq 1200); do
        filterd -q ping 2>/dev/null && return
        kill -0 $running 2>/dev/null || break
        sleep 0.05
    done
    failed 'does not run' "$2" "$1"
}
interrupt() {
    [ -n "$running" ] || failed 'nothing is in the foreground' '^C' "$1"
    before=$(stat -c %s "$log")
    interrupt_running
    tail -c +$((before + 1)) "$log" >"$STORY/written/$1"
}
run() {
    eval "$3" </dev/null >"$STORY/written/$1" 2>&1
    code=$?
    [ $code = "$2" ] || failed "exits with $code, not $2" "$3" "$1"
}
set +e
"#;

/// `peer-connects ADDRESS PORT COUNT`: from an address of the peer, attempts to connect to a port of the host.
const CONNECTS: &str = r#"
import socket, sys, time
address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
family, host = (socket.AF_INET6, "2001:2::1") if ":" in address else (socket.AF_INET, "198.19.255.1")
for _ in range(count):
    with socket.socket(family, socket.SOCK_STREAM) as attempt:
        attempt.bind((address, 0))
        attempt.setblocking(False)
        attempt.connect_ex((host, port))
    time.sleep(0.1)
"#;

impl Net {
    /// Runs all commands of a page, as after an installation of filterd; or tells what differs from the page.
    pub fn run_page(&self, page: &str) -> Result<(), String> {
        let steps = page::steps(page)?;
        let at = |name: &str| self.home().path(name);
        for directory in ["etc", "bin", "at-home", "written"] {
            fs::create_dir_all(at(directory)).expect("a home can be written");
        }
        let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/filterd.yaml");
        fs::copy(installed, at("filterd.yaml")).expect("the package has a configuration");
        // By these names, whatever else is on the PATH. A machine that is busy with other tests answers later than
        // the default allows.
        program::written(
            &at("bin/filterd"),
            &format!("exec '{}' --timeout 2m \"$@\"", home::binary().display()),
        );
        program::written(&at("bin/sudo"), "exec \"$@\"");
        let peer = format!("nsenter --net='{}' --", at("peer").display());
        program::written(&at("bin/peer"), &format!("exec {peer} \"$@\""));
        let connects = self.home().write("connects.py", CONNECTS);
        program::written(
            &at("bin/peer-connects"),
            &format!("exec {peer} python3 '{}' \"$@\"", connects.display()),
        );
        let script = self.home().write("page.sh", &script(&steps));
        let mut shell = self.host().command("unshare");
        shell.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash"]).arg(script);
        shell.env("STORY", at("")).env("PEER", Path::new(namespace::NAMES).join(self.peer().name()));
        let reply = Reply::of(&mut shell);
        if !reply.is_success() {
            return Err(reply.complaint);
        }
        let written = |number| fs::read_to_string(at(&format!("written/{number}"))).unwrap_or_default();
        steps.iter().enumerate().try_for_each(|(number, step)| compare(step, &written(number)))
    }
}

fn script(steps: &[Step]) -> String {
    let mut script = FRESH.to_owned();
    for (number, step) in steps.iter().enumerate() {
        let quoted = step.text.trim_end().replace('\'', r"'\''");
        script += &match step.action {
            Action::Run(code) => format!("run {number} {code} '{quoted}'\n"),
            Action::StayInForeground => format!("stay_in_foreground {number} '{quoted}'\n"),
            Action::Interrupt => format!("interrupt {number}\n"),
        };
    }
    script + "interrupt_running\nexit 0\n"
}

fn compare(step: &Step, written: &str) -> Result<(), String> {
    let is_as_shown = match (&step.output, step.action) {
        (None, _) => true,
        (Some(shown), Action::StayInForeground) => transcript::begins(shown, written),
        (Some(shown), _) => transcript::matches(shown, written),
    };
    let shown = step.output.as_deref().unwrap_or_default().trim_end();
    let (text, written) = (step.text.trim_end(), written.trim_end());
    let differs = || {
        let unmatched = transcript::unmatched_line(shown, written).unwrap_or("(each line alone is right)");
        format!(
            "{text}\n-- writes:\n{written}\n-- but the page shows:\n{shown}\n-- which differs at:\n{unmatched}\n"
        )
    };
    is_as_shown.then_some(()).ok_or_else(differs)
}
