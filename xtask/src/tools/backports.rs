//! The apt source of Debian 13's backports, on the mirror that this machine's own apt uses. apt says which of its sources is
//! Debian's; the copy keeps its address and its options, such as `Signed-By`, and changes the suite.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use bpf_build::process;

pub const SUITE: &str = "trixie-backports";

/// Fields and options that choose what to read of a mirror. The others say where it is and how to trust it.
const CHOICES: [&str; 10] = [
    "types",
    "suites",
    "components",
    "architectures",
    "arch",
    "languages",
    "lang",
    "targets",
    "target",
    "enabled",
];

/// The text of a `.sources` file whose only suite is the backports.
pub fn source() -> Result<String> {
    let mut entries = Command::new("apt-get");
    entries.args(["indextargets", "--format", "$(SOURCESENTRY)", "Created-By: Packages"]);
    entries.args(["Origin: Debian", "Label: Debian", "Component: main"]);
    let entries = process::output(&mut entries)?;
    entries.lines().find_map(read).context("this machine's apt has no source that is a mirror of Debian")
}

/// `entry` is a file and a number, as apt names it: `/etc/apt/sources.list:3`.
fn read(entry: &str) -> Option<String> {
    let (file, number) = entry.rsplit_once(':')?;
    let text = fs::read_to_string(file).ok()?;
    let index = number.parse::<usize>().ok()?.checked_sub(1)?;
    if Path::new(file).extension().is_some_and(|extension| extension == "sources") {
        of_stanza(&stanza(&text, index)?)
    } else {
        of_line(text.lines().nth(index)?)
    }
}

/// apt counts stanzas without comments.
fn stanza(text: &str, index: usize) -> Option<String> {
    let lines: Vec<_> = text.lines().map(str::trim_end).filter(|line| !line.starts_with('#')).collect();
    let text = lines.join("\n");
    text.split("\n\n").filter(|stanza| !stanza.trim().is_empty()).nth(index).map(ToOwned::to_owned)
}

fn of_stanza(stanza: &str) -> Option<String> {
    let mut is_kept = false;
    let kept = stanza.lines().filter(|line| {
        // A line that begins with a space continues the field before it.
        if !line.starts_with([' ', '\t']) {
            is_kept = line.split_once(':').is_some_and(|(name, _)| !is_choice(name));
        }
        is_kept
    });
    with_suite(&kept.collect::<Vec<_>>())
}

/// A line is `deb [name=value …] URI suite component…`, and its options have the names of fields.
fn of_line(line: &str) -> Option<String> {
    let rest = line.trim().strip_prefix("deb")?.trim_start();
    let (options, rest) =
        rest.strip_prefix('[').map_or(Some(("", rest)), |options| options.split_once(']'))?;
    let options = options.split_whitespace().filter_map(|option| option.split_once('='));
    let options = options.filter(|(name, _)| !is_choice(name));
    let mut fields: Vec<_> =
        options.map(|(name, value)| format!("{name}: {}", value.replace(',', " "))).collect();
    fields.push(format!("URIs: {}", rest.split_whitespace().next()?));
    with_suite(&fields)
}

/// `arch+` and `arch-` are `arch`, with some more or some fewer.
fn is_choice(name: &str) -> bool {
    let name = name.trim_end_matches(['+', '-']).to_ascii_lowercase();
    CHOICES.contains(&name.as_str())
}

/// A disc has no backports.
fn with_suite(fields: &[impl AsRef<str>]) -> Option<String> {
    let fields: String = fields.iter().map(|field| format!("{}\n", field.as_ref())).collect();
    let is_disc = fields.contains("cdrom:");
    (!is_disc).then(|| format!("Types: deb\nSuites: {SUITE}\nComponents: main\n{fields}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &str = "Types: deb\nSuites: trixie-backports\nComponents: main\n";

    #[test]
    fn lines_keep_their_address_and_options() {
        for (line, fields) in [
            ("deb http://m/debian bookworm main contrib", Some("URIs: http://m/debian\n")),
            (
                "deb  [trusted=yes]\thttps://m/d/ stable main # ours",
                Some("trusted: yes\nURIs: https://m/d/\n"),
            ),
            (
                "deb [ arch=amd64,i386 signed-by=/k.gpg lang-=de ] http://m bookworm main",
                Some("signed-by: /k.gpg\nURIs: http://m\n"),
            ),
            ("deb cdrom:[Debian 12]/ bookworm main", None),
            ("deb", None),
            ("# deb http://m bookworm main", None),
        ] {
            assert_eq!(of_line(line), fields.map(|fields| format!("{BEGIN}{fields}")), "{line}");
        }
    }

    #[test]
    fn stanzas_keep_their_address_and_options() {
        for (stanza, fields) in [
            (
                "Types: deb deb-src\nURIs: http://m/debian\nSuites: bookworm\nComponents: main\nSigned-By: /k.gpg",
                Some("URIs: http://m/debian\nSigned-By: /k.gpg\n"),
            ),
            (
                "Suites: a\n b\nURIs: http://m\n http://n\nComponents: main\n contrib\nTrusted: yes",
                Some("URIs: http://m\n http://n\nTrusted: yes\n"),
            ),
            (
                "Signed-By:\n -----BEGIN\n .\n =key\nArchitectures: amd64\nURIs: http://m",
                Some("Signed-By:\n -----BEGIN\n .\n =key\nURIs: http://m\n"),
            ),
            ("URIs: cdrom:[Debian 12]/", None),
        ] {
            assert_eq!(of_stanza(stanza), fields.map(|fields| format!("{BEGIN}{fields}")), "{stanza}");
        }
    }

    #[test]
    fn stanzas_are_counted_without_comments() {
        let text =
            "# of 2025\n\n\nTypes: deb\n# a snapshot\nURIs: http://a\n\n# b\n\nTypes: deb\nURIs: http://b\n";
        for (index, found) in
            [(0, Some("Types: deb\nURIs: http://a")), (1, Some("Types: deb\nURIs: http://b")), (2, None)]
        {
            assert_eq!(stanza(text, index).as_deref().map(str::trim), found, "{index}");
        }
    }
}
