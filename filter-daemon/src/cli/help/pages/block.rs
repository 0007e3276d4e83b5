//! Commands that change which addresses are blocked.

use super::{BAD_TARGET, HelpPage, HelpTable, KERNEL, NO_DAEMON, NO_OUTPUT, PLAIN, USAGE};
use crate::exit::Exit;

pub const PAGES: [HelpPage; 9] = [
    HelpPage {
        name: "add",
        examples: &[
            ("sudo filterd add 203.0.113.7 198.51.100.0/24 --ttl 2h --note 'ssh scan'", ""),
            ("sudo filterd add 203.0.113.7 --list ssh", ""),
            ("sudo filterd add 203.0.113.16-203.0.113.99", ""),
            ("sudo filterd add - < blocklist.txt", ""),
        ],
        exit_codes: &[
            (Exit::Done, "done"),
            (Exit::No, "still allowed"),
            BAD_TARGET,
            (Exit::Unchanged, "nothing changed"),
            (Exit::Refused, "refused"),
            NO_DAEMON,
            (Exit::Partly, "partly done"),
            KERNEL,
        ],
        ..PLAIN
    },
    HelpPage {
        name: "remove",
        examples: &[
            ("sudo filterd remove 203.0.113.7", ""),
            ("sudo filterd remove 198.51.100.0/24 --list ssh", ""),
            ("sudo filterd remove - < no-longer.txt", ""),
        ],
        exit_codes: &[
            (Exit::Done, "done"),
            (Exit::No, "still blocked"),
            BAD_TARGET,
            (Exit::Unchanged, "nothing changed"),
            (Exit::Refused, "wrong list"),
            NO_DAEMON,
            (Exit::Partly, "partly done"),
            KERNEL,
        ],
        ..PLAIN
    },
    HelpPage {
        name: "allow",
        examples: &[
            ("sudo filterd allow add 192.0.2.10 --note 'our office'", ""),
            ("sudo filterd allow list", ""),
        ],
        exit_codes: &[(Exit::Usage, "no command given")],
        ..PLAIN
    },
    HelpPage {
        name: "allow add",
        examples: &[
            ("sudo filterd allow add 192.0.2.10 --note 'our office'", ""),
            ("sudo filterd allow add 198.51.100.0/24 2001:db8:1::/48 --ttl 2h", ""),
            ("sudo filterd allow add 192.0.2.16-192.0.2.31 --list partners", ""),
            ("sudo filterd allow add - < partners.txt", ""),
        ],
        exit_codes: &[
            (Exit::Done, "done"),
            BAD_TARGET,
            (Exit::Unchanged, "nothing changed"),
            (Exit::Refused, "refused"),
            NO_DAEMON,
            (Exit::Partly, "partly done"),
            KERNEL,
        ],
        ..PLAIN
    },
    HelpPage {
        name: "allow remove",
        examples: &[
            ("sudo filterd allow remove 192.0.2.10", ""),
            ("sudo filterd allow remove 198.51.100.0/24 --list partners", ""),
            ("sudo filterd allow remove - < no-longer.txt", ""),
        ],
        exit_codes: &[
            (Exit::Done, "done"),
            (Exit::No, "still allowed"),
            BAD_TARGET,
            (Exit::Unchanged, "nothing changed"),
            (Exit::Refused, "wrong list"),
            NO_DAEMON,
            (Exit::Partly, "partly done"),
            KERNEL,
        ],
        ..PLAIN
    },
    HelpPage {
        name: "allow list",
        examples: &[
            ("sudo filterd allow list", ""),
            ("sudo filterd allow list --list guard", "what filterd never blocks, and why"),
            ("sudo filterd allow list --within 198.51.100.0/24", ""),
            ("sudo filterd allow list --expiring 1h", ""),
            ("sudo filterd allow list --list partners --json | jq -r .target", ""),
        ],
        exit_codes: &[(Exit::Done, "done"), USAGE, NO_DAEMON, NO_OUTPUT],
        ..PLAIN
    },
    HelpPage {
        name: "flush",
        examples: &[("sudo filterd flush", ""), ("sudo filterd flush --list ssh", "")],
        exit_codes: &[
            (Exit::Done, "done"),
            USAGE,
            (Exit::Refused, "wrong list"),
            NO_DAEMON,
            (Exit::Partly, "partly done"),
        ],
        ..PLAIN
    },
    HelpPage {
        name: "import",
        examples: &[
            ("sudo filterd import filterd.json", ""),
            ("sudo filterd import filterd.json --as-live", ""),
            ("sudo ipset save | sudo filterd import - --dry-run", ""),
            ("sudo nft -j list ruleset | sudo filterd import - --block bad --allow good", ""),
            ("sudo nft -j list ruleset | sudo filterd import - --only bad", ""),
            ("curl -fsS https://example.org/ips.txt | sudo filterd import - --list feed", ""),
        ],
        exit_codes: &[
            (Exit::Done, "done"),
            (Exit::Usage, "nothing imported"),
            (Exit::Refused, "refused"),
            NO_DAEMON,
            (Exit::Partly, "partly done"),
            KERNEL,
        ],
        ..PLAIN
    },
    HelpPage {
        name: "export",
        tables: &[HelpTable {
            title: "Formats",
            rows: &[
                ("plain", "One target per line, with list, end and note as a comment"),
                ("json", "One object per line. It keeps everything that `filterd import` reads"),
                ("ipset", "For `ipset restore -exist`: sets NAME_4 and NAME_6 for each list"),
                ("nft", "For `nft -f`: the same sets in the table `inet filterd_export`"),
            ],
        }],
        examples: &[
            ("sudo filterd export --format json > filterd.json", "for filterd import"),
            ("sudo filterd export --live > added.txt", "what commands added"),
            ("sudo filterd export --format ipset --list ssh | sudo ipset restore -exist", ""),
            ("sudo filterd export --format nft > filterd.nft", "for nft -f"),
        ],
        exit_codes: &[(Exit::Done, "done"), USAGE, NO_DAEMON, (Exit::Partly, "some entries left out")],
        ..PLAIN
    },
];
