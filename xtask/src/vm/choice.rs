//! Which stories of the network ring are told in guests, and why. One that stands here under neither heading is told on this
//! machine and on the first kernel that is booted, the oldest one: a process starts some fifty times slower there.

/// The first words of stories' names, and the reason.
type Stories = (&'static str, &'static str);

/// Told on every kernel: what they show, kernels could do differently.
const EVERYWHERE: [Stories; 26] = [
    ("add_remove::add_and_remove_affect_the_next_packet", "packets meet each change of a map in use"),
    ("add_remove::the_same_holds_for_ipv6", "the same"),
    ("attack_injected::", "seccomp and Landlock, and what each refuses"),
    ("attach::", "links of XDP and TCX, filters of `clsact`, and what is attached there already"),
    ("bare::", "devices without an Ethernet header"),
    ("bulk::growing_table_drops_exactly_the_listed", "maps of many words, written while they are read"),
    ("crash::a_killed", "what is pinned goes on when its process is gone"),
    ("crash::next_daemon_takes_over_the_link", "a pinned link is taken over"),
    ("crash::root_program_upgrade_leaves_no_gap", "a link gets another program (BPF_LINK_UPDATE)"),
    ("crash::counters_of", "a pinned map of another shape"),
    ("devices::", "bridges, bonds, VLAN devices and macvlan, each of which hands frames on in its own way"),
    ("durable::live_", "fsync, and a file that is made anew"),
    ("enforce::", "the judge is stored anew into the slot of a tail call"),
    ("frames::", "what XDP is handed, byte by byte"),
    ("interfaces::", "netlink's events: interfaces that come, go, are renamed and moved"),
    ("native::", "the core of all stories in native mode; the others run in TC, as `auto` does on veth"),
    ("outbound::listed_destinations_of_both_families", "programs at egress"),
    ("outbound::local_calls_fail_at_once", "programs at the root cgroup"),
    ("outbound::tun_sends_nothing", "destinations without an Ethernet header"),
    ("prefixes::all_", "judges with every lookup, before this verifier"),
    ("privilege::", "capabilities, and what a process may without them"),
    ("reload::target_moving_between_lists_stays_blocked", "grace periods, by membarrier"),
    ("side_by_side::", "several links and pins at once"),
    ("sockets::", "names and credentials of peers"),
    ("stop::", "signals, and links that go with their pins"),
    ("vlan::", "tags that the kernel takes off, in native mode and in TC"),
];

/// Of these, what is told on kernels between the oldest and the newest in a short run: how frames come in and go out, and the
/// judges that meet them. What processes may, and how they end, has not changed between these kernels.
const DRIVERS: [&str; 8] = [
    "add_remove::add_and_remove_affect_the_next_packet",
    "attach::",
    "bare::",
    "devices::",
    "outbound::listed_destinations_of_both_families",
    "prefixes::all_",
    "reload::target_moving_between_lists_stays_blocked",
    "vlan::",
];

/// Told on this machine only: what is read, kept and answered; the kernel has no part in it. A process starts some fifty times
/// slower in a guest, and these start hundreds.
const OURS_ALONE: [&str; 44] = [
    "allow::list_can_change_between_block_and_allow",
    "allow::refused_reload_keeps_allowed_entries",
    "allow::reload_of_both_kinds_drops_nobody_in_between",
    "allow::allow_expires_in_time_during_constant_changes",
    "allow::allow_list_without_file_keeps_last_good_copy",
    "allow::remove",
    "allow::test",
    "allow::wide_allow_needs_the_wide_flag",
    "asked::",
    "bad_input::",
    "carried_over::",
    "changed_kind::",
    "clocks::",
    "config::",
    "confirm::",
    "countries::",
    "diff::",
    "empty_config::",
    "exchange::",
    "feeds::",
    "fetching::broken::",
    "forms::",
    "growing::",
    "held_back::",
    "hostile_clients::",
    "last_good_config::",
    "lasting::",
    "list_and_status::",
    "list_files::",
    "log::",
    "metrics::",
    "places::",
    "refusals::",
    "remedies::",
    "rename::",
    "since::",
    "special::",
    "still_blocked::",
    "take_over::reload_during_take_over_stays_in_force",
    "take_over::reload_during_take_over_leaves_a_copy",
    "taken_names::",
    "ttl::",
    "watch::",
    "watch_drops::",
];

/// Told on this machine only: they take long, and filterd alone decides what they show; or a guest lacks what they need.
const HERE_ONLY: [Stories; 65] = [
    ("native::addresses_come_and_go", "as `growth::`"),
    ("native::replaced_targets", "as `reload::replaced_targets_leave_no_gap`"),
    ("as_sent::", "a browser, and dozens of commands, for what they say"),
    (
        "bulk::a_",
        "a hundred thousand addresses, by many clients; `bulk::growing_table_drops_exactly_the_listed` is told on every kernel",
    ),
    ("buffers::", "the kernel's description of its types, which a guest shows empty"),
    ("completions::", "bash"),
    ("consecutive::", "a hundred thousand addresses, to fill a table"),
    ("for_each_list::", "counters of lists; the ring `program` counts for them on every kernel"),
    ("containers::", "a bridge and translated addresses, which the smallest kernels have not built in"),
    ("control::", "a client in Python, and every verb once"),
    ("crowdsec::full_disk::", "answers over HTTP; `fetching::` is told on every kernel"),
    ("crowdsec::killed::", "the same"),
    ("crowdsec::log::", "a real LAPI, which no guest has"),
    ("crowdsec::outage::", "answers over HTTP; `fetching::` is told on every kernel"),
    ("crowdsec::random_life::", "the same"),
    ("crowdsec::ports::", "answers over HTTP; `ports::` is told on every kernel"),
    ("crowdsec::real::", "a real LAPI, which no guest has"),
    ("crowdsec::scripted::", "answers over HTTP; `fetching::` is told on every kernel"),
    ("crowdsec::usage::", "the same"),
    ("documents::", "bash, and tools of other filters"),
    (
        "doctor::doctor_distinguishes_bridge_and_its_port",
        "a bridge, which the smallest kernels have not built in",
    ),
    ("doctor::shared_program_is_detached_from_one_interface", "bpftool"),
    ("doctor::doctor_remedy_removes_libxdp_program", "xdp-filter and xdp-loader"),
    (
        "durable::a_second_filterd_does_not_share_the_journal",
        "files alone, of which no kernel knows; `durable::live_` is told on every one",
    ),
    ("durable::ban_that_expired_meanwhile_does_not_return", "the same"),
    ("durable::damaged_journal_is_set_aside_and_reported", "the same"),
    ("durable::file_cannot_take_name_of_live_list", "the same"),
    ("durable::full_disk_is_reported_and_repaired_later", "the same"),
    ("durable::journal_is_created_once_disk_has_room", "the same"),
    ("durable::missing_state_directory_is_reported_at_start", "the same"),
    ("durable::newer_journal_is_refused_and_filter_stays", "the same"),
    ("durable::removed_journal_is_reported_and_rewritten", "the same"),
    ("durable::removed_state_directory_is_reported_with_remedy", "the same"),
    ("durable::many_", "the same"),
    ("durable::daemon_with_unsaved_entries_refuses_take_over", "the same"),
    ("durable::next_start_reports_entries_lost_to_full_disk", "the same"),
    ("durable::stop_saves_entries_once_disk_has_room", "the same"),
    ("durable::unchanged_request_waits_for_disk", "strace makes the disk slow, and starts slowly"),
    ("fail2ban::", "a real fail2ban, which no guest has"),
    ("feed_gone::", "names and certificates, of which no kernel knows; `feeds::` is told on every one"),
    ("growth::", "millions of addresses, to grow through tables"),
    ("guard::random_lists", "dozens of starts; the other stories of `guard` read all that hosts tell"),
    ("hanging::", "FUSE, which the smallest kernels have not built in"),
    ("http::", "hundreds of lists, and callers who are waited for"),
    ("image::", "what a container has, which has no kernel of its own"),
    (
        "in_between::",
        "a flood beside many reloads; the grace periods are shown by `reload::replaced_targets_leave_no_gap`, `reload::target_moving_between_lists_stays_blocked`",
    ),
    ("joined::", "ss, which no guest has"),
    ("life::", "hundreds of steps of a random life"),
    ("list_names::", "thousands of lists"),
    ("mixed::", "a hundred thousand addresses of both families"),
    ("on_disk::", "strace looks on, and starts slowly"),
    ("other_blocklists::", "nftables, which the smallest kernels have not"),
    ("outbound::tables_of_destinations_grow", "as `growth::`"),
    ("own_user::", "a shell, and busybox's takes its own `timeout` and `setpriv`"),
    ("page::", "a browser"),
    ("pages::", "large requests beside small ones, by the clock"),
    ("reload::replaced_targets_leave_no_gap", "a flood beside many reloads, as `in_between`"),
    ("succession::", "daemons that follow each other, dozens of times"),
    (
        "take_over::take_over_without_memory_keeps_old_daemon",
        "a /sys of one's own, whose kernel says what a story wants",
    ),
    (
        "take_over::newcomer_that_dies",
        "processes that die, and who waits for them; no kernel does that differently",
    ),
    ("take_over::failed_newcomer", "strace refuses a call, and starts slowly"),
    (
        "take_over::other_network_namespace",
        "a filter of `clsact` (before Linux 6.6) cannot be seen from another namespace, so a start there is not refused",
    ),
    ("top::", "a terminal of `script`, which guests have not"),
    ("trouble::", "strace refuses calls, and starts slowly"),
    ("words::", "dozens of commands, for what they say"),
];

/// Told on another processor beside what is told everywhere: what processors, and their kernels' compilers of BPF, do differently.
const ANOTHER_PROCESSOR: [Stories; 8] = [
    ("add_remove::", "what everybody does"),
    ("allow::allowed_address_passes_inside_blocked_prefix", "a judge with a second set to look into"),
    ("mixed::many_of_both_families_go", "entries move by grace periods alone where loads come in any order"),
    ("egress::own_flows", "a program of another kind, on what is sent"),
    (
        "fetching::confined::fetcher_is_confined_and_ends_without_reader",
        "system calls have other numbers there, and some are missing",
    ),
    ("fetching::tls::a_server_is_known", "what encrypts is written for each processor"),
    ("flows::listed_source_may_answer_own_flows", "what both programs know of flows"),
    ("ports::list_with_ports_drops_only_those", "a judge with clauses"),
];

/// What the verifier ring tells again under lockdown. That forbids helpers, not instructions: judges with nothing on and with
/// everything on call all that there are.
pub const UNDER_LOCKDOWN: &str = "any_number_of_ipv6_lengths";

/// What the verifier ring tells on another processor: each judge is compiled by another compiler there. The refusals, and the
/// lockdown, are not told again: the objects are those for x86-64 instruction by instruction, and what may not be is asked
/// before anything is compiled.
pub const VERIFIER_ON_ANOTHER_PROCESSOR: &str = "is_accepted";

/// How much of the network ring a guest tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All that a guest can tell.
    Whole,
    /// What is told everywhere.
    Kernels,
    /// Of this, what meets devices and frames.
    Drivers,
}

/// The words for the test program.
pub fn words(extent: Extent) -> impl Iterator<Item = String> {
    let chosen: Vec<&str> = match extent {
        Extent::Whole => Vec::new(),
        Extent::Kernels => EVERYWHERE.iter().map(|(stories, _)| *stories).collect(),
        Extent::Drivers => DRIVERS.to_vec(),
    };
    let left_out = here_only().flat_map(|stories| ["--skip", stories]);
    chosen.into_iter().chain(left_out).map(ToOwned::to_owned)
}

/// The same for another processor, which is only interpreted.
pub fn for_another_processor() -> impl Iterator<Item = String> {
    let own = ANOTHER_PROCESSOR.iter().map(|(stories, _)| *stories);
    let chosen = EVERYWHERE.iter().map(|(stories, _)| *stories).chain(own.clone());
    let left_out = here_only().filter(move |stories| own.clone().all(|own| !own.starts_with(stories)));
    chosen
        .map(ToOwned::to_owned)
        .chain(left_out.flat_map(|stories| ["--skip".to_owned(), stories.to_owned()]))
}

/// Whatever is told on this machine only.
fn here_only() -> impl Iterator<Item = &'static str> {
    HERE_ONLY.iter().map(|(stories, _)| *stories).chain(OURS_ALONE)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use bpf_build::workspace;

    use super::*;

    /// A name that chooses nothing would leave stories out, or tell them where they take too long, without a word.
    #[test]
    fn all_that_is_named_is_there() {
        let in_guests = EVERYWHERE.iter().chain(&ANOTHER_PROCESSOR).map(|(stories, _)| *stories);
        for stories in in_guests.chain(DRIVERS).chain(here_only()) {
            let (module, begin) = stories.rsplit_once("::").unwrap();
            let file = match module.strip_prefix("attack_") {
                Some(attack) => format!("tests/attack/{attack}.rs"),
                None => format!("tests/network/{}.rs", module.replace("::", "/")),
            };
            let file = workspace::root().join(file);
            let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{stories}: {error}"));
            // `native` names the stories of other modules.
            let told: &[_] =
                if module == "native" { &["::"] } else { &["#[test]\nfn ", "#[test]\npub(super) fn "] };
            let mut told = told.iter().map(|before| format!("{before}{begin}"));
            assert!(told.any(|story| text.contains(&story)), "no story begins with {stories}");
        }
    }

    #[test]
    fn verifier_test_names_exist() {
        let text = fs::read_to_string(workspace::root().join("tests/vm/main.rs")).unwrap();
        assert!(text.contains(&format!("#[test]\nfn {UNDER_LOCKDOWN}")));
        let (_, accepted) = text.split_once("every_combination_of_settings_").unwrap();
        assert!(accepted.starts_with(VERIFIER_ON_ANOTHER_PROCESSOR));
    }

    #[test]
    fn tests_for_another_processor_are_included() {
        let words: Vec<_> = for_another_processor().collect();
        let left_out: Vec<_> =
            words.windows(2).filter(|pair| pair[0] == "--skip").map(|pair| &pair[1]).collect();
        assert!(!left_out.is_empty() && words.iter().any(|word| word.starts_with("mixed::")), "{words:?}");
        for (stories, _) in ANOTHER_PROCESSOR {
            assert!(left_out.iter().all(|skip| !stories.starts_with(*skip)), "{stories} is left out");
        }
    }

    #[test]
    fn network_suite_omits_only_local_tests() {
        assert!(
            words(Extent::Whole).all(|word| word == "--skip" || here_only().any(|stories| word == stories))
        );
        let first = words(Extent::Kernels).next();
        assert_eq!(first.as_deref(), Some("add_remove::add_and_remove_affect_the_next_packet"));
        assert!(DRIVERS.iter().all(|drivers| EVERYWHERE.iter().any(|(stories, _)| stories == drivers)));
    }
}
