//! Commands for the service, and for this program itself.

use super::{HelpPage, HelpTable, KERNEL, NO_DAEMON, NO_OUTPUT, PLAIN, USAGE};
use crate::exit::Exit;

pub const PAGES: [HelpPage; 9] = [
    HelpPage {
        name: "run",
        examples: &[
            ("sudo filterd run --iface eth0", "Ctrl-C stops it and removes the filter"),
            ("sudo filterd run --config filterd.yaml", ""),
            ("sudo filterd run --take-over", "replace the running one, without a gap"),
        ],
        exit_codes: &[
            (Exit::Done, "stopped or replaced"),
            USAGE,
            (Exit::Config, "bad configuration"),
            (Exit::Unreachable, "another filterd is in the way"),
            KERNEL,
        ],
        ..PLAIN
    },
    HelpPage {
        name: "pause",
        examples: &[
            ("sudo filterd pause", "for five minutes"),
            ("sudo filterd pause 30s", ""),
            ("sudo filterd pause 1h", "filterd resume ends it sooner"),
        ],
        exit_codes: &[(Exit::Done, "done"), USAGE, NO_DAEMON, NO_OUTPUT, KERNEL],
        ..PLAIN
    },
    HelpPage {
        name: "resume",
        examples: &[("sudo filterd resume", "")],
        exit_codes: &[(Exit::Done, "done"), USAGE, NO_DAEMON, NO_OUTPUT, KERNEL],
        ..PLAIN
    },
    HelpPage {
        name: "ack",
        examples: &[
            ("sudo filterd status", "shows the id of each problem that is over"),
            ("sudo filterd ack 3f2a", "acknowledges this one"),
            ("sudo filterd ack", "acknowledges all, and prints them"),
        ],
        exit_codes: &[
            (Exit::Done, "done"),
            (Exit::Usage, "no such problem"),
            NO_DAEMON,
            (Exit::Partly, "not saved"),
        ],
        ..PLAIN
    },
    HelpPage {
        name: "doctor",
        examples: &[
            ("sudo filterd doctor", ""),
            ("sudo filterd doctor --iface eth0", ""),
            ("sudo filterd doctor --json | jq '.findings[] | select(.health != \"ok\")'", ""),
        ],
        exit_codes: &[(Exit::Done, "nothing fails"), USAGE, (Exit::Partly, "something fails")],
        ..PLAIN
    },
    HelpPage {
        name: "detach",
        examples: &[("sudo filterd detach", "")],
        exit_codes: &[
            (Exit::Done, "done"),
            (Exit::Usage, "no such directory of pins"),
            (Exit::Refused, "filterd is running"),
            (Exit::Unreachable, "not permitted"),
            (Exit::Partly, "partly done"),
            KERNEL,
        ],
        ..PLAIN
    },
    HelpPage {
        name: "ping",
        examples: &[("sudo filterd ping", ""), ("sudo filterd ping --timeout 1s", "")],
        exit_codes: &[(Exit::Done, "filterd answers"), USAGE, NO_DAEMON, NO_OUTPUT],
        ..PLAIN
    },
    HelpPage {
        name: "completions",
        tables: &[HelpTable {
            title: "Files for completions, which packages install",
            rows: &[
                ("bash", "/usr/share/bash-completion/completions/filterd"),
                ("zsh", "/usr/local/share/zsh/site-functions/_filterd"),
                ("fish", "/usr/share/fish/vendor_completions.d/filterd.fish"),
            ],
        }],
        examples: &[("filterd completions bash | sudo tee FILE", "FILE from the list above")],
        exit_codes: &[(Exit::Done, "done"), USAGE, NO_OUTPUT],
        ..PLAIN
    },
    HelpPage {
        name: "help",
        examples: &[("filterd help add", ""), ("filterd help allow add", "")],
        exit_codes: &[(Exit::Done, "done"), (Exit::Usage, "no such command"), NO_OUTPUT],
        ..PLAIN
    },
];
