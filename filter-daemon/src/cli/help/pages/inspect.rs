//! Commands that show what filterd does.

use super::{BAD_TARGET, HelpPage, HelpTable, KERNEL, NO_DAEMON, NO_OUTPUT, PLAIN, USAGE};
use crate::exit::Exit;

pub const PAGES: [HelpPage; 10] = [
    HelpPage {
        name: "test",
        examples: &[
            ("sudo filterd test 203.0.113.7", ""),
            ("sudo filterd test 203.0.113.0/24 2001:db8::1 --json", ""),
            ("sudo filterd test - < suspects.txt", ""),
            ("sudo filterd -q test 203.0.113.7 && echo dropped", ""),
        ],
        exit_codes: &[
            (Exit::Done, "all dropped"),
            (Exit::No, "not all dropped"),
            BAD_TARGET,
            NO_DAEMON,
            (Exit::Partly, "some lines not understood"),
        ],
        ..PLAIN
    },
    HelpPage {
        name: "list",
        examples: &[
            ("sudo filterd list", ""),
            ("sudo filterd list --list ssh --family 6", ""),
            ("sudo filterd list --within 198.51.100.0/24", ""),
            ("sudo filterd list --expiring 1h", ""),
            ("sudo filterd list --json | jq -r .target", ""),
            ("sudo filterd list --list ssh | sudo filterd remove - --list ssh", ""),
        ],
        exit_codes: &[(Exit::Done, "done"), USAGE, NO_DAEMON, NO_OUTPUT],
        ..PLAIN
    },
    HelpPage {
        name: "lists",
        examples: &[("sudo filterd lists", ""), ("sudo filterd lists --json | jq '.lists[].name'", "")],
        exit_codes: &[
            (Exit::Done, "all lists are well"),
            USAGE,
            NO_DAEMON,
            (Exit::Partly, "a list has a problem"),
        ],
        ..PLAIN
    },
    HelpPage {
        name: "lists refresh",
        examples: &[("sudo filterd lists refresh", ""), ("sudo filterd lists refresh ipsum", "")],
        exit_codes: &[
            (Exit::Done, "done"),
            (Exit::Usage, "no such list"),
            (Exit::Refused, "named list has no source"),
            NO_DAEMON,
            (Exit::Partly, "a list was not updated"),
        ],
        ..PLAIN
    },
    HelpPage {
        name: "crowdsec",
        examples: &[("sudo filterd crowdsec status", "")],
        exit_codes: &[(Exit::Usage, "no command given")],
        ..PLAIN
    },
    HelpPage {
        name: "crowdsec status",
        examples: &[
            ("sudo filterd crowdsec status", ""),
            ("sudo filterd crowdsec status --json | jq '.crowdsec[].enforced'", ""),
        ],
        exit_codes: &[
            (Exit::Done, "all is well, or there is no CrowdSec"),
            USAGE,
            NO_DAEMON,
            (Exit::Partly, "a CrowdSec has a problem"),
        ],
        ..PLAIN
    },
    HelpPage {
        name: "status",
        examples: &[("sudo filterd status", ""), ("sudo filterd status --json | jq .faults", "")],
        exit_codes: &[
            (Exit::Done, "all is well"),
            USAGE,
            NO_DAEMON,
            (Exit::Partly, "something needs attention"),
        ],
        ..PLAIN
    },
    HelpPage {
        name: "stats",
        examples: &[("sudo filterd stats", ""), ("sudo filterd stats --lists", "")],
        exit_codes: &[(Exit::Done, "done"), USAGE, NO_DAEMON, NO_OUTPUT, KERNEL],
        ..PLAIN
    },
    HelpPage {
        name: "top",
        tables: &[HelpTable {
            title: "Keys",
            rows: &[
                ("q, Ctrl-C", "Quit"),
                ("up, down", "Choose a list or a source"),
                ("v", "Show lists, sources or reasons"),
                (
                    "s",
                    "Sort lists by rate, hits, entries, name or configured order, and sources by packets, bytes or \
                     address",
                ),
                ("p", "Pause dropping, or end a pause"),
                ("b", "Block an address or a prefix"),
                ("u", "Unblock an address or a prefix"),
                ("?", "Show the keys"),
            ],
        }],
        examples: &[
            ("sudo filterd top", ""),
            ("sudo filterd top --once", "one picture as text, over one second"),
            ("sudo filterd top --json", "the data behind the picture, as one object"),
        ],
        exit_codes: &[
            (Exit::Done, "done"),
            USAGE,
            NO_DAEMON,
            (Exit::Partly, "something needs attention (--once, --json)"),
        ],
        ..PLAIN
    },
    HelpPage {
        name: "watch",
        examples: &[
            ("sudo filterd watch", ""),
            ("sudo filterd watch --changes --list ssh --count 1", "until it changes"),
            ("sudo filterd watch --drops --for 10s --json", "one object per line"),
            ("sudo filterd watch --pcap - | tcpdump -nr -", "dropped frames"),
            ("sudo filterd watch --journald", "drops into the journal"),
            ("journalctl -t filterd-drop FILTERD_LIST=ssh", "read them there"),
        ],
        exit_codes: &[(Exit::Done, "done"), USAGE, NO_DAEMON, NO_OUTPUT, KERNEL],
        ..PLAIN
    },
];
