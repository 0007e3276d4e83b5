//! What documents say is to be typed, typed: their blocks of shell, one after the other, on a machine of its own.

use std::fs;
use std::path::Path;

use crate::{Net, Reply, home, program};

/// Everything that filterd has a place for is fresh, and gone with the namespace; nobody is logged in.
const FRESH: &str = r#"
set -e
cp -a /etc/. "$STORY/etc"
mount --bind "$STORY/etc" /etc
rm -rf /etc/filterd
mkdir /etc/filterd /etc/filterd/lists
cp "$STORY/filterd.yaml" /etc/filterd/filterd.yaml
mount -t tmpfs tmpfs /run
mkdir -p "$STORY/lib"
mount --bind "$STORY/lib" /var/lib
mount -t bpf bpf /sys/fs/bpf
export PATH="$STORY/bin:$PATH" NO_COLOR=1 HOME="$STORY/at-home"
cd "$STORY/at-home"
# What stays in the foreground has a terminal of its own; the one before is ended as Ctrl-C would.
running=
foreground() {
    [ -z "$running" ] || { kill -INT -- -$running; wait $running; }
    set -m
    eval "$1" </dev/null 2>>"$STORY/log" &
    running=$!
    set +m
    for i in $(seq 1200); do
        filterd -q ping 2>/dev/null && return
        kill -0 $running 2>/dev/null || break
        sleep 0.05
    done
    printf '\ndoes not run: %s\n' "$1" >&2
    cat "$STORY/log" >&2
    exit 99
}
typed() {
    eval "$2" </dev/null
    code=$?
    if [ $code != "$1" ]; then
        printf '\nexits with %s, not %s: %s\n' "$code" "$1" "$2" >&2
        exit 99
    fi
}
set +e
"#;

/// What is typed at once, and how it is to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    /// As it stands in the document.
    pub text: String,
    /// With 0, or as its comment says, `# … exits with 1`.
    pub code: u8,
    /// Does nobody see it who reads the document? Such a command makes what its reader has already.
    pub hidden: bool,
}

impl Typed {
    /// Does it go on until it is interrupted?
    fn is_in_the_foreground(&self) -> bool {
        ["sudo filterd run ", "sudo filterd --iface "]
            .iter()
            .any(|beginning| self.text.starts_with(beginning))
            || self.text.trim() == "sudo filterd run"
    }
}

/// The commands of a document's blocks of shell, in their order.
pub fn commands(document: &str) -> Vec<Typed> {
    let mut commands = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        // In a step of a list it is indented.
        let indented = line.len() - line.trim_start().len();
        let (end, hidden) = match line.trim_start() {
            "```sh" => ("```", false),
            "<!-- there is:" => ("-->", true),
            _ => continue,
        };
        let typed = lines.by_ref().map(|line| line.get(indented..).unwrap_or_default());
        block(typed.take_while(|line| *line != end), hidden, &mut commands);
    }
    commands
}

/// A command ends with its line, or where it says.
fn block<'a>(lines: impl Iterator<Item = &'a str>, hidden: bool, commands: &mut Vec<Typed>) {
    let (mut text, mut until) = (String::new(), None);
    for line in lines {
        text = text + line + "\n";
        match &until {
            None => until = line.split_once("<<").map(|(_, word)| word.trim().trim_matches('\'').to_owned()),
            Some(word) if word == line => until = None,
            Some(_) => {}
        }
        if until.is_some() || line.ends_with('\\') {
            continue;
        }
        if !line.trim().is_empty() && !line.trim().starts_with('#') {
            let said = line.split_once("exits with ").and_then(|(_, code)| code.get(..1)?.parse().ok());
            commands.push(Typed { text: text.clone(), code: said.unwrap_or(0), hidden });
        }
        text.clear();
    }
    assert!(text.is_empty(), "a command does not end:\n{text}");
}

impl Net {
    /// Types these, one after the other, into one shell on the host, where everything is as after an installation.
    pub fn type_all(&self, commands: &[Typed]) -> Reply {
        let at = |name: &str| self.home().path(name);
        for directory in ["etc", "bin", "at-home"] {
            fs::create_dir_all(at(directory)).expect("a home can be written");
        }
        let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/filterd.yaml");
        fs::copy(installed, at("filterd.yaml")).expect("the package has a configuration");
        // By these names, whatever else is on the PATH.
        program::written(&at("bin/filterd"), &format!("exec '{}' \"$@\"", home::binary().display()));
        program::written(&at("bin/sudo"), "exec \"$@\"");
        let mut script = FRESH.to_owned();
        for typed in commands {
            let quoted = typed.text.trim_end().replace('\'', r"'\''");
            script += &match typed.is_in_the_foreground() {
                true => format!("foreground '{quoted}'\n"),
                false => format!("typed {} '{quoted}'\n", typed.code),
            };
        }
        script += "[ -z \"$running\" ] || { kill -INT -- -$running; wait $running; }\nexit 0\n";
        let script = self.home().write("typed.sh", &script);
        let mut shell = self.host().command("unshare");
        shell.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash"]).arg(script);
        Reply::of(shell.env("STORY", self.home().path("")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_end_with_their_line_or_where_they_say() {
        let document = "x\n```sh\na   # exits with 1: no\n# c\ncat <<'END'\nb\nEND\n\nd \\\n  e\n```\n```yaml\nf\n```\n\
                        <!-- there is:\nsudo filterd run\n-->\n";
        let all = commands(document);
        let told: Vec<_> = all.iter().map(|typed| (typed.text.as_str(), typed.code, typed.hidden)).collect();
        let expected = [
            ("a   # exits with 1: no\n", 1, false),
            ("cat <<'END'\nb\nEND\n", 0, false),
            ("d \\\n  e\n", 0, false),
            ("sudo filterd run\n", 0, true),
        ];
        assert_eq!(told, expected);
        assert_eq!(
            all.iter().map(Typed::is_in_the_foreground).collect::<Vec<_>>(),
            [false, false, false, true]
        );
    }
}
