//! What the help of a command says beside its options: its group, its examples and its exit codes.

mod block;
mod configure;
mod inspect;
mod service;

use crate::exit::Exit;

/// A command line, and what it is for where that is not obvious.
pub type Example = (&'static str, &'static str);

/// Terms with their meaning, under a title.
pub struct Table {
    pub title: &'static str,
    pub rows: &'static [(&'static str, &'static str)],
}

/// A command's page.
pub struct Page {
    /// The words behind `filterd`, such as `allow add`. None for filterd itself.
    pub name: &'static str,
    /// A paragraph below the usage, which most commands do not need.
    pub text: &'static str,
    pub tables: &'static [Table],
    pub examples: &'static [Example],
    /// What the command exits with, and what that means.
    pub exit_codes: &'static [(Exit, &'static str)],
}

/// Commands for one purpose, in the order of the help. A command of two words follows its first word.
pub struct Group {
    pub title: &'static str,
    pub pages: &'static [Page],
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

const PLAIN: Page = Page { name: "", text: "", tables: &[], examples: &[], exit_codes: &[] };

/// The page of filterd itself.
const WHOLE: Page = Page {
    text: "Without a command, filterd runs in the foreground and takes the options of `filterd run`.",
    tables: &[Table {
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

/// What a panic exits with.
pub fn fault() -> (String, String) {
    ("101".to_owned(), "Internal error in filterd, which is a bug: please report it".to_owned())
}

impl Page {
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
