//! The core of the stories once more, in native mode. By itself, filterd takes TC on the veth pairs of these stories.

use harness::{ATTACKER, Net, in_mode};

/// Each of these stories, with `mode: native` wherever its configuration names no mode.
macro_rules! in_native_mode {
    ($($module:ident::$story:ident,)*) => {
        $(#[test]
        fn $story() {
            in_mode("native", crate::$module::$story);
        })*
    };
}

in_native_mode! {
    add_remove::add_and_remove_affect_the_next_packet,
    add_remove::the_same_holds_for_ipv6,
    reload::a_reload_applies_what_changed,
    reload::replaced_targets_leave_no_gap,
    vlan::listed_source_is_dropped_behind_four_tags,
    vlan::frames_with_too_many_tags_drop_and_count,
    frames::a_listed_source_is_dropped_whatever_it_sends,
    frames::options_and_extension_headers_hide_no_source,
    frames::jumbo_frames_are_judged_like_small_ones,
    frames::neighbour_discovery_works_when_listed,
    bulk::growing_table_drops_exactly_the_listed,
    growth::addresses_come_and_go_while_a_table_grows,
    crash::next_daemon_takes_over_the_link,
    crash::kept_filter_outlives_its_daemon,
    guard::prefix_is_blocked_around_guarded_addresses,
    ports::list_with_ports_drops_only_those,
    ports::later_fragments_pass_and_short_first_ones_drop,
    flows::listed_source_may_answer_own_flows,
    enforce::a_reload_switches_enforcing_on_and_off,
    allow::allowed_address_passes_inside_blocked_prefix,
}

#[test]
fn stories_of_this_module_run_in_native_mode() {
    in_mode("native", || {
        let net = Net::with_filterd("block: [203.0.113.7]");
        assert!(net.host().xdp("eth0").is_some());
        net.expect(ATTACKER).dropped();
        net.configure("block: []");
        net.filterd(["reload"]).succeeds();
        net.expect(ATTACKER).passes();
    });
}
