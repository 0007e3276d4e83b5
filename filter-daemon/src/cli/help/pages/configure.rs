//! Commands for the configuration.

use super::{HelpPage, NO_DAEMON, PLAIN, USAGE};
use crate::exit::Exit;

pub const PAGES: [HelpPage; 5] = [
    HelpPage {
        name: "check",
        examples: &[
            ("filterd check", ""),
            ("filterd check new.yaml", ""),
            ("sudo filterd check --as filterd", "can the daemon read all files?"),
        ],
        exit_codes: &[
            (Exit::Done, "valid"),
            (Exit::No, "no interface (--names-interface)"),
            USAGE,
            (Exit::Config, "not valid"),
            (Exit::Unreachable, "not permitted (--as)"),
            (Exit::Partly, "a list has a problem"),
        ],
        ..PLAIN
    },
    HelpPage {
        name: "diff",
        examples: &[
            ("sudo filterd diff", ""),
            ("sudo filterd diff && echo nothing to do", ""),
            ("sudo filterd diff --json | jq .cut", "live peers that it would cut off"),
        ],
        exit_codes: &[
            (Exit::Done, "nothing would change"),
            (Exit::No, "something would change"),
            USAGE,
            (Exit::Config, "configuration not valid"),
            NO_DAEMON,
            (Exit::Partly, "a reload would exit with 7"),
            (Exit::Kernel, "kernel error"),
        ],
        ..PLAIN
    },
    HelpPage {
        name: "reload",
        examples: &[
            ("sudo filterd reload", ""),
            ("sudo filterd reload --accept drop --accept ssh", "these lists look wrong"),
            ("sudo filterd reload --accept all", "all lists that look wrong"),
            ("sudo filterd reload --accept usb0", "this interface is missing"),
            ("sudo filterd reload --confirm 60s", "then filterd confirm"),
        ],
        exit_codes: &[
            (Exit::Done, "done"),
            (Exit::Usage, "nothing to accept"),
            (Exit::Config, "configuration not valid"),
            (Exit::Refused, "refused because of a trial"),
            NO_DAEMON,
            (Exit::Partly, "partly done"),
            (Exit::Kernel, "kernel error"),
        ],
        ..PLAIN
    },
    HelpPage {
        name: "confirm",
        examples: &[
            ("sudo filterd reload --confirm 60s", "begins a trial"),
            ("sudo filterd confirm", "keeps it"),
        ],
        exit_codes: &[
            (Exit::Done, "done"),
            (Exit::No, "nothing to confirm"),
            USAGE,
            NO_DAEMON,
            (Exit::Partly, "kept, with a problem"),
        ],
        ..PLAIN
    },
    HelpPage {
        name: "rollback",
        examples: &[
            ("sudo filterd reload --confirm 1h", "begins a trial"),
            ("sudo filterd rollback", "undoes it"),
        ],
        exit_codes: &[
            (Exit::Done, "rolled back"),
            (Exit::No, "nothing was on trial"),
            USAGE,
            (Exit::Config, "cannot be rolled back"),
            NO_DAEMON,
            (Exit::Partly, "rolled back, with a problem"),
            (Exit::Kernel, "kernel error"),
        ],
        ..PLAIN
    },
];
