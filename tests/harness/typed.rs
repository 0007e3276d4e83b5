//! What documents say is to be typed, typed: their blocks of shell, one after the other, on a machine of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Net, Reply, home};

/// Everything that filterd has a place for is fresh, and gone with the namespace; nobody is logged in.
const FRESH: &str = r#"
set -e
cp -a /etc/. "$HOME_OF_STORY/etc"
mount --bind "$HOME_OF_STORY/etc" /etc
rm -rf /etc/filterd
mkdir /etc/filterd /etc/filterd/lists
cp "$HOME_OF_STORY/filterd.yaml" /etc/filterd/filterd.yaml
mount -t tmpfs tmpfs /run
mkdir -p "$HOME_OF_STORY/lib"
mount --bind "$HOME_OF_STORY/lib" /var/lib
mount -t bpf bpf /sys/fs/bpf
export PATH="$HOME_OF_STORY/bin:$PATH" NO_COLOR=1 HOME="$HOME_OF_STORY/at-home"
cd "$HOME"
typed() {
    eval "$2" </dev/null
    code=$?
    if [ $code != "$1" ]; then
        printf '\nexits with %s, not %s: %s\n' "$code" "$1" "$2" >&2
        kill $(jobs -p) 2>/dev/null
        exit 99
    fi
}
set +e
"#;

/// A block of shell in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What is typed, as it stands there.
    pub text: String,
    /// Does nobody see it who reads the document? Such a block makes what its reader has already.
    pub hidden: bool,
}

/// The blocks of shell of a document, in their order.
pub fn blocks(document: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        let (end, hidden) = match line {
            "```sh" => ("```", false),
            "<!-- there is:" => ("-->", true),
            _ => continue,
        };
        let text: Vec<_> = lines.by_ref().take_while(|line| *line != end).collect();
        blocks.push(Block { text: text.join("\n") + "\n", hidden });
    }
    blocks
}

impl Block {
    /// The commands, each with how it is to end: with 0, or as its comment says, `# … exits with 1`.
    pub fn commands(&self) -> Vec<(String, u8)> {
        let mut commands: Vec<(String, u8)> = Vec::new();
        let mut open = String::new();
        let mut until: Option<String> = None;
        for line in self.text.lines() {
            open = open + line + "\n";
            if until.is_none() {
                until = line.split_once("<<").map(|(_, word)| word.trim().trim_matches('\'').to_owned());
            } else if until.as_deref() == Some(line) {
                until = None;
            }
            if until.is_some() || line.ends_with('\\') {
                continue;
            }
            let is_command = open.lines().any(|line| !line.trim().is_empty() && !line.trim().starts_with('#'));
            if is_command {
                let code = line.split_once("exits with ").and_then(|(_, code)| code.get(..1)?.parse().ok());
                commands.push((open.clone(), code.unwrap_or(0)));
            }
            open.clear();
        }
        assert!(open.trim().is_empty(), "a command does not end:\n{open}");
        commands
    }
}

impl Net {
    /// Types these blocks, one after the other, into one shell on the host, where everything is as after an installation.
    /// Where a filterd is to run already, it filters `eth0`.
    pub fn type_all(&self, blocks: &[Block], runs: bool) -> Reply {
        let at = |name: &str| self.home().path(name);
        for directory in ["etc", "bin", "at-home"] {
            fs::create_dir_all(at(directory)).expect("a home can be written");
        }
        let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/filterd.yaml");
        fs::copy(reference, at("filterd.yaml")).expect("the reference is there");
        // By these names, whatever else is on the PATH.
        program(&at("bin/filterd"), &format!("exec '{}' \"$@\"", home::binary().display()));
        program(&at("bin/sudo"), "exec \"$@\"");
        let mut script = FRESH.to_owned();
        if runs {
            script += "typed 0 'filterd --iface eth0 2>log &'\n\
                       for i in $(seq 600); do filterd -q ping 2>/dev/null && break; sleep 0.05; done\n\
                       typed 0 'filterd -q ping'\n";
        }
        for (command, code) in blocks.iter().flat_map(Block::commands) {
            script += &format!("typed {code} '{}'\n", command.replace('\'', r"'\''"));
        }
        script += "kill $(jobs -p) 2>/dev/null; wait\nexit 0\n";
        let script = self.home().write("typed.sh", &script);
        let mut shell = self.host().command("unshare");
        shell.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash"]).arg(script);
        Reply::of(shell.env("HOME_OF_STORY", self.home().path("")))
    }
}

fn program(path: &PathBuf, does: &str) {
    fs::write(path, format!("#!/bin/sh\n{does}\n")).expect("a home can be written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_end_with_their_line_or_where_they_say() {
        let document = "x\n```sh\na   # exits with 1: no\n# c\ncat <<'END'\nb\nEND\nd \\\n  e\n```\n```yaml\nf\n```\n<!-- there is:\ng\n-->\n";
        let blocks = blocks(document);
        assert_eq!((blocks.len(), blocks[1].hidden), (2, true));
        let commands = blocks[0].commands();
        let codes: Vec<_> = commands.iter().map(|(_, code)| *code).collect();
        assert_eq!(codes, [1, 0, 0]);
        assert_eq!(commands[1].0, "# c\ncat <<'END'\nb\nEND\n".replace("# c\n", ""));
        assert_eq!(commands[2].0, "d \\\n  e\n");
    }
}
