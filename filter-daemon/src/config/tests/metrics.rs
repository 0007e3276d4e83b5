//! Tests of the `metrics` section.

use super::{config, told};

#[test]
fn metrics_section_sets_addresses_and_hosts() {
    for (text, listen, hosts) in [
        ("metrics:\nblock: []", "", vec![]),
        ("metrics: {listen: 127.0.0.1:9477}", "127.0.0.1:9477", vec![]),
        ("metrics: {listen: []}", "", vec![]),
        ("metrics: {listen: [127.0.0.1:9477]}", "127.0.0.1:9477", vec![]),
        ("metrics: {listen: [127.0.0.1:9477, '[::1]:9477']}", "127.0.0.1:9477 [::1]:9477", vec![]),
        (
            "metrics: {listen: '[::1]:80', hosts: [Filter.Example.NET]}",
            "[::1]:80",
            vec!["filter.example.net"],
        ),
        (
            "metrics:\n  listen: 0.0.0.0:9477\n  hosts:\n  - a_b\n  - c-d.e",
            "0.0.0.0:9477",
            vec!["a_b", "c-d.e"],
        ),
    ] {
        let metrics = config(text).metrics;
        let told: Vec<_> = metrics.listen.iter().map(ToString::to_string).collect();
        assert_eq!(told.join(" "), listen, "{text}");
        assert_eq!(metrics.hosts, hosts, "{text}");
    }
}

#[test]
fn invalid_addresses_and_hosts_are_reported() {
    for (keys, expected) in [
        ("true", "`metrics` must be a map of keys, not true or false"),
        ("127.0.0.1:9477", "write {listen: 127.0.0.1:9477}"),
        ("{listen: 9477}", "`listen` must be text, not a number"),
        ("{listen: localhost:9477}", "`localhost:9477` is not an address with a port"),
        ("{listen: 127.0.0.1}", "write it as in 127.0.0.1:9477"),
        ("{listen: 127.0.0.1:0}", "there is no port 0"),
        ("{listen: '::1:9477'}", "or \"[::1]:9477\""),
        ("{hosts: filter}", "`hosts` must be a list, not text"),
        ("{hosts: [filter:9477]}", "`filter:9477` is not a host name"),
        ("{hosts: ['*']}", "write it as in a browser"),
        ("{hosts: [a..b]}", "`a..b` is not a host name"),
        ("{listen: [127.0.0.1:80, 127.0.0.1:80]}", "`127.0.0.1:80` is here a second time"),
        ("{listen: [127.0.0.1:80, [127.0.0.1:81]]}", "`listen` must be text, not a list"),
        ("{sources: all}", "`sources` must be true, false or a number, not text"),
        ("{sources: 101}", "write true (10), false, or 0 (none) to 100"),
        ("{sources: -1}", "`sources` cannot be that many"),
        ("{listens: 127.0.0.1:9477}", "did you mean `listen`?"),
    ] {
        let told = told(format!("metrics: {keys}"));
        assert!(told.contains(expected), "{keys}: {told}");
    }
}

#[test]
fn too_many_listen_addresses_are_refused() {
    let addresses = |count: u16| {
        let each: Vec<_> = (1..=count).map(|port| format!("127.0.0.1:{port}")).collect();
        format!("metrics: {{listen: [{}]}}", each.join(", "))
    };
    assert_eq!(config(&addresses(16)).metrics.listen.len(), 16);
    assert!(told(addresses(17)).contains("`listen` takes at most 16 addresses"));
}

#[test]
fn sources_are_shown_only_when_configured() {
    let told = |keys: &str| config(&format!("metrics: {{{keys}}}")).metrics.sources_told();
    assert_eq!(told("listen: 127.0.0.1:9477"), 0);
    assert_eq!(told("listen: 127.0.0.1:9477, sources: 0"), 0);
    assert_eq!(told("listen: 127.0.0.1:9477, sources: false"), 0);
    assert_eq!(told("listen: 127.0.0.1:9477, sources: true"), 10, "who does not say how many is told some");
    assert_eq!(told("listen: 127.0.0.1:9477, sources: 1"), 1);
    assert_eq!(told("listen: 127.0.0.1:9477, sources: 20"), 20);
    assert_eq!(told("sources: 10"), 0);
}

#[test]
fn public_listen_address_gets_a_warning() {
    let warnings = |keys: &str| config(&format!("metrics: {{{keys}}}")).metrics.warnings();
    assert_eq!(warnings("listen: [127.0.0.1:9477, 127.9.9.9:80, '[::1]:9477'], sources: 5"), vec![]);
    let open = warnings("listen: [127.0.0.1:9477, 0.0.0.0:9477, '[2001:db8::1]:80']");
    assert_eq!(open.len(), 2, "{open:?}");
    assert!(
        open[0]
            .message
            .starts_with("http://0.0.0.0:9477/ shows names, counters and troubles to every client")
    );
    assert!(
        warnings("listen: 192.0.2.1:80, sources: 5")[0]
            .message
            .contains("troubles and sources to every client")
    );
}
