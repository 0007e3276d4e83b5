//! The parts of the help that clap does not know: groups, examples and exit codes.

mod block;
mod configure;
mod inspect;
mod service;

use crate::exit::Exit;

/// A command line and an optional remark.
pub type Example = (&'static str, &'static str);

/// Terms with their meaning, under a title.
pub struct HelpTable {
    pub title: &'static str,
    pub rows: &'static [(&'static str, &'static str)],
}

/// The help of a command, without its options.
pub struct HelpPage {
    /// The words behind `filterd`, such as `allow add`. None for filterd itself.
    pub name: &'static str,
    /// A paragraph below the usage, which most commands do not need.
    pub text: &'static str,
    pub tables: &'static [HelpTable],
    pub examples: &'static [Example],
    /// The exit codes of the command and their meanings.
    pub exit_codes: &'static [(Exit, &'static str)],
}

/// Commands for one purpose, in the order of the help. A command of two words follows its first word.
pub struct Group {
    pub title: &'static str,
    pub pages: &'static [HelpPage],
}

/// Every command is in one of them.
pub const GROUPS: [Group; 4] = [
    Group { title: "Block", pages: &block::PAGES },
    Group { title: "Inspect", pages: &inspect::PAGES },
    Group { title: "Configure", pages: &configure::PAGES },
    Group { title: "Service", pages: &service::PAGES },
];

const NO_DAEMON: (Exit, &str) = (Exit::Unreachable, "no daemon");
const USAGE: (Exit, &str) = (Exit::Usage, "wrong usage");
const BAD_TARGET: (Exit, &str) = (Exit::Usage, "bad target");
const KERNEL: (Exit, &str) = (Exit::Kernel, "kernel error");
const NO_OUTPUT: (Exit, &str) = (Exit::Partly, "output failed");

const PLAIN: HelpPage = HelpPage { name: "", text: "", tables: &[], examples: &[], exit_codes: &[] };

/// The page of filterd itself.
const WHOLE: HelpPage = HelpPage {
    text: "With options but no command, filterd does what `filterd run` does. Alone, `filterd` prints a hint and exits with 2.",
    tables: &[HelpTable {
        title: "Environment",
        rows: &[
            ("FILTERD_SOCKET", "Control socket, unless --socket names one"),
            ("FILTERD_LOG", "Log level: off, error, warn, info, debug or trace [default: info]"),
            ("NO_COLOR", "Print without colors if this is set and not empty"),
        ],
    }],
    examples: &[
        ("sudo filterd --iface eth0", "filter eth0, in the foreground"),
        ("sudo filterd add 203.0.113.7 --ttl 2h", "block an address for two hours"),
        ("sudo filterd add - < blocklist.txt", "block what a file lists"),
        ("sudo filterd test 203.0.113.7", "is it dropped, and why?"),
        ("sudo filterd status", "what filterd does now"),
    ],
    exit_codes: &[
        (Exit::Done, "Done, or yes"),
        (Exit::No, "No, for example not dropped or still blocked"),
        (Exit::Usage, "Wrong usage or bad target"),
        (Exit::Config, "Invalid configuration"),
        (Exit::Unchanged, "Nothing changed, if --strict is given"),
        (Exit::Refused, "Refused, for example because the address is guarded"),
        (Exit::Unreachable, "filterd is not running, does not answer, or does not permit this user"),
        (Exit::Partly, "Partly done, something needs attention, or the output failed"),
        (Exit::Kernel, "The kernel refused"),
    ],
    ..PLAIN
};

/// The row for the exit code of a panic.
pub fn fault() -> (String, String) {
    ("101".to_owned(), "Internal error in filterd, which is a bug: please report it".to_owned())
}

impl HelpPage {
    /// The page of the command with these words.
    pub fn of(name: &str) -> Option<&'static Self> {
        let pages = GROUPS.iter().flat_map(|group| group.pages);
        pages.chain([&WHOLE]).find(|page| page.name == name)
    }

    /// Is this the page of filterd itself?
    pub fn is_whole(&self) -> bool {
        self.name.is_empty()
    }

    /// The name of the manual page.
    pub fn manual(&self) -> String {
        format!("filterd {}", self.name).trim_end().replace(' ', "-")
    }
}
